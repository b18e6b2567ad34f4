/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "auth/place.h"
#include "auth/polkit.h"
#include "policy/policy.h"

/* All peers that have called us and are still on the bus, and all peers connected to one of our
 * sockets. Maps the unique name to the credentials that the bus or the kernel reports. */
typedef struct Auth Auth;

typedef struct Peer {
        char *unique_name;     /* ":…" on the bus; "varlink:…" on a socket, which no bus uses */
        Subject subject;       /* is_active and unit are as of the current message */
        pid_t pid;             /* as reported when the peer was first seen; informative only */
        uint64_t start;        /* start time of that process, see facts.h; 0: not known */
        Place place;           /* of that process, when the peer was first seen; on the socket of a
                                  container: now */
        bool is_administrator; /* polkit has allowed this connection to manage sessions */
} Peer;

typedef struct AuthHandlers {
        void (*on_peer_gone)(const char *unique_name,
                        void *userdata); /* called once per peer that ever called */
} AuthHandlers;

int auth_new(const AuthHandlers *handlers, void *userdata, Auth **ret);
/* Called when the bus is connected, and again after auth_leave_bus. Installs a filter on the bus. A
 * message from an unknown sender is held back (at most AUTH_HELD_MAX per sender, further ones are
 * refused with LimitsExceeded) until an asynchronous GetConnectionCredentials returns, and is then
 * put back in order. So the handlers always find their peer. */
int auth_join_bus(Auth *auth, sd_bus *bus);
/* Called when the connection is lost: all peers on the bus have left. Questions to polkit are
 * answered with KT_E_ACCESS_DENIED. */
void auth_leave_bus(Auth *auth);
Auth *auth_free(Auth *auth);
DEFINE_CLEANUP(Auth, auth_free);
#define AUTH_HELD_MAX 64
/* Adds a container that has a socket of its own. *ret is the uid that stands for it. A file that is
 * missing or wrong is logged: the calls are refused until it is right. Fails with -EUSERS, -EINVAL
 * (not the name of a file), -ENOMEM. */
int auth_add_container(Auth *auth, const char *config_dir, const char *name, uid_t *ret);
/* Adds the peer at the other end of this connected socket. Must be called right after accept(2).
 * auth_remove_socket must be called when the socket is closed; it calls on_peer_gone. container:
 * the uid of the container whose socket it is; -1: the socket of all users. */
int auth_add_socket(Auth *auth, int fd, uid_t container, char **ret_name);
void auth_remove_socket(Auth *auth, const char *unique_name);
/* Called when an earlier filter has answered the call, so that later calls of its sender do not
 * wait for it. */
void auth_forget_call(const Auth *auth, sd_bus_message *m);
/* Returns the sender of m, or NULL if it is not known: deny. */
const Peer *auth_get_peer(const Auth *auth, sd_bus_message *m);
/* Returns the peer with this name, with current facts, or NULL if it has left: deny. Used for calls
 * over a socket and for calls that waited. */
const Peer *auth_find_peer(const Auth *auth, const char *unique_name);
/* Valid as long as this peer is connected. Fails with KT_E_CANCELLED when the peer has left. */
int auth_make_administrator(const Auth *auth, const char *unique_name);
/* Makes the subject of a user who is not connected: groups from the user database, no seat, no
 * unit. */
int auth_make_subject(uid_t uid, Subject *ret);
/* Watches a peer that an earlier daemon knew: on_peer_gone is called when it leaves, or if it has
 * already left. */
int auth_watch(Auth *auth, const char *unique_name);
/* As polkit_ask, for the peer query->peer; fills in its uid and process. Fails with
 * KT_E_ACCESS_DENIED and the reason when polkit cannot be asked. auth_free answers the questions
 * that are still open. */
int auth_ask_polkit(const Auth *auth,
                const PolkitQuery *query,
                PolkitHandler handler,
                void *userdata,
                Reason *reason);
/* Returns true when all peers that ever called have left. on_peer_gone is called when the result
 * may have changed. */
bool auth_is_idle(const Auth *auth);
