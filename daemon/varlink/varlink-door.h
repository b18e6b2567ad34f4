/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "door/desk.h"
#include "varlink/server.h"

/* The Varlink interface of the daemon: org.ktrace1, as in interfaces/org.ktrace1.varlink. */
typedef struct VarlinkDoor VarlinkDoor;

/* All pointers are borrowed and must outlive the door. Clients cannot connect before
 * varlink_door_open. */
int varlink_door_new(sd_event *event, Desk *desk, Auth *auth, VarlinkDoor **ret);
/* Starts listening on the socket `fd` (consumed), or, if fd is -1, on a socket bound at `path`.
 * Called once. */
int varlink_door_open(VarlinkDoor *door, int fd, const char *path);
/* Also listens on the socket of a container. fd: consumed; container: from auth_add_container. */
int varlink_door_open_container(VarlinkDoor *door, int fd, uid_t container);
VarlinkDoor *varlink_door_free(VarlinkDoor *door);
DEFINE_CLEANUP(VarlinkDoor, varlink_door_free);

/* Sent to the connections that subscribed to this session. */
void varlink_door_send_state(VarlinkDoor *door, const Session *session);
void varlink_door_send_notice(VarlinkDoor *door, const Session *session, json_object *notice);
void varlink_door_send_ended(VarlinkDoor *door,
                const Session *session,
                const char *code,
                const char *reason);
/* Sends an object of Manager.Notified to this peer, which has called Watch. Returns false if it
 * does not read; the desk's watchers are resumed when it does. */
bool varlink_door_send_watcher(VarlinkDoor *door, const char *peer, json_object *notice);

/* Returns the caller with current facts; NULL: it has left. */
const Peer *visitor_get_peer(const VarlinkDoor *door, const VarlinkCall *call);
/* The call, whose connection has subscribed, is from now on answered with the events of the
 * session. Returns false if memory is short; otherwise the visitor owns the call. */
bool visitor_subscribe(VarlinkDoor *door, VarlinkCall *call, const Session *session);
/* The same for Watch and the notices that its peer gets. Always owns the call. */
void visitor_watch(VarlinkCall *call);
