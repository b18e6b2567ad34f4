/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "recording/watch.h"

/* The snapshots of a recording with -H, as streams that follow each other in one pipe. The
 * recording and far.c talk over a socket. Each message is one packet of it, with one byte. */
typedef enum SeriesMessage {
        SERIES_KEEP = 'k',   /* from the recording: the stream is complete */
        SERIES_DROP = 'd',   /* the same, but it must not be kept */
        SERIES_GO = 'g',     /* the answer: the next stream may begin */
        SERIES_WANTED = 'w', /* to the recording: the user has asked for a snapshot */
} SeriesMessage;

typedef struct Series Series;

/* fd: borrowed. is_wanted: is set when a snapshot is asked for. */
int series_new(int fd, Watch *watch, bool *is_wanted, Series **ret);
Series *series_free(Series *series);
DEFINE_CLEANUP(Series, series_free);
/* Says that the stream in the pipe is complete, and waits until all of it is read. Returns 0,
 * -errno, or KT_E_CANCELLED with a reason. */
int series_end_stream(Series *series, bool is_kept, Reason *reason);
/* Waits for that if an earlier wait was cancelled. */
int series_await(Series *series, Reason *reason);
