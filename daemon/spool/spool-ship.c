/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Recordings that a service sends to another machine. The owner marks them (`ship` of the spec's
 * `spool`), and a rule lets the service ship them (`ship` of ktrace-policy(5)). The service reads
 * them through spool-fetch.c and acknowledges each file when it has arrived. This file is a part of
 * spool.h. It runs in the event loop, except for the functions marked "In the thread".
 *
 * Until a file is acknowledged, nothing removes it except its owner. When space is needed, files
 * that were acknowledged are removed first, then whole recordings of the same user that have
 * arrived. If that is not enough, the recording waits: new events are lost and counted.
 *
 * The rules are asked at each call, with the label of the rule that granted the recording. So a
 * changed rule applies at once, also to old recordings. */

#include "spool/spool-ship.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "interfaces/defence.h"
#include "interfaces/quote.h"
#include "spool/spool-fetch.h"
#include "spool/spool-index.h"
#include "spool/spool-job.h"
#include "spool/spool-record.h"

#define END "end" /* no stream has this name */

bool spool_may_ship(const SpoolEntry *entry, const Subject *subject) {
        const Policy *policy = entry->spool->policy;
        bool is_marked = entry->ships || !defence_is_on("spool-mark");

        return is_marked && policy && entry->rule && policy_may_ship(policy, subject, entry->rule);
}

/* Files without data are not sent. */
static unsigned spool_ship_find_last(const SpoolEntry *entry) {
        unsigned last = 0;

        for (size_t i = 0; i < entry->n_members; i++)
                if (entry->members[i].bytes > 0)
                        last = MAX_OF(last, entry->members[i].number);
        return last;
}

/* Whole files that an old acknowledgement names may be gone. */
static int acknowledge_file(SpoolEntry *entry, const char *file, Reason *reason) {
        const SpoolMember *member = spool_entry_find(entry, file);

        if (!member || member->number == 0)
                return reason_set(reason,
                                KT_E_NO_SUCH_SESSION,
                                "%s: %s: no such stream",
                                entry->id,
                                quote(file).text);
        if (member->is_promised)
                return reason_set(reason,
                                KT_E_BUSY,
                                "%s: %s is still being written",
                                entry->id,
                                file);
        entry->shipped_file = MAX_OF(entry->shipped_file, member->number);
        return 0;
}

static int acknowledge_end(SpoolEntry *entry, Reason *reason) {
        if (entry->state != SPOOL_ENDED)
                return reason_set(reason, KT_E_BUSY, "%s still records", entry->id);
        if (entry->shipped_file < spool_ship_find_last(entry))
                return reason_set(reason,
                                KT_E_BUSY,
                                "%s: files after number %u are not acknowledged yet",
                                entry->id,
                                entry->shipped_file);
        entry->is_shipped = true;
        return 0;
}

static int acknowledge(SpoolEntry *entry, const char *name, Reason *reason) {
        unsigned shipped_file = entry->shipped_file;
        bool is_shipped = entry->is_shipped;

        int r = strcmp(name, END) == 0 ? acknowledge_end(entry, reason)
                                       : acknowledge_file(entry, name, reason);
        if (entry->shipped_file != shipped_file || entry->is_shipped != is_shipped)
                entry->has_unsaved = true;
        return r;
}

/* In the thread. */
static int spool_ship_save(SpoolJob *job, Reason *reason) {
        int r = spool_disk_save(&job->spool->disk, job->id, job->text);

        return r == 0 ? 0
                      : reason_set(reason,
                                        KT_E_FAILED,
                                        "%s: " SPOOL_JSON " cannot be written: %s",
                                        job->id,
                                        strerror(-r));
}

static void spool_ship_on_saved(SpoolJob *job, int result, const Reason *reason) {
        Request *request = TAKE_PTR(job->request);
        SpoolEntry *entry = spool_find(job->spool, job->id);

        if (result == 0 && entry)
                entry->has_unsaved = false;
        request->done(request, result, reason);
}

static int check_shipper(const SpoolEntry *entry, const SpoolJob *job, Reason *reason) {
        const Subject *subject = &job->request->subject;

        if (!entry || !spool_is_visible(entry, subject, REACH_OWN))
                return reason_set(reason,
                                KT_E_NO_SUCH_SESSION,
                                "%s: no such recording: ListSpool returns yours",
                                quote(job->id).text);
        if (spool_may_ship(entry, subject) || !defence_is_on("spool-acknowledge"))
                return 0;
        return reason_set(reason,
                        KT_E_ACCESS_DENIED,
                        "%s: only a service that a rule lets ship it can acknowledge it",
                        entry->id);
}

/* What has arrived is true, even if it cannot be written to the disk. Then the service is asked
 * again, but the space may be used: a full disk must not keep the file for ever. */
static void begin_acknowledge(SpoolJob *job, int result, const Reason *reason) {
        SpoolEntry *entry = spool_find(job->spool, job->id);
        Reason why = *reason;

        int r = result ?: check_shipper(entry, job, &why);
        r = r ?: acknowledge(entry, job->name, &why);
        bool is_saved = r == 0 && !entry->has_unsaved; /* it was said before */
        r = r || is_saved ? r : spool_entry_save(entry, &job->text);
        if (r != 0 || is_saved) {
                Request *request = TAKE_PTR(job->request);

                spool_job_free(job);
                request->done(request, r, &why);
                return;
        }
        job->work = spool_ship_save;
        job->over = spool_ship_on_saved;
        spool_job_submit(job, entry->uid);
        spool_record_retry(entry->spool);
}

int spool_acknowledge(Spool *spool,
                Request *request,
                const char *id,
                const char *file,
                Reason *reason) {
        if (strlen(id) != KT_ID_DIGITS || strlen(file) > SPOOL_MEMBER_MAX || !spool)
                return reason_set(reason,
                                KT_E_NO_SUCH_SESSION,
                                "%s: no such recording: ListSpool returns yours",
                                quote(id).text);
        SpoolJob *job = spool_job_new(spool, id);
        if (!job)
                return -ENOMEM;
        (void)snprintf(job->name, sizeof(job->name), "%s", file);
        job->request = request;
        job->begin = begin_acknowledge;
        return spool_job_when_loaded(job);
}

static void on_reclaimed(SpoolJob *job, int result, const Reason *reason) {
        SpoolEntry *entry = spool_find(job->spool, job->id);

        if (entry && result == 0)
                spool_entry_free(entry);
        else if (entry) {
                log_warning("spool: %s", result > 0 ? reason->text : strerror(-result));
                entry->state = SPOOL_ENDED;
                entry->is_shipped = false; /* otherwise it would be tried again and again */
        }
        spool_job_ask_again(job->spool);
        spool_record_retry(job->spool);
}

static SpoolEntry *spool_ship_find_oldest(const Spool *spool, uid_t uid) {
        SpoolEntry *entry, *oldest = NULL;

        TAILQ_FOREACH(entry, &spool->entries, entries)
                if (entry->uid == uid && entry->state == SPOOL_ENDED && entry->is_shipped &&
                                (!oldest || entry->ended_usec < oldest->ended_usec))
                        oldest = entry;
        return oldest;
}

bool spool_reclaim(Spool *spool, uid_t uid) {
        SpoolEntry *entry = spool_ship_find_oldest(spool, uid);
        SpoolJob *job = entry ? spool_job_new(spool, entry->id) : NULL;

        if (!job)
                return false;
        log_write(LOG_NOTICE,
                        &(LogContext){ entry->id, NULL, entry->uid },
                        "a recording that was shipped is removed, because space is needed");
        entry->state = SPOOL_REMOVING;
        spool_fetch_drop(spool, entry->id);
        job->work = spool_job_remove_entry;
        job->over = on_reclaimed;
        spool_job_submit(job, uid);
        return true;
}
