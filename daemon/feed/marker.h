/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "trace/trace.h"

#define MARK_MAX    1000 /* bytes; the kernel takes 1024 with what it adds */
#define MARKERS_MAX 16   /* of a session */

/* Pipes by which clients write marks into a session. */
typedef struct Marker Marker;
TAILQ_HEAD(MarkerList, Marker);

/* One mark, now. KT_E_INVALID_SPEC: it is empty, too long or no printable text; KT_E_WRONG_STATE:
 * the guard has ended the recording. */
int marker_write(const Trace *trace, const char *text, Reason *reason);

/* The end of a pipe for the client, each write a mark; KT_E_LIMIT_REACHED. is_open: whether marks
 * count now. *ret_kept: our end, borrowed, for marker_adopt of another daemon. */
int marker_open(struct MarkerList *list,
                sd_event *event,
                const Trace *trace,
                bool (*is_open)(void *userdata),
                void *userdata,
                int *ret_fd,
                int *ret_kept,
                Reason *reason);
/* Its marks wait until the session is as it was. fd: consumed on 0. */
int marker_adopt(struct MarkerList *list,
                sd_event *event,
                const Trace *trace,
                bool (*is_open)(void *userdata),
                void *userdata,
                int fd);
void marker_resume_all(struct MarkerList *list);
/* What waits in the pipes, 32 marks of each: a pipe has room for 16, unless its writer has made it
 * larger. Before a stop, whose call is served ahead of the pipes. */
void marker_read_all(struct MarkerList *list);
void marker_close_all(struct MarkerList *list);
