/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/consumer.h"

/* Reports to the daemon. error: 0 or a positive errno. */
void consumer_report(Consumer *c, ControlType type, int error, const char *text);
/* Answers the client on the socket that its sink came from. Returns false when the client no longer
 * listens. */
bool consumer_answer_client(Consumer *c, int error, const char *text, bool is_final);
/* Adds what the consumer knows to the daemon's reason for the end. */
void consumer_report_end(Consumer *c);
/* Writes the last frames. */
int consumer_put_summary(Consumer *c,
                Queue *queue,
                const char *code,
                const char *reason,
                size_t names_max);
