/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "interfaces/error.h"

/* polkit, as far as it is asked: questions that are open. */
typedef struct Polkit Polkit;

#define POLKIT_QUESTIONS_MAX         64 /* below the 128 answers that a bus lets one wait for */
#define POLKIT_QUESTIONS_PER_UID_MAX 8
#define POLKIT_TIMEOUT_USEC          (UINT64_C(10) * 1000 * 1000)
#define POLKIT_PATIENCE_USEC         (UINT64_C(300) * 1000 * 1000) /* where a human is asked */

/* What polkit's own rules and its dialog may look at. */
typedef struct PolkitDetail {
        const char *key;
        const char *value;
} PolkitDetail;

typedef struct PolkitQuery {
        const char *action;
        const char *peer; /* unique name of whom it is about */
        pid_t pid;        /* of one that is on no bus: its process; 0: it is on the bus */
        uint64_t start;   /* … as facts_read_start has it */
        uid_t uid;        /* theirs; counts the questions */
        bool interactive; /* polkit may ask a human */
        const PolkitDetail *details;
        size_t n_details;
} PolkitQuery;

/* 0: allowed. Else KT_E_ACCESS_DENIED, KT_E_AUTH_REQUIRED, or KT_E_CANCELLED when the peer has left
 * or ktraced ends, with the reason. */
typedef void (*PolkitHandler)(int result, const Reason *reason, void *userdata);

int polkit_new(Polkit **ret);
/* Once; what is asked before is refused with KT_E_ACCESS_DENIED. */
void polkit_join_bus(Polkit *polkit, sd_bus *bus);
/* Answers what is open with KT_E_CANCELLED. */
Polkit *polkit_free(Polkit *polkit);
DEFINE_CLEANUP(Polkit, polkit_free);
/* 0: `handler` will be called, once, from the event loop, not before this has returned. Else it is
 * not: KT_E_LIMIT_REACHED, KT_E_ACCESS_DENIED with the reason, or -errno. */
int polkit_ask(Polkit *polkit,
                const PolkitQuery *query,
                PolkitHandler handler,
                void *userdata,
                Reason *reason);
/* Takes back what is asked about this peer; polkit's dialog goes away. */
void polkit_peer_gone(Polkit *polkit, const char *unique_name);
