/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/consumer.h"

int consumer_watch(Consumer *c, int fd, Source source, uint32_t events);
void consumer_unwatch(Consumer *c, int fd);
/* Watches what the records come from: the rings, or the pipe of a shared instance's reader. */
void consumer_watch_rings(Consumer *c, bool on);
/* Active: the kernel wakes the process by fill level, and ticks read slow data. Else the first
 * event wakes it. */
void consumer_set_active(Consumer *c, bool active);
/* Ignores rings that are ready but give no data, until the next tick. */
void consumer_rest(Consumer *c);
/* Called after a tick has read the rings: chooses the next one, or ends the activity. */
void consumer_settle_tick(Consumer *c, uint64_t n_ticks);
/* The rings are released: from here on ticks only count how long the reader takes nothing. */
void consumer_begin_linger(Consumer *c);
/* Watches the sink while it must be waited for, and the rings otherwise. */
int consumer_balance(Consumer *c);
