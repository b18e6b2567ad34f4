/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The events that a viewer has turned off while other viewers of the shared instance record them.
 * mux.c makes a piece for each set that viewers of a class have. The daemon sends the set. It is
 * the viewer's own choice: what a viewer may see is in its class (extract.h). */

#include "consumer/mux/event-set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

int event_set_read(int fd, EventSet **ret) {
        _cleanup_(event_set_drop_cleanup) EventSet *set = calloc(1, sizeof(*set));
        _cleanup_free_ char *bytes = NULL;
        size_t size;

        if (!set)
                return -ENOMEM;
        set->n_users = 1;
        int r = fd_read_all(fd, EVENT_IDS * sizeof(uint32_t), &bytes, &size);
        if (r < 0)
                return r;
        for (size_t at = 0; at + sizeof(uint32_t) <= size; at += sizeof(uint32_t)) {
                uint32_t id;

                memcpy(&id, bytes + at, sizeof(id));
                if (id >= EVENT_IDS)
                        return -EBADMSG;
                event_bits_add(&set->bits, (uint16_t)id);
        }
        *ret = TAKE_PTR(set);
        return 0;
}

EventSet *event_set_hold(EventSet *set) {
        if (set)
                set->n_users++;
        return set;
}

EventSet *event_set_drop(EventSet *set) {
        if (set && --set->n_users == 0)
                free(set);
        return NULL;
}

bool event_set_is_same(const EventSet *a, const EventSet *b) {
        return a == b || (a && b && memcmp(&a->bits, &b->bits, sizeof(a->bits)) == 0);
}
