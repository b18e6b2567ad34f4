/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Entries that record: how they are created and which files they get. spool-end.c ends them. This
 * file is a part of spool.h. It runs in the event loop, except for the functions marked "In the
 * thread".
 *
 * A consumer gets two files at a time, the current one and the next, so that it never waits for the
 * disk or for a daemon that is restarting. A file's maximum size is accounted when the file is
 * handed out (spool-room.c), so a consumer that only keeps writing cannot exceed a limit. */

#include "spool/spool-record.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/log.h"
#include "interfaces/defence.h"
#include "spool/spool-end.h"
#include "spool/spool-entry.h"
#include "spool/spool-fetch.h"
#include "spool/spool-index.h"
#include "spool/spool-job.h"
#include "spool/spool-room.h"
#include "spool/spool-ship.h"
#include "spool/spool.h"

/* Bytes that were handed out and are not written yet. They count as used. */
uint64_t spool_count_promised(const Spool *spool) {
        const SpoolEntry *entry;
        uint64_t bytes = 0;

        TAILQ_FOREACH(entry, &spool->entries, entries)
                for (size_t i = 0; i < entry->n_members; i++) {
                        const SpoolMember *member = &entry->members[i];
                        uint64_t written = entry->has_note && entry->note.number == member->number
                                                           ? entry->note.bytes
                                                           : 0;

                        if (member->is_promised && member->bytes > written)
                                bytes += member->bytes - written;
                }
        return bytes;
}

static uint64_t count_total(const Spool *spool) {
        const SpoolEntry *entry;
        uint64_t bytes = spool_fetch_count(spool, NULL);

        TAILQ_FOREACH(entry, &spool->entries, entries)
                bytes += spool_entry_count(entry);
        return bytes;
}

/* The last eighth is reserved for root, so that boot recordings and crash reports find space
 * whatever users record. */
static uint64_t get_max_total(const SpoolEntry *entry) {
        uint64_t bytes = entry->spool->limits.max_spool_kb_total * 1024;

        return entry->uid == 0 ? bytes : bytes - bytes / 8;
}

/* A file that is to be shipped stays until it has arrived. */
static bool is_droppable(const SpoolEntry *entry, const SpoolMember *member) {
        return member->number > 0 && !member->is_promised &&
               (!entry->ships || member->number <= entry->shipped_file);
}

static void fill_room(const SpoolEntry *entry, SpoolRoom *room) {
        const Spool *spool = entry->spool;
        size_t n_entries;

        *room = (SpoolRoom){
                .file = entry->make.rotate_bytes,
                .entry = spool_entry_count(entry) - SPOOL_ENTRY_BYTES,
                .max_entry = entry->make.max_bytes,
                .max_uid = entry->uid == 0 ? UINT64_MAX : entry->make.max_bytes_uid,
                .total = count_total(spool),
                .max_total = get_max_total(entry),
                .n_files = entry->n_members,
        };
        spool_get_usage(spool, entry->uid, &room->uid, &n_entries);
        for (size_t i = 0; i < entry->n_members; i++)
                room->n_droppable += is_droppable(entry, &entry->members[i]);
        /* A file that has arrived is not needed here, even if the oldest records are to be kept. */
        room->keeps_newest = entry->make.keeps_newest || (entry->ships && room->n_droppable > 0);
}

/* Creation */

static int make_work(SpoolJob *job, Reason *reason) {
        const SpoolDisk *disk = &job->spool->disk;
        uint64_t bytes = 0;

        int r = spool_disk_get_free(disk, &bytes);
        if (r == 0 && bytes < job->needs_bytes)
                return reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "spool: its disk is full: %" PRIu64 " kB are free, %" PRIu64
                                " needed (spool-keep-free-kb): remove recordings, see 'ktracectl spool list'",
                                bytes / 1024,
                                job->needs_bytes / 1024);
        r = r ?: spool_disk_make_entry(disk, job->id);
        if (r == 0) {
                r = spool_disk_save(disk, job->id, job->text);
                if (r < 0)
                        (void)spool_disk_remove_entry(disk, job->id);
        }
        return r == 0 ? 0
                      : reason_set(reason,
                                        KT_E_FAILED,
                                        "spool: nothing can be written to %s: %s",
                                        disk->path,
                                        strerror(-r));
}

static void spool_record_on_made(SpoolJob *job, int result, const Reason *reason) {
        SpoolEntry *entry = job->entry;

        if (result == 0)
                entry->state = SPOOL_RECORDING;
        if (job->handler)
                job->handler(result == 0 ? entry : NULL, result, reason, job->userdata);
        else if (result == 0)
                spool_end(entry, "cancelled", "the request for it was cancelled");
        if (result != 0)
                spool_entry_free(entry);
}

static int spool_record_refuse(const char *limit, uint64_t allowed_kb, Reason *reason) {
        return reason_set(reason,
                        KT_E_LIMIT_REACHED,
                        "spool: no room for another recording (%s, %" PRIu64
                        " allowed): remove some, see 'ktracectl spool list'",
                        limit,
                        allowed_kb);
}

static int check_made(const SpoolEntry *entry, Reason *reason) {
        const Spool *spool = entry->spool;
        uint64_t bytes = 0, two = 2 * entry->make.rotate_bytes;
        size_t n = 0;

        spool_get_usage(spool, entry->uid, &bytes, &n);
        if (entry->uid != 0 && n > spool->limits.max_spool_entries_per_uid)
                return spool_record_refuse("max-spool-entries-per-uid",
                                spool->limits.max_spool_entries_per_uid,
                                reason);
        if (entry->uid != 0 && bytes + two > entry->make.max_bytes_uid)
                return spool_record_refuse(
                                "max-spool-kb-per-uid", entry->make.max_bytes_uid / 1024, reason);
        if (count_total(spool) + two > get_max_total(entry))
                return spool_record_refuse(
                                "max-spool-kb-total", get_max_total(entry) / 1024, reason);
        return 0;
}

static void begin_make(SpoolJob *job, int result, const Reason *reason) {
        SpoolEntry *entry = job->entry;
        const Spool *spool = job->spool;
        Reason why = *reason;

        int r = result ?: check_made(entry, &why);
        if (r == KT_E_LIMIT_REACHED && spool_reclaim(job->spool, entry->uid)) {
                TAILQ_INSERT_TAIL(&job->spool->ending, job, jobs);
                return;
        }
        r = r ?: spool_entry_save(entry, &job->text);
        if (r != 0) {
                spool_record_on_made(job, r, &why);
                spool_job_free(job);
                return;
        }
        job->needs_bytes = spool->limits.spool_keep_free_kb * 1024 + spool_count_promised(spool) +
                           2 * entry->make.rotate_bytes;
        job->work = make_work;
        job->over = spool_record_on_made;
        spool_job_submit(job, entry->uid);
}

static int make_id(const Spool *spool, char id[static KT_ID_DIGITS + 1]) {
        uint64_t random;

        do {
                if (getrandom(&random, sizeof(random), 0) != sizeof(random))
                        return errno ? -errno : -EIO;
                (void)snprintf(id, KT_ID_DIGITS + 1, "%016" PRIx64, random);
        } while (spool_find(spool, id));
        return 0;
}

static int new_entry(Spool *spool, const SpoolMake *make, SpoolEntry **ret) {
        char id[KT_ID_DIGITS + 1];
        int r = 0;

        if (make->id)
                (void)snprintf(id, sizeof(id), "%s", make->id);
        else
                r = make_id(spool, id);
        if (r < 0)
                return r;
        SpoolEntry *entry = spool_entry_new(spool, id);
        if (!entry)
                return -ENOMEM;
        entry->uid = make->uid;
        entry->make = *make;
        (void)snprintf(entry->name, sizeof(entry->name), "%s", make->name ?: "");
        (void)snprintf(entry->kind, sizeof(entry->kind), "%s", make->kind);
        entry->ships = make->ships;
        if (make->rule && !(entry->rule = strdup(make->rule))) {
                spool_entry_free(entry);
                return -ENOMEM;
        }
        /* owned by the caller */
        entry->make.id = entry->make.name = entry->make.kind = entry->make.rule = NULL;
        entry->make.spec = NULL;
        entry->spec = json_object_get(make->spec);
        entry->created_usec = spool_now_usec();
        *ret = entry;
        return 0;
}

int spool_make(Spool *spool, const SpoolMake *make, SpoolHandler handler, void *userdata) {
        SpoolEntry *entry = NULL;

        int r = new_entry(spool, make, &entry);
        if (r < 0)
                return r;
        SpoolJob *job = spool_job_new(spool, entry->id);
        if (!job) {
                spool_entry_free(entry);
                return -ENOMEM;
        }
        job->entry = entry;
        job->handler = handler;
        job->userdata = userdata;
        job->begin = begin_make;
        r = spool_job_when_loaded(job);
        if (r < 0)
                spool_entry_free(entry);
        return r;
}

static void spool_record_free_job(SpoolJob *job,
                int result _unused_,
                const Reason *reason _unused_) {
        spool_job_free(job);
}

int spool_adopt(Spool *spool, const SpoolMake *make, bool goes_on, SpoolEntry **ret) {
        SpoolEntry *entry = NULL;
        SpoolJob *job = spool_job_new(spool, NULL);

        int r = job ? new_entry(spool, make, &entry) : -ENOMEM;
        if (r < 0) {
                spool_job_free(job);
                return r;
        }
        entry->is_adopted = true;
        entry->goes_on = goes_on;
        entry->state = SPOOL_RECORDING;
        job->begin = spool_record_free_job;
        r = spool_job_when_loaded(job);
        if (r < 0) {
                spool_entry_free(entry);
                return r;
        }
        *ret = entry;
        return 0;
}

/* Handing out files */

static void spool_record_give_next_file(SpoolEntry *entry);

static void spool_record_report(SpoolEntry *entry,
                SpoolFileNews news,
                unsigned number,
                int fd,
                const char *text) {
        if (entry->receiver)
                entry->receiver->on_file(entry, news, number, fd, text, entry->receiver_userdata);
        else if (fd >= 0)
                close(fd);
}

static void wait_for_room(SpoolEntry *entry, const char *text) {
        if (!entry->is_waiting) {
                entry->is_waiting = true;
                spool_record_report(entry, SPOOL_WAIT, 0, -1, text);
        }
        spool_retry_later(entry->spool);
}

/* In the thread. A file may already exist although the consumer does not know it. Then a daemon was
 * killed before it could hand the file over, and the file is empty. */
static int create_next(SpoolJob *job) {
        const SpoolDisk *disk = &job->spool->disk;
        uint64_t bytes = 0;

        int r = spool_disk_create(disk, job->id, job->name, &job->fd);
        if (r != -EEXIST || spool_disk_get_size(disk, job->id, job->name, &bytes) < 0 || bytes > 0)
                return r;
        r = spool_disk_unlink(disk, job->id, job->name);
        return r ?: spool_disk_create(disk, job->id, job->name, &job->fd);
}

/* In the thread. */
static int spool_record_create_file(SpoolJob *job, Reason *reason _unused_) {
        const SpoolDisk *disk = &job->spool->disk;
        char name[SPOOL_MEMBER_MAX + 1];
        uint64_t bytes = 0;

        for (unsigned number = job->drop_from; number > 0 && number <= job->drop_to; number++) {
                spool_format_number(number, name);
                (void)spool_disk_unlink(disk, job->id, name); /* may already be gone */
        }
        spool_format_number(job->measured, name);
        if (job->measured > 0)
                (void)spool_disk_get_size(disk, job->id, name, &job->bytes); /* else as reported */
        if (job->number == 0)
                return 0;
        int r = spool_disk_get_free(disk, &bytes);
        if (r == 0 && bytes < job->needs_bytes)
                return -ENOSPC;
        r = r ?: create_next(job);
        if (r == 0 && job->syncs)
                (void)spool_disk_sync(disk, job->id); /* a failed sync leaves the file usable */
        return r;
}

static SpoolMember *spool_record_find_oldest(const SpoolEntry *entry) {
        for (size_t i = 0; i < entry->n_members; i++)
                if (is_droppable(entry, &entry->members[i]))
                        return &entry->members[i];
        return NULL;
}

/* The file counts as removed even if the disk fails to remove it. A current reader keeps its bytes
 * accounted. */
static void drop_oldest(SpoolEntry *entry, SpoolJob *job) {
        SpoolMember *oldest = spool_record_find_oldest(entry);

        if (job->drop_from == 0)
                job->drop_from = oldest->number;
        job->drop_to = oldest->number;
        if (!entry->ships) { /* else it has arrived elsewhere: nothing is missing */
                entry->n_dropped_files++;
                entry->dropped_bytes += oldest->bytes;
        }
        spool_fetch_pin(entry->spool, entry->id, oldest);
        spool_entry_drop(entry, oldest);
}

/* The consumer has reported the length of the last complete file. The disk's figure is reliable. */
static void take_measure(SpoolEntry *entry, const SpoolJob *job) {
        for (size_t i = 0; job->measured > 0 && i < entry->n_members; i++) {
                SpoolMember *member = &entry->members[i];

                if (member->number == job->measured && !member->is_promised &&
                                defence_is_on("spool-measure"))
                        member->bytes = MAX_OF(member->bytes, job->bytes);
        }
}

static void on_given(SpoolJob *job, int result, const Reason *reason) {
        SpoolEntry *entry = spool_find(job->spool, job->id);
        SpoolMember *member;
        SpoolRoom room;

        if (!entry || entry->state != SPOOL_RECORDING)
                return;
        entry->gives = false;
        take_measure(entry, job);
        member = spool_entry_find(entry, job->name);
        if (result == 0 && job->number > 0) {
                entry->last_given = job->number;
                entry->is_waiting = false;
                spool_record_report(entry, SPOOL_FILE, job->number, TAKE_FD(job->fd), "");
        } else if (result != 0) {
                if (member)
                        spool_entry_drop(entry, member);
                fill_room(entry, &room);
                entry->drops = result == -ENOSPC && spool_room_judge_disk(&room) == SPOOL_ROOM_DROP;
                if (!entry->drops)
                        wait_for_room(entry,
                                        result == -ENOSPC ? "the disk is full"
                                        : result > 0      ? reason->text
                                                          : strerror(-result));
                else
                        spool_record_give_next_file(entry);
                return;
        }
        spool_save_entry(entry);
        spool_record_give_next_file(entry);
}

static void submit_file(SpoolEntry *entry, SpoolJob *job) {
        const Spool *spool = entry->spool;

        job->work = spool_record_create_file;
        job->over = on_given;
        entry->gives = true;
        job->measured = entry->has_note && entry->note.number > 1 ? entry->note.number - 1 : 0;
        if (job->number > 0) {
                job->needs_bytes = spool->limits.spool_keep_free_kb * 1024 +
                                   spool_count_promised(spool) + entry->make.rotate_bytes;
                job->syncs = entry->make.sync_sec != CONTROL_SYNC_NONE;
                spool_format_number(job->number, job->name);
                SpoolMember *member = spool_entry_add(entry, job->name, entry->make.rotate_bytes);
                if (member)
                        member->is_promised = true;
        }
        spool_job_submit(job, entry->uid);
}

static void spool_record_give_next_file(SpoolEntry *entry) {
        unsigned current = entry->has_note ? MAX_OF(entry->note.number, 1U) : 1;
        const char *limit = NULL;
        SpoolRoom room;

        if (entry->gives || entry->is_full || !entry->receiver || entry->last_given > current ||
                        (entry->is_adopted && !entry->is_loaded))
                return;
        SpoolJob *job = spool_job_new(entry->spool, entry->id);
        if (!job) {
                wait_for_room(entry, "no memory");
                return;
        }
        fill_room(entry, &room);
        SpoolVerdict verdict = entry->drops ? spool_room_judge_disk(&room)
                                            : spool_room_judge(&room, &limit);
        entry->drops = false;
        while (verdict == SPOOL_ROOM_DROP) {
                drop_oldest(entry, job);
                fill_room(entry, &room);
                verdict = spool_room_judge(&room, &limit);
        }
        if (verdict != SPOOL_ROOM_YES && !spool_room_is_own(&room) &&
                        spool_reclaim(entry->spool, entry->uid))
                verdict = SPOOL_ROOM_WAIT;
        job->number = verdict == SPOOL_ROOM_YES ? entry->last_given + 1 : 0;
        entry->is_full = verdict == SPOOL_ROOM_FULL;
        if (job->number > 0 || job->drop_from > 0)
                submit_file(entry, TAKE_PTR(job));
        spool_job_free(job);
        if (verdict == SPOOL_ROOM_WAIT)
                wait_for_room(entry,
                                limit && entry->ships && room.n_droppable == 0
                                                ? "files that are not shipped yet fill it"
                                                : limit ?: "the disk is full");
        if (verdict == SPOOL_ROOM_FULL)
                spool_record_report(entry, SPOOL_FULL, 0, -1, limit);
}

void spool_start_files(SpoolEntry *entry, const SpoolReceiver *receiver, void *userdata) {
        entry->receiver = receiver;
        entry->receiver_userdata = userdata;
        if (!entry->goes_on)
                spool_record_give_next_file(entry);
}

void spool_stop_files(SpoolEntry *entry) {
        entry->receiver = NULL;
}

void spool_record_retry(Spool *spool) {
        SpoolEntry *entry, *next;

        for (entry = TAILQ_FIRST(&spool->entries); entry && !spool->is_closing; entry = next) {
                next = TAILQ_NEXT(entry, entries);
                if (entry->state == SPOOL_RECORDING && entry->is_waiting)
                        spool_record_give_next_file(entry);
        }
}

/* The files before the current one are complete. The consumer reports the length of the last
 * complete file; the disk reports the others. */
static void settle_members(SpoolEntry *entry) {
        for (size_t i = 0; i < entry->n_members; i++) {
                SpoolMember *member = &entry->members[i];
                bool is_current = member->number >= entry->note.number;

                if (member->number == 0)
                        continue;
                if (is_current) {
                        member->is_promised = true;
                        member->bytes = entry->make.rotate_bytes;
                } else if (member->is_promised) {
                        member->is_promised = false;
                        if (member->number + 1 == entry->note.number &&
                                        entry->note.closed_bytes > 0)
                                member->bytes = entry->note.closed_bytes;
                }
        }
}

/* Finds the position of a consumer that a previous daemon supplied. A report that is not an answer
 * to this daemon may be older than the last file from that daemon. The position is known once the
 * files on the disk are known. */
static bool settle_adopted(SpoolEntry *entry) {
        unsigned last = entry->note.number + (entry->note.has_next ? 1 : 0), known = 0;

        for (size_t i = 0; i < entry->n_members; i++)
                known = MAX_OF(known, entry->members[i].number);
        if (entry->note.number > known || last > known)
                return false;
        entry->last_given = last;
        entry->goes_on = false;
        return true;
}

void spool_take_note(SpoolEntry *entry, const SpoolNote *note) {
        /* A compromised consumer must not name files that it did not get. */
        if (entry->goes_on ? !note->is_answer && !entry->has_note
                           : note->number == 0 || note->number > entry->last_given)
                return;
        entry->note = *note;
        entry->has_note = true;
        entry->note.closed_bytes = MIN_OF(note->closed_bytes, entry->make.rotate_bytes);
        entry->note.bytes = MIN_OF(note->bytes, entry->make.rotate_bytes);
        if (entry->is_adopted && !entry->is_loaded)
                return;
        if (entry->goes_on && !settle_adopted(entry))
                return;
        settle_members(entry);
        spool_record_give_next_file(entry);
}

void spool_record_loaded(SpoolEntry *entry) {
        entry->is_loaded = true;
        if (!entry->goes_on) {
                for (size_t i = 0; i < entry->n_members; i++)
                        entry->last_given = MAX_OF(entry->last_given, entry->members[i].number);
                entry->has_note = true;
                entry->note.number = entry->last_given + 1;
                spool_record_give_next_file(entry);
        } else if (entry->has_note) {
                SpoolNote note = entry->note;

                spool_take_note(entry, &note);
        }
}

void spool_make_room(SpoolEntry *entry) {
        SpoolRoom room;

        fill_room(entry, &room);
        if (entry->gives || entry->state != SPOOL_RECORDING ||
                        spool_room_judge_disk(&room) != SPOOL_ROOM_DROP)
                return;
        SpoolJob *job = spool_job_new(entry->spool, entry->id);
        if (!job)
                return;
        drop_oldest(entry, job);
        submit_file(entry, job);
}

uint64_t spool_get_max_bytes(const SpoolEntry *entry) {
        return entry->make.max_bytes;
}

uint64_t spool_get_rotate_bytes(const SpoolEntry *entry) {
        return entry->make.rotate_bytes;
}

unsigned spool_get_sync(const SpoolEntry *entry) {
        return entry->make.sync_sec;
}

const char *spool_get_id(const SpoolEntry *entry) {
        return entry->id;
}

int spool_describe_entry(const SpoolEntry *entry, json_object **ret) {
        return spool_entry_describe(entry, ret);
}
