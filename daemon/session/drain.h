/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"

/* A stream that has outlived its session: its data is on the way to the client, or its worker hangs
 * in the kernel. */
typedef struct Drain {
        Registry *registry;
        Feed *feed;
        uid_t uid;
        bool is_view;   /* one user's part of the black box */
        bool is_ending; /* it was ended for a newer one */
        TAILQ_ENTRY(Drain) drains;
} Drain;

/* Takes over the feed of a session, with the data that its client has not read yet. is_view: it is
 * one user's part of the black box. The oldest of many of these ends. */
void drain_add(Registry *registry, Feed *feed, uid_t uid, bool is_view);
/* The daemon ends. */
void drain_free_all(Registry *registry);
