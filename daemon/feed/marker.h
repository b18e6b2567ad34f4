/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "trace/trace.h"

#define MARK_MAX    1000 /* bytes; the kernel takes 1024 with its additions */
#define MARKERS_MAX 16   /* per session */

/* Pipes through which clients write marks into a session. */
typedef struct Marker Marker;
TAILQ_HEAD(MarkerList, Marker);

/* Writes one mark immediately. KT_E_INVALID_SPEC: the text is empty, too long or not printable.
 * KT_E_WRONG_STATE: the guard has ended the recording. */
int marker_write(const Trace *trace, const char *text, Reason *reason);

/* Makes a pipe for the client; each write is a mark. KT_E_LIMIT_REACHED: MARKERS_MAX pipes are
 * open. is_open returns true if marks count now. *ret_kept is our end, borrowed, for marker_adopt
 * in the next daemon. */
int marker_open(struct MarkerList *list,
                sd_event *event,
                const Trace *trace,
                bool (*is_open)(void *userdata),
                void *userdata,
                int *ret_fd,
                int *ret_kept,
                Reason *reason);
/* Adopts a pipe. Its marks wait until marker_resume_all. fd: consumed on 0. */
int marker_adopt(struct MarkerList *list,
                sd_event *event,
                const Trace *trace,
                bool (*is_open)(void *userdata),
                void *userdata,
                int fd);
void marker_resume_all(struct MarkerList *list);
/* Reads the waiting marks, at most 32 per pipe. A pipe has room for 16, unless its writer has
 * enlarged it. Called before a stop, because the stop call is served before the pipes. */
void marker_read_all(struct MarkerList *list);
void marker_close_all(struct MarkerList *list);
