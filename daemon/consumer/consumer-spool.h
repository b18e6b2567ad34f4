/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/consumer-parts.h"

/* consumer-spool.c */
int consumer_set_up_spool(Consumer *c, const ControlMessage *message);
int consumer_on_spool_file(Consumer *c, const ControlMessage *message, int *fds, size_t n_fds);
/* Puts what there is room for, and leaves the rest in the rings. -ENOMEM. */
int consumer_leave_spool(Consumer *c);
void consumer_on_sync(Consumer *c);
void consumer_tick_spool(Consumer *c);
/* userdata: the consumer */
void consumer_report_spool(void *userdata);
/* While that can still be done: before the sandbox is closed. */
void consumer_limit_spool(const ControlMessage *setup);
/* To ADOPT: as things stand, with all that was given so far. */
void consumer_answer_spool(Consumer *c);
