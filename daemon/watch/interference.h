/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/trace.h"
#include "work/worker.h"

/* What others do to a fenced session's instance. */
typedef struct Interference Interference;

/* In the event loop, at most once: what was recorded cannot be trusted any more. code: "guard" or
 * "interference". */
typedef void (*InterferenceHandler)(const char *code, const char *text, void *userdata);

/* The trace has been started: its watch is there. Looks from now on. */
int interference_new(sd_event *event,
                Worker *worker,
                Trace *trace,
                InterferenceHandler handler,
                void *userdata,
                Interference **ret);
/* Tells nothing any more. The trace may go when whatever plan is submitted next is over. NULL is
 * fine, here and below. */
Interference *interference_free(Interference *interference);
DEFINE_CLEANUP(Interference, interference_free);
/* Plans of ours that write to the instance (own-writes.h): until their end other programs' writes
 * cannot be told from ours, so all is read back then. Begun twice is begun once. */
void interference_begin(Interference *interference);
void interference_end(Interference *interference);
