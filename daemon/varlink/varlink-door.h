/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "door/desk.h"
#include "varlink/server.h"

/* The Varlink face of the daemon: org.ktrace1, as interfaces/org.ktrace1.varlink has it. */
typedef struct VarlinkDoor VarlinkDoor;

/* All are borrowed and must outlive the door. Nobody can connect yet. */
int varlink_door_new(sd_event *event, Desk *desk, Auth *auth, VarlinkDoor **ret);
/* Lets people in, over the listening socket `fd` (consumed), or where that is -1 over one that is
 * bound at `path`. Once. */
int varlink_door_open(VarlinkDoor *door, int fd, const char *path);
VarlinkDoor *varlink_door_free(VarlinkDoor *door);
DEFINE_CLEANUP(VarlinkDoor, varlink_door_free);

/* To the connections that have subscribed to this session. */
void varlink_door_send_state(VarlinkDoor *door, const Session *session);
void varlink_door_send_notice(VarlinkDoor *door, const Session *session, json_object *notice);
void varlink_door_send_ended(VarlinkDoor *door,
                const Session *session,
                const char *code,
                const char *reason);

/* What it serves: for a test that compares it with the documents. */
const VarlinkInterface *varlink_door_get_interface(void);

/* Whoever calls, with facts of now; NULL: has left. */
const Peer *visitor_get_peer(const VarlinkDoor *door, const VarlinkCall *call);
/* From now on the call is answered with what happens in the session. 0: it is the visitor's. */
int visitor_subscribe(VarlinkDoor *door, VarlinkCall *call, Session *session, Reason *reason);
