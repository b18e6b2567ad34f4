/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Keeps which task was plainly whose, and when: all four uids are the same, so are all four gids,
 * it has no capability, it is in the first user namespace, and it is dumpable. All other time is
 * nobody's. history.c fills it from an instance that records the births, ends and changes of all
 * tasks, and asks it for the lives of one user. The black box shows a user the records of these
 * lives only. So a fact that is missing must always mean "nobody's".
 *
 * A task becomes a user's in three ways:
 * - it ends an exec: that record has the complete state (HISTORY_DONE);
 * - a task that is the user's makes it, in the same user namespace;
 * - the daemon has read it in /proc, and no event about it came while it read.
 * It becomes nobody's with other credentials, when its memory is no longer dumpable, when it execs
 * a program that it may not read or that changes credentials, and by a loss. Credentials that a
 * task sets without an exec never make it a user's, because it may still hold another user's
 * secrets.
 *
 * Whether memory is dumpable is a property of the memory, which several tasks may share. Tasks that
 * may share it are in one group: a clone with CLONE_VM stays in the group of its maker. An exec
 * gives the task new memory before it may make that undumpable, and the group of its maker is not
 * concerned. A seed says only which process a thread belongs to, and not which processes share
 * memory. So if one of these becomes undumpable, so do all seeds of its user, except those that are
 * known to have other memory: a clone shows which memory its maker has.
 *
 * Events come from the rings of all CPUs. They are applied in order of time, when no older one can
 * follow. Memory is bounded: the oldest lives are forgotten first. With too many living tasks,
 * everything is forgotten. */

#include "consumer/records/history-table.h"

#include <errno.h>
#include <linux/sched.h>
#include <string.h>

#include "interfaces/defence.h"

#define N_MAX_USUAL 262144
#define NO_TASK     UINT32_MAX
#define NO_SEED     UINT32_MAX
/* Ended tasks are needed only for seeds: a reading of /proc takes less than this. */
#define ENDED_NSEC ((uint64_t)60 * 1000 * 1000 * 1000)
/* systemd gives these uids to services that start, and to others afterwards (DynamicUser=). */
#define DYNAMIC_UID_MIN 61184
#define DYNAMIC_UID_MAX 65519

typedef struct HistoryTask {
        uint32_t tid;
        uint32_t next; /* in its bucket */
        uint64_t group;
        uint64_t mm;       /* of the group; 0: not known */
        uint32_t seed_uid; /* its memory is that of a seed of this user; or NO_SEED */
        HistoryOwner owner;
        uint64_t from_nsec;    /* valid if it has an owner */
        uint64_t changed_nsec; /* the last event about it */
        uint64_t commit_nsec;  /* the last one; 0: none */
        uint64_t exec_nsec;    /* of an exec of which HISTORY_DONE is missing; 0: none */
        uint64_t clone_flags;  /* for the next fork */
        bool has_clone, has_ended;
        char name[TASK_NAME_MAX];
} HistoryTask;

/* A life that is over. */
typedef struct HistoryPast {
        HistoryOwner owner;
        ControlLife life;
} HistoryPast;

typedef struct HistoryNote {
        HistoryEvent event;
        uint64_t number; /* keeps the order of events of the same time */
} HistoryNote;

struct HistoryTable {
        size_t n_max;
        HistoryTask *tasks;
        uint32_t n_tasks, n_tasks_room, n_after_sweep;
        uint32_t *buckets; /* n_buckets, a power of two */
        uint32_t n_buckets;
        HistoryPast *pasts; /* a ring of n_max: the oldest at first_past */
        size_t n_pasts, n_pasts_room, first_past;
        HistoryNote *notes;
        size_t n_notes, n_notes_room;
        uint64_t n_noted, n_groups;
        uint64_t horizon, swept_nsec;
        uint64_t lost_until;    /* nothing from this time or before proves anything */
        uint64_t dumpable_nsec; /* the last change of dumpability */
        ControlSeed *seeds;
        size_t n_seeds;
        uint64_t seed_begin, seed_end;
};

int history_table_new(size_t n_max, HistoryTable **ret) {
        _cleanup_(history_table_free_cleanup) HistoryTable *table = calloc(1, sizeof(*table));

        if (!table)
                return -ENOMEM;
        table->n_max = n_max ?: N_MAX_USUAL;
        table->n_buckets = 1024;
        while (table->n_buckets < table->n_max / 4)
                table->n_buckets *= 2;
        table->buckets = malloc(table->n_buckets * sizeof(*table->buckets));
        if (!table->buckets)
                return -ENOMEM;
        memset(table->buckets, 0xff, table->n_buckets * sizeof(*table->buckets));
        *ret = TAKE_PTR(table);
        return 0;
}

HistoryTable *history_table_free(HistoryTable *table) {
        if (!table)
                return NULL;
        free(table->tasks);
        free(table->buckets);
        free(table->pasts);
        free(table->notes);
        free(table->seeds);
        free(table);
        return NULL;
}

static bool history_are_equal(const uint32_t ids[4]) {
        return ids[0] == ids[1] && ids[0] == ids[2] && ids[0] == ids[3];
}

HistoryOwner history_judge(const HistoryCredentials *c) {
        uint32_t uid = c->uids[0];
        bool is_dynamic = uid >= DYNAMIC_UID_MIN && uid <= DYNAMIC_UID_MAX &&
                          defence_is_on("history-dynamic");

        if (!defence_is_on("history-credentials"))
                return (HistoryOwner){ true, uid, c->gids[0] };
        if (!history_are_equal(c->uids) || !history_are_equal(c->gids) || c->permitted != 0 ||
                        c->level != 0 || is_dynamic)
                return (HistoryOwner){};
        return (HistoryOwner){ true, uid, c->gids[0] };
}

static bool history_is_same(HistoryOwner a, HistoryOwner b) {
        return a.is_known && b.is_known && a.uid == b.uid && a.gid == b.gid;
}

static uint32_t *history_find_bucket(const HistoryTable *table, uint32_t tid) {
        return &table->buckets[(tid * 0x9e3779b1U >> 7) & (table->n_buckets - 1)];
}

/* Returns also a task that has ended. */
static HistoryTask *history_find(const HistoryTable *table, uint32_t tid) {
        for (uint32_t i = *history_find_bucket(table, tid); i != NO_TASK; i = table->tasks[i].next)
                if (table->tasks[i].tid == tid)
                        return &table->tasks[i];
        return NULL;
}

static void history_link(HistoryTable *table, uint32_t at) {
        uint32_t *bucket = history_find_bucket(table, table->tasks[at].tid);

        table->tasks[at].next = *bucket;
        *bucket = at;
}

/* Forgets the tasks that ended long ago. */
static void history_sweep(HistoryTable *table) {
        uint64_t before = table->horizon - MIN_OF(table->horizon, ENDED_NSEC);
        uint32_t n = 0;

        memset(table->buckets, 0xff, table->n_buckets * sizeof(*table->buckets));
        for (uint32_t i = 0; i < table->n_tasks; i++) {
                if (table->tasks[i].has_ended && table->tasks[i].changed_nsec < before)
                        continue;
                table->tasks[n] = table->tasks[i];
                history_link(table, n++);
        }
        table->n_tasks = table->n_after_sweep = n;
        table->swept_nsec = before;
}

static int history_keep(HistoryTable *table, const HistoryPast *past) {
        if (table->n_pasts == table->n_pasts_room && table->n_pasts_room < table->n_max) {
                size_t room = MIN_OF(table->n_pasts_room * 2 + 256, table->n_max);
                HistoryPast *bigger = reallocarray(table->pasts, room, sizeof(*bigger));

                if (!bigger)
                        return -ENOMEM;
                table->pasts = bigger;
                table->n_pasts_room = room;
        }
        if (table->n_pasts < table->n_pasts_room) {
                table->pasts[table->n_pasts++] = *past;
                return 0;
        }
        table->pasts[table->first_past] = *past;
        table->first_past = (table->first_past + 1) % table->n_pasts;
        return 0;
}

/* Returns how far a life reaches of a task that is the same up to that time. If the record of the
 * end of an exec is missing, the probes do not run, for example because root has turned kprobes
 * off, and the new program may be anybody's. */
static uint64_t history_get_end(const HistoryTask *task, uint64_t nsec) {
        return task->exec_nsec > 0 ? MIN_OF(nsec, task->exec_nsec - 1) : nsec;
}

/* The task is nobody's after that time. */
static int history_end_life(HistoryTable *table, HistoryTask *task, uint64_t to) {
        HistoryPast past = {
                .owner = task->owner,
                .life = { .tid = task->tid,
                                .from_nsec = task->from_nsec,
                                .to_nsec = history_get_end(task, to) },
        };

        task->owner = (HistoryOwner){};
        if (!past.owner.is_known || past.life.to_nsec < past.life.from_nsec)
                return 0;
        memcpy(past.life.comm, task->name, sizeof(past.life.comm));
        return history_keep(table, &past);
}

static int history_disown(HistoryTable *table, HistoryTask *task, uint64_t nsec) {
        return task->owner.is_known
                               ? history_end_life(table, task, nsec - MIN_OF(nsec, UINT64_C(1)))
                               : 0;
}

static int history_forget_all(HistoryTable *table, uint64_t nsec) {
        int r = 0;

        for (uint32_t i = 0; r == 0 && i < table->n_tasks; i++)
                r = history_disown(table, &table->tasks[i], nsec);
        table->n_tasks = table->n_after_sweep = 0;
        memset(table->buckets, 0xff, table->n_buckets * sizeof(*table->buckets));
        table->lost_until = MAX_OF(table->lost_until, nsec);
        return r;
}

/* Returns a task that is nobody's and in a group of its own. */
static int history_renew(HistoryTable *table, uint32_t tid, uint64_t nsec, HistoryTask **ret) {
        HistoryTask *task = history_find(table, tid);
        int r = 0;

        if (task)
                r = history_disown(table, task, nsec); /* its end was lost, or it execs */
        if (r == 0 && !task && table->n_tasks == table->n_max) {
                history_sweep(table);
                if (table->n_tasks > table->n_max / 4 * 3)
                        r = history_forget_all(table, nsec);
        }
        if (r == 0 && !task && table->n_tasks == table->n_tasks_room) {
                size_t room = MIN_OF((size_t)table->n_tasks_room * 2 + 256, table->n_max);
                HistoryTask *bigger = reallocarray(table->tasks, room, sizeof(*bigger));

                if (!bigger)
                        return -ENOMEM;
                table->tasks = bigger;
                table->n_tasks_room = (uint32_t)room;
        }
        if (r < 0)
                return r;
        bool is_new = !task;
        if (is_new)
                task = &table->tasks[table->n_tasks];
        uint32_t next = is_new ? NO_TASK : task->next;
        *task = (HistoryTask){ .tid = tid,
                .next = next,
                .group = ++table->n_groups,
                .changed_nsec = nsec,
                .seed_uid = NO_SEED };
        if (is_new)
                history_link(table, table->n_tasks++);
        *ret = task;
        return 0;
}

/* A task that is not known was born before the instance, or its birth was lost. */
static int history_get(HistoryTable *table, uint32_t tid, uint64_t nsec, HistoryTask **ret) {
        HistoryTask *task = history_find(table, tid);

        if (!task || task->has_ended)
                return history_renew(table, tid, nsec, ret);
        task->changed_nsec = nsec;
        *ret = task;
        return 0;
}

static void history_name(HistoryTask *task, const char name[TASK_NAME_MAX]) {
        if (name[0])
                memcpy(task->name, name, sizeof(task->name));
}

static void history_set_memory(HistoryTable *table, uint64_t group, uint64_t mm) {
        for (uint32_t i = 0; i < table->n_tasks; i++)
                if (table->tasks[i].group == group)
                        table->tasks[i].mm = mm;
}

static int history_apply_clone(HistoryTable *table, const HistoryEvent *event) {
        HistoryTask *task = history_find(table, event->tid);

        if (!task || task->has_ended) /* its children are nobody's */
                return 0;
        if (task->mm == 0 && event->mm != 0)
                history_set_memory(table, task->group, event->mm);
        task->clone_flags = event->flags;
        task->has_clone = true;
        return 0;
}

static int history_apply_fork(HistoryTable *table, const HistoryEvent *event) {
        HistoryTask *parent = history_find(table, event->tid), *child;
        HistoryOwner owner = {};
        uint64_t group = 0, mm = 0;
        uint32_t seed_uid = NO_SEED;

        if (!defence_is_on("history-ends") && history_find(table, event->other))
                return 0;

        if (parent && !parent->has_ended) {
                bool is_plain = parent->has_clone && parent->exec_nsec == 0 &&
                                (!(parent->clone_flags & CLONE_NEWUSER) ||
                                                !defence_is_on("history-namespace"));

                owner = is_plain ? parent->owner : (HistoryOwner){};
                if (!parent->has_clone || (parent->clone_flags & CLONE_VM)) {
                        group = parent->group;
                        mm = parent->mm;
                        seed_uid = parent->seed_uid;
                }
                parent->has_clone = false;
        }
        int r = history_renew(table, event->other, event->nsec, &child); /* may move the parent */
        if (r < 0)
                return r;
        child->owner = event->nsec > table->lost_until ? owner : (HistoryOwner){};
        child->from_nsec = event->nsec;
        if (group > 0) {
                child->group = group;
                child->mm = mm;
                child->seed_uid = seed_uid;
        }
        history_name(child, event->name);
        return 0;
}

static int history_apply_exit(HistoryTable *table, const HistoryEvent *event) {
        HistoryTask *task;

        int r = history_get(table, event->tid, event->nsec, &task);
        if (r < 0 || !defence_is_on("history-ends"))
                return r;
        history_name(task, event->name);
        r = history_end_life(table, task, event->nsec);
        task->has_ended = true;
        return r;
}

/* The number of a process's first thread passes to the thread that calls exec. HISTORY_DONE says
 * whose that is. The old number is free. */
static int history_apply_exec(HistoryTable *table, const HistoryEvent *event) {
        HistoryTask *task = history_find(table, event->tid);

        if (task && !task->has_ended) {
                history_name(task, event->name);
                task->exec_nsec = event->nsec;
        }
        task = event->other != event->tid ? history_find(table, event->other) : NULL;
        if (!task || task->has_ended)
                return 0;
        task->changed_nsec = event->nsec;
        task->has_ended = true;
        return history_disown(table, task, event->nsec);
}

static int history_apply_commit(HistoryTable *table, const HistoryEvent *event) {
        HistoryTask *task;

        int r = history_get(table, event->tid, event->nsec, &task);
        if (r < 0)
                return r;
        task->commit_nsec = event->nsec;
        if (history_is_same(task->owner, event->owner) || !defence_is_on("history-commit"))
                return 0;
        return history_disown(table, task, event->nsec);
}

/* Two tasks that may have the same memory, which is not dumpable. */
static bool history_may_share(const HistoryTask *a, const HistoryTask *b, uint64_t mm) {
        if (a->group == b->group)
                return true;
        return a->seed_uid != NO_SEED && a->seed_uid == b->seed_uid && (b->mm == 0 || b->mm == mm);
}

static int history_disown_memory(HistoryTable *table,
                const HistoryTask *of,
                uint64_t mm,
                uint64_t nsec) {
        int r = 0;

        for (uint32_t i = 0; r == 0 && i < table->n_tasks; i++) {
                HistoryTask *task = &table->tasks[i];

                if (task->has_ended || !history_may_share(of, task, mm))
                        continue;
                task->changed_nsec = nsec;
                r = history_disown(table, task, nsec);
        }
        return r;
}

/* During an exec the task has memory of its own, although it is still in the group of the memory
 * that it has left. It has no other memory than its group's at any other time. */
static int history_apply_dumpable(HistoryTable *table, const HistoryEvent *event) {
        HistoryTask *task;

        int r = history_get(table, event->tid, event->nsec, &task);
        if (r < 0 || !defence_is_on("history-dumpable"))
                return r;
        table->dumpable_nsec = event->nsec;
        if (task->mm != 0 && task->mm != event->mm)
                return history_disown(table, task, event->nsec);
        return history_disown_memory(table, task, event->mm, event->nsec);
}

/* The credentials of a task that fits did not change since its last commit, which its exec made.
 * Other tasks are nobody's from there on: the program began before this record. */
static int history_apply_done(HistoryTable *table, const HistoryEvent *event) {
        HistoryTask *task;
        HistoryOwner owner = event->nsec > table->lost_until ? event->owner : (HistoryOwner){};

        int r = history_get(table, event->tid, event->nsec, &task);
        if (r < 0)
                return r;
        task->group = ++table->n_groups;
        task->mm = event->mm;
        task->seed_uid = NO_SEED;
        task->exec_nsec = 0;
        task->has_clone = false;
        if (history_is_same(task->owner, owner))
                return 0;
        r = history_disown(table, task, task->commit_nsec > 0 ? task->commit_nsec : event->nsec);
        task->owner = owner;
        task->from_nsec = defence_is_on("history-past") ? event->nsec + 1 : 0;
        return r;
}

static int history_apply_event(HistoryTable *table, const HistoryEvent *event) {
        static int (*const apply[])(HistoryTable *, const HistoryEvent *) = {
                [HISTORY_CLONE] = history_apply_clone,
                [HISTORY_FORK] = history_apply_fork,
                [HISTORY_EXIT] = history_apply_exit,
                [HISTORY_EXEC] = history_apply_exec,
                [HISTORY_COMMIT] = history_apply_commit,
                [HISTORY_DUMPABLE] = history_apply_dumpable,
                [HISTORY_DONE] = history_apply_done,
        };

        return apply[event->kind](table, event);
}

int history_table_note(HistoryTable *table, const HistoryEvent *event) {
        if (table->n_notes == table->n_notes_room) {
                size_t room = table->n_notes_room * 2 + 256;
                HistoryNote *bigger = reallocarray(table->notes, room, sizeof(*bigger));

                if (!bigger)
                        return -ENOMEM;
                table->notes = bigger;
                table->n_notes_room = room;
        }
        table->notes[table->n_notes++] = (HistoryNote){ *event, table->n_noted++ };
        return 0;
}

static int history_compare_notes(const void *a, const void *b) {
        const HistoryNote *x = a, *y = b;

        if (x->event.nsec != y->event.nsec)
                return x->event.nsec < y->event.nsec ? -1 : 1;
        return x->number < y->number ? -1 : x->number > y->number;
}

static int history_compare_seeds(const void *a, const void *b) {
        const ControlSeed *x = a, *y = b;

        return x->tgid < y->tgid ? -1 : x->tgid > y->tgid;
}

int history_table_seed(HistoryTable *table,
                const ControlSeed *seeds,
                size_t n,
                uint64_t begin_nsec,
                uint64_t end_nsec) {
        ControlSeed *copy = calloc(n ?: 1, sizeof(*copy));

        if (!copy)
                return -ENOMEM;
        if (n > 0)
                memcpy(copy, seeds, n * sizeof(*copy));
        qsort(copy, n, sizeof(*copy), history_compare_seeds);
        free(table->seeds);
        table->seeds = copy;
        table->n_seeds = n;
        table->seed_begin = begin_nsec;
        table->seed_end = end_nsec;
        return 0;
}

static HistoryOwner history_judge_seed(const ControlSeed *seed) {
        HistoryCredentials credentials = { .permitted = seed->permitted,
                .level = seed->is_in_first_namespace ? 0 : 1 };

        memcpy(credentials.uids, seed->uids, sizeof(credentials.uids));
        memcpy(credentials.gids, seed->gids, sizeof(credentials.gids));
        return seed->is_dumpable ? history_judge(&credentials) : (HistoryOwner){};
}

/* A task that an event has changed during the reading may be another one than the one that was
 * read. */
static int history_apply_seed(HistoryTable *table, const ControlSeed *seed, uint64_t group) {
        HistoryTask *task = history_find(table, seed->tid);
        HistoryOwner owner = history_judge_seed(seed);

        if (!owner.is_known || (task && task->changed_nsec >= table->seed_begin &&
                                               defence_is_on("history-seed")))
                return 0;
        int r = history_renew(table, seed->tid, table->seed_end, &task);
        if (r < 0)
                return r;
        task->owner = owner;
        task->from_nsec = table->seed_end + 1;
        task->group = group;
        task->seed_uid = owner.uid;
        history_name(task, seed->comm);
        return 0;
}

/* Memory of which a task is known to be the user's has a group already, which a seed does not know.
 */
static bool history_is_process_known(const HistoryTable *table,
                const ControlSeed *seeds,
                size_t n) {
        for (size_t i = 0; i < n; i++) {
                const HistoryTask *task = history_find(table, seeds[i].tid);

                if (task && task->owner.is_known)
                        return true;
        }
        return false;
}

static int history_apply_seeds(HistoryTable *table) {
        bool is_proof = table->seed_begin > table->lost_until &&
                        table->seed_begin > table->swept_nsec &&
                        table->seed_begin > table->dumpable_nsec;
        size_t n = is_proof ? table->n_seeds : 0;
        const ControlSeed *seeds = table->seeds;
        int r = 0;

        for (size_t i = 0, end; r == 0 && i < n; i = end) {
                for (end = i + 1; end < n && seeds[end].tgid == seeds[i].tgid;)
                        end++;
                if (history_is_process_known(table, seeds + i, end - i))
                        continue;
                uint64_t group = ++table->n_groups;
                for (size_t k = i; r == 0 && k < end; k++)
                        r = history_apply_seed(table, &seeds[k], group);
        }
        free(table->seeds);
        table->seeds = NULL;
        table->n_seeds = 0;
        return r;
}

/* Applies the notes up to that time, from *at on. */
static int history_apply_notes(HistoryTable *table, size_t *at, uint64_t until) {
        int r = 0;

        while (r == 0 && *at < table->n_notes && table->notes[*at].event.nsec <= until)
                r = history_apply_event(table, &table->notes[(*at)++].event);
        return r;
}

int history_table_advance(HistoryTable *table, uint64_t horizon) {
        size_t at = 0;
        int r = 0;

        qsort(table->notes, table->n_notes, sizeof(*table->notes), history_compare_notes);
        if (table->seeds && table->seed_end <= horizon) {
                r = history_apply_notes(table, &at, table->seed_end);
                r = r ?: history_apply_seeds(table);
        }
        r = r ?: history_apply_notes(table, &at, horizon);
        table->n_notes -= at;
        if (at > 0)
                memmove(table->notes, table->notes + at, table->n_notes * sizeof(*table->notes));
        table->horizon = MAX_OF(table->horizon, horizon);
        if (table->n_tasks > table->n_after_sweep * 2 + 4096)
                history_sweep(table);
        return r;
}

void history_table_lose(HistoryTable *table, uint64_t since_nsec, uint64_t until_nsec) {
        if (!defence_is_on("history-losses"))
                return;
        /* Events after the horizon are not applied yet: with them, lives may end before the loss.
         */
        since_nsec = MIN_OF(since_nsec, table->horizon);
        for (uint32_t i = 0; i < table->n_tasks; i++)
                if (table->tasks[i].owner.is_known &&
                                history_disown(table, &table->tasks[i], since_nsec) < 0)
                        table->tasks[i].owner = (HistoryOwner){};
        for (size_t i = 0; i < table->n_pasts; i++) {
                ControlLife *life = &table->pasts[i].life;

                if (life->to_nsec >= since_nsec) /* may end before it begins: never collected */
                        life->to_nsec = since_nsec - MIN_OF(since_nsec, UINT64_C(1));
        }
        table->lost_until = MAX_OF(table->lost_until, until_nsec);
}

static int history_compare_lives(const void *a, const void *b) {
        const ControlLife *x = a, *y = b;

        if (x->from_nsec != y->from_nsec)
                return x->from_nsec < y->from_nsec ? -1 : 1;
        return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* Adds the part that the question is about. */
static void history_collect_life(ControlLife *lives,
                size_t *n,
                HistoryOwner owner,
                const HistoryQuestion *question,
                const ControlLife *life) {
        uint64_t from_nsec = MAX_OF(life->from_nsec, question->since_nsec);

        if (!history_is_same(owner, (HistoryOwner){ true, question->uid, question->gid }) ||
                        from_nsec > life->to_nsec)
                return;
        lives[*n] = *life;
        lives[(*n)++].from_nsec = from_nsec;
}

int history_table_collect(const HistoryTable *table,
                const HistoryQuestion *question,
                ControlLife **ret,
                size_t *ret_n) {
        ControlLife *lives = calloc(table->n_pasts + table->n_tasks + 1, sizeof(*lives));
        size_t n = 0;

        if (!lives)
                return -ENOMEM;
        for (size_t i = 0; i < table->n_pasts; i++)
                history_collect_life(
                                lives, &n, table->pasts[i].owner, question, &table->pasts[i].life);
        for (uint32_t i = 0; i < table->n_tasks; i++) {
                const HistoryTask *task = &table->tasks[i];
                ControlLife life = { .tid = task->tid,
                        .from_nsec = task->from_nsec,
                        .to_nsec = history_get_end(task, table->horizon) };

                memcpy(life.comm, task->name, sizeof(life.comm));
                history_collect_life(lives, &n, task->owner, question, &life);
        }
        qsort(lives, n, sizeof(*lives), history_compare_lives);
        *ret = lives;
        *ret_n = n;
        return 0;
}
