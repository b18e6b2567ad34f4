/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"

/* Answers with a snapshot: of all records for root, of those of the subject's own tasks for others.
 */
int black_box_call_open(BlackBox *box, Request *request, Reason *reason);
/* The handler of the answers of the black box's history. */
void black_box_call_on_lives(int result, const Reason *reason, int fd, size_t n, void *question);
