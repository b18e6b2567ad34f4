/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "kernel/tracefs.h"
#include "work/spawn.h"
#include "work/worker.h"

/* Whose each task of the machine is and was, as long as it is wanted. */
typedef struct History History;

typedef struct HistoryHandlers {
        /* history_is_idle may have changed. */
        void (*on_changed)(void *userdata);
        /* The answer to history_ask. fd: a sealed memfd of n ControlLife; the callee takes it. */
        void (*on_lives)(int result, const Reason *reason, int fd, size_t n, void *question);
        void *userdata; /* of on_changed */
} HistoryHandlers;

int history_new(const ConsumerLauncher *launcher,
                Worker *worker,
                const HistoryHandlers *handlers,
                History **ret);
/* The worker must have ended. Removes what is in the kernel. Answers all questions. */
History *history_free(History *history);
DEFINE_CLEANUP(History, history_free);
/* Keeps the history from now on, or ends it. */
void history_want(History *history, const Tracefs *tracefs, bool is_wanted);
/* Returns whether it is off, with nothing left in the kernel, or kept. */
bool history_is_idle(const History *history);
/* Returns the id of its instance, or NULL. */
const char *history_get_id(const History *history);
/* Returns KT_E_BUSY. The text is the same for all causes, so it shows nothing about other users. */
int history_refuse_busy(Reason *reason);
/* KT_E_ACCESS_DENIED: this kernel cannot keep it. KT_E_BUSY: it is not kept yet, or too
 * many questions wait. */
int history_check(const History *history, Reason *reason);

/* Whose lives, and since when: no later question is about a time before. */
typedef struct LivesQuestion {
        uid_t uid;
        gid_t gid;
        uint64_t since_nsec;
} LivesQuestion;

/* Fails as history_check() does. Otherwise on_lives answers. userdata: its last argument. */
int history_ask(History *history, const LivesQuestion *question, void *userdata, Reason *reason);
