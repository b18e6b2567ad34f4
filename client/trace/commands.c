/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A hash table of task names. Owned by decode, which looks up a name for each line. */

#include "trace/commands.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void commands_clear(Commands *commands) {
        for (size_t i = 0; i < commands->n_places; i++)
                free(commands->places[i].name);
        free(commands->places);
        *commands = (Commands){ 0 };
}

/* Returns the place of the pid, or the free one where it belongs. */
static Command *find_place(const Commands *commands, int pid) {
        size_t mask = commands->n_places - 1;
        size_t at = ((uint32_t)pid * UINT32_C(2654435761) >> 7) & mask;

        while (commands->places[at].pid != 0 && commands->places[at].pid != pid)
                at = (at + 1) & mask;
        return &commands->places[at];
}

static int commands_grow(Commands *commands) {
        Commands grown = { .n_places = commands->n_places > 0 ? commands->n_places * 2 : 256,
                .n_used = commands->n_used };

        if (commands->n_used * 2 < commands->n_places)
                return 0;
        grown.places = calloc(grown.n_places, sizeof(*grown.places));
        if (!grown.places)
                return -ENOMEM;
        for (size_t i = 0; i < commands->n_places; i++)
                if (commands->places[i].pid != 0)
                        *find_place(&grown, commands->places[i].pid) = commands->places[i];
        free(commands->places);
        *commands = grown;
        return 0;
}

int commands_set(Commands *commands, int pid, const char *name, bool replace) {
        Command *place;
        char *copy;
        int r;

        if (pid == 0)
                return 0;
        r = commands_grow(commands);
        if (r < 0)
                return r;
        place = find_place(commands, pid);
        if (place->pid != 0 && !replace)
                return 0;
        copy = strdup(name);
        if (!copy)
                return -ENOMEM;
        commands->n_used += place->pid == 0;
        free(place->name);
        *place = (Command){ .pid = pid, .name = copy };
        return 0;
}

const char *commands_find(const Commands *commands, int pid) {
        if (pid == 0)
                return COMMANDS_IDLE;
        return commands->n_places > 0 ? find_place(commands, pid)->name : NULL;
}
