/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/consumer.h"

/* Takes the plan of the histograms. Must be called before the stream is set up. */
int consumer_take_counts(Consumer *c, int fd);
/* Takes the names of the machine's tasks (MEMBERS), for a stream that is not judged. */
int consumer_take_names(Consumer *c, const ControlMessage *message, int fd);
int consumer_on_counts(Consumer *c, const ControlMessage *message, int *fds, size_t n_fds);
/* Called when all rings are there: answers a question that came before them. */
int consumer_answer_early(Consumer *c);
/* Returns whether a question that came early waits for a proof of the members. */
bool consumer_awaits_proof(Consumer *c);
/* Called when the socket has room for more of an answer. */
void consumer_on_reply(Consumer *c);
/* Reports the hits of notify triggers to the daemon. */
void consumer_report_hits(Consumer *c);
