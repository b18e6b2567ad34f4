/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "trace/trace.h"

/* What a recorded event costs the task that makes it. Measured on Linux 6.18: 216 in each further
 * instance, 220 in the first, whatever the clock and the size of the buffer. */
#define METER_RECORD_NSEC 220
uint64_t meter_get_cost_usec(uint64_t n_events);

/* How fast a session records. */
typedef struct Meter Meter;

/* It has recorded more than it may; told once, from the event loop, may free the meter. */
typedef void (*MeterHandler)(const char *text, void *userdata);

/* max_rate: events a second. */
int meter_new(sd_event *event,
                const Trace *trace,
                uint64_t max_rate,
                MeterHandler handler,
                void *userdata,
                Meter **ret);
Meter *meter_free(Meter *meter);
DEFINE_CLEANUP(Meter, meter_free);
/* Looks every second from now on, or no longer. */
void meter_start(Meter *meter);
void meter_stop(Meter *meter);
