/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Keeps which user owned each task, and when. A task has an owner while all four uids are the same,
 * so are all four gids, it has no capability, it is in the first user namespace, and it is
 * dumpable. history.c fills the table from an instance that records the births, ends and changes of
 * all tasks, and asks it for the lives of one user. The black box shows a user the records of these
 * lives only. So a task must have no owner whenever a fact is missing.
 *
 * A task becomes a user's in three ways:
 * - it ends an exec: that record has the complete state (HISTORY_DONE);
 * - a task that is the user's makes it, in the same user namespace;
 * - the daemon reads it in /proc twice (HISTORY_SEEN), the records have the same state, and between
 *   them is no event that changes it. They are a second apart: a change that was recorded before
 *   the first one, and made after it, has shown in the second one.
 * It loses its owner when it gets other credentials, when its memory is no longer dumpable, when it
 * execs a program that it may not read or that changes credentials, and by a loss. Credentials that
 * a task sets without an exec do not make it a user's by themselves, because it may still hold
 * another user's secrets.
 *
 * Whether memory is dumpable is a property of the memory, which several tasks may share. The
 * address of the kernel's structure identifies it as long as one of them lives. An exec gives a
 * task new memory, of which the table learns at its end.
 *
 * Events come from the rings of all CPUs. They are applied in order of time, when no older one can
 * follow. The table has only living tasks that are a user's or were seen once, so the kernel's
 * limit of tasks bounds it. */

#include "consumer/records/history-table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/records/past-lives.h"
#include "interfaces/defence.h"

#define PASTS_MAX_USUAL 262144
#define BUCKETS_MIN     1024
#define NONE            UINT32_MAX
#define APART_NSEC      (UINT64_C(1000) * 1000 * 1000)

/* Uids that belong to one user after the other without a change of /etc/passwd, or to several. */
static const struct {
        uint32_t first, last;
} shared_uids[] = {
        { 60001, 60513 }, /* of homes, by systemd-homed */
        { 60578, 60705 }, /* of login screens */
        { 61184, 65519 }, /* of services with DynamicUser=, by systemd */
        { 65534, 65534 }, /* nobody */
};

typedef enum HistoryProof {
        PROOF_SEEN,  /* once; a task of such a task counts as seen with it */
        PROOF_WHOLE, /* it is its owner's */
} HistoryProof;

typedef struct HistoryTask {
        uint32_t tid;
        uint32_t uid, gid;
        HistoryProof proof;
        uint32_t next;                 /* in its bucket of tids, or a free one */
        uint32_t mm_previous, mm_next; /* in its bucket of memory */
        uint64_t mm;
        uint64_t from_nsec; /* its owner's since then, or seen then */
        uint64_t exec_nsec; /* of an exec of which HISTORY_DONE is missing; 0: none */
        char name[TASK_NAME_MAX];
} HistoryTask;

struct HistoryTable {
        HistoryTask *tasks;
        uint32_t n_tasks, n_room, first_free;
        uint32_t *by_tid, *by_mm; /* n_buckets each, a power of two */
        uint32_t n_buckets;
        PastLives *pasts;
        HistoryEvent *notes; /* in the order in which they came */
        size_t n_notes, n_notes_room;
        uint64_t horizon;
        uint64_t lost_until; /* nothing from this time or before proves anything */
};

HistoryTable *history_table_free(HistoryTable *table) {
        if (!table)
                return NULL;
        free(table->tasks);
        free(table->by_tid);
        free(table->by_mm);
        past_lives_free(table->pasts);
        free(table->notes);
        free(table);
        return NULL;
}

static bool history_are_equal(const uint32_t ids[4]) {
        return ids[0] == ids[1] && ids[0] == ids[2] && ids[0] == ids[3];
}

static bool history_is_shared(uint32_t uid) {
        for (size_t i = 0; i < ELEMENTSOF(shared_uids); i++)
                if (uid >= shared_uids[i].first && uid <= shared_uids[i].last)
                        return defence_is_on("history-dynamic");
        return false;
}

HistoryOwner history_judge(const HistoryCredentials *c) {
        uint32_t uid = c->uids[0];

        if (!defence_is_on("history-credentials"))
                return (HistoryOwner){ true, uid, c->gids[0] };
        if (!history_are_equal(c->uids) || !history_are_equal(c->gids) || c->permitted != 0 ||
                        c->level != 0 || history_is_shared(uid))
                return (HistoryOwner){};
        return (HistoryOwner){ true, uid, c->gids[0] };
}

static bool history_is_of(const HistoryTask *task, HistoryOwner owner) {
        return owner.is_known && task->uid == owner.uid && task->gid == owner.gid;
}

/* The tasks by number and by memory */

static uint32_t *history_get_tid_bucket(const HistoryTable *table, uint32_t tid) {
        return &table->by_tid[(tid * 0x9e3779b1U >> 7) & (table->n_buckets - 1)];
}

static uint32_t *history_get_mm_bucket(const HistoryTable *table, uint64_t mm) {
        return &table->by_mm[(mm * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (table->n_buckets - 1)];
}

static HistoryTask *history_find(const HistoryTable *table, uint32_t tid) {
        for (uint32_t i = *history_get_tid_bucket(table, tid); i != NONE; i = table->tasks[i].next)
                if (table->tasks[i].tid == tid)
                        return &table->tasks[i];
        return NULL;
}

static HistoryTask *history_find_memory(const HistoryTable *table, uint64_t mm) {
        uint32_t i = *history_get_mm_bucket(table, mm);

        for (; i != NONE; i = table->tasks[i].mm_next)
                if (table->tasks[i].mm == mm)
                        return &table->tasks[i];
        return NULL;
}

static void history_link_memory(HistoryTable *table, uint32_t at) {
        uint32_t *bucket = history_get_mm_bucket(table, table->tasks[at].mm);

        table->tasks[at].mm_previous = NONE;
        table->tasks[at].mm_next = *bucket;
        if (*bucket != NONE)
                table->tasks[*bucket].mm_previous = at;
        *bucket = at;
}

static void history_unlink_memory(HistoryTable *table, uint32_t at) {
        HistoryTask *task = &table->tasks[at];

        if (task->mm_next != NONE)
                table->tasks[task->mm_next].mm_previous = task->mm_previous;
        if (task->mm_previous != NONE)
                table->tasks[task->mm_previous].mm_next = task->mm_next;
        else
                *history_get_mm_bucket(table, task->mm) = task->mm_next;
}

static void history_set_memory(HistoryTable *table, HistoryTask *task, uint64_t mm) {
        uint32_t at = (uint32_t)(task - table->tasks);

        history_unlink_memory(table, at);
        task->mm = mm;
        history_link_memory(table, at);
}

static void history_link(HistoryTable *table, uint32_t at) {
        uint32_t *bucket = history_get_tid_bucket(table, table->tasks[at].tid);

        table->tasks[at].next = *bucket;
        *bucket = at;
        history_link_memory(table, at);
}

static void history_drop(HistoryTable *table, HistoryTask *task) {
        uint32_t at = (uint32_t)(task - table->tasks);
        uint32_t *link = history_get_tid_bucket(table, task->tid);

        while (*link != at)
                link = &table->tasks[*link].next;
        *link = task->next;
        history_unlink_memory(table, at);
        task->tid = 0;
        task->next = table->first_free;
        table->first_free = at;
        table->n_tasks--;
}

static int history_make_buckets(HistoryTable *table, uint32_t n) {
        size_t size = n * sizeof(uint32_t);
        uint32_t *by_tid = malloc(size), *by_mm = malloc(size);

        if (!by_tid || !by_mm) {
                free(by_tid);
                free(by_mm);
                return -ENOMEM;
        }
        free(table->by_tid);
        free(table->by_mm);
        table->by_tid = by_tid;
        table->by_mm = by_mm;
        table->n_buckets = n;
        return 0;
}

static void history_clear_buckets(HistoryTable *table) {
        memset(table->by_tid, 0xff, table->n_buckets * sizeof(uint32_t));
        memset(table->by_mm, 0xff, table->n_buckets * sizeof(uint32_t));
}

/* All entries are in use. */
static int history_grow(HistoryTable *table) {
        uint32_t room = MAX_OF(table->n_room * 2, (uint32_t)BUCKETS_MIN);
        HistoryTask *bigger = reallocarray(table->tasks, room, sizeof(*bigger));

        if (!bigger)
                return -ENOMEM;
        table->tasks = bigger;
        int r = history_make_buckets(table, room);
        if (r < 0)
                return r;
        history_clear_buckets(table);
        for (uint32_t i = 0; i < table->n_room; i++)
                history_link(table, i);
        for (; table->n_room < room; table->n_room++) {
                table->tasks[table->n_room] = (HistoryTask){ .next = table->first_free };
                table->first_free = table->n_room;
        }
        return 0;
}

int history_table_new(size_t n_max, HistoryTable **ret) {
        _cleanup_(history_table_free_cleanup) HistoryTable *table = calloc(1, sizeof(*table));

        if (!table)
                return -ENOMEM;
        table->first_free = NONE;
        int r = history_grow(table);
        r = r ?: past_lives_new(n_max ?: PASTS_MAX_USUAL, &table->pasts);
        if (r == 0)
                *ret = TAKE_PTR(table);
        return r;
}

/* No task has its tid. */
static int history_add(HistoryTable *table, const HistoryTask *task) {
        int r = table->first_free == NONE ? history_grow(table) : 0;

        if (r < 0)
                return r;
        uint32_t at = table->first_free;
        table->first_free = table->tasks[at].next;
        table->tasks[at] = *task;
        history_link(table, at);
        table->n_tasks++;
        return 0;
}

/* Their lives */

static bool history_is_whole(const HistoryTask *task) {
        return task->proof == PROOF_WHOLE || !defence_is_on("history-seed");
}

/* Whether the records of what happens to this task count. */
static bool history_is_watched(const HistoryTask *task) {
        return task->proof == PROOF_WHOLE || defence_is_on("history-seed");
}

/* Returns how far a life reaches of a task that is the same up to that time. If the record of the
 * end of an exec is missing, the probes do not run, for example because root has turned kprobes
 * off, and the new program may be anybody's. */
static uint64_t history_get_end(const HistoryTask *task, uint64_t nsec) {
        return task->exec_nsec > 0 ? MIN_OF(nsec, task->exec_nsec - 1) : nsec;
}

/* An event of that time has ended the life, of which `to` is a part. Drops the task. */
static int history_end(HistoryTable *table, HistoryTask *task, uint64_t to, uint64_t nsec) {
        PastLife past = {
                .uid = task->uid,
                .gid = task->gid,
                .life = { .tid = task->tid,
                                .from_nsec = task->from_nsec,
                                .to_nsec = history_get_end(task, to) },
        };
        bool is_life = history_is_whole(task) && past.life.to_nsec >= past.life.from_nsec;

        memcpy(past.life.comm, task->name, sizeof(past.life.comm));
        history_drop(table, task);
        return is_life ? past_lives_keep(table->pasts, &past, nsec) : 0;
}

/* The task has no owner from that time on. */
static int history_disown(HistoryTable *table, HistoryTask *task, uint64_t nsec) {
        return task ? history_end(table, task, nsec - MIN_OF(nsec, UINT64_C(1)), nsec) : 0;
}

static void history_name(HistoryTask *task, const char name[TASK_NAME_MAX]) {
        if (name[0])
                memcpy(task->name, name, sizeof(task->name));
}

/* The events */

static int history_apply_birth(HistoryTable *table, const HistoryEvent *event) {
        HistoryTask *parent = history_find(table, event->tid);
        HistoryTask *old = history_find(table, event->other); /* its end has no record */
        HistoryTask child = {};
        bool is_plain = event->is_plain || !defence_is_on("history-namespace");

        if (old && !defence_is_on("history-ends"))
                return 0;
        if (parent && parent->exec_nsec == 0 && is_plain) {
                child = *parent;
                child.tid = event->other;
                child.mm = event->mm;
                if (child.proof == PROOF_WHOLE)
                        child.from_nsec = event->nsec;
                history_name(&child, event->name);
        }
        int r = history_disown(table, old, event->nsec);
        return r == 0 && child.tid != 0 ? history_add(table, &child) : r;
}

static int history_apply_exit(HistoryTable *table, const HistoryEvent *event) {
        HistoryTask *task = history_find(table, event->tid);

        if (!task || !defence_is_on("history-ends"))
                return 0;
        history_name(task, event->name);
        return history_end(table, task, event->nsec, event->nsec);
}

/* A thread that calls exec gets the number of its process's first thread, whose exit was recorded.
 * Its old number is free. HISTORY_DONE says whose the new one is. */
static int history_apply_exec(HistoryTable *table, const HistoryEvent *event) {
        HistoryTask *task = history_find(table, event->tid);

        if (task && history_is_watched(task))
                task->exec_nsec = event->nsec;
        task = event->other != event->tid ? history_find(table, event->other) : NULL;
        return history_disown(table, task, event->nsec);
}

static int history_apply_credentials(HistoryTable *table, const HistoryEvent *event) {
        HistoryTask *task = history_find(table, event->tid);

        if (!task || !defence_is_on("history-commit") || !history_is_watched(task))
                return 0;
        return history_disown(table, task, event->nsec);
}

/* During an exec the task has memory that the table does not know yet. */
static int history_apply_undumpable(HistoryTable *table, const HistoryEvent *event) {
        HistoryTask *task = history_find(table, event->tid);
        int r = 0;

        if (!defence_is_on("history-dumpable"))
                return 0;
        if (task && history_is_watched(task))
                r = history_disown(table, task, event->nsec);
        while (r == 0 && (task = history_find_memory(table, event->mm)) && history_is_watched(task))
                r = history_disown(table, task, event->nsec);
        return r;
}

/* A task with other credentials than before has no owner since its exec: the program began before
 * this record. */
static int history_apply_done(HistoryTable *table, const HistoryEvent *event) {
        HistoryTask *task = history_find(table, event->tid);
        bool is_known = event->owner.is_known && event->nsec > table->lost_until;

        if (task && !history_is_watched(task))
                return 0;
        if (task && task->proof == PROOF_WHOLE && is_known && history_is_of(task, event->owner)) {
                history_set_memory(table, task, event->mm);
                history_name(task, event->name);
                task->exec_nsec = 0;
                return 0;
        }
        int r = history_disown(table, task, event->nsec); /* or since its exec */
        if (r < 0 || !is_known)
                return r;
        HistoryTask done = {
                .tid = event->tid,
                .uid = event->owner.uid,
                .gid = event->owner.gid,
                .proof = PROOF_WHOLE,
                .mm = event->mm,
                .from_nsec = defence_is_on("history-past") ? event->nsec + 1 : 0,
        };
        history_name(&done, event->name);
        return history_add(table, &done);
}

/* If the record contradicts the table, the record is right: the task counts as a new one. */
static int history_apply_seen(HistoryTable *table, const HistoryEvent *event) {
        HistoryTask *task = history_find(table, event->tid);
        HistoryTask seen = {
                .tid = event->tid,
                .uid = event->owner.uid,
                .gid = event->owner.gid,
                .proof = PROOF_SEEN,
                .mm = event->mm,
                .from_nsec = event->nsec,
        };

        if (event->nsec <= table->lost_until || (task && !history_is_watched(task)))
                return 0;
        if (task && history_is_of(task, event->owner) && task->mm == event->mm) {
                if (task->proof == PROOF_SEEN && task->exec_nsec == 0 &&
                                event->nsec - task->from_nsec >= APART_NSEC) {
                        task->proof = PROOF_WHOLE;
                        task->from_nsec = event->nsec + 1;
                }
                return 0;
        }
        int r = history_disown(table, task, event->nsec);
        if (r < 0 || !event->owner.is_known || event->mm == 0)
                return r;
        history_name(&seen, event->name);
        return history_add(table, &seen);
}

static int history_apply_event(HistoryTable *table, const HistoryEvent *event) {
        static int (*const apply[])(HistoryTable *, const HistoryEvent *) = {
                [HISTORY_BIRTH] = history_apply_birth,
                [HISTORY_EXIT] = history_apply_exit,
                [HISTORY_EXEC] = history_apply_exec,
                [HISTORY_CREDENTIALS] = history_apply_credentials,
                [HISTORY_UNDUMPABLE] = history_apply_undumpable,
                [HISTORY_DONE] = history_apply_done,
                [HISTORY_SEEN] = history_apply_seen,
        };

        return apply[event->kind](table, event);
}

int history_table_note(HistoryTable *table, const HistoryEvent *event) {
        if (table->n_notes == table->n_notes_room) {
                size_t room = table->n_notes_room + table->n_notes_room / 2 + 256;
                HistoryEvent *bigger = reallocarray(table->notes, room, sizeof(*bigger));

                if (!bigger)
                        return -ENOMEM;
                table->notes = bigger;
                table->n_notes_room = room;
        }
        table->notes[table->n_notes++] = *event;
        return 0;
}

/* Events of the same time stay in the order in which they came. */
static int history_compare_notes(const void *a, const void *b, void *notes) {
        uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
        uint64_t x_nsec = ((const HistoryEvent *)notes)[x].nsec;
        uint64_t y_nsec = ((const HistoryEvent *)notes)[y].nsec;

        if (x_nsec != y_nsec)
                return x_nsec < y_nsec ? -1 : 1;
        return x < y ? -1 : x > y;
}

/* Sorts numbers of notes, because a flood makes very many notes, and sorting needs a copy. */
static int history_sort_notes(const HistoryTable *table,
                uint64_t horizon,
                uint32_t **ret,
                size_t *ret_n) {
        _cleanup_free_ uint32_t *order = malloc((table->n_notes + 1) * sizeof(*order));
        size_t n = 0;

        if (!order || table->n_notes > UINT32_MAX)
                return -ENOMEM;
        for (size_t i = 0; i < table->n_notes; i++)
                if (table->notes[i].nsec <= horizon)
                        order[n++] = (uint32_t)i;
        qsort_r(order, n, sizeof(*order), history_compare_notes, table->notes);
        *ret = TAKE_PTR(order);
        *ret_n = n;
        return 0;
}

static void history_drop_notes(HistoryTable *table, uint64_t horizon) {
        size_t n = 0;

        for (size_t i = 0; i < table->n_notes; i++)
                if (table->notes[i].nsec > horizon)
                        table->notes[n++] = table->notes[i];
        table->n_notes = n;
}

int history_table_advance(HistoryTable *table, uint64_t horizon) {
        _cleanup_free_ uint32_t *order = NULL;
        size_t n = 0;

        int r = history_sort_notes(table, horizon, &order, &n);
        for (size_t i = 0; r == 0 && i < n; i++)
                r = history_apply_event(table, &table->notes[order[i]]);
        if (r < 0)
                return r;
        history_drop_notes(table, horizon);
        table->horizon = MAX_OF(table->horizon, horizon);
        return 0;
}

void history_table_lose(HistoryTable *table, uint64_t since_nsec, uint64_t until_nsec) {
        if (!defence_is_on("history-losses"))
                return;
        /* Events after the horizon are not applied yet: with them, lives may end before the loss.
         */
        since_nsec = MIN_OF(since_nsec, table->horizon);
        for (uint32_t i = 0; table->n_tasks > 0 && i < table->n_room; i++)
                if (table->tasks[i].tid != 0) /* without memory to keep it, a life is forgotten */
                        (void)history_end(table,
                                        &table->tasks[i],
                                        since_nsec - MIN_OF(since_nsec, UINT64_C(1)),
                                        table->horizon);
        past_lives_cut(table->pasts, since_nsec);
        table->lost_until = MAX_OF(table->lost_until, until_nsec);
}

bool history_table_expire(HistoryTable *table, uint64_t before_nsec) {
        return past_lives_expire(table->pasts, before_nsec);
}

/* Adds the part that the question is about. */
static void history_collect_life(ControlLife *lives,
                size_t *n,
                uint32_t gid,
                const HistoryQuestion *question,
                const ControlLife *life) {
        uint64_t from_nsec = MAX_OF(life->from_nsec, question->since_nsec);

        if (gid != question->gid || from_nsec > life->to_nsec)
                return;
        lives[*n] = *life;
        lives[(*n)++].from_nsec = from_nsec;
}

static void history_collect_task(const HistoryTable *table,
                const HistoryTask *task,
                const HistoryQuestion *question,
                ControlLife *lives,
                size_t *n) {
        ControlLife life = { .tid = task->tid,
                .from_nsec = task->from_nsec,
                .to_nsec = history_get_end(task, table->horizon) };

        if (task->tid == 0 || !history_is_whole(task) || task->uid != question->uid)
                return;
        memcpy(life.comm, task->name, sizeof(life.comm));
        history_collect_life(lives, n, task->gid, question, &life);
}

bool history_table_collect(const HistoryTable *table,
                const HistoryQuestion *question,
                HistoryCursor *cursor,
                ControlLife lives[HISTORY_PART],
                size_t *ret_n) {
        size_t n = 0;

        for (unsigned i = 0; i < HISTORY_PART; i++) {
                if (!cursor->pasts_are_done) {
                        cursor->past = past_lives_next(table->pasts, question->uid, cursor->past);
                        cursor->pasts_are_done = !cursor->past;
                }
                if (cursor->past)
                        history_collect_life(lives,
                                        &n,
                                        cursor->past->gid,
                                        question,
                                        &cursor->past->life);
                else if (cursor->n_tasks < table->n_room)
                        history_collect_task(table,
                                        &table->tasks[cursor->n_tasks++],
                                        question,
                                        lives,
                                        &n);
                else
                        break;
        }
        *ret_n = n;
        return !cursor->pasts_are_done || cursor->n_tasks < table->n_room;
}
