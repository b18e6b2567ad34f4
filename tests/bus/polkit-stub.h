/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

/* A polkit that does as the test says, on the fixture's bus. It answers in GDBus's own thread, so
 * that the test may wait in a call. */
typedef enum StubMode {
        STUB_YES,
        STUB_NO,
        STUB_CHALLENGE,
        STUB_HANG,
        STUB_ERROR,
        STUB_GARBAGE, /* what polkit_stub_set_garbage said */
} StubMode;

void polkit_stub_start(StubMode mode);
void polkit_stub_set_mode(StubMode mode);
/* The body of its answers; NULL: none. Sinks it. */
void polkit_stub_set_garbage(GVariant *body);
/* Leaves the bus, questions open or not. */
void polkit_stub_stop(void);
/* Answers yes or no to all that hang; returns how many that were. */
unsigned polkit_stub_answer_all(gboolean yes);
/* Waits until that many questions, or calls to take one back, have come since the last start. */
void polkit_stub_wait_asked(unsigned n);
void polkit_stub_wait_cancelled(unsigned n);
unsigned polkit_stub_count_asked(void);
/* The arguments of the last question, as GVariant text, and the id of the last one taken back. */
char *polkit_stub_get_question(void);
char *polkit_stub_get_cancelled(void);
