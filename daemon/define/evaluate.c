/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds the place of an argument from its tree: where the kernel starts (an argument, the return
 * value, a register), the pointers that it follows from there, and the type of the value, by the
 * kernel's own BTF. Called by compile.c. Embedded structures, unions and arrays only change the
 * offset; each pointer is one step. */

#include "define/evaluate.h"

#include <string.h>

#include "define/compile.h"
#include "define/probe-tree.h"
#include "interfaces/nearest.h"

/* In registers on x86-64; further arguments are on the stack. */
#define ARGUMENT_SIZE_MAX 8
#define NEAR_DISTANCE     3

static int evaluate(ProbeTree *tree, const ProbeNode *node, Place *place);

static void set_type(Place *place, const struct btf *btf, uint32_t id) {
        place->type = type_get(btf, id);
        place->declared = id;
        place->has_type = true;
        place->bitfield_size = 0;
}

static bool evaluate_is_named(const Word *word, const char *name) {
        return name && strlen(name) == word->size && memcmp(name, word->p, word->size) == 0;
}

typedef struct Name {
        char text[NEAREST_NAME_MAX + 1];
} Name;

static Name evaluate_get_name(const Word *word) {
        Name name;

        (void)snprintf(name.text, sizeof(name.text), "%.*s", (int)word->size, word->p);
        return name;
}

static Nearest near_to(const Name *wanted) {
        return (Nearest){
                .wanted = wanted->text,
                .least = (uint32_t)MIN_OF(strlen(wanted->text), NEAR_DISTANCE + 1UL),
        };
}

static int near_member(const char *name, const TypeMember *member _unused_, void *userdata) {
        nearest_consider(userdata, name);
        return 0;
}

static int refuse_argument(ProbeTree *tree, const Word *word) {
        const ProbeFunction *f = tree->context->function;
        const struct btf_param *params = btf_params(f->proto);
        Name wanted = evaluate_get_name(word);
        Nearest near = near_to(&wanted);
        char names[256] = "";

        for (uint16_t i = 0; i < btf_vlen(f->proto); i++) {
                const char *name = btf__name_by_offset(f->btf, params[i].name_off) ?: "";
                size_t used = strlen(names);

                nearest_consider(&near, name);
                (void)snprintf(names + used, sizeof(names) - used, "%s%s", i > 0 ? ", " : "", name);
        }
        if (near.name)
                return probe_refuse(tree,
                                word->p,
                                "%s has no argument %s: did you mean %s?",
                                f->name,
                                wanted.text,
                                near.name);
        return probe_refuse(tree,
                        word->p,
                        "%s has no argument %s: it has %s",
                        f->name,
                        wanted.text,
                        names[0] ? names : "none");
}

static int evaluate_check_entry(ProbeTree *tree, const Word *word) {
        const ProbeFunction *f = tree->context->function;

        if (f->offset == 0)
                return 0;
        return probe_refuse(tree,
                        word->p,
                        "arguments are known where a function begins, not at +%llu: take registers, "
                        "as ((struct x *)%%di).member",
                        (unsigned long long)f->offset);
}

static int evaluate_parameter(ProbeTree *tree, const Word *word, uint32_t index, Place *place) {
        const ProbeFunction *f = tree->context->function;
        const struct btf_param *params = btf_params(f->proto);

        for (uint32_t i = 0; i <= index; i++) {
                Type type = type_get(f->btf, params[i].type);

                if (type.class == TYPE_STRUCT || type.size > ARGUMENT_SIZE_MAX)
                        return probe_refuse(tree,
                                        word->p,
                                        "argument %u is passed by value and not in a register: "
                                        "neither it nor the arguments after it have a name",
                                        i + 1);
        }
        (void)snprintf(place->base, sizeof(place->base), "$arg%u", index + 1);
        set_type(place, f->btf, params[index].type);
        return 0;
}

static int evaluate_argument(ProbeTree *tree, const ProbeNode *node, Place *place) {
        const ProbeFunction *f = tree->context->function;

        if (!f->proto)
                return probe_refuse(tree,
                                node->word.p,
                                "the kernel has no description of the arguments of %s: write "
                                "$arg1, or ((struct x *)$arg1).member",
                                f->name);
        int r = evaluate_check_entry(tree, &node->word);
        if (r != 0)
                return r;
        place->label = node->word.p;
        place->label_size = node->word.size;
        for (uint16_t i = 0; i < btf_vlen(f->proto); i++)
                if (evaluate_is_named(&node->word,
                                    btf__name_by_offset(f->btf, btf_params(f->proto)[i].name_off)))
                        return evaluate_parameter(tree, &node->word, i, place);
        return refuse_argument(tree, &node->word);
}

static int evaluate_retval(ProbeTree *tree, const Word *word, Place *place) {
        const ProbeFunction *f = tree->context->function;

        if (!tree->context->is_return)
                return probe_refuse(tree,
                                word->p,
                                "$retval is known when the function returns: define the probe with "
                                "--return");
        if (f->proto && f->proto->type == 0)
                return probe_refuse(tree, word->p, "%s returns nothing", f->name);
        (void)snprintf(place->base, sizeof(place->base), "$retval");
        place->label = "ret";
        place->label_size = strlen("ret");
        if (f->proto)
                set_type(place, f->btf, f->proto->type);
        return 0;
}

static int evaluate_special(ProbeTree *tree, const ProbeNode *node, Place *place) {
        const ProbeFunction *f = tree->context->function;
        const Word *word = &node->word;

        if (evaluate_is_named(word, "$retval"))
                return evaluate_retval(tree, word, place);
        if (evaluate_is_named(word, "$comm")) {
                (void)snprintf(place->base, sizeof(place->base), "$comm");
                place->is_text = true;
        } else if (word->size == strlen("$arg1") && memcmp(word->p, "$arg", 4) == 0 &&
                        word->p[4] >= '1' && word->p[4] <= '6') {
                uint32_t index = (uint32_t)(word->p[4] - '1');

                int r = evaluate_check_entry(tree, word);
                if (r != 0)
                        return r;
                (void)snprintf(place->base, sizeof(place->base), "$arg%u", index + 1);
                if (f->proto && index < btf_vlen(f->proto))
                        set_type(place, f->btf, btf_params(f->proto)[index].type);
        } else
                return probe_refuse(tree,
                                word->p,
                                "there is no %.*s: there are $retval, $comm and $arg1 to $arg6",
                                (int)MIN_OF(word->size, (size_t)32),
                                word->p);
        place->label = word->p + 1;
        place->label_size = word->size - 1;
        return 0;
}

int probe_follow(ProbeTree *tree, const Word *word, Place *place) {
        if (!place->in_memory)
                return 0;
        if (place->n_steps == PROBE_STEPS_MAX)
                return probe_refuse(
                                tree, word->p, "it follows more than %d pointers", PROBE_STEPS_MAX);
        place->steps[place->n_steps++] = place->offset;
        place->in_memory = false;
        place->offset = 0;
        return 0;
}

static int evaluate_refuse_type(ProbeTree *tree,
                const Word *word,
                const Place *place,
                const char *wanted) {
        char type[TYPE_NAME_MAX];

        if (!place->has_type)
                return probe_refuse(tree,
                                word->p,
                                "the type before it is unknown: write ((struct x *)%s).member",
                                place->base);
        if (place->declared == 0)
                return probe_refuse(tree, word->p, "the value before it %s", wanted);
        return probe_refuse(tree,
                        word->p,
                        "the value before it is %s, which %s",
                        type_format(place->type.btf, place->declared, type),
                        wanted);
}

/* Evaluates the target of a pointer. */
static int evaluate_dereference(ProbeTree *tree, const Word *word, Place *place) {
        uint32_t target = place->type.target;

        int r = probe_follow(tree, word, place);
        if (r != 0)
                return r;
        place->in_memory = true;
        set_type(place, place->type.btf, target);
        return 0;
}

static int evaluate_member(ProbeTree *tree, const ProbeNode *node, Place *place) {
        char type[TYPE_NAME_MAX];
        TypeMember member;

        int r = evaluate(tree, node->inner, place);
        if (r == 0 && place->has_type && place->type.class == TYPE_POINTER)
                r = evaluate_dereference(tree, &node->word, place);
        if (r != 0)
                return r;
        if (!place->has_type || place->type.class != TYPE_STRUCT)
                return evaluate_refuse_type(
                                tree, &node->word, place, "has no members that are known");
        Name wanted = evaluate_get_name(&node->word);
        if (!type_find_member(&place->type, wanted.text, &member)) {
                Nearest near = near_to(&wanted);

                (void)type_visit_members(&place->type, near_member, &near);
                return probe_refuse(tree,
                                node->word.p,
                                "%s has no member %s%s%s%s",
                                type_format(place->type.btf, place->declared, type),
                                wanted.text,
                                near.name ? ": did you mean "
                                          : "; 'ktracectl probes resolve' lists them",
                                near.name ?: "",
                                near.name ? "?" : "");
        }
        place->offset += member.bits / 8;
        place->label = node->word.p;
        place->label_size = node->word.size;
        set_type(place, place->type.btf, member.type);
        place->bit = member.bits % 8;
        place->bitfield_size = member.bitfield_size;
        return 0;
}

static int evaluate_index(ProbeTree *tree, const ProbeNode *node, Place *place) {
        int r = evaluate(tree, node->inner, place);
        if (r != 0)
                return r;
        if (place->has_type && place->type.class == TYPE_POINTER)
                r = evaluate_dereference(tree, &node->word, place);
        else if (place->has_type && place->type.class == TYPE_ARRAY) {
                if (place->type.n_items > 0 && node->number >= place->type.n_items)
                        return probe_refuse(tree,
                                        node->word.p,
                                        "the array has %u elements, counted from 0",
                                        place->type.n_items);
                set_type(place, place->type.btf, place->type.target);
        } else
                return evaluate_refuse_type(
                                tree, &node->word, place, "is neither an array nor a pointer");
        if (r == 0 && place->type.size == 0)
                return probe_refuse(tree, node->word.p, "the size of an element is not known");
        place->offset += (int64_t)node->number * place->type.size;
        return r;
}

static int evaluate_star(ProbeTree *tree, const ProbeNode *node, Place *place) {
        int r = evaluate(tree, node->inner, place);
        if (r != 0)
                return r;
        if (!place->has_type || place->type.class != TYPE_POINTER)
                return evaluate_refuse_type(tree, &node->word, place, "is not a pointer");
        return evaluate_dereference(tree, &node->word, place);
}

static int evaluate_cast(ProbeTree *tree, const ProbeNode *node, Place *place) {
        const struct btf *btf = tree->context->function->btf;
        Name name = evaluate_get_name(&node->word);

        int r = evaluate(tree, node->inner, place);
        if (r != 0)
                return r;
        if (place->is_text || place->bitfield_size > 0 ||
                        (place->has_type && place->type.size != ARGUMENT_SIZE_MAX))
                return probe_refuse(tree,
                                node->inner->word.p,
                                "only a value with the size of a pointer can be cast to one");
        int id = btf ? btf__find_by_name_kind(btf,
                                       name.text,
                                       node->is_union ? BTF_KIND_UNION : BTF_KIND_STRUCT)
                     : 0;
        if (id <= 0)
                return probe_refuse(tree,
                                node->word.p,
                                "this kernel describes no %s %s",
                                node->is_union ? "union" : "struct",
                                name.text);
        place->type = (Type){
                .btf = btf,
                .class = TYPE_POINTER,
                .size = ARGUMENT_SIZE_MAX,
                .target = (uint32_t)id,
        };
        place->declared = 0;
        place->has_type = place->is_free = true;
        return 0;
}

static int evaluate(ProbeTree *tree, const ProbeNode *node, Place *place) {
        switch (node->type) {
        case PROBE_NODE_ARGUMENT:
                return evaluate_argument(tree, node, place);
        case PROBE_NODE_SPECIAL:
                return evaluate_special(tree, node, place);
        case PROBE_NODE_REGISTER:
                if (node->word.size >= sizeof(place->base))
                        return probe_refuse(tree, node->word.p, "no register has this name");
                (void)snprintf(place->base,
                                sizeof(place->base),
                                "%.*s",
                                (int)node->word.size,
                                node->word.p);
                place->label = node->word.p + 1;
                place->label_size = node->word.size - 1;
                place->is_free = true;
                return 0;
        case PROBE_NODE_MEMBER:
                return evaluate_member(tree, node, place);
        case PROBE_NODE_INDEX:
                return evaluate_index(tree, node, place);
        case PROBE_NODE_STAR:
                return evaluate_star(tree, node, place);
        default:
                return evaluate_cast(tree, node, place);
        }
}

int probe_evaluate(ProbeTree *tree, Place *ret) {
        *ret = (Place){};
        return evaluate(tree, tree->root, ret);
}
