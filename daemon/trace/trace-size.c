/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The sizes of a new instance: for a trace (trace.c), for a shared instance (shared.c), and for one
 * that is prepared (session/pool.c). On the worker thread. */

#include "trace/trace-size.h"

#include <errno.h>

#include "kernel/buffer.h"

/* Kernels >= 6.8 support larger sub-buffers, which need fewer reads. Small rings keep one page. */
#define SUBBUF_KB            64
#define SUBBUF_MIN_BUFFER_KB 512

int trace_size_buffer(const Instance *instance, uint64_t kb) {
        int r = kb >= SUBBUF_MIN_BUFFER_KB ? instance_set_subbuf_kb(instance, SUBBUF_KB) : 0;

        return r < 0 && r != -EOPNOTSUPP ? r : instance_set_buffer_kb(instance, kb);
}
