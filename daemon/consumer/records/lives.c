/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Keeps the tasks whose records a fenced session may show, each from its birth to its death. A life
 * begins when the daemon reports a member or when a living member forks. It ends with the task's
 * exit. The kernel's own list of pids cannot be used, because the kernel may reuse a number before
 * it removes the dead task from that list. page.c reports forks and exits and asks which records
 * may pass. hold.c advances the time.
 *
 * Forks and exits come from the rings of all CPUs in no order of time. They are noted when they are
 * read, and applied when the caller knows that no older event can follow.
 *
 * When records were lost, an exit may be among them. Then the number of a member may already belong
 * to another task. So every task is doubtful after a loss, until the daemon proves it: "the member
 * at `nsec` is the same task at `until_nsec`", by the start time in /proc. A proof from after the
 * loss also covers the time in between. A child whose fork was lost is unknown until the daemon
 * finds it.
 *
 * A report of a member arrives late: its exit may have been read before. So the exit of an unknown
 * task is also kept, as a life without duration (is_only_end). A report is ignored if it is from a
 * time before all ends that are still kept.
 *
 * A thread that calls exec takes the number of its process's first thread, whose exit was recorded
 * before. Its own number becomes free, and no other record shows this (fs/exec.c, de_thread). */

#include "consumer/records/lives.h"

#include <errno.h>
#include <string.h>

#include "interfaces/defence.h"

#define NEVER      UINT64_MAX
#define SLACK_NSEC ((uint64_t)1000 * 1000 * 1000) /* late records are judged too */
#define LIVES_MAX  (1U << 20)
#define NO_LIFE    UINT32_MAX

typedef struct Life {
        uint32_t tid;
        uint32_t next; /* in its bucket: newer ones first */
        uint64_t birth, death;
        uint64_t proven;   /* the same task until then, despite all losses */
        uint64_t doubtful; /* from this time on */
        bool is_found;     /* reported by the daemon: it may be older than its birth here */
} Life;

struct Lives {
        TaskNames *names;
        Life *lives;
        uint32_t n_lives, n_max;
        uint32_t n_after_sweep;
        uint32_t *buckets; /* n_buckets, a power of two */
        uint32_t n_buckets;
        LifeEvent *noted;
        size_t n_noted, n_noted_max;
        bool is_sorted;
        uint64_t forgotten; /* no time before this one will be asked about */
        uint64_t swept;     /* ends before this time may be removed */
        uint64_t first_loss, last_loss;
        uint64_t doubtful; /* from this time on, for lives that began with a fork or an exec */
        bool are_all_members, are_all_immortal; /* in a build that leaves these defences out */
};

static int lives_grow(Lives *lives) {
        uint32_t n_max = lives->n_max * 2 + 64, n_buckets = 64;

        while (n_buckets < n_max)
                n_buckets *= 2;
        Life *bigger = reallocarray(lives->lives, n_max, sizeof(*bigger));
        if (!bigger)
                return -ENOMEM;
        lives->lives = bigger;
        uint32_t *buckets = reallocarray(lives->buckets, n_buckets, sizeof(*buckets));
        if (!buckets)
                return -ENOMEM;
        lives->buckets = buckets;
        lives->n_buckets = n_buckets;
        lives->n_max = n_max;
        return 0;
}

static uint32_t *lives_find_bucket(const Lives *lives, uint32_t tid) {
        return &lives->buckets[(tid * 0x9e3779b1U >> 7) & (lives->n_buckets - 1)];
}

static void lives_link(Lives *lives, uint32_t at) {
        uint32_t *bucket = lives_find_bucket(lives, lives->lives[at].tid);

        lives->lives[at].next = *bucket;
        *bucket = at;
}

/* Fills the buckets anew. with_dead: removes the lives that ended before `forgotten`. The order of
 * age stays the same. */
static void lives_sweep(Lives *lives, bool with_dead) {
        uint32_t n = 0;

        memset(lives->buckets, 0xff, lives->n_buckets * sizeof(*lives->buckets));
        for (uint32_t i = 0; i < lives->n_lives; i++) {
                if (with_dead && lives->lives[i].death < lives->forgotten)
                        continue;
                lives->lives[n] = lives->lives[i];
                lives_link(lives, n++);
        }
        lives->n_lives = n;
        if (!with_dead)
                return;
        lives->n_after_sweep = n;
        lives->swept = lives->forgotten;
}

int lives_new(Lives **ret) {
        _cleanup_(lives_free_cleanup) Lives *lives = calloc(1, sizeof(*lives));

        if (!lives)
                return -ENOMEM;
        int r = task_names_new(&lives->names);
        r = r ?: lives_grow(lives);
        if (r < 0)
                return r;
        lives_sweep(lives, false);
        lives->first_loss = lives->doubtful = NEVER;
        lives->are_all_members = !defence_is_on("members");
        lives->are_all_immortal = !defence_is_on("lifetimes");
        *ret = TAKE_PTR(lives);
        return 0;
}

Lives *lives_free(Lives *lives) {
        if (!lives)
                return NULL;
        task_names_free(lives->names);
        free(lives->lives);
        free(lives->buckets);
        free(lives->noted);
        free(lives);
        return NULL;
}

int lives_note(Lives *lives, const LifeEvent *event) {
        if (lives->n_noted == lives->n_noted_max) {
                size_t n_max = lives->n_noted_max * 2 + 64;
                LifeEvent *bigger = reallocarray(lives->noted, n_max, sizeof(*bigger));

                if (!bigger)
                        return -ENOMEM;
                lives->noted = bigger;
                lives->n_noted_max = n_max;
        }
        lives->noted[lives->n_noted++] = *event;
        lives->is_sorted = false;
        return 0;
}

static int compare_events(const void *a, const void *b) {
        const LifeEvent *x = a, *y = b;

        if (x->nsec != y->nsec)
                return x->nsec < y->nsec ? -1 : 1;
        return (int)x->kind - (int)y->kind;
}

static void lives_sort(Lives *lives) {
        if (!lives->is_sorted)
                qsort(lives->noted, lives->n_noted, sizeof(*lives->noted), compare_events);
        lives->is_sorted = true;
}

void lives_forget_births(Lives *lives, uint64_t before) {
        size_t n = 0;

        for (size_t i = 0; i < lives->n_noted; i++)
                if (lives->noted[i].kind != LIFE_FORK || lives->noted[i].nsec >= before)
                        lives->noted[n++] = lives->noted[i];
        lives->n_noted = n;
}

void lives_doubt_from(Lives *lives, uint64_t nsec) {
        lives->doubtful = nsec;
}

static bool is_loss(const LifeEvent *event) {
        return event->kind == LIFE_LOSS || event->kind == LIFE_GAP;
}

void lives_end_losses(Lives *lives, uint64_t nsec) {
        for (size_t i = 0; i < lives->n_noted; i++)
                if (is_loss(&lives->noted[i]) && lives->noted[i].until_nsec == 0)
                        lives->noted[i].until_nsec = nsec;
}

uint64_t lives_find_loss(const Lives *lives, uint64_t horizon) {
        uint64_t until = 0;

        for (size_t i = 0; i < lives->n_noted; i++)
                if (is_loss(&lives->noted[i]) && lives->noted[i].nsec <= horizon)
                        until = MAX_OF(until, lives->noted[i].until_nsec);
        return until;
}

/* Returns the newest life of that number that had begun by that time. */
static Life *find_life(const Lives *lives, uint32_t tid, uint64_t nsec) {
        for (uint32_t i = *lives_find_bucket(lives, tid); i != NO_LIFE; i = lives->lives[i].next)
                if (lives->lives[i].tid == tid && lives->lives[i].birth <= nsec)
                        return &lives->lives[i];
        return NULL;
}

static Life *find_alive(const Lives *lives, uint32_t tid, uint64_t nsec) {
        Life *life = find_life(lives, tid, nsec);

        return life && nsec <= life->death ? life : NULL;
}

static int add_life(Lives *lives, uint32_t tid, uint64_t birth) {
        if (lives->n_lives == lives->n_max) {
                int r = lives->n_max < LIVES_MAX ? lives_grow(lives) : -ENOSPC;
                if (r == -ENOMEM)
                        return r;
                if (r == 0)
                        lives_sweep(lives, false); /* into the new buckets */
        }
        if (lives->n_lives == lives->n_max) { /* as if its fork had been lost */
                lives->first_loss = MIN_OF(lives->first_loss, birth);
                return 0;
        }
        lives->lives[lives->n_lives] =
                        (Life){ .tid = tid, .birth = birth, .death = NEVER, .doubtful = NEVER };
        lives_link(lives, lives->n_lives++);
        return 0;
}

/* Returns true when records contain newer facts than the daemon's report: a task of this number
 * began or ended later. */
static bool is_outdated(const Lives *lives, const LifeEvent *event, const Life *newest) {
        if (newest)
                return newest->birth > event->nsec ||
                       (newest->death != NEVER && newest->death >= event->nsec);
        return event->nsec < lives->swept;
}

/* A loss after the proof may contain the exit of this task. */
static void prove(const Lives *lives, Life *life, uint64_t until) {
        life->proven = MAX_OF(life->proven, until);
        if (life->doubtful <= life->proven)
                life->doubtful = lives->last_loss > life->proven ? life->proven + 1 : NEVER;
}

/* If a life was certain at the time of the report, the member is that life. */
static int apply_member(Lives *lives, const LifeEvent *event) {
        uint64_t until = MAX_OF(event->until_nsec, event->nsec);
        Life *newest = find_life(lives, event->tid, NEVER);

        if (is_outdated(lives, event, newest))
                return 0;
        task_names_set(lives->names, event->tid, event->name);
        if (newest && newest->death == NEVER && event->nsec < newest->doubtful) {
                prove(lives, newest, until);
                return 0;
        }
        if (newest && newest->death == NEVER)
                newest->death = event->nsec;
        uint32_t n = lives->n_lives;
        int r = add_life(lives, event->tid, event->nsec);
        if (lives->n_lives > n) {
                lives->lives[n].doubtful = event->nsec; /* until prove() sets it */
                lives->lives[n].is_found = true;
                prove(lives, &lives->lives[n], until);
        }
        return r;
}

/* A loss that is not over yet may contain the exit of this task. */
static int add_born(Lives *lives, uint32_t tid, uint64_t birth) {
        uint32_t n = lives->n_lives;
        int r = add_life(lives, tid, birth);

        if (r == 0 && lives->n_lives > n)
                lives->lives[n].doubtful =
                                birth < lives->last_loss ? birth : MAX_OF(lives->doubtful, birth);
        return r;
}

static int apply_fork(Lives *lives, const LifeEvent *event) {
        const Life *parent = find_alive(lives, event->tid, event->nsec);

        if (!parent || parent->doubtful <= event->nsec)
                return 0;
        Life *child = find_alive(lives, event->other, event->nsec);
        if (child) /* its exit was lost */
                child->death = event->nsec;
        task_names_set(lives->names, event->other, event->name);
        return add_born(lives, event->other, event->nsec);
}

/* After an exec a member is still the same task: it keeps its membership under the new number, and
 * no other task has that number. The number of a process's first thread is not given away as long
 * as the process has threads. So records of that number after the first thread's exit also belong
 * to this task, if the thread is known to have lived by then. */
static int apply_exec(Lives *lives, const LifeEvent *event) {
        Life *old = find_alive(lives, event->other, event->nsec),
             *first = find_life(lives, event->tid, event->nsec);

        if (!old || event->nsec >= old->doubtful)
                return 0;
        task_names_set(lives->names, event->tid, event->name);
        if (event->other == event->tid)
                return 0;
        if (!lives->are_all_immortal)
                old->death = event->nsec;
        if (first && first->doubtful == NEVER && first->death >= old->birth) {
                first->death = NEVER;
                return 0;
        }
        if (first)
                first->death = MIN_OF(first->death, event->nsec - 1);
        return add_born(lives, event->tid, event->nsec);
}

static void apply_loss(Lives *lives, const LifeEvent *event) {
        uint64_t until = event->until_nsec;

        if (event->kind == LIFE_LOSS)
                lives->first_loss = MIN_OF(lives->first_loss, event->nsec);
        lives->last_loss = MAX_OF(lives->last_loss, until);
        if (!defence_is_on("losses"))
                return;
        for (uint32_t i = 0; i < lives->n_lives; i++) {
                Life *life = &lives->lives[i];

                if (life->proven < until)
                        life->doubtful = MIN_OF(
                                        life->doubtful, MAX_OF(event->nsec, life->proven + 1));
        }
}

static bool is_only_end(const Life *life) {
        return life->death < life->birth;
}

static int apply_exit(Lives *lives, const LifeEvent *event) {
        Life *life = find_alive(lives, event->tid, event->nsec);

        if (lives->are_all_immortal)
                return 0;
        if (life) {
                if (event->nsec < life->doubtful)
                        task_names_set(lives->names, event->tid, event->name);
                life->death = event->nsec;
                return 0;
        }
        uint32_t n = lives->n_lives;
        int r = add_life(lives, event->tid, event->nsec + 1);
        if (lives->n_lives > n)
                lives->lives[n].death = event->nsec;
        return r;
}

static int apply(Lives *lives, const LifeEvent *event) {
        switch (event->kind) {
        case LIFE_MEMBER:
                return apply_member(lives, event);
        case LIFE_FORK:
                return apply_fork(lives, event);
        case LIFE_EXIT:
                return apply_exit(lives, event);
        case LIFE_EXEC:
                return apply_exec(lives, event);
        case LIFE_LOSS:
        case LIFE_GAP:
                apply_loss(lives, event);
                break;
        }
        return 0;
}

int lives_advance(Lives *lives, uint64_t horizon) {
        size_t n = 0;
        int r = 0;

        lives_end_losses(lives, horizon);
        lives_sort(lives);
        while (r == 0 && n < lives->n_noted && lives->noted[n].nsec <= horizon)
                r = apply(lives, &lives->noted[n++]);
        lives->n_noted -= n;
        memmove(lives->noted, lives->noted + n, lives->n_noted * sizeof(*lives->noted));
        return r;
}

/* No life of that number had begun at `first`. */
static Standing judge_unborn(const Lives *lives, uint32_t tid, uint64_t first, uint64_t last) {
        if (find_life(lives, tid, last))
                return STANDING_MIXED;
        const Life *later = find_life(lives, tid, NEVER);
        bool is_born_later = later && !is_only_end(later) && !later->is_found;
        if (is_born_later || last < lives->first_loss)
                return STANDING_FOREIGN;
        return first < lives->first_loss ? STANDING_MIXED : STANDING_DOUBTFUL;
}

Standing lives_judge(const Lives *lives, uint32_t tid, uint64_t first, uint64_t last) {
        const Life *life;

        if (lives->are_all_members)
                return STANDING_MEMBER;
        life = find_life(lives, tid, first);
        if (!life)
                return judge_unborn(lives, tid, first, last);
        if (first > life->death)
                return find_life(lives, tid, last) == life ? STANDING_FOREIGN : STANDING_MIXED;
        if (last > life->death || find_life(lives, tid, last) != life)
                return STANDING_MIXED;
        if (last < life->doubtful)
                return STANDING_MEMBER;
        return first < life->doubtful ? STANDING_MIXED : STANDING_DOUBTFUL;
}

int lives_add(Lives *lives, uint32_t tid, uint64_t birth, uint64_t death, const char *name) {
        uint32_t n = lives->n_lives;
        int r = add_life(lives, tid, birth);

        if (lives->n_lives > n)
                lives->lives[n].death = death;
        task_names_set(lives->names, tid, name);
        return r;
}

const TaskNames *lives_get_names(const Lives *lives) {
        return lives->names;
}

void lives_forget(Lives *lives, uint64_t before) {
        if (before < SLACK_NSEC)
                return;
        lives->forgotten = before - SLACK_NSEC;
        if (lives->n_lives > lives->n_after_sweep * 2 + 256)
                lives_sweep(lives, true);
}
