/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "history/history.h"
#include "session/registry.h"

#define BLACK_BOX_USERS 64

/* The calls of a user in the current minute. */
typedef struct BlackBoxUser {
        uid_t uid;
        uint64_t begin_usec;
        unsigned n;
} BlackBoxUser;

/* The session of root with the name KT_BLACK_BOX, and the history of tasks. */
struct BlackBox {
        Registry *registry;
        History *history;
        bool has_begun;
        TAILQ_HEAD(, BlackBoxCall) calls;
        BlackBoxUser users[BLACK_BOX_USERS];
};

int black_box_new(Registry *registry, const HistoryHandlers *handlers, BlackBox **ret);
/* The turns and the worker have ended. */
BlackBox *black_box_free(BlackBox *box);
/* What the last daemon left in the kernel has been removed: now the history may be kept. */
void black_box_begin(BlackBox *box);
/* Returns NULL if the black box is off. */
Session *black_box_find(const BlackBox *box);
/* A session has a new state: the history of tasks is kept as long as there is a black box. */
void black_box_settle(BlackBox *box);
bool black_box_is_idle(const BlackBox *box);
/* Adds "history" with the id of its instance to an object for root. */
int black_box_describe(const BlackBox *box, json_object *object);
