/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Keeps the lives of tasks that are over, for history-table.c, until no question can be about them.
 * Memory is bounded: when there is no room, the user with the most lives loses some of the oldest
 * ones. So a user who starts very many tasks forgets own tasks, as long as no other user has more.
 *
 * Each user has a list of lives, in the order in which they were kept. */

#include "consumer/records/past-lives.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
/* To find the user with the most lives takes time, so this part of them goes at once. */
#define PART_FORGOTTEN 16

typedef struct PastEntry {
        PastLife life;      /* first: past_lives_next() gets it from a caller */
        uint64_t kept_nsec; /* not less than that of the previous one */
        uint32_t previous, next;
} PastEntry;

typedef struct PastUser {
        uint32_t uid, n, first, last;
} PastUser;

struct PastLives {
        size_t n_max;
        PastEntry *entries;
        uint32_t n_room, first_free; /* linked by next */
        PastUser *users;             /* sorted by uid */
        size_t n_users, n_users_room;
};

int past_lives_new(size_t n_max, PastLives **ret) {
        PastLives *lives = calloc(1, sizeof(*lives));

        if (!lives)
                return -ENOMEM;
        lives->n_max = n_max;
        lives->first_free = NONE;
        *ret = lives;
        return 0;
}

PastLives *past_lives_free(PastLives *lives) {
        if (!lives)
                return NULL;
        free(lives->entries);
        free(lives->users);
        free(lives);
        return NULL;
}

/* Returns the place where the user is or belongs. */
static size_t past_lives_find_place(const PastLives *lives, uint32_t uid) {
        size_t low = 0, high = lives->n_users;

        while (low < high) {
                size_t middle = (low + high) / 2;

                if (lives->users[middle].uid < uid)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

static PastUser *past_lives_find_user(const PastLives *lives, uint32_t uid) {
        size_t at = past_lives_find_place(lives, uid);

        return at < lives->n_users && lives->users[at].uid == uid ? &lives->users[at] : NULL;
}

static int past_lives_add_user(PastLives *lives, uint32_t uid) {
        size_t at = past_lives_find_place(lives, uid);

        if (lives->n_users == lives->n_users_room) {
                size_t room = lives->n_users_room * 2 + 16;
                PastUser *bigger = reallocarray(lives->users, room, sizeof(*bigger));

                if (!bigger)
                        return -ENOMEM;
                lives->users = bigger;
                lives->n_users_room = room;
        }
        memmove(lives->users + at + 1,
                        lives->users + at,
                        (lives->n_users - at) * sizeof(*lives->users));
        lives->users[at] = (PastUser){ .uid = uid, .first = NONE, .last = NONE };
        lives->n_users++;
        return 0;
}

static void past_lives_forget_oldest(PastLives *lives, PastUser *user) {
        PastEntry *entry = &lives->entries[user->first];
        uint32_t next = entry->next;

        entry->next = lives->first_free;
        lives->first_free = user->first;
        user->first = next;
        if (next == NONE)
                user->last = NONE;
        else
                lives->entries[next].previous = NONE;
        user->n--;
}

static void past_lives_make_room(PastLives *lives) {
        PastUser *most = &lives->users[0];

        for (size_t i = 1; i < lives->n_users; i++)
                if (lives->users[i].n > most->n)
                        most = &lives->users[i];
        for (uint32_t n = most->n / PART_FORGOTTEN + 1; n > 0 && most->n > 0; n--)
                past_lives_forget_oldest(lives, most);
}

static int past_lives_grow(PastLives *lives) {
        size_t room = MIN_OF((size_t)lives->n_room * 2 + 256, lives->n_max);
        PastEntry *bigger = reallocarray(lives->entries, room, sizeof(*bigger));

        if (!bigger)
                return -ENOMEM;
        lives->entries = bigger;
        while (lives->n_room < room) {
                lives->entries[lives->n_room].next = lives->first_free;
                lives->first_free = lives->n_room++;
        }
        return 0;
}

int past_lives_keep(PastLives *lives, const PastLife *life, uint64_t nsec) {
        int r = past_lives_find_user(lives, life->uid) ? 0 : past_lives_add_user(lives, life->uid);

        if (r == 0 && lives->first_free == NONE && lives->n_room < lives->n_max)
                r = past_lives_grow(lives);
        if (r < 0)
                return r;
        if (lives->first_free == NONE)
                past_lives_make_room(lives);
        PastUser *user = past_lives_find_user(lives, life->uid);
        if (user->last != NONE)
                nsec = MAX_OF(nsec, lives->entries[user->last].kept_nsec);
        uint32_t at = lives->first_free;
        lives->first_free = lives->entries[at].next;
        lives->entries[at] = (PastEntry){ *life, nsec, user->last, NONE };
        if (user->last == NONE)
                user->first = at;
        else
                lives->entries[user->last].next = at;
        user->last = at;
        user->n++;
        return 0;
}

void past_lives_cut(PastLives *lives, uint64_t since_nsec) {
        for (size_t i = 0; i < lives->n_users; i++)
                for (uint32_t at = lives->users[i].last; at != NONE;
                                at = lives->entries[at].previous) {
                        ControlLife *life = &lives->entries[at].life.life;

                        if (lives->entries[at].kept_nsec < since_nsec)
                                break;                   /* it and all before it ended earlier */
                        if (life->to_nsec >= since_nsec) /* it may now end before it begins */
                                life->to_nsec = since_nsec - MIN_OF(since_nsec, UINT64_C(1));
                }
}

bool past_lives_expire(PastLives *lives, uint64_t before_nsec) {
        uint32_t n = 0;

        for (size_t i = 0; i < lives->n_users; i++) {
                PastUser *user = &lives->users[i];

                while (user->n > 0 && lives->entries[user->first].kept_nsec < before_nsec) {
                        if (n++ == PAST_LIVES_PART)
                                return true;
                        past_lives_forget_oldest(lives, user);
                }
        }
        return false;
}

const PastLife *past_lives_next(const PastLives *lives, uint32_t uid, const PastLife *life) {
        const PastUser *user = life ? NULL : past_lives_find_user(lives, uid);
        uint32_t at = life ? ((const PastEntry *)life)->next : user ? user->first : NONE;

        return at != NONE ? &lives->entries[at].life : NULL;
}
