/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"

/* A stream that has outlived its session: its data is on the way to the client, or its worker hangs
 * in the kernel. */
typedef struct Drain {
        Registry *registry;
        Feed *feed;
        uid_t uid;
        TAILQ_ENTRY(Drain) drains;
} Drain;

/* Takes over the feed of a session, with the data that its client has not read yet. */
void drain_add(Registry *registry, Feed *feed, uid_t uid);
/* The daemon ends. */
void drain_free_all(Registry *registry);
