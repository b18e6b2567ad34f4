/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Handles one sub-buffer in the kernel's layout: 8 bytes time stamp, 8 bytes commit, then records.
 * It walks the records in place and cleans them by their events' masks. Records that may not pass
 * become padding of the same length. Bodies of padding are zeroed, because the kernel does not zero
 * them. This code has no side effects outside the sub-buffer and trusts none of its bytes: every
 * length is checked against the sub-buffer, and bytes that cannot be parsed are cut.
 *
 * The sub-buffers of a fenced session are walked when they arrive (page_scan). They are judged when
 * it is known which tasks were members at the time (page_judge). That requires a second walk only
 * when something must be cut.
 *
 * It relies on the record layout of include/linux/ring_buffer.h: a 32-bit word has 5 bits type_len
 * and 27 bits time delta. type_len 1..28 is the length in words, and 0 means that the next word has
 * the length. 29 is padding (with a delta of 0: to the end of the sub-buffer). 30 and 31 have one
 * more word of time. It relies on kernel/trace/ring_buffer.c: bit 31 of commit means that events
 * were missed, and bit 30 means that their count is stored after the records. It relies on the
 * common_flags of kernel/trace/trace.h for events whose flags have a meaning (mask.h). */

#include "consumer/records/page.h"

#include <string.h>

#include "consumer/records/page-walk.h"
#include "interfaces/cleanup.h"
#include "interfaces/defence.h"

size_t page_get_used(const uint8_t *page, size_t size) {
        size_t used;

        if (size < PAGE_HEADER_SIZE)
                return 0;
        used = PAGE_HEADER_SIZE + page_get_commit(page, size);
        uint32_t stored = COMMIT_MISSED | COMMIT_MISSED_STORED;
        if ((page_get_u32(page + 8) & stored) == stored && size - used >= sizeof(uint64_t))
                used += sizeof(uint64_t);
        return used;
}

bool page_forget_missed(uint8_t *page, size_t size) {
        size_t used = page_get_used(page, size), end;

        if (used == 0 || !(page_get_u32(page + 8) & COMMIT_MISSED))
                return false;
        end = PAGE_HEADER_SIZE + page_get_commit(page, size);
        memset(page + end, 0, used - end); /* the count of missed events */
        page_put_u32(page + 8, page_get_u32(page + 8) & ~(COMMIT_MISSED | COMMIT_MISSED_STORED));
        return true;
}

void page_note_missed(uint8_t *page, size_t size) {
        (void)page_forget_missed(page, size); /* a count would be too small */
        if (size >= PAGE_HEADER_SIZE)
                page_put_u32(page + 8, page_get_u32(page + 8) | COMMIT_MISSED);
}

/* Replaces bytes that could not be parsed with padding, up to the end of the committed data. */
static inline void walk_end(const Walk *walk, size_t size, PageTally *tally) {
        size_t used = page_get_used(walk->page, size);

        if (walk->at < walk->end) {
                tally->n_unparsed++;
                memset(walk->page + walk->at, 0, walk->end - walk->at);
                if (walk->end - walk->at >= 4)
                        page_put_u32(walk->page + walk->at, TYPE_PADDING);
        }
        if (defence_is_on("holes"))
                memset(walk->page + used, 0, size - used);
}

/* size must be a multiple of four. A call of memset() costs more than most records. */
static inline void page_clear_words(uint8_t *at, size_t size) {
        const uint64_t none = 0;

        if (size >= 256) {
                memset(at, 0, size);
                return;
        }
        for (; size >= sizeof(none); size -= sizeof(none), at += sizeof(none))
                memcpy(at, &none, sizeof(none));
        if (size > 0)
                page_put_u32(at, 0);
}

/* Replaces the record with padding of the same length. The delta must not be 0, which would mean
 * "to the end of the sub-buffer". */
static inline void drop_record(Walk *walk, const Record *record) {
        uint32_t delta = page_get_u32(record->word) & ~TYPE_MASK;

        if (delta == 0) {
                delta = DELTA_ONE;
                walk->nsec++;
                walk->owes_nsec = true;
        }
        page_put_u32(record->word, delta | TYPE_PADDING);
        page_put_u32(record->word + 4, (uint32_t)record->whole - 4);
        page_clear_words(record->word + 8, record->whole - 8);
}

/* Drops all records: one padding replaces the committed data. */
static void drop_all(uint8_t *page, size_t size) {
        size_t end = PAGE_HEADER_SIZE + page_get_commit(page, size);

        memset(page + PAGE_HEADER_SIZE, 0, end - PAGE_HEADER_SIZE);
        if (end - PAGE_HEADER_SIZE >= 4)
                page_put_u32(page + PAGE_HEADER_SIZE, TYPE_PADDING);
}

static inline void tally_pid(PageTally *tally, uint32_t pid) {
        uint8_t bit = (uint8_t)(1U << (pid % 8));

        if (pid < PAGE_PIDS_MAX && !(tally->pids[pid / 8] & bit)) /* mostly the same few pids */
                tally->pids[pid / 8] |= bit;
}

void page_clean(const Masks *masks, uint8_t *page, size_t size, PageTally *tally) {
        Walk walk = page_walk_begin(page, size, true);
        Record record;

        while (walk_next(&walk, &record)) {
                const Mask *mask = masks_find(masks, page_get_id(&record));

                if (mask) {
                        if (tally->pids && record.size >= COMMON_SIZE)
                                tally_pid(tally, page_get_u32(record.body + 4));
                        mask_clean_record(masks, mask, record.body, record.size);
                } else {
                        drop_record(&walk, &record);
                        tally->n_unknown++;
                }
        }
        walk_end(&walk, size, tally);
}

void page_tally(const uint8_t *page, size_t size, PageTally *tally) {
        Walk walk = page_walk_begin(page, size, false);
        Record record;

        while (walk_next(&walk, &record))
                if (record.size >= COMMON_SIZE)
                        tally_pid(tally, page_get_u32(record.body + 4));
}

uint32_t page_count(const uint8_t *page, size_t size) {
        Walk walk = page_walk_begin(page, size, false);
        uint32_t n = 0;
        Record record;

        while (walk_next(&walk, &record))
                n++;
        return n;
}

static PageSight *find_sight(PageSummary *summary, uint32_t pid) {
        for (unsigned i = 0; i < summary->n_sights; i++)
                if (summary->sights[i].pid == pid)
                        return &summary->sights[i];
        return NULL;
}

/* Returns NULL when there are too many. */
static PageSight *add_sight(PageSummary *summary, uint32_t pid, uint64_t nsec) {
        PageSight *sight = find_sight(summary, pid);

        if (sight)
                return sight;
        if (summary->n_sights == PAGE_SIGHTS_MAX) {
                summary->is_crowded = true;
                return NULL;
        }
        sight = &summary->sights[summary->n_sights++];
        *sight = (PageSight){ .pid = pid, .first_nsec = nsec };
        return sight;
}

static inline bool is_life(const PageJudge *judge, uint16_t id) {
        return id == judge->fork_id || id == judge->exit_id ||
               (id == judge->exec_id && judge->exec_id != 0);
}

static inline bool page_event_has_name(const PageJudge *judge, uint16_t id) {
        return judge->names && command_names_has_event(judge->names, id);
}

void page_read_name(const uint8_t *record,
                size_t record_size,
                const ControlText *place,
                bool is_path,
                char ret[TASK_NAME_MAX]) {
        size_t at = place->offset, size = TASK_NAME_MAX;

        if (place->is_located) {
                if (at + 4 > record_size)
                        return;
                uint32_t location = page_get_u32(record + at);
                at = location & UINT16_MAX;
                size = location >> 16;
        }
        if (place->offset == 0 || at > record_size || size > record_size - at)
                return;
        const char *text = (const char *)record + at;
        size_t length = strnlen(text, size);
        const char *slash = is_path ? memrchr(text, '/', length) : NULL;
        if (slash) { /* only the last part: the kernel names an exec'ed task after it */
                length -= (size_t)(slash + 1 - text);
                text = slash + 1;
        }
        memcpy(ret, text, MIN_OF(length, (size_t)TASK_NAME_MAX - 1));
}

/* Notes a fork, an exit or an exec. */
static int note_life(const PageJudge *judge, const Record *record, uint64_t nsec) {
        uint16_t id = page_get_id(record);
        LifeEvent event = { .nsec = nsec, .kind = LIFE_EXIT };
        uint32_t other = id == judge->fork_id ? judge->fork_child_offset : judge->exec_old_offset;

        event.tid = page_get_u32(record->body + 4);
        if (id != judge->exit_id) {
                if (other + 4 > record->size)
                        return 0;
                event.kind = id == judge->fork_id ? LIFE_FORK : LIFE_EXEC;
                event.other = page_get_u32(record->body + other);
        }
        const ControlText *place = event.kind == LIFE_EXIT   ? &judge->exit_name
                                   : event.kind == LIFE_FORK ? &judge->fork_name
                                                             : &judge->exec_file;
        page_read_name(record->body, record->size, place, event.kind == LIFE_EXEC, event.name);
        return lives_note(judge->lives, &event);
}

int page_scan(const PageJudge *judge,
                uint8_t *page,
                size_t size,
                PageTally *tally,
                PageSummary *ret) {
        Walk walk = page_walk_begin(page, size, true);
        PageSight *sight = NULL;
        uint8_t flags = 0;
        Record record;
        int r = 0;

        ret->n_records = ret->n_sights = 0;
        ret->has_others = ret->has_shared = ret->has_interrupts = ret->has_pairs = false;
        ret->is_crowded = false;
        ret->first_nsec = walk.nsec;
        while (r == 0 && walk_next(&walk, &record)) {
                uint16_t id = page_get_id(&record);
                bool is_noted = is_life(judge, id), has_name = page_event_has_name(judge, id);
                const Mask *mask = masks_find(judge->masks, id);

                if (is_noted && record.size >= COMMON_SIZE)
                        r = note_life(judge, &record, walk.nsec);
                if (has_name && record.size >= COMMON_SIZE)
                        r = r
                                            ?: command_names_note(judge->names,
                                                               record.body,
                                                               record.size,
                                                               walk.nsec);
                if (!mask || record.size < COMMON_SIZE) {
                        tally->n_unknown += !is_noted && !has_name;
                        drop_record(&walk, &record);
                        continue;
                }
                uint32_t pid = page_get_u32(record.body + 4);
                flags |= record.body[2] & mask->interrupts;
                if (!sight || sight->pid != pid)
                        sight = add_sight(ret, pid, walk.nsec);
                if (sight)
                        sight->last_nsec = walk.nsec;
                ret->n_records++;
                ret->has_others |= mask->has_members;
                ret->has_shared |= mask->also_of != 0;
                ret->has_pairs |= mask->start_offset != 0;
                mask_clean_record(judge->masks, mask, record.body, record.size);
        }
        ret->last_nsec = walk.nsec;
        ret->has_interrupts = flags != 0;
        walk_end(&walk, size, tally);
        return r;
}

/* The state for questions about membership. A task that a record names and that is not in sights is
 * looked up once for the whole sub-buffer, if its standing is the same throughout. */
typedef struct Asking {
        const PageJudge *judge;
        const PageSummary *summary;
        const Lives *lives;
        const Standing *standings; /* of the sights */
        uint64_t nsec;
        PageTally *tally;
        bool is_tallying; /* the pids of members must be tallied record by record */
        MaskTasks tasks;
} Asking;

/* The records of a marker's task are judged one by one. */
static inline bool is_marker(const PageJudge *judge, uint32_t pid) {
        for (unsigned i = 0; pid != 0 && i < PAGE_MARKERS_MAX; i++)
                if (pid == judge->marker_tids[i])
                        return true;
        return false;
}

/* Returns the standing at asking->nsec. */
static Standing ask_now(const Asking *asking, uint32_t pid) {
        return lives_judge(asking->lives, pid, asking->nsec, asking->nsec);
}

static inline Standing ask_author(const Asking *asking, uint32_t pid, uint16_t id) {
        const PageSummary *summary = asking->summary;

        if (is_marker(asking->judge, pid) && id == asking->judge->marker_id)
                return STANDING_MEMBER;

        for (unsigned i = 0; i < summary->n_sights; i++)
                if (summary->sights[i].pid == pid && asking->standings[i] != STANDING_MIXED)
                        return asking->standings[i];
        return ask_now(asking, pid);
}

static bool page_is_member(MaskTasks *tasks, uint32_t pid) {
        const Asking *asking = tasks->userdata;
        const PageSummary *summary = asking->summary;
        unsigned at = pid % ELEMENTSOF(tasks->known);

        if (pid == 0)
                return false;
        Standing standing =
                        lives_judge(asking->lives, pid, summary->first_nsec, summary->last_nsec);
        if (standing == STANDING_MIXED)
                return ask_now(asking, pid) == STANDING_MEMBER;
        tasks->known[at].pid = pid;
        tasks->known[at].is_member = standing == STANDING_MEMBER;
        return tasks->known[at].is_member;
}

/* The kernel matches the two events of a pair by numbers and keeps the first one without a time
 * limit. So the first event may be of an earlier task with the same number. Both events must belong
 * to the same life. */
static Standing ask_pair(const Asking *asking,
                const Mask *mask,
                const Record *record,
                uint32_t pid) {
        uint64_t start;

        if (mask->start_offset + sizeof(start) > record->size)
                return STANDING_FOREIGN;
        memcpy(&start, record->body + mask->start_offset, sizeof(start));
        start = start * mask->start_nsec + mask->start_nsec - 1; /* the time was rounded down */
        Standing standing =
                        lives_judge(asking->lives, pid, MIN_OF(start, asking->nsec), asking->nsec);
        return standing == STANDING_MIXED ? STANDING_FOREIGN : standing;
}

/* Returns the standing of the record by the task that made it. */
static Standing ask_record(const Asking *asking, const Mask *mask, const Record *record) {
        uint8_t looked_at = defence_is_on("context") ? UINT8_MAX : 0;
        uint32_t pid = page_get_u32(record->body + 4);
        Standing standing = ask_author(asking, pid, page_get_id(record));

        if (mask && (record->body[2] & mask->interrupts & looked_at))
                return STANDING_FOREIGN;
        if (mask && mask->start_offset != 0 && standing == STANDING_MEMBER)
                return ask_pair(asking, mask, record, pid);
        return standing;
}

/* Another task made the record. If the record also describes a member, as the switch to it does, it
 * stays, without all that describes the other task. Returns the standing of the member. */
static Standing cut_author(Asking *asking, const Mask *mask, const Record *record) {
        uint32_t pid = mask ? mask_get_also_of(mask, record->body, record->size) : 0;
        Standing standing = pid != 0 ? ask_now(asking, pid) : STANDING_FOREIGN;

        if (standing == STANDING_MEMBER) {
                mask_cut_author(mask, record->body);
                mask_cut_others(mask, record->body, record->size, &asking->tasks);
        }
        return standing;
}

static void judge_records(const PageJudge *judge, Walk *walk, Asking *asking) {
        PageTally *tally = asking->tally;
        Record record;

        while (walk_next(walk, &record)) {
                const Mask *mask = masks_find(judge->masks, page_get_id(&record));

                asking->nsec = walk->nsec;
                Standing standing = ask_record(asking, mask, &record);
                if (standing == STANDING_MEMBER) {
                        if (asking->is_tallying)
                                tally_pid(tally, page_get_u32(record.body + 4));
                        if (mask && mask->has_members)
                                mask_cut_others(mask, record.body, record.size, &asking->tasks);
                        continue;
                }
                Standing other = cut_author(asking, mask, &record);
                if (other == STANDING_MEMBER)
                        continue;
                drop_record(walk, &record);
                if (standing == STANDING_DOUBTFUL || other == STANDING_DOUBTFUL)
                        tally->n_doubtful++;
                else
                        tally->n_foreign++;
        }
}

/* All records are of members, but some also describe other tasks. */
static void cut_others(const PageJudge *judge, Walk *walk, Asking *asking) {
        Record record;

        while (walk_next(walk, &record)) {
                const Mask *mask = masks_find(judge->masks, page_get_id(&record));

                asking->nsec = walk->nsec;
                if (mask && mask->has_members)
                        mask_cut_others(mask, record.body, record.size, &asking->tasks);
        }
}

/* Returns the common standing of all sights, or STANDING_MIXED when they differ. */
static Standing judge_sights(const PageJudge *judge,
                const PageSummary *summary,
                Standing standings[static PAGE_SIGHTS_MAX]) {
        Standing all = summary->is_crowded ? STANDING_MIXED : STANDING_MEMBER;

        for (unsigned i = 0; i < summary->n_sights; i++) {
                const PageSight *sight = &summary->sights[i];

                standings[i] = is_marker(judge, sight->pid) ? STANDING_MIXED
                                                            : lives_judge(judge->lives,
                                                                              sight->pid,
                                                                              sight->first_nsec,
                                                                              sight->last_nsec);
                if (i == 0 && !summary->is_crowded)
                        all = standings[i];
                else if (all != standings[i])
                        all = STANDING_MIXED;
        }
        return all;
}

void page_judge(const PageJudge *judge,
                uint8_t *page,
                size_t size,
                PageTally *tally,
                PageSummary *summary) {
        Standing standings[PAGE_SIGHTS_MAX];
        Standing all = judge_sights(judge, summary, standings);
        uint64_t n_before = tally->n_foreign + tally->n_doubtful;

        if (all == STANDING_FOREIGN && !summary->has_shared) { /* no need to look at the rest */
                drop_all(page, size);
                tally->n_foreign += summary->n_records;
        } else if (all != STANDING_MEMBER || summary->has_others || summary->has_interrupts ||
                        summary->has_pairs) {
                Walk walk = page_walk_begin(page, size, false);
                Asking asking = { .summary = summary,
                        .judge = judge,
                        .lives = judge->lives,
                        .standings = standings,
                        .tally = tally,
                        .is_tallying = tally->pids && all == STANDING_MIXED,
                        .tasks = { .is_member = page_is_member } };

                asking.tasks.userdata = &asking;
                if (all == STANDING_MEMBER && !summary->has_interrupts && !summary->has_pairs)
                        cut_others(judge, &walk, &asking);
                else
                        judge_records(judge, &walk, &asking);
        }
        for (unsigned i = 0; tally->pids && i < summary->n_sights; i++)
                if (standings[i] == STANDING_MEMBER)
                        tally_pid(tally, summary->sights[i].pid);
        summary->n_records -= (uint32_t)(tally->n_foreign + tally->n_doubtful - n_before);
}

uint32_t page_visit(uint8_t *page, size_t size, PageVisit visit, void *userdata) {
        Walk walk = page_walk_begin(page, size, false);
        Record record;
        uint32_t n = 0;

        while (walk_next(&walk, &record)) {
                if (record.size >= COMMON_SIZE &&
                                visit(record.body, record.size, walk.nsec, userdata))
                        n++;
                else
                        drop_record(&walk, &record);
        }
        return n;
}
