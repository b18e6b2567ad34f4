/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Compiles an argument of a definition on two events: a field of the first or the second, or the
 * time between them. Called by compile.c.
 *
 * It relies on these behaviours of the kernel (trace_events_hist.c; seen on 6.1):
 * - a value must have the size and the sign of the field that receives it; text goes to "char[]";
 * - a trigger on an array other than text is refused; of a `char *` the kernel copies from any
 *   address in it, without a check. So neither is ever passed to the event;
 * - .usecs anywhere in a trigger applies to all of the trigger. */

#include "define/fetch-pair.h"

#include <errno.h>
#include <string.h>

#include "define/compile.h"
#include "define/fetch-field.h"
#include "define/fetch.h"
#include "define/probe-tree.h"

static bool fetch_pair_is_named(const Word *word, const char *name) {
        return word->size == strlen(name) && memcmp(word->p, name, word->size) == 0;
}

/* Reads "us" or "ns" after the colon. */
static int fetch_latency(ProbeTree *tree, ProbeForm *form, ProbeField *ret) {
        const Word *unit = &tree->words[0];

        if (tree->n_words > 1 || (tree->n_words == 1 && !fetch_pair_is_named(unit, "us") &&
                                                 !fetch_pair_is_named(unit, "ns")))
                return probe_refuse(tree,
                                tree->words[tree->n_words - 1].p,
                                "$latency is a number of ns, or of us with : us");
        for (size_t i = 0; i + 1 < form->n_fields; i++)
                if (form->fields[i].side == SIDE_LATENCY)
                        return probe_refuse(tree,
                                        tree->root->word.p,
                                        "$latency is already in args[%zu]",
                                        i);
        form->in_usec = tree->n_words == 1 && fetch_pair_is_named(unit, "us");
        ret->side = SIDE_LATENCY;
        (void)snprintf(ret->type, sizeof(ret->type), "u64");
        return probe_set_name(tree, "latency", strlen("latency"), ret);
}

static int refuse_place(const ProbeTree *tree) {
        return probe_refuse(tree, tree->root->word.p, "expected from.FIELD, to.FIELD or $latency");
}

/* Finds the event of "from.FIELD". */
static int find_side(const ProbeTree *tree, FieldSide *ret) {
        const ProbeNode *inner = tree->root->inner;

        if (tree->root->type != PROBE_NODE_MEMBER || inner->type != PROBE_NODE_ARGUMENT)
                return refuse_place(tree);
        if (fetch_pair_is_named(&inner->word, "from"))
                *ret = SIDE_FROM;
        else if (fetch_pair_is_named(&inner->word, "to"))
                *ret = SIDE_TO;
        else
                return refuse_place(tree);
        return 0;
}

static int fetch_pair_number(const ProbeTree *tree,
                const FormatField *source,
                const TypeSuffix *suffix,
                ProbeField *ret) {
        if (suffix->type && suffix->size != source->size)
                return probe_refuse(tree,
                                suffix->at,
                                "%s has %u bytes, %s has %u, and is carried as a whole",
                                suffix->type,
                                suffix->size,
                                source->name,
                                source->size);
        if (suffix->type)
                (void)snprintf(ret->type, sizeof(ret->type), "%s", suffix->kernel);
        else
                (void)snprintf(ret->type,
                                sizeof(ret->type),
                                "%c%u",
                                source->is_pointer  ? 'x'
                                : source->is_signed ? 's'
                                                    : 'u',
                                source->size * 8);
        ret->show = suffix->show;
        /* The type for the kernel. */
        (void)snprintf(ret->fetch,
                        sizeof(ret->fetch),
                        "%c%u",
                        source->is_signed ? 's' : 'u',
                        source->size * 8);
        return 0;
}

static int fetch_pair_text(const ProbeTree *tree, const TypeSuffix *suffix, ProbeField *ret) {
        if (suffix->at && (!suffix->type || suffix->size > 0 || suffix->is_user))
                return probe_refuse(tree, suffix->at, "it is text and has no other type");
        (void)snprintf(ret->type, sizeof(ret->type), "string");
        (void)snprintf(ret->fetch, sizeof(ret->fetch), "char[]");
        return 0;
}

static int fetch_pair_fetch(const ProbeTree *tree,
                const FormatField *source,
                const TypeSuffix *suffix,
                ProbeField *ret) {
        const char *at = tree->root->word.p;

        if (source->is_string)
                return fetch_pair_text(tree, suffix, ret);
        if (source->is_pointer && strstr(source->type, "char"))
                return probe_refuse(tree,
                                at,
                                "the kernel would follow %s to any address: take the text by a "
                                "probe on the event, and use that probe as one of the two",
                                source->name);
        if (source->kind != FIELD_PLAIN || source->n_elements > 0 ||
                        (source->size != 1 && source->size != 2 && source->size != 4 &&
                                        source->size != 8))
                return probe_refuse(tree,
                                at,
                                "%s is %s of %u bytes: the kernel carries numbers and text",
                                source->name,
                                source->type,
                                source->size);
        if (suffix->is_user || (suffix->type && suffix->size == 0))
                return probe_refuse(tree, suffix->at, "%s is a number", source->name);
        return fetch_pair_number(tree, source, suffix, ret);
}

int probe_fetch_pair(ProbeTree *tree, ProbeForm *form, ProbeField *ret) {
        const Word *word = &tree->root->word;
        const FormatField *source = NULL;
        TypeSuffix suffix;

        if (tree->root->type == PROBE_NODE_SPECIAL && fetch_pair_is_named(word, "$latency"))
                return fetch_latency(tree, form, ret);
        int r = find_side(tree, &ret->side);
        r = r ?: probe_read_suffix(tree, &suffix);
        r = r
                            ?: probe_find_field(tree,
                                               ret->side == SIDE_FROM ? tree->context->format
                                                                      : tree->context->to,
                                               word,
                                               &source);
        if (r != 0)
                return r;
        if (source->is_common && (ret->side == SIDE_TO || strcmp(source->name, "common_pid") != 0))
                return probe_refuse(tree,
                                word->p,
                                "every record already has %s of the second event; of the first "
                                "event, common_pid can be used",
                                source->name);
        r = probe_set_name(tree, word->p, word->size, ret);
        r = r ?: fetch_pair_fetch(tree, source, &suffix, ret);
        if (r != 0)
                return r;
        ret->source = strdup(source->name);
        ret->c_type = strdup(source->type);
        return ret->source && ret->c_type ? 0 : -ENOMEM;
}
