/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "auth/auth.h"
#include "session/session.h"

/* The connections that have called Watch, over all doors. */
typedef struct Watchers Watchers;

typedef struct WatchersOptions {
        sd_event *event;
        /* Sends an object of Manager.Notified to this peer. Returns false if the peer has too much
         * to read. Call watchers_resume() when it has read it. */
        bool (*send)(const char *peer, json_object *notice, void *userdata);
        void *userdata;
} WatchersOptions;

int watchers_new(const WatchersOptions *options, Watchers **ret);
/* Sends nothing. */
Watchers *watchers_free(Watchers *watchers);
DEFINE_CLEANUP(Watchers, watchers_free);

/* From now on this peer gets the notices of all sessions, or of its user's sessions. A second call
 * replaces the first one. KT_E_LIMIT_REACHED: the user has too many watchers. */
int watchers_add(Watchers *watchers, const char *peer, uid_t uid, bool is_of_all, Reason *reason);
/* Nothing happens if the peer does not watch. */
void watchers_remove(Watchers *watchers, const char *peer);
/* The peer has read what was sent. */
void watchers_resume(Watchers *watchers, const char *peer);

/* These accept NULL. */
void watchers_take_state(Watchers *watchers, const Session *session);
/* notice: as in Session.Notified */
void watchers_take_notice(Watchers *watchers, const Session *session, json_object *notice);
void watchers_take_end(Watchers *watchers,
                const Session *session,
                const char *code,
                const char *reason);
/* Sends the losses that wait for their turn. Call it before the daemon ends. */
void watchers_flush(Watchers *watchers);
