/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl probes load: sends all definitions of a file in one call, which defines all or none.
 * The file has the format of the catalogue. The daemon checks its contents. */

#include "verbs/probes-load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "call/definition-message.h"
#include "interfaces/json-file.h"
#include "interfaces/json.h"
#include "terminal/table.h"

static int probes_load_file(const char *path, json_object **ret, Reason *reason) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        json_object *list;

        if (fd < 0)
                return reason_set(reason, KT_E_FAILED, "%s: %m", path);
        int r = json_load_fd(path, fd, ret, reason);
        if (r != 0)
                return r;
        if (!json_object_is_type(*ret, json_type_object) ||
                        !json_object_object_get_ex(*ret, "probes", &list) ||
                        !json_object_is_type(list, json_type_array) ||
                        json_object_object_length(*ret) != 1)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: expected an object with the list \"probes\" and nothing else",
                                path);
        return 0;
}

int probes_load_run(const Context *context, const char *path) {
        _cleanup_(proxy_free_cleanup) Proxy *proxy = NULL;
        _cleanup_json_ json_object *file = NULL, *events = NULL;
        Reason reason = {};

        int r = probes_load_file(path, &file, &reason);
        r = r ?: proxy_open(context->door, &proxy, &reason);
        r = r ?: definitions_send(proxy, json_object_object_get(file, "probes"), &events, &reason);
        if (r != 0)
                return message_fail(r, &reason);
        if (context->json != JSON_OFF)
                table_print_json(context, events);
        for (size_t i = 0; context->json == JSON_OFF && !context->quiet &&
                           i < json_object_array_length(events);
                        i++)
                printf("%s\n", json_object_get_string(json_object_array_get_idx(events, i)));
        return KT_EXIT_OK;
}
