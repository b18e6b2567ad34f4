/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <time.h>

#include "interfaces/json.h"
#include "trace/trace.h"

/* Returns false for a trace clock without a clockid_t. */
bool metadata_get_clock(const char *name, clockid_t *ret);
/* Makes the stream's first frame as a sealed memfd: see ktrace-stream(5). Runs on the worker
 * thread, because it reads format files. */
int metadata_make(const Trace *trace, int *ret_fd);
/* Appends an event to the metadata. Reads its format file. */
int metadata_add_event(json_object *events, const Trace *trace, const GrantEvent *event);
/* Makes a memfd of the kernel's saved command names, one "PID NAME" per line. They include
 * processes of all users; the consumer keeps only those whose records it has seen. */
int metadata_make_names(const Trace *trace, int *ret_fd);
