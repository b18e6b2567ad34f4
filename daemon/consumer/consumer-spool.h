/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/consumer.h"

/* consumer-spool.c */
int consumer_set_up_spool(Consumer *c, const ControlMessage *message);
int consumer_on_spool_file(Consumer *c, const ControlMessage *message, int *fds, size_t n_fds);
/* Puts the data that fits, and leaves the rest in the rings. Fails with -ENOMEM. */
int consumer_leave_spool(Consumer *c);
void consumer_plan_sync(Consumer *c);
void consumer_on_sync(Consumer *c);
void consumer_tick_spool(Consumer *c);
/* userdata: the consumer */
void consumer_report_spool(void *userdata);
/* Must be called before the sandbox is closed, which forbids it. */
void consumer_limit_spool(const ControlMessage *setup);
/* The answer to ADOPT: the current state, including all data so far. */
void consumer_answer_spool(Consumer *c);
