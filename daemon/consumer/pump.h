/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/counts.h"
#include "consumer/fence.h"
#include "consumer/packer.h"
#include "consumer/past.h"
#include "consumer/queue.h"
#include "consumer/view.h"
#include "consumer/window.h"
#include "interfaces/control.h"

/* How far the rings are read. A fence always needs everything up to now. */
typedef enum PumpReach {
        PUMP_FULL, /* full sub-buffers only */
        PUMP_HELD, /* all records that the rings hold at the beginning */
        PUMP_ALL,  /* until the rings are empty; for the end, when nothing more is recorded */
} PumpReach;

/* Moves data from the rings to the queue. */
typedef struct Pump {
        Queue *queue;
        Watchdog *watchdog;
        Masks *masks; /* NULL: records pass unchanged */
        PageTally tally;
        Fence fence;
        Bucket bucket;
        Rings rings;
        View view;                /* for a session that shares an instance: instead of the rings */
        Window window;            /* for a snapshot */
        int lives_fd;             /* until pump_init(); -1: the snapshot is not of one user */
        Past *past;               /* of a snapshot of one user; NULL: another stream */
        json_object *counts_plan; /* until pump_init() */
        Counts *counts;           /* NULL: the stream counts nothing */
        bool is_muted;            /* the stream has no reader: its records are only counted */
        size_t subbuf_size, batch_size; /* batch: what is read at once */
        size_t frame_size;              /* of data, in a file of a spool; at most a batch */
        uint64_t ring_bytes;            /* limit of what is read from a ring at once */
        uint8_t *batch;
        Packer packer;
        bool is_behind; /* a ring was half full: data is not compressed, which might lose events */
        uint64_t found_bytes; /* read since the consumer has set it to 0 */
        bool found_any;       /* set by pump_run(), never unset here */
        bool is_ending;       /* reads everything, also into memory; set by pump_end() */
        bool is_tripped;      /* the guard has fired: nothing more is sent */
        char trip_text[CONTROL_TEXT_MAX];
} Pump;

#define PUMP_NONE \
        ((Pump){ .rings = RINGS_NONE, .view = VIEW_NONE, .window = WINDOW_NONE, .lives_fd = -1 })

/* Sets what the stream counts, as text from the daemon. Must be called before pump_init().
 * Fails with -EBADMSG. */
int pump_set_counts(Pump *pump, const char *plan);
/* metadata: its text. Fails with -EBADMSG, -ENOMEM or -EINVAL. */
int pump_init(Pump *pump,
                const ControlMessage *setup,
                const char *metadata,
                Queue *queue,
                Watchdog *watchdog);
/* Takes the fds of VIEW instead of rings. */
int pump_open_view(Pump *pump, int *fds);
/* For a snapshot, before its rings: see window_open(). Consumes kept_fd. */
int pump_open_window(Pump *pump, int earlier_fd, int kept_fd);
/* For a judged snapshot: reads the rings. A task that is found to be a member after this call was a
 * member in all data that was read. Returns -errno on failure. */
int pump_read_window(Pump *pump);
/* Reads the rings and puts their data into the queue, as long as the queue is empty. Fails with
 * -ECANCELED and trip_text, once, when the guard has fired. Otherwise returns -errno on failure. */
int pump_run(Pump *pump, PumpReach reach);
/* Reads and judges all records up to now, as far as the sink takes them. Errors as in
 * pump_run(). */
int pump_catch_up(Pump *pump);
/* Returns the number of records that were lost or cut so far, and so were not counted. */
uint64_t pump_get_lost(Pump *pump);
/* Another consumer continues with the rings. Puts what the sink takes now, and the losses after it.
 * Fails with -ENOMEM. */
int pump_leave(Pump *pump);
/* Discards the data that was not passed on yet. Fails with -ENOMEM. */
int pump_discard(Pump *pump);
/* Puts the rest of the data, whether or not the sink takes it, and the losses after it. Puts
 * nothing when the guard has fired (is_tripped). Fails with -ENOMEM. A snapshot puts nothing yet:
 * it reads its rings into the window for the next snapshot. */
int pump_end(Pump *pump);
/* For a snapshot, after pump_end(): puts the data of the window. Does not need the rings. */
int pump_put_window(Pump *pump);
