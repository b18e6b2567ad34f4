/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/counts.h"
#include "consumer/fence.h"
#include "consumer/queue.h"
#include "consumer/window.h"
#include "interfaces/control.h"

/* From the rings to the queue. */
typedef struct Pump {
        Queue *queue;
        Watchdog *watchdog;
        Masks *masks; /* NULL: told as it is */
        PageTally tally;
        Fence fence;
        Bucket bucket;
        Rings rings;
        Window window;            /* of a snapshot */
        json_object *counts_plan; /* until pump_init() */
        Counts *counts;           /* NULL: the stream counts nothing */
        bool is_muted;            /* nobody reads the stream: its records are only counted */
        size_t subbuf_size, batch_size;
        uint64_t ring_bytes; /* at most so many are taken of a ring in one go */
        uint8_t *batch;
        bool found_any;  /* set by pump_run(), never unset here */
        bool is_ending;  /* all is wanted, in memory too; set by pump_end() */
        bool is_tripped; /* the guard has fired: nothing is told any more */
        char trip_text[CONTROL_TEXT_MAX];
} Pump;

#define PUMP_NONE ((Pump){ .rings = RINGS_NONE, .window = WINDOW_NONE })

/* Before pump_init(): what a judged stream counts; the daemon's text. -EBADMSG. */
int pump_set_counts(Pump *pump, const char *plan);
/* metadata: its text. -EBADMSG, -ENOMEM, -EINVAL. */
int pump_init(Pump *pump,
                const ControlMessage *setup,
                const char *metadata,
                Queue *queue,
                Watchdog *watchdog);
/* Of a snapshot, before its rings: see window_open(). */
int pump_open_window(Pump *pump, int earlier_fd, int kept_fd);
/* Of a snapshot that is judged: reads the rings, so that whoever is found to be a member from now
 * on was one in all that was read. -errno. */
int pump_read_window(Pump *pump);
/* Reads and puts what the rings hold, or (is_all) until they are empty, as long as the queue is.
 * -ECANCELED with trip_text, once, when the guard has fired; -errno. */
int pump_run(Pump *pump, bool is_all);
/* Reads and judges all that was recorded up to now, as far as the sink lets it. As pump_run(). */
int pump_catch_up(Pump *pump);
/* Records that were lost or cut so far, and so were not counted. */
uint64_t pump_get_lost(Pump *pump);
/* Another consumer goes on with the rings: what the sink takes now, and what was lost behind it.
 * -ENOMEM. */
int pump_leave(Pump *pump);
/* What has not been passed on yet never will be. -ENOMEM. */
int pump_discard(Pump *pump);
/* The last of it, whether or not the sink takes anything, and what was lost behind it; nothing of
 * it when the guard has fired (is_tripped). -ENOMEM. */
int pump_end(Pump *pump);
