/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"
#include "policy/digest.h"
#include "policy/policy.h"

typedef struct Trace Trace;

/* How the kernel laid out the records of an event when the metadata was made. */
typedef struct TraceLayout {
        uint32_t id;
        char digest[DIGEST_DIGITS + 1]; /* of the format without the print format; "": unknown */
} TraceLayout;

/* Remembers the layout if the event is one of the grant's. */
int trace_learn_layout(const Trace *trace, const GrantEvent *event, const char *text, uint64_t id);
/* All layouts are learned. Fails with KT_E_FAILED and the reason if they are not those that the
 * trace had before. */
int trace_note_layouts(Trace *trace, Reason *reason);
/* Compares the kernel's layout of the grant's event i with that of the metadata. Fails with
 * KT_E_NO_SUCH_EVENT and the reason if the event is gone or differs. */
int trace_check_layout(const Trace *trace, size_t i, Reason *reason);
/* Returns whether the metadata of two traces with the same grant describe the same records. */
bool trace_layouts_are_same(const Trace *a, const Trace *b);
/* how: what has become of the event. Returns KT_E_NO_SUCH_EVENT. */
int trace_refuse_event(const GrantEvent *event, const char *how, Reason *reason);
