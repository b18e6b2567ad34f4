/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/consumer-parts.h"

/* Before the stream is set up: the plan of the histograms. */
int consumer_take_counts(Consumer *c, int fd);
int consumer_on_counts(Consumer *c, const ControlMessage *message, int *fds, size_t n_fds);
/* All rings are there: answers what came before them. */
int consumer_answer_early(Consumer *c);
/* A question that came early waits for a proof of the members. */
bool consumer_awaits_proof(Consumer *c);
/* There is room for more of an answer. */
void consumer_on_teller(Consumer *c);
/* Tells the daemon how often notify triggers were hit. */
void consumer_report_hits(Consumer *c);
