/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The end of an entry: it removes unused files, counts what the disk holds, and writes the reason
 * to session.json. This file is a part of spool.h. It runs in the event loop, except for the
 * functions marked "In the thread". */

#include "spool/spool-end.h"

#include <string.h>
#include <time.h>

#include "base/log.h"
#include "interfaces/utf8.h"
#include "spool/spool-entry.h"
#include "spool/spool-index.h"
#include "spool/spool-job.h"
#include "spool/spool-record.h"
#include "spool/spool.h"

uint64_t spool_now_usec(void) {
        struct timespec now;

        (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail */
        return control_nsec(&now) / 1000;
}

/* In the thread. */
static int spool_end_close_work(SpoolJob *job, Reason *reason _unused_) {
        const SpoolDisk *disk = &job->spool->disk;
        char name[SPOOL_MEMBER_MAX + 1];

        /* Removes the files that were handed out last and are empty: the consumer never wrote to
         * the file after the last one. */
        for (unsigned number = job->drop_from; number > 0 && number <= job->drop_to; number++) {
                uint64_t bytes;

                spool_format_number(number, name);
                if (spool_disk_get_size(disk, job->id, name, &bytes) == 0 && bytes == 0)
                        (void)spool_disk_unlink(disk, job->id, name);
        }
        /* The disk's figures replace those that the consumer reported. */
        return spool_index_read_entry(&job->spool->disk, job->id, &job->list);
}

/* In the thread. */
static int save_work(SpoolJob *job, Reason *reason _unused_) {
        return spool_disk_save(&job->spool->disk, job->id, job->text);
}

/* Calls that wait for the end of any entry try again. */
static void set_ended(SpoolEntry *entry) {
        entry->state = SPOOL_ENDED;
        spool_job_ask_again(entry->spool);
}

static void on_saved(SpoolJob *job, int result, const Reason *reason) {
        SpoolEntry *entry = spool_find(job->spool, job->id);

        if (result != 0)
                log_warning("spool: %s: " SPOOL_JSON " cannot be written: %s",
                                job->id,
                                result > 0 ? reason->text : strerror(-result));
        if (entry && entry->state == SPOOL_CLOSING)
                set_ended(entry);
}

void spool_save_entry(SpoolEntry *entry) {
        SpoolJob *job = spool_job_new(entry->spool, entry->id);

        if (job && spool_entry_save(entry, &job->text) == 0) {
                job->work = save_work;
                job->over = on_saved;
                spool_job_submit(job, entry->uid);
                return;
        }
        spool_job_free(job);
        if (entry->state == SPOOL_CLOSING)
                set_ended(entry);
}

static void spool_end_on_closed(SpoolJob *job, int result, const Reason *reason _unused_) {
        SpoolEntry *entry = spool_find(job->spool, job->id);

        if (!entry)
                return;
        if (result == 0) {
                entry->n_members = 0;
                spool_index_take_files(entry, job->list);
        }
        for (size_t i = 0; i < entry->n_members; i++)
                entry->members[i].is_promised = false;
        if (!job->spool->is_closing)
                spool_save_entry(entry);
        spool_record_retry(job->spool);
}

/* The text may come from a consumer and may be too long. The result is valid UTF-8, which every
 * client interface requires. */
static void spool_end_set_text(char *to, size_t size, const char *text) {
        Reason clean = {};
        size_t n = 0;

        (void)reason_set(&clean, 0, "%s", text);
        while (clean.text[n]) {
                size_t next = utf8_length(clean.text + n, strlen(clean.text + n));

                if (next == 0 || n + next >= size)
                        break;
                n += next;
        }
        memcpy(to, clean.text, n);
        to[n] = '\0';
}

void spool_close_entry(SpoolEntry *entry, const char *code, const char *reason) {
        SpoolJob *job = spool_job_new(entry->spool, entry->id);

        entry->receiver = NULL;
        entry->gives = entry->is_waiting = false;
        entry->state = SPOOL_CLOSING;
        entry->ended_usec = spool_now_usec();
        spool_end_set_text(entry->code, sizeof(entry->code), code);
        spool_end_set_text(entry->reason, sizeof(entry->reason), reason);
        if (!job) {
                set_ended(entry);
                return;
        }
        if (entry->n_members > 0) {
                job->drop_to = entry->members[entry->n_members - 1].number;
                job->drop_from = job->drop_to > 2 ? job->drop_to - 2 : 1;
        }
        job->work = spool_end_close_work;
        job->over = spool_end_on_closed;
        spool_job_submit(job, entry->uid);
}

void spool_finish(SpoolEntry *entry) {
        entry->is_finishing = true;
}

/* Destroy is answered before the consumer has written everything to the disk. */
bool spool_hold_until_ended(SpoolEntry *entry, SpoolJob *job) {
        bool is_ending = entry->state == SPOOL_CLOSING ||
                         (entry->state == SPOOL_RECORDING && entry->is_finishing);

        if (is_ending)
                TAILQ_INSERT_TAIL(&entry->spool->ending, job, jobs);
        return is_ending;
}

void spool_end(SpoolEntry *entry, const char *code, const char *reason) {
        entry->lost = entry->has_note ? entry->note.lost : entry->lost;
        if (!entry->spool->is_closing)
                spool_close_entry(entry, code, reason);
}
