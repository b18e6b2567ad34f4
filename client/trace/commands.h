/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct Command {
        int pid; /* 0: a free place */
        char *name;
} Command;

/* The names of tasks by pid. Pid 0 is always "<idle>". */
typedef struct Commands {
        Command *places; /* hashed by pid; n_places is a power of two */
        size_t n_places, n_used;
} Commands;

#define COMMANDS_IDLE    "<idle>"
#define COMMANDS_UNKNOWN "<...>" /* of an unknown pid */

void commands_clear(Commands *commands);
/* Returns 0 or -ENOMEM. */
int commands_set(Commands *commands, int pid, const char *name, bool replace);
/* Returns NULL if the pid is unknown. */
const char *commands_find(const Commands *commands, int pid);
