/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes marks: the owner's (feed/marker.c), and the daemon's about gaps and interference. In a
 * shared instance the number of the viewer precedes the text; the reader of the instance shows the
 * mark to that viewer only, without the number (consumer/mux/extract.c). */

#include "trace/trace-mark.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "trace/shared.h"

#define MARK_SIZE_MAX 2048

int trace_mark(const Trace *trace, const char *text, size_t size) {
        char whole[SHARE_MARK_SIZE + MARK_SIZE_MAX];
        size_t at = 0;

        if (trace_is_shared(trace))
                at = (size_t)snprintf(whole, sizeof(whole), SHARE_MARK_FORMAT, trace->viewer);
        size = MIN_OF(size, (size_t)MARK_SIZE_MAX);
        memcpy(whole + at, text, size);
        return write(trace->marker_fd, whole, at + size) < 0 ? -errno : 0;
}
