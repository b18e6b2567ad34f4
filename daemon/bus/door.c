/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Adds the D-Bus objects to the bus and removes them. Created by the manager after auth, whose
 * filter must see each message before the objects. Owns the slots. */
#include "bus/door.h"

#include <errno.h>

#include "bus/call.h"
#include "bus/log-control.h"
#include "bus/manager-object.h"
#include "bus/session-object.h"

/* Runs before auth's filter, because that filter's work for each message must also be limited. */
static int door_on_message(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        Door *door = userdata;
        const Peer *peer = call_get_peer(door, m);
        Reason reason = { "" };

        if (!sd_bus_message_is_method_call(m, NULL, NULL) || !peer)
                return 0;
        int r = desk_admit(door->desk, peer->subject.uid, &reason);
        /* For all that is not a method of ours, such as properties. */
        r = r ?: place_check(peer->place, &reason);
        if (r == 0)
                return 0;
        desk_count_refusal(door->desk, r);
        auth_forget_call(door->desk->auth, m);
        sd_bus_reply_method_errorf(m, error_get(r)->bus_name, "%s", reason.text);
        return 1;
}

static int door_on_turn(sd_event_source *source _unused_, void *userdata) {
        const Door *door = userdata;

        /* The bus connection reports an error itself, at its next processing. */
        (void)sd_bus_process(door->bus, NULL);
        return 0;
}

/* sd-bus processes the messages that were put back into its queue (auth.c) by a timer, and sd-event
 * puts that timer after all other sources in each turn: if the loop is busy, they would never be
 * handled. This deferred source gives them a turn among the others. */
static int after_turn(sd_event_source *source _unused_, void *userdata) {
        Door *door = userdata;
        int enabled = SD_EVENT_OFF;
        uint64_t due = UINT64_MAX;

        (void)sd_event_source_get_enabled(door->turn, &enabled);
        if (enabled != SD_EVENT_OFF || sd_bus_get_timeout(door->bus, &due) < 0 || due > 0)
                return 0;
        sd_event_source_unref(door->turn);
        door->turn = NULL;
        (void)sd_event_add_defer(sd_bus_get_event(door->bus), &door->turn, door_on_turn, door);
        return 0;
}

int door_new(sd_bus *bus, Desk *desk, Door **ret) {
        _cleanup_(door_free_cleanup) Door *door = calloc(1, sizeof(*door));
        int r;

        if (!door)
                return -ENOMEM;
        door->bus = sd_bus_ref(bus);
        door->desk = desk;
        r = manager_object_add(door, &door->slots[0]);
        if (r >= 0)
                r = session_object_add(door, &door->slots[1], &door->slots[2]);
        if (r >= 0)
                r = log_control_add(door, &door->slots[3]);
        if (r >= 0)
                /* sd-bus calls the filter that was added last first. */
                r = sd_bus_add_filter(bus, &door->slots[4], door_on_message, door);
        if (r >= 0)
                r = sd_event_add_post(sd_bus_get_event(bus), &door->after_turn, after_turn, door);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(door);
        return 0;
}

Door *door_free(Door *door) {
        if (!door)
                return NULL;
        sd_event_source_disable_unref(door->after_turn);
        sd_event_source_disable_unref(door->turn);
        for (size_t i = 0; i < ELEMENTSOF(door->slots); i++)
                sd_bus_slot_unref(door->slots[i]);
        vtable_free(door->manager);
        vtable_free(door->session);
        sd_bus_unref(door->bus);
        free(door);
        return NULL;
}
