/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <systemd/sd-event.h>

#include "interfaces/cleanup.h"

/* What is told with a reason: why a session ends, before its end, and what it can do no more. */
typedef enum NoticeReason {
        NOTICE_GUARD_FIRED,
        NOTICE_INTERFERENCE,
        NOTICE_LIMIT_HIT,
        NOTICE_NOTIFY_FAILED,
        NOTICE_SPOOL_WAITS,
} NoticeReason;

/* What is told the owner of a session while it goes on. */
typedef struct Notices Notices;

typedef struct NoticesOptions {
        sd_event *event;
        const char *session; /* id; borrowed */
        unsigned n_cpus;
        /* {"kind","session","sequence","monotonic-nsec","realtime-nsec","merged",…}; the caller's
         */
        void (*tell)(json_object *notice, void *userdata);
        /* Of the same owner: those that have told something just now, this one included. */
        size_t (*count_busy)(void *userdata);
        void *userdata;
} NoticesOptions;

int notices_new(const NoticesOptions *options, Notices **ret);
Notices *notices_free(Notices *notices);
DEFINE_CLEANUP(Notices, notices_free);
bool notices_are_busy(const Notices *notices);

/* What has been told, for the daemon that comes after this one; and there. What waits is left out:
 * it is counted anew. */
int notices_save(const Notices *notices, json_object **ret);
int notices_load(Notices *notices, json_object *object);
/* Hits of this trigger that were told. */
uint64_t notices_get_hits(const Notices *notices, unsigned trigger);

/* NULL is fine, below. */
/* lost: of each CPU, since the beginning. Less than before: it began anew. */
void notices_take_losses(Notices *notices, const uint64_t *lost);
void notices_take_snapshot(Notices *notices);
/* A trigger's event has come `n` times more, last in process pid. Triggers count from 0; the name
 * is borrowed. */
void notices_take_hits(Notices *notices,
                unsigned trigger,
                const char *event,
                uint64_t n,
                uint32_t pid);
/* What waits is told now. */
void notices_flush(Notices *notices);
/* Told at once, behind all that waits. limit: its name and value, of NOTICE_LIMIT_HIT. */
void notices_take_reason(Notices *notices,
                NoticeReason kind,
                const char *text,
                const char *limit,
                uint64_t value);
/* What others have changed while it goes on: told at once, with all that `details` has. */
void notices_take_changes(Notices *notices, const char *text, json_object *details);
