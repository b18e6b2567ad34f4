/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <time.h>

#include "interfaces/json.h"
#include "trace/trace.h"

/* False: a trace clock that no clockid_t stands for. */
bool metadata_get_clock(const char *name, clockid_t *ret);
/* The stream's first frame as a sealed memfd: see ktrace-stream(5). Reads format files: worker
 * thread. */
int metadata_make(const Trace *trace, int *ret_fd);
/* Appends an event as the stream's metadata has it. Reads its format file. */
int metadata_add_event(json_object *events, const Trace *trace, const GrantEvent *event);
/* A new description of it for each reader, read only: a shared one would share the offset. */
int metadata_reopen(int fd, int *ret_fd);
/* The kernel's saved command names, "PID NAME" a line, as a memfd. They name everybody's processes:
 * the consumer keeps those whose records it has seen. */
int metadata_make_names(const Trace *trace, int *ret_fd);
