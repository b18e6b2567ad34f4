/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "consumer/mux/event-bits.h"
#include "interfaces/cleanup.h"

/* The events that viewers of a class do not want now. Viewers with equal sets use the same object.
 */
typedef struct EventSet {
        unsigned n_users;
        EventBits bits;
} EventSet;

/* fd: an array of uint32_t, as in EVENTS (control.h). The set has one user. Fails with -EBADMSG or
 * -errno. */
int event_set_read(int fd, EventSet **ret);
EventSet *event_set_hold(EventSet *set);
/* Frees the set after its last user. Returns NULL. */
EventSet *event_set_drop(EventSet *set);
DEFINE_CLEANUP(EventSet, event_set_drop);
bool event_set_is_same(const EventSet *a, const EventSet *b);
