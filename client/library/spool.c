/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Recordings on the machine's disk, for programs that copy them elsewhere. */

#include <errno.h>

#include "call/proxy.h"
#include "library/connection.h"
#include "library/failure.h"

static int spool_make_arguments(const char *id, const char *file, json_object **ret) {
        _cleanup_json_ json_object *arguments = json_object_new_object();
        json_object *options = json_object_new_object();

        if (!arguments || !options || json_object_object_add(arguments, "options", options) < 0 ||
                        json_object_object_add(arguments, "id", json_object_new_string(id)) < 0)
                return -ENOMEM;
        if (file && json_object_object_add(options, "file", json_object_new_string(file)) < 0)
                return -ENOMEM;
        *ret = TAKE_PTR(arguments);
        return 0;
}

int ktrace_open_spool(ktrace *connection,
                const char *id,
                const char *file,
                int *ret_fd,
                ktrace_error *error) {
        _cleanup_json_ json_object *arguments = NULL;
        ProxyAnswer answer = { .fd = -1 };
        Reason reason = {};

        *ret_fd = -1;
        int r = id ? spool_make_arguments(id, file, &arguments) : -EINVAL;
        if (r == 0)
                r = proxy_perform(connection->proxy,
                                &(ProxyCall){ .method = "OpenSpool", .arguments = arguments },
                                &answer,
                                &reason);
        if (r == 0)
                *ret_fd = TAKE_FD(answer.fd);
        proxy_answer_done(&answer);
        return failure_take(r, &reason, error);
}
