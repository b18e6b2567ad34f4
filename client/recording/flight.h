/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/json.h"
#include "recording/output.h"
#include "recording/watch.h"
#include "spec/origin.h"

/* Per recording, because an event may occur constantly. */
#define FLIGHT_SNAPSHOTS_MAX 1000U
#define FLIGHT_TRIES         3U /* of a snapshot whose worker ended early */

/* The snapshots that `record --flight` takes of its session. */
typedef struct Flight Flight;

int flight_new(Flight **ret);
Flight *flight_free(Flight *flight);
DEFINE_CLEANUP(Flight, flight_free);
/* Adds a cause for snapshots: "SIGUSR1", "exit", or an event with an optional " if FILTER". May
 * be called repeatedly. text is borrowed. Without any cause the snapshot is taken at the exit. */
int flight_add(Flight *flight, const char *text, Reason *reason);
/* Whether this cause is SIGUSR1, or the exit. */
bool flight_is_signal(const char *text);
bool flight_is_exit(const char *text);
/* Blocks SIGUSR1 if it is a cause for snapshots, so it does not end this process. Call it after
 * watch_block_signals. */
int flight_block_signal(const Flight *flight);
/* Adds the triggers for its events to a session's spec, and their source to origins. */
int flight_complete(const Flight *flight, json_object *spec, Origins *origins);

typedef struct FlightOutput {
        Output *output; /* of the first snapshot; borrowed */
        const char *path, *format;
        bool quiet;
        int series_fd; /* when the output is that of the far side of -H, see series.h */
} FlightOutput;

/* SIGUSR1 and the events count from now on. */
int flight_watch(Flight *flight, const FlightOutput *output, Watch *watch);
/* Asks ktraced whether the kernel has kept a moment since the last snapshot, because its notice
 * may not have arrived yet. The session must be running. */
int flight_look(Flight *flight, Reason *reason);
/* True if a snapshot was requested. */
bool flight_is_wanted(const Flight *flight);
bool flight_is_at_exit(const Flight *flight);
/* Takes a snapshot now and reports its file on stderr. -ECONNRESET: ktraced has released its
 * worker, which it does when it exits. The caller must ask the next ktraced again. */
int flight_take(Flight *flight, Reason *reason);
unsigned flight_get_n_taken(const Flight *flight);
/* The file of a snapshot: t.dat, then t.1.dat. Returns 0 or -ENOMEM. */
int flight_make_path(const char *path, unsigned number, char **ret);
