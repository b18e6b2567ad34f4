/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/text-block.h"
#include "trace/trace.h"

/* Bytes before the fields of an event: id, time, thread. The thread's name follows them. */
#define CTF_EVENT_HEADER_SIZE 16
/* The event that stands for a record that is unknown or damaged. Its only field is the size. */
#define CTF_UNREADABLE_ID 0

/* Appends everything but the events. Returns 0 or -ENOMEM. */
int ctf_metadata_add_trace(TextBlock *block, const Trace *trace);
void ctf_metadata_add_event(TextBlock *block, const EventLayout *layout);
