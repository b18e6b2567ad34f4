/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel/instance.h"

/* Sets the sizes of the sub-buffers and of the buffer. kb: per CPU. Returns -errno on failure. */
int trace_size_buffer(const Instance *instance, uint64_t kb);
