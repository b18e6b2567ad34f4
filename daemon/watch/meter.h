/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "watch/activity.h"

/* The time that these events cost the tasks that caused them. */
uint64_t meter_get_cost_usec(uint64_t n_events);

/* How fast a session records. */
typedef struct Meter Meter;

/* The session has recorded more than its limit. Called once, in the event loop. It may free the
 * meter. */
typedef void (*MeterHandler)(const char *text, void *userdata);

/* max_rate: events per second. */
int meter_new(Activity *activity,
                const Trace *trace,
                uint64_t max_rate,
                MeterHandler handler,
                void *userdata,
                Meter **ret);
Meter *meter_free(Meter *meter);
DEFINE_CLEANUP(Meter, meter_free);
/* meter_start looks every second from now on. meter_stop ends that. */
void meter_start(Meter *meter);
void meter_stop(Meter *meter);
