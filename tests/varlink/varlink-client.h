/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <json-c/json.h>
#include <sys/types.h>

/* A Varlink client as raw as it gets. */

/* A connection of a process of this uid: of this one, or (ret_child) of one that stays. */
int varlink_connect(const char *path, uid_t uid, pid_t *ret_child);
/* parameters: JSON, printf-like; NULL: none. */
void varlink_send(int sock, gboolean more, const char *method, const char *parameters);
/* The next message; NULL: the connection is closed. ret_fd: what came with it, or -1; may be NULL.
 */
json_object *varlink_receive(int sock, int *ret_fd);

/* One call of org.ktrace1: its parameters, or NULL, and error ("NoSuchSession") and reason. */
typedef struct VarlinkAnswer {
        json_object *parameters;
        char *error, *reason;
        int fd;
} VarlinkAnswer;

VarlinkAnswer varlink_call(int sock, const char *method, const char *parameters);
void varlink_answer_clear(VarlinkAnswer *answer);
/* One result of a call that goes well: a string, free it. */
char *varlink_get(int sock, const char *method, const char *parameters, const char *result);
void varlink_expect(int sock,
                const char *method,
                const char *parameters,
                const char *error,
                const char *reason);
