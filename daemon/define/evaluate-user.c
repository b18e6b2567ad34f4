/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The same as evaluate.c for probes in programs. Arguments of a function are in the registers of
 * the machine's calling convention. Arguments of a marker are where the inspection has found them.
 * A value that a pointer leads to has the size of the requested type. Called by compile.c. Types
 * are unknown: this code never reads the type information of a program. */

#include "define/evaluate-user.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "define/compile.h"
#include "define/evaluate.h"
#include "define/fetch.h"
#include "define/probe-tree.h"
#include "interfaces/user-args.h"

#define POINTER_SIZE 8
#define STACK_MAX    255 /* words from the top */

static int evaluate_user_evaluate(ProbeTree *tree, const ProbeNode *node, Place *place);

static bool evaluate_user_is_named(const Word *word, const char *name) {
        return strlen(name) == word->size && memcmp(name, word->p, word->size) == 0;
}

/* Reads the number after `prefix`, as in "$arg12". */
static bool evaluate_user_read_number(const Word *word, const char *prefix, unsigned *ret) {
        size_t n = strlen(prefix);
        unsigned number = 0;

        if (word->size <= n || word->size > n + 4 || memcmp(word->p, prefix, n) != 0)
                return false;
        for (size_t i = n; i < word->size; i++) {
                if (word->p[i] < '0' || word->p[i] > '9')
                        return false;
                number = number * 10 + (unsigned)(word->p[i] - '0');
        }
        *ret = number;
        return true;
}

static void evaluate_user_set_number(Place *place, int size) {
        place->type = (Type){
                .class = TYPE_INTEGER,
                .size = (uint32_t)(size < 0 ? -size : size),
                .is_signed = size < 0,
        };
        place->has_type = true;
}

static int evaluate_marker_argument(ProbeTree *tree,
                const Word *word,
                unsigned number,
                Place *place) {
        const UserPlace *user = tree->context->place;

        if (number < 1 || number > user->n_args)
                return probe_refuse(tree,
                                word->p,
                                "the marker has no %.*s: it has %u argument%s",
                                (int)word->size,
                                word->p,
                                user->n_args,
                                user->n_args == 1 ? "" : "s");
        const UserArg *arg = &user->args[number - 1];
        const char *reg = user_register_name(arg->reg);
        if (arg->kind == USER_ARG_CONSTANT)
                (void)snprintf(place->base, sizeof(place->base), "\\%" PRId64, arg->value);
        else if ((arg->kind == USER_ARG_REGISTER || arg->kind == USER_ARG_MEMORY) && reg)
                (void)snprintf(place->base, sizeof(place->base), "%%%s", reg);
        else
                return probe_refuse(tree,
                                word->p,
                                "argument %u of the marker is kept where the kernel cannot take it",
                                number);
        place->in_memory = arg->kind == USER_ARG_MEMORY;
        place->offset = place->in_memory ? arg->value : 0;
        evaluate_user_set_number(place, arg->size);
        return 0;
}

static int evaluate_function_argument(ProbeTree *tree,
                const Word *word,
                unsigned number,
                Place *place) {
        const UserPlace *user = tree->context->place;

        if (number < 1 || number > USER_FUNCTION_MAX)
                return probe_refuse(tree,
                                word->p,
                                "a function has $arg1 to $arg%d in registers; further arguments "
                                "are $stack1 and so on",
                                USER_FUNCTION_MAX);
        if (tree->context->is_return)
                return probe_refuse(tree,
                                word->p,
                                "arguments are known where a function begins: when it returns there "
                                "is $retval");
        if (user->is_32bit)
                return probe_refuse(tree,
                                word->p,
                                "a program of 32 bits has its arguments on the stack: write "
                                "+4(%%sp) : u32 and so on");
        if (user->offset != user->function)
                return probe_refuse(tree,
                                word->p,
                                "arguments are known where a function begins, and this is +%" PRIu64
                                " in one: take registers, as %%%s",
                                user->offset - user->function,
                                user_register_of_argument(0));
        (void)snprintf(place->base,
                        sizeof(place->base),
                        "%%%s",
                        user_register_of_argument(number - 1));
        return 0;
}

static int evaluate_user_special(ProbeTree *tree, const ProbeNode *node, Place *place) {
        const Word *word = &node->word;
        unsigned number;

        place->label = word->p + 1;
        place->label_size = word->size - 1;
        if (evaluate_user_is_named(word, "$comm")) {
                (void)snprintf(place->base, sizeof(place->base), "$comm");
                place->is_text = true;
                return 0;
        }
        if (evaluate_user_is_named(word, "$retval")) {
                place->label = "ret";
                place->label_size = strlen("ret");
                (void)snprintf(place->base, sizeof(place->base), "$retval");
                return tree->context->is_return
                                       ? 0
                                       : probe_refuse(tree,
                                                         word->p,
                                                         "$retval is known when the function "
                                                         "returns: define the probe with --return");
        }
        if (evaluate_user_read_number(word, "$stack", &number) && number <= STACK_MAX) {
                (void)snprintf(place->base, sizeof(place->base), "$stack%u", number);
                return 0;
        }
        if (evaluate_user_read_number(word, "$arg", &number))
                return tree->context->is_marker
                                       ? evaluate_marker_argument(tree, word, number, place)
                                       : evaluate_function_argument(tree, word, number, place);
        return probe_refuse(tree,
                        word->p,
                        "there is no %.*s: there are $arg1 and so on, $retval, $comm and $stack0 to "
                        "$stack%d",
                        (int)MIN_OF(word->size, (size_t)32),
                        word->p,
                        STACK_MAX);
}

static int evaluate_register(ProbeTree *tree, const ProbeNode *node, Place *place) {
        const Word *word = &node->word;
        const char *name = user_register_find(word->p + 1, word->size - 1);

        if (!name)
                return probe_refuse(tree,
                                word->p,
                                "no register has this name: %%%s is one, and a type takes a "
                                "part of it, as : u32",
                                user_register_of_argument(0));
        (void)snprintf(place->base, sizeof(place->base), "%%%s", name);
        place->label = word->p + 1;
        place->label_size = word->size - 1;
        return 0;
}

/* Evaluates the memory at an offset from the address in the value. */
static int evaluate_user_dereference(ProbeTree *tree,
                const Word *word,
                uint64_t offset,
                Place *place) {
        if (place->is_text || (place->has_type && place->type.size != POINTER_SIZE))
                return probe_refuse(tree, word->p, "the expression after it is not a pointer");
        int r = probe_follow(tree, word, place);
        if (r != 0)
                return r;
        place->in_memory = true;
        place->offset = (int64_t)offset;
        place->has_type = false;
        place->is_bytes = false;
        return 0;
}

/* The outermost index counts elements of the requested type. Inner indexes, and indexes of text,
 * count pointers. */
static int evaluate_user_index(ProbeTree *tree, const ProbeNode *node, Place *place) {
        uint32_t size = POINTER_SIZE;
        TypeSuffix suffix;

        int r = probe_read_suffix(tree, &suffix);
        if (r == 0 && node == tree->root && suffix.size > 0)
                size = suffix.size;
        r = r ?: evaluate_user_evaluate(tree, node->inner, place);
        return r ?: evaluate_user_dereference(tree, &node->word, node->number * size, place);
}

static int evaluate_user_evaluate(ProbeTree *tree, const ProbeNode *node, Place *place) {
        int r;

        switch (node->type) {
        case PROBE_NODE_SPECIAL:
                return evaluate_user_special(tree, node, place);
        case PROBE_NODE_REGISTER:
                return evaluate_register(tree, node, place);
        case PROBE_NODE_INDEX:
                return evaluate_user_index(tree, node, place);
        case PROBE_NODE_STAR:
                r = evaluate_user_evaluate(tree, node->inner, place);
                return r ?: evaluate_user_dereference(tree, &node->word, 0, place);
        case PROBE_NODE_OFFSET:
                r = evaluate_user_evaluate(tree, node->inner, place);
                r = r ?: evaluate_user_dereference(tree, &node->word, node->number, place);
                place->is_bytes = true;
                return r;
        case PROBE_NODE_ARGUMENT:
                return probe_refuse(tree,
                                node->word.p,
                                "names of a program's arguments are not known: write $arg1 and so "
                                "on");
        default:
                return probe_refuse(tree,
                                node->word.p,
                                "structures of programs are not known: write +OFFSET(EXPRESSION) : "
                                "TYPE");
        }
}

int probe_evaluate_user(ProbeTree *tree, Place *ret) {
        *ret = (Place){};
        return evaluate_user_evaluate(tree, tree->root, ret);
}
