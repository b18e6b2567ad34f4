/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <systemd/sd-event.h>

#include "interfaces/cleanup.h"

/* Notices with a reason: why a session is about to end, or which function it has lost. */
typedef enum NoticeReason {
        NOTICE_GUARD_FIRED,
        NOTICE_INTERFERENCE,
        NOTICE_LIMIT_HIT,
        NOTICE_NOTIFY_FAILED,
        NOTICE_SPOOL_WAITS,
} NoticeReason;

/* The notices to the owner of a running session. */
typedef struct Notices Notices;

typedef struct NoticesOptions {
        sd_event *event;
        const char *session; /* id; borrowed */
        unsigned n_cpus;
        /* notice: {"kind","session","sequence","monotonic-nsec","realtime-nsec","merged",…}. The
         * caller keeps it. */
        void (*tell)(json_object *notice, void *userdata);
        /* Returns the number of this owner's sessions that have just sent a notice, including this
         * one. */
        size_t (*count_busy)(void *userdata);
        void *userdata;
} NoticesOptions;

int notices_new(const NoticesOptions *options, Notices **ret);
Notices *notices_free(Notices *notices);
DEFINE_CLEANUP(Notices, notices_free);
bool notices_are_busy(const Notices *notices);

/* Save and load the numbers that were reported, for the next daemon. Waiting occurrences are not
 * saved, because the next daemon counts them again. */
int notices_save(const Notices *notices, json_object **ret);
int notices_load(Notices *notices, json_object *object);
/* Returns the total hits of this trigger, including those not reported yet. */
uint64_t notices_get_hits(const Notices *notices, unsigned trigger);

/* The functions below accept NULL. */
/* lost: for each CPU, since the start of the trace. A smaller value than before means that the
 * count was reset. */
void notices_take_losses(Notices *notices, const uint64_t *lost);
void notices_take_snapshot(Notices *notices);
/* A trigger's event has occurred `n` more times, last in process pid. Triggers count from 0. The
 * name is borrowed. */
void notices_take_hits(Notices *notices,
                unsigned trigger,
                const char *event,
                uint64_t n,
                uint32_t pid);
/* Reports all waiting occurrences now. */
void notices_flush(Notices *notices);
/* Reports the reason immediately, after all waiting occurrences. limit: name of the limit and its
 * value, for NOTICE_LIMIT_HIT. */
void notices_take_reason(Notices *notices,
                NoticeReason kind,
                const char *text,
                const char *limit,
                uint64_t value);
/* Reports a change that another program has made to the running session, immediately and with all
 * members of `details`. */
void notices_take_changes(Notices *notices, const char *text, json_object *details);
