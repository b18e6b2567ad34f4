/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/json.h"
#include "origin.h"
#include "output.h"
#include "watch.h"

/* The snapshots that `record --flight` takes of its session. */
typedef struct Flight Flight;

int flight_new(Flight **ret);
Flight *flight_free(Flight *flight);
DEFINE_CLEANUP(Flight, flight_free);
/* "SIGUSR1", "exit", or an event and, behind "if", a filter; repeatable. text is borrowed. None at
 * all: at the exit. */
int flight_add(Flight *flight, const char *text, Reason *reason);
/* After watch_block_signals: SIGUSR1 no longer ends this process, if it is for snapshots. */
int flight_block_signal(const Flight *flight);
/* Puts the triggers of its events into a session's spec, and into origins where they come from. */
int flight_complete(const Flight *flight, json_object *spec, Origins *origins);

typedef struct FlightOutput {
        Output *output; /* of the first; borrowed */
        const char *path, *format;
        bool quiet;
} FlightOutput;

/* From now on SIGUSR1 and the events count. */
int flight_watch(Flight *flight, const FlightOutput *output, Watch *watch);
/* Asks ktraced whether the kernel has kept a moment since the last snapshot: its notice may still
 * be on the way. While the session runs. */
int flight_look(Flight *flight, Reason *reason);
/* Something asks for one. */
bool flight_is_wanted(const Flight *flight);
bool flight_is_at_exit(const Flight *flight);
/* One now: its file is told on stderr. -ECONNRESET: ktraced has let its worker go, as
 * it does when it ends: to be asked again of the next one. */
int flight_take(Flight *flight, Reason *reason);
unsigned flight_get_n_taken(const Flight *flight);
