/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/consumer-parts.h"

void consumer_report(Consumer *c, ControlType type, int error, const char *text);
int consumer_watch(Consumer *c, int fd, Source source, uint32_t events);
/* Writes the last frames. */
int consumer_put_summary(Consumer *c,
                Queue *queue,
                const char *code,
                const char *reason,
                size_t names_max);
