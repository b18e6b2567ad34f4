/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "policy.h"
#include "polkit.h"

/* Everyone who has called us and is still on the bus: unique name -> credentials as the bus tells
 * them. */
typedef struct Auth Auth;

typedef struct Peer {
        char *unique_name;
        Subject subject;       /* is_active and unit: as of the message that is being handled */
        pid_t pid;             /* as the bus told when the peer was first seen; informative only */
        uint64_t start;        /* of that process, see facts.h; 0: not known */
        bool is_administrator; /* polkit has allowed this connection to manage sessions */
} Peer;

typedef struct AuthHandlers {
        void (*on_peer_gone)(const char *unique_name,
                        void *userdata); /* called once per peer that ever called */
} AuthHandlers;

/* Installs a filter on the bus: a message from a sender not known yet is held back (at most
 * AUTH_HELD_MAX per sender, then refused LimitsExceeded) while GetConnectionCredentials is asked
 * asynchronously, and put back in order. So handlers below always find their peer. */
int auth_new(sd_bus *bus, const AuthHandlers *handlers, void *userdata, Auth **ret);
Auth *auth_free(Auth *auth);
DEFINE_CLEANUP(Auth, auth_free);
#define AUTH_HELD_MAX 64
/* The sender of m, or NULL (not known: deny). */
const Peer *auth_get_peer(const Auth *auth, sd_bus_message *m);
/* Whoever has this name, with facts of now, or NULL (has left: deny); for a call that waited. */
const Peer *auth_find_peer(const Auth *auth, const char *unique_name);
/* For as long as this peer is on the bus. KT_E_CANCELLED: it has left. */
int auth_make_administrator(const Auth *auth, const char *unique_name);
/* A user who is not there: groups of the user database, no seat, no unit. */
int auth_make_subject(uid_t uid, Subject *ret);
/* Someone of whom a daemon before this one knew: on_peer_gone tells when it leaves, or has left. */
int auth_watch(Auth *auth, const char *unique_name);
/* Where to ask on behalf of a peer. What is open when the auth goes is answered then. */
Polkit *auth_get_polkit(const Auth *auth);
/* Nobody who ever called is still on the bus. on_peer_gone tells when the answer may have changed.
 */
bool auth_is_idle(const Auth *auth);
