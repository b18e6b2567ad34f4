/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Checks a place that a confined process has found: only that its numbers are in their ranges. The
 * file that the process has read may have taken control of it. The process can then give false
 * places in that file, but it can neither affect another file nor harm the daemon. Pure. */

#include "probes/inspection-place.h"

#include <string.h>

#include "interfaces/user-args.h"

static bool arg_is_sound(const UserArg *arg) {
        static const UserArg other;

        if (arg->kind == USER_ARG_OTHER)
                return memcmp(arg, &other, sizeof(other)) == 0;
        int size = arg->size < 0 ? -arg->size : arg->size;
        if (size != 1 && size != 2 && size != 4 && size != 8)
                return false;
        if (arg->kind == USER_ARG_CONSTANT)
                return true;
        return (arg->kind == USER_ARG_REGISTER || arg->kind == USER_ARG_MEMORY) &&
               user_register_name(arg->reg) && arg->value >= INT32_MIN && arg->value <= INT32_MAX;
}

bool inspection_place_is_sound(const ControlMessage *question,
                const ControlFacts *facts,
                const UserPlace *place) {
        if (place->offset >= facts->size || place->function > place->offset ||
                        place->semaphore >= facts->size || place->semaphore % 2 != 0 ||
                        place->n_args > USER_ARGS_MAX)
                return false;
        for (size_t i = 0; i < place->n_args; i++)
                if (!arg_is_sound(&place->args[i]))
                        return false;
        return question->question.marker[0] ||
               (place->offset == question->question.offset && place->semaphore == 0 &&
                               place->n_args == 0);
}
