/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "interfaces/error.h"

/* The open questions to polkit. */
typedef struct Polkit Polkit;

#define POLKIT_QUESTIONS_MAX         64 /* a bus allows 128 pending replies per connection */
#define POLKIT_QUESTIONS_PER_UID_MAX 8
#define POLKIT_TIMEOUT_USEC          (UINT64_C(10) * 1000 * 1000)
#define POLKIT_PATIENCE_USEC         (UINT64_C(300) * 1000 * 1000) /* when a human may be asked */

/* Text that polkit's own rules and its dialog may use. */
typedef struct PolkitDetail {
        const char *key;
        const char *value;
} PolkitDetail;

typedef struct PolkitQuery {
        const char *action;
        const char *peer; /* unique name of the peer */
        pid_t pid;        /* process of a peer over a socket; 0: the peer is on the bus */
        uint64_t start;   /* … as facts_read_start returns it */
        uid_t uid;        /* of the peer; the questions are counted per uid */
        bool interactive; /* polkit may ask a human */
        const PolkitDetail *details;
        size_t n_details;
} PolkitQuery;

/* result: 0 if allowed; else KT_E_ACCESS_DENIED, KT_E_AUTH_REQUIRED, or KT_E_CANCELLED when the
 * peer has left or ktraced ends, with the reason. */
typedef void (*PolkitHandler)(int result, const Reason *reason, void *userdata);

int polkit_new(Polkit **ret);
/* Called once. Questions before that are refused with KT_E_ACCESS_DENIED. */
void polkit_join_bus(Polkit *polkit, sd_bus *bus);
/* Answers the open questions with KT_E_ACCESS_DENIED. */
void polkit_leave_bus(Polkit *polkit);
/* Answers the open questions with KT_E_CANCELLED. */
Polkit *polkit_free(Polkit *polkit);
DEFINE_CLEANUP(Polkit, polkit_free);
/* Returns 0 if `handler` will be called: once, from the event loop, after this function has
 * returned. Otherwise it will not be called; fails with KT_E_LIMIT_REACHED, KT_E_ACCESS_DENIED with
 * the reason, or -errno. */
int polkit_ask(Polkit *polkit,
                const PolkitQuery *query,
                PolkitHandler handler,
                void *userdata,
                Reason *reason);
/* Cancels the questions about this peer; polkit closes its dialog. */
void polkit_peer_gone(Polkit *polkit, const char *unique_name);
