/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "auth/polkit.h"
#include "policy/policy.h"

/* Everyone who has called us and is still on the bus, and everyone who is connected to a socket of
 * ours: unique name -> credentials as the bus or the kernel tells them. */
typedef struct Auth Auth;

typedef struct Peer {
        char *unique_name; /* of the bus, ":…"; of a socket's, "varlink:…", which no bus has */
        Subject subject;   /* is_active and unit: as of the message that is being handled */
        pid_t pid;         /* as was told when the peer was first seen; informative only */
        uint64_t start;    /* of that process, see facts.h; 0: not known */
        bool is_administrator; /* polkit has allowed this connection to manage sessions */
} Peer;

typedef struct AuthHandlers {
        void (*on_peer_gone)(const char *unique_name,
                        void *userdata); /* called once per peer that ever called */
} AuthHandlers;

int auth_new(const AuthHandlers *handlers, void *userdata, Auth **ret);
/* Once, when the bus is there. Installs a filter on the bus: a message from a sender not known yet
 * is held back (at most AUTH_HELD_MAX per sender, then refused LimitsExceeded) while
 * GetConnectionCredentials is asked asynchronously, and put back in order. So handlers below always
 * find their peer. */
int auth_join_bus(Auth *auth, sd_bus *bus);
Auth *auth_free(Auth *auth);
DEFINE_CLEANUP(Auth, auth_free);
#define AUTH_HELD_MAX 64
/* The other end of this connected socket, right after accept(2). on_peer_gone is called by
 * auth_remove_socket, which comes when it is closed. */
int auth_add_socket(Auth *auth, int fd, char **ret_name);
void auth_remove_socket(Auth *auth, const char *unique_name);
/* A filter before auth's has answered the call: later calls of its sender do not wait for it. */
void auth_forget_call(const Auth *auth, sd_bus_message *m);
/* The sender of m, or NULL (not known: deny). */
const Peer *auth_get_peer(const Auth *auth, sd_bus_message *m);
/* Whoever has this name, with facts of now, or NULL (has left: deny); for a call over a socket, or
 * one that waited. */
const Peer *auth_find_peer(const Auth *auth, const char *unique_name);
/* For as long as this peer is connected. KT_E_CANCELLED: it has left. */
int auth_make_administrator(const Auth *auth, const char *unique_name);
/* A user who is not there: groups of the user database, no seat, no unit. */
int auth_make_subject(uid_t uid, Subject *ret);
/* Someone of whom a daemon before this one knew: on_peer_gone tells when it leaves, or has left. */
int auth_watch(Auth *auth, const char *unique_name);
/* As polkit_ask, about the peer query->peer; its uid and process are filled in. KT_E_ACCESS_DENIED
 * with the reason: it cannot be asked. What is open when the auth goes is answered then. */
int auth_ask_polkit(const Auth *auth,
                const PolkitQuery *query,
                PolkitHandler handler,
                void *userdata,
                Reason *reason);
/* Nobody who ever called is still there. on_peer_gone tells when the answer may have changed.
 */
bool auth_is_idle(const Auth *auth);
