/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Compiles definitions of probes, from the user's text to the kernel's. lex.c splits an argument
 * into words, parse.c makes a tree, evaluate.c finds its place by the kernel's types (in programs
 * evaluate-user.c, without types), and fetch.c writes the place in the kernel's words. Called by
 * session. Pure except for the types, and changes nothing.
 *
 * The only words of a caller that reach the kernel are names that the kernel knows: a wrong offset
 * would record foreign memory without an error. The time is linear in the text, the search for a
 * member is linear in the size of its structure. Recursion ends at PROBE_DEPTH_MAX.
 *
 * Functions get kprobes ("p:", "r:"), also where the kernel has fprobes ("f:", "t:"):
 * - no file of tracefs has the hits and misses of an fprobe. When 64 tasks slept in one function,
 *   Linux 6.12 recorded 10 returns for "r:" and counted 54 misses. For "f:%return" it recorded 5,
 *   and reported no loss;
 * - the kernel places an fprobe at functions that kprobes/blacklist protects, such as do_int3();
 * - on x86-64 a kprobe at the beginning of a function also uses ftrace. At a call of vfs_read() in
 *   an emulated guest (25 interleaved runs, CPU time), a kprobe added 1360 ns and an fprobe 1790;
 *   with two arguments 2220 and 1900; at the return 3610 and 2790;
 * - names of arguments (BTF) and $arg* have the same meaning in "p:" and "r:". */

#include "define/compile.h"

#include <errno.h>
#include <string.h>

#include "define/evaluate-user.h"
#include "define/evaluate.h"
#include "define/fetch-field.h"
#include "define/fetch-pair.h"
#include "define/fetch.h"
#include "define/parse.h"
#include "define/probe-tree.h"

ProbeForm *probe_form_free(ProbeForm *form) {
        for (ProbeForm *next; form; form = next) {
                next = form->next;
                for (size_t i = 0; i < form->n_fields; i++) {
                        free(form->fields[i].names);
                        free(form->fields[i].c_type);
                        free(form->fields[i].source);
                }
                for (size_t i = 0; i < form->n_keys; i++) {
                        free(form->keys[i].from);
                        free(form->keys[i].to);
                }
                free(form->fields);
                free(form->place);
                free(form);
        }
        return NULL;
}

/* The kernel would refuse two fields with the same name. */
static int check_unique(const ProbeTree *tree, const ProbeForm *form) {
        const ProbeField *last = &form->fields[form->n_fields - 1];

        for (size_t i = 0; i + 1 < form->n_fields; i++)
                if (strcmp(form->fields[i].name, last->name) == 0)
                        return probe_refuse(tree,
                                        tree->text,
                                        "args[%zu] is called %s too: write NAME = before one of them",
                                        i,
                                        last->name);
        return 0;
}

static int compile_arg(ProbeForm *form,
                const CompileContext *context,
                size_t index,
                const char *text,
                Reason *reason) {
        _cleanup_free_ ProbeTree *tree = calloc(1, sizeof(*tree));
        Place place = {};

        if (!tree)
                return -ENOMEM;
        tree->context = context;
        tree->index = index;
        tree->reason = reason;
        tree->text = tree->next = text;
        ProbeField *field = &form->fields[form->n_fields++];
        int r = probe_parse(tree);
        if (context->to)
                r = r ?: probe_fetch_pair(tree, form, field);
        else if (context->format)
                r = r ?: probe_fetch_field(tree, field);
        else {
                r = r
                                    ?: context->place ? probe_evaluate_user(tree, &place)
                                                      : probe_evaluate(tree, &place);
                r = r ?: probe_fetch(tree, &place, field);
        }
        r = r ?: check_unique(tree, form);
        if (r == 0 && context->is_return && strncmp(place.base, "$arg", strlen("$arg")) == 0)
                form->takes_entry = true;
        return r;
}

int probe_compile_args(ProbeForm *form,
                const CompileContext *context,
                const Definition *definition,
                Reason *reason) {
        int r = 0;

        form->is_return = definition->is_return;
        form->fields = calloc(MAX_OF(definition->n_args, (size_t)1), sizeof(ProbeField));
        if (!form->fields)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < definition->n_args; i++)
                r = compile_arg(form, context, i, definition->args[i], reason);
        return r;
}

static int compile_make_place(const ProbeFunction *f, char **ret) {
        char offset[32] = "";

        if (f->offset > 0)
                (void)snprintf(offset, sizeof(offset), "+%llu", (unsigned long long)f->offset);
        if (asprintf(ret, "%s%s%s%s", f->module, f->module[0] ? ":" : "", f->name, offset) < 0) {
                *ret = NULL;
                return -ENOMEM;
        }
        return 0;
}

int probe_compile(ProbeKernel *kernel,
                const Definition *definition,
                ProbeForm **ret,
                Reason *reason) {
        _cleanup_(probe_form_free_cleanup) ProbeForm *form = calloc(1, sizeof(*form));
        ProbeFunction function;
        CompileContext context = { .function = &function, .is_return = definition->is_return };

        if (!form)
                return -ENOMEM;
        int r = probe_function_find(kernel, definition->on, &function, reason);
        if (r == 0 && definition->is_return && function.offset > 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "on: a function returns as a whole: leave out the offset");
        r = r ?: compile_make_place(&function, &form->place);
        if (r != 0)
                return r;
        r = probe_compile_args(form, &context, definition, reason);
        if (r == 0)
                *ret = TAKE_PTR(form);
        return r;
}

int probe_compile_event(const Definition *definition,
                const Format *format,
                ProbeForm **ret,
                Reason *reason) {
        _cleanup_(probe_form_free_cleanup) ProbeForm *form = calloc(1, sizeof(*form));
        CompileContext context = { .format = format };

        if (!form)
                return -ENOMEM;
        form->is_event = true;
        form->place = strdup(definition->event);
        if (!form->place)
                return -ENOMEM;
        form->place[strcspn(form->place, ":")] = '.';
        int r = probe_compile_args(form, &context, definition, reason);
        if (r == 0)
                *ret = TAKE_PTR(form);
        return r;
}

/* Prints "p:GROUP/NAME PLACE NAME=FETCH …". */
static void compile_print_line(FILE *f,
                const ProbeForm *form,
                const char *group,
                const char *name) {
        fprintf(f,
                        "%c:%s/%s %s",
                        form->is_event    ? 'e'
                        : form->is_return ? 'r'
                                          : 'p',
                        group,
                        name,
                        form->place);
        for (size_t i = 0; i < form->n_fields; i++)
                fprintf(f, " %s=%s", form->fields[i].name, form->fields[i].fetch);
}

int probe_form_to_line(const ProbeForm *form,
                const char *group,
                const char *name,
                char **ret,
                Reason *reason) {
        char *text = NULL;
        size_t size, longest = 0;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                return -ENOMEM;
        for (const ProbeForm *at = form; at; at = at->next) {
                long before = ftell(f);

                fprintf(f, "%s", at != form ? "\n" : "");
                compile_print_line(f, at, group, name);
                longest = MAX_OF(longest, (size_t)(ftell(f) - before));
        }
        if (fclose(f) != 0) {
                free(text);
                return -ENOMEM;
        }
        if (longest > PROBE_LINE_MAX) {
                free(text);
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "args: together they are %zu bytes for the kernel, which takes %d: "
                                "make two probes of them",
                                longest,
                                PROBE_LINE_MAX);
        }
        *ret = text;
        return 0;
}
