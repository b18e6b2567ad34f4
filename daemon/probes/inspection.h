/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/user-place.h"
#include "work/request.h"
#include "work/spawn.h"

/* Files that a confined process looks into before a probe is put there: those that clients have
 * sent it (tickets), and those that root names by path. */
typedef struct Inspections Inspections;

#define INSPECTIONS_PER_UID_MAX 2 /* until their processes are gone */

/* One that was found fit. */
typedef struct Inspected {
        int fd; /* O_PATH: pins the inode; to close it waits for nobody */
        /* Before it was read. An overlay may be a user's own, over anything: what the kernel reads
         * of it later waits for that. */
        ControlFacts facts;
        /* Of a marker all that have its name, at least one. Ranges are checked; whether it is true
         * is the file's word alone. */
        UserPlace *places;
        size_t n_places;
} Inspected;

Inspected *inspected_free(Inspected *inspected);
DEFINE_CLEANUP(Inspected, inspected_free);

/* Where in it: a marker, or (NULL) an offset. */
typedef struct InspectionQuestion {
        uint64_t offset;
        const char *marker; /* "PROVIDER:NAME", below CONTROL_NAME_MAX bytes; copied */
} InspectionQuestion;

/* result 0: inspected, which is the handler's now. Else it is NULL and the reason tells:
 * KT_E_FAILED (no local file, no program, no instruction begins there, no such marker, no answer in
 * time), KT_E_CANCELLED (ticket's peer has left, the daemon ends), -errno. */
typedef void (*InspectionHandler)(int result,
                const Reason *reason,
                Inspected *inspected,
                void *userdata);

int inspections_new(const ConsumerLauncher *launcher, Inspections **ret);
/* Answers what is open with KT_E_CANCELLED. */
Inspections *inspections_free(Inspections *inspections);
DEFINE_CLEANUP(Inspections, inspections_free);
/* on_changed: it may have a new answer. */
bool inspections_are_idle(const Inspections *inspections);
void inspections_on_changed(Inspections *inspections,
                void (*on_changed)(void *userdata),
                void *userdata);

/* A process for a file of the request's peer. `done` finds ticket in request->ticket and the
 * client's end of a SOCK_SEQPACKET pair in request->fd: one message of one byte with the file's
 * descriptor. KT_E_LIMIT_REACHED, KT_E_NO_CONSUMER. */
int inspections_open(Inspections *inspections, Request *request, Reason *reason);

/* Asks about the file of a ticket, which is used up by it whatever comes. 0: handler is called,
 * once, not before this has returned. KT_E_INVALID_SPEC: this peer has no such ticket. */
int inspections_ask(Inspections *inspections,
                const char *peer,
                uint32_t ticket,
                const InspectionQuestion *question,
                InspectionHandler handler,
                void *userdata,
                Reason *reason);
/* The same of the file that a path leads to for the daemon; for root and the catalogue. */
int inspections_ask_path(Inspections *inspections,
                const char *path,
                const InspectionQuestion *question,
                InspectionHandler handler,
                void *userdata,
                Reason *reason);

/* Its tickets are void, its questions answered. */
void inspections_peer_gone(Inspections *inspections, const char *peer);
