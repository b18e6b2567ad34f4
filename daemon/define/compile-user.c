/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Compiles a definition on a file for the kernel. A place becomes "FILE:0xOFFSET(0xSEMAPHORE)",
 * with the name that the kernel uses for the file. The arguments are repeated for each place of a
 * marker, because each place has them elsewhere. Called by session with the result of the
 * inspection. compile.c does the rest.
 *
 * It relies on these behaviours of the kernel (daemon/kernel/probe-group.c):
 * - places of one event have arguments of the same names and types;
 * - offsets read back with all their digits, so they are written with all digits. */

#include "define/compile-user.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "define/compile.h"
#include "define/probe-tree.h"

static bool is_somewhere(const UserArg *arg) {
        return arg->kind == USER_ARG_REGISTER || arg->kind == USER_ARG_MEMORY;
}

/* If the compiler knew a number at one place, it gets the type that it has at the other places. */
static void unify_argument(UserPlace *places, size_t n_places, size_t index) {
        const UserArg *model = NULL;

        for (size_t i = 0; i < n_places && !model; i++)
                if (is_somewhere(&places[i].args[index]))
                        model = &places[i].args[index];
        for (size_t i = 0; model && i < n_places; i++) {
                UserArg *arg = &places[i].args[index];

                if (arg->kind == USER_ARG_CONSTANT || arg->size == (int8_t)-model->size)
                        arg->size = model->size;
        }
}

static bool can_take(const UserPlace *places, size_t n_places, size_t index) {
        for (size_t i = 0; i < n_places; i++)
                if (places[i].args[index].kind == USER_ARG_OTHER)
                        return false;
        return true;
}

/* Takes all arguments of a marker if the definition names none. */
static int take_all(const Definition *definition,
                const UserPlace *places,
                size_t n_places,
                Definition **ret,
                Reason *reason) {
        _cleanup_(definition_free_cleanup) Definition *d = definition_new();
        char arg[32];
        int r = d ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && definition->n_args == 0 && i < places->n_args; i++) {
                (void)snprintf(arg, sizeof(arg), "$arg%zu", i + 1);
                if (can_take(places, n_places, i))
                        r = definition_add_arg(d, arg, reason);
        }
        for (size_t i = 0; r == 0 && i < definition->n_args; i++)
                r = definition_add_arg(d, definition->args[i], reason);
        if (r == 0)
                *ret = TAKE_PTR(d);
        return r;
}

static int compile_user_make_place(const char *file, const UserPlace *place, char **ret) {
        char semaphore[24] = "";

        if (place->semaphore > 0)
                (void)snprintf(semaphore, sizeof(semaphore), "(%#" PRIx64 ")", place->semaphore);
        if (asprintf(ret, "%s:0x%016" PRIx64 "%s", file, place->offset, semaphore) < 0) {
                *ret = NULL;
                return -ENOMEM;
        }
        return 0;
}

static int compile_user_check_same(const ProbeForm *a, const ProbeForm *b, Reason *reason) {
        for (size_t i = 0; i < a->n_fields; i++)
                if (strcmp(a->fields[i].type, b->fields[i].type) != 0)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "args[%zu] column 1: it is %s at one place of the "
                                        "marker and %s at another: write the type, as : %s",
                                        i,
                                        a->fields[i].type,
                                        b->fields[i].type,
                                        a->fields[i].type);
        return 0;
}

static int compile_place(const Definition *definition,
                const char *file,
                const CompileContext *context,
                ProbeForm **ret,
                Reason *reason) {
        _cleanup_(probe_form_free_cleanup) ProbeForm *form = calloc(1, sizeof(*form));

        int r = form ? compile_user_make_place(file, context->place, &form->place) : -ENOMEM;
        r = r ?: probe_compile_args(form, context, definition, reason);
        if (r == 0)
                *ret = TAKE_PTR(form);
        return r;
}

static int compile_places(const Definition *definition,
                const char *file,
                const UserPlace *places,
                size_t n_places,
                bool is_marker,
                ProbeForm **ret,
                Reason *reason) {
        _cleanup_(probe_form_free_cleanup) ProbeForm *first = NULL;
        ProbeForm **next = &first;
        int r = 0;

        for (size_t i = 0; r == 0 && i < n_places; i++) {
                const CompileContext context = {
                        .place = &places[i],
                        .is_marker = is_marker,
                        .is_return = definition->is_return,
                };

                r = compile_place(definition, file, &context, next, reason);
                r = r ?: compile_user_check_same(first, *next, reason);
                next = r == 0 ? &(*next)->next : next;
        }
        if (r == 0)
                *ret = TAKE_PTR(first);
        return r;
}

static int check_return(const UserPlace *place, bool is_marker, Reason *reason) {
        if (is_marker)
                return reason_set(
                                reason, KT_E_INVALID_SPEC, "return: nothing returns from a marker");
        /* The kernel uses the value at the top of the stack as the return address. */
        if (place->offset != place->function)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "on: a function returns as a whole: name its beginning, which is "
                                "0x%" PRIx64,
                                place->function);
        return 0;
}

int probe_compile_user(const Definition *definition,
                const char *file,
                const UserPlace *places,
                size_t n_places,
                ProbeForm **ret,
                Reason *reason) {
        _cleanup_(definition_free_cleanup) Definition *complete = NULL;
        _cleanup_free_ UserPlace *copy = calloc(MAX_OF(n_places, (size_t)1), sizeof(*copy));
        UserSpot spot = {};

        if (!copy || n_places == 0)
                return copy ? -EINVAL : -ENOMEM;
        memcpy(copy, places, n_places * sizeof(*copy));
        int r = user_spot_parse(definition->on, &spot, reason);
        bool is_marker = spot.marker != NULL;
        user_spot_clear(&spot);
        if (r == 0 && definition->is_return)
                r = check_return(places, is_marker, reason);
        for (size_t i = 1; r == 0 && i < n_places; i++)
                if (places[i].n_args != places->n_args)
                        r = reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "on: the marker has %u arguments at one place and %u at "
                                        "another",
                                        places->n_args,
                                        places[i].n_args);
        for (size_t i = 0; i < USER_ARGS_MAX; i++)
                unify_argument(copy, n_places, i);
        r = r ?: take_all(definition, copy, n_places, &complete, reason);
        if (r != 0)
                return r;
        complete->is_return = definition->is_return;
        return compile_places(complete, file, copy, n_places, is_marker, ret, reason);
}
