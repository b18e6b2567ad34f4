/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/queue.h>

#include "interfaces/names.h"
#include "varlink/method-list.h"
#include "varlink/varlink-door.h"

/* A connected client: the userdata of its connection. */
typedef struct Visitor {
        VarlinkDoor *door;
        char *name;                     /* in auth's table */
        VarlinkCall *subscription;      /* Subscribe or Watch; NULL: neither */
        char session[KT_ID_DIGITS + 1]; /* of Subscribe; "": Watch */
        TAILQ_ENTRY(Visitor) others;
} Visitor;

struct VarlinkDoor {
        Desk *desk;
        Auth *auth;
        MethodList *methods; /* of the server */
        VarlinkServer *server;
        TAILQ_HEAD(, Visitor) visitors;
};
