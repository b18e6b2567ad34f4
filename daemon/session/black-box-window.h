/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel/instance.h"

/* Returns a time before which no snapshot has records, by the clock of the instance. 0: unknown.
 * window_fd: of the last snapshot; -1: there was none. Reads files of the kernel. */
int black_box_find_oldest(const Instance *instance, unsigned n_cpus, int window_fd, uint64_t *ret);
