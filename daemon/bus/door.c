/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Puts the D-Bus objects up and takes them down. Made by the manager after auth, whose filter has
 * to see each message before the objects do. Owns the slots. */
#include "door.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "call.h"
#include "log-control.h"
#include "manager-object.h"
#include "session-object.h"

static uint64_t now_usec(clockid_t clock) {
        struct timespec now = {};

        (void)clock_gettime(clock, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Before auth's filter: what is asked there for each message is not to be had for nothing. */
static int on_message(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        Door *door = userdata;
        const Peer *peer = auth_get_peer(door->auth, m);

        if (!sd_bus_message_is_method_call(m, NULL, NULL) || !peer || peer->subject.uid == 0)
                return 0;
        if (pace_has_left(&door->pace, peer->subject.uid, now_usec(CLOCK_MONOTONIC))) {
                door->is_paced = true;
                door->paced_uid = peer->subject.uid;
                door->paced_usec = now_usec(CLOCK_THREAD_CPUTIME_ID);
                return 0;
        }
        sd_bus_reply_method_errorf(m,
                        error_get(KT_E_LIMIT_REACHED)->bus_name,
                        "your calls take more than %" PRIu64
                        " us of a second (max-call-usec-per-sec): wait a second",
                        registry_get_limits(door->registry)->max_call_usec_per_sec);
        return 1;
}

/* After each turn of the loop, in which one call was handled at most. */
static int on_turn(sd_event_source *source, void *userdata) {
        Door *door = userdata;

        if (door->is_paced)
                pace_take(&door->pace,
                                door->paced_uid,
                                now_usec(CLOCK_THREAD_CPUTIME_ID) - door->paced_usec,
                                registry_get_limits(door->registry)->max_call_usec_per_sec,
                                now_usec(CLOCK_MONOTONIC));
        door->is_paced = false;
        return 0;
}

static int pace_calls(Door *door) {
        int r = sd_event_add_post(sd_bus_get_event(door->bus), &door->turn_source, on_turn, door);

        /* The last filter added is asked first. */
        return r < 0 ? r : sd_bus_add_filter(door->bus, &door->slots[4], on_message, door);
}

int door_new(sd_bus *bus,
                const Auth *auth,
                Registry *registry,
                const DoorHandlers *handlers,
                void *userdata,
                Door **ret) {
        _cleanup_(door_free_cleanup) Door *door = calloc(1, sizeof(*door));
        int r;

        if (!door)
                return -ENOMEM;
        door->bus = sd_bus_ref(bus);
        door->auth = auth;
        door->registry = registry;
        door->handlers = *handlers;
        door->userdata = userdata;
        TAILQ_INIT(&door->calls);
        r = manager_object_add(door, &door->slots[0]);
        if (r >= 0)
                r = session_object_add(door, &door->slots[1], &door->slots[2]);
        if (r >= 0)
                r = log_control_add(door, &door->slots[3]);
        if (r >= 0)
                r = pace_calls(door);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(door);
        return 0;
}

Door *door_free(Door *door) {
        if (!door)
                return NULL;
        sd_event_source_unref(door->turn_source);
        for (size_t i = 0; i < ELEMENTSOF(door->slots); i++)
                sd_bus_slot_unref(door->slots[i]);
        call_forget_door(door);
        sd_bus_unref(door->bus);
        free(door);
        return NULL;
}
