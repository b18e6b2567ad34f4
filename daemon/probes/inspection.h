/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/user-place.h"
#include "work/request.h"
#include "work/spawn.h"

/* Files that a confined process inspects before a probe is defined in them: files that clients have
 * sent (tickets), and files that root names by path. */
typedef struct Inspections Inspections;

#define INSPECTIONS_PER_UID_MAX 2 /* counted until the process has exited */

/* A file that passed the inspection. */
typedef struct Inspected {
        int fd; /* O_PATH: pins the inode; closing it never blocks */
        /* Taken before the file was read. An overlay may be mounted by a user over any file system.
         * Later reads of it by the kernel then depend on that file system. */
        ControlFacts facts;
        /* For a marker: all places with its name, at least one. The ranges are checked. Only the
         * file itself states that the places are correct. */
        UserPlace *places;
        size_t n_places;
} Inspected;

Inspected *inspected_free(Inspected *inspected);
DEFINE_CLEANUP(Inspected, inspected_free);

/* The place in the file: a marker, or an offset if marker is NULL. */
typedef struct InspectionQuestion {
        uint64_t offset;
        const char *marker; /* "PROVIDER:NAME", below CONTROL_NAME_MAX bytes; copied */
} InspectionQuestion;

/* If result is 0, the handler owns inspected. Otherwise inspected is NULL and reason explains the
 * result: KT_E_FAILED (not a local file, not a program, no instruction begins there, no such
 * marker, no answer in time), KT_E_CANCELLED (the ticket's peer has left, or the daemon ends),
 * -errno. */
typedef void (*InspectionHandler)(int result,
                const Reason *reason,
                Inspected *inspected,
                void *userdata);

int inspections_new(const ConsumerLauncher *launcher, Inspections **ret);
/* Open questions are answered with KT_E_CANCELLED. */
Inspections *inspections_free(Inspections *inspections);
DEFINE_CLEANUP(Inspections, inspections_free);
/* on_changed is called when inspections_are_idle may return a new answer. */
bool inspections_are_idle(const Inspections *inspections);
void inspections_on_changed(Inspections *inspections,
                void (*on_changed)(void *userdata),
                void *userdata);

/* Starts a process for a file of the request's peer. `done` finds the ticket in request->ticket and
 * the client's end of a SOCK_SEQPACKET pair in request->fd. The client sends one message of one
 * byte with the file's descriptor. Fails with KT_E_LIMIT_REACHED, KT_E_NO_CONSUMER. */
int inspections_open(Inspections *inspections, Request *request, Reason *reason);

/* Asks about the file of a ticket. The ticket is used up in every case. If this returns 0, handler
 * is called once, after the return. KT_E_INVALID_SPEC: this peer has no such ticket. */
int inspections_ask(Inspections *inspections,
                const char *peer,
                uint32_t ticket,
                const InspectionQuestion *question,
                InspectionHandler handler,
                void *userdata,
                Reason *reason);
/* Does the same for a file named by path, as the daemon resolves it. For root and the catalogue. */
int inspections_ask_path(Inspections *inspections,
                const char *path,
                const InspectionQuestion *question,
                InspectionHandler handler,
                void *userdata,
                Reason *reason);

/* Cancels the peer's tickets and answers its questions. */
void inspections_peer_gone(Inspections *inspections, const char *peer);
