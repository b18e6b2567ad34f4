/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Compiles an argument of a definition on an event: one of that event's fields in the kernel's
 * words, with types from the event's format. fetch.c does the same with types from BTF. Called by
 * compile.c.
 *
 * It relies on these behaviours of the kernel (trace_eprobe.c; tests/guest checks them):
 * - "$FIELD:TYPE" reads a number as wide as the field and takes TYPE's part of it;
 * - ":string" reads text from an array of characters and from a __data_loc, ":ustring" reads it
 *   from the address in a pointer; an array without a type gives an address in the kernel;
 * - of other arrays it takes only the first element;
 * - common fields cannot be taken, but $COMM can: the task's name. $comm is first a field of that
 *   name.
 *
 * "+OFFSET($FIELD)" reads memory at any address in a field, so this file never writes it. */

#include "define/fetch-field.h"

#include <errno.h>
#include <string.h>

#include "define/compile.h"
#include "define/fetch.h"
#include "define/probe-tree.h"
#include "interfaces/nearest.h"

#define NEAR_DISTANCE 3
#define NAMES_SIZE    256

static int fetch_field_refuse_absent(const ProbeTree *tree,
                const Format *format,
                const Word *word,
                const char *name) {
        Nearest near = { name, (uint32_t)MIN_OF(strlen(name), NEAR_DISTANCE + 1UL), NULL };
        char names[NAMES_SIZE] = "";

        for (size_t i = 0; i < format->n_fields; i++) {
                const FormatField *field = &format->fields[i];
                size_t used = strlen(names);

                if (field->is_common)
                        continue;
                nearest_consider(&near, field->name);
                (void)snprintf(names + used,
                                sizeof(names) - used,
                                "%s%s",
                                used > 0 ? ", " : "",
                                field->name);
        }
        if (near.name)
                return probe_refuse(tree,
                                word->p,
                                "%s has no field %s: did you mean %s?",
                                format->name,
                                name,
                                near.name);
        return probe_refuse(tree,
                        word->p,
                        "%s has no field %s: it has %s",
                        format->name,
                        name,
                        names[0] ? names : "none");
}

int probe_find_field(const ProbeTree *tree,
                const Format *format,
                const Word *word,
                const FormatField **ret) {
        char name[NEAREST_NAME_MAX + 1];

        (void)snprintf(name, sizeof(name), "%.*s", (int)word->size, word->p);
        const FormatField *field = format_field_find(format, name);
        if (!field || strlen(field->name) != word->size)
                return fetch_field_refuse_absent(tree, format, word, name);
        *ret = field;
        return 0;
}

static int fetch_field_find_field(const ProbeTree *tree, const FormatField **ret) {
        const Word *word = &tree->root->word;
        bool is_foreign = tree->root->type == PROBE_NODE_SPECIAL ||
                          tree->root->type == PROBE_NODE_REGISTER;

        if (tree->root->type != PROBE_NODE_ARGUMENT)
                return probe_refuse(tree,
                                word->p,
                                is_foreign ? "an event has fields, and $comm"
                                           : "a field of an event is taken as it is: name it and "
                                             "nothing else");
        int r = probe_find_field(tree, tree->context->format, word, ret);
        if (r == 0 && (*ret)->is_common)
                return probe_refuse(tree,
                                word->p,
                                "every record already has %s, and the kernel does not accept it "
                                "in a probe",
                                (*ret)->name);
        return r;
}

static int fetch_field_set_fetch(const ProbeTree *tree, const char *source, ProbeField *field) {
        int n = snprintf(field->fetch, sizeof(field->fetch), "$%s:%s", source, field->type);

        if (n < 0 || n > PROBE_FETCH_MAX)
                return probe_refuse(tree,
                                tree->text,
                                "in the kernel's syntax it is longer than the maximum of %d "
                                "bytes",
                                PROBE_FETCH_MAX);
        return 0;
}

static int fetch_field_text(const ProbeTree *tree,
                const FormatField *source,
                const TypeSuffix *suffix,
                ProbeField *ret) {
        if (!source->is_string && !source->is_pointer)
                return probe_refuse(tree,
                                suffix->at,
                                "text is an array of characters or a pointer to text: %s is %s",
                                source->name,
                                source->type);
        if (source->is_string && suffix->is_user)
                return probe_refuse(tree,
                                suffix->at,
                                "the text is in the record: user is for a pointer of a program");
        /* A pointer that is not marked as one of a program may point anywhere. */
        ret->is_free = source->is_pointer && !suffix->is_user;
        (void)snprintf(ret->type, sizeof(ret->type), suffix->is_user ? "ustring" : "string");
        return fetch_field_set_fetch(tree, source->name, ret);
}

/* Arguments of system calls have eight bytes, whatever their type is. */
static uint32_t get_size(const FormatField *source) {
        return strcmp(source->type, "int") == 0 || strcmp(source->type, "unsigned int") == 0
                               ? sizeof(uint32_t)
                               : source->size;
}

static int fetch_field_number(const ProbeTree *tree,
                const FormatField *source,
                const TypeSuffix *suffix,
                ProbeField *ret) {
        uint32_t size = get_size(source);

        if (suffix->type && suffix->size > source->size)
                return probe_refuse(tree,
                                suffix->at,
                                "%s has %u bytes, %s has %u",
                                suffix->type,
                                suffix->size,
                                source->name,
                                source->size);
        if (suffix->type) {
                (void)snprintf(ret->type, sizeof(ret->type), "%s", suffix->kernel);
                ret->show = suffix->show;
                /* The code that cuts addresses does not recognise half of one. */
                ret->is_free = size >= sizeof(uint64_t) && suffix->size < sizeof(uint64_t);
        } else
                (void)snprintf(ret->type,
                                sizeof(ret->type),
                                "%c%u",
                                source->is_pointer                                      ? 'x'
                                : source->is_signed || strcmp(source->type, "int") == 0 ? 's'
                                                                                        : 'u',
                                size * 8);
        return fetch_field_set_fetch(tree, source->name, ret);
}

static int fetch_field_fetch(const ProbeTree *tree,
                const FormatField *source,
                const TypeSuffix *suffix,
                ProbeField *ret) {
        bool wants_text = suffix->type && suffix->size == 0;

        if (source->kind != FIELD_PLAIN && !source->is_string)
                return probe_refuse(tree,
                                tree->root->word.p,
                                "%s is %s, which the kernel does not accept",
                                source->name,
                                source->type);
        if (source->is_string && suffix->type && !wants_text)
                return probe_refuse(tree, suffix->at, "%s is text, not a number", source->name);
        if (source->is_string || wants_text || (suffix->is_user && source->is_pointer))
                return fetch_field_text(tree, source, suffix, ret);
        if (suffix->is_user)
                return probe_refuse(tree,
                                suffix->at,
                                "it is not read from memory: user is for a pointer of a program");
        if (source->n_elements > 0 || (source->size != 1 && source->size != 2 &&
                                                      source->size != 4 && source->size != 8))
                return probe_refuse(tree,
                                tree->root->word.p,
                                "%s is %s of %u bytes: the kernel takes numbers and text",
                                source->name,
                                source->type,
                                source->size);
        return fetch_field_number(tree, source, suffix, ret);
}

static int fetch_comm(const ProbeTree *tree, const TypeSuffix *suffix, ProbeField *ret) {
        const Word *word = &tree->root->word;

        if (suffix->at)
                return probe_refuse(tree, suffix->at, "$comm is text and has no other type");
        (void)snprintf(ret->type, sizeof(ret->type), "string");
        int r = fetch_field_set_fetch(tree, "COMM", ret);
        return r ?: probe_set_name(tree, word->p + 1, word->size - 1, ret);
}

int probe_fetch_field(ProbeTree *tree, ProbeField *ret) {
        const Word *word = &tree->root->word;
        const FormatField *source = NULL;
        TypeSuffix suffix;

        int r = probe_read_suffix(tree, &suffix);
        if (r != 0)
                return r;
        if (tree->root->type == PROBE_NODE_SPECIAL && word->size == strlen("$comm") &&
                        memcmp(word->p, "$comm", word->size) == 0)
                return fetch_comm(tree, &suffix, ret);
        r = fetch_field_find_field(tree, &source);
        r = r ?: probe_set_name(tree, word->p, word->size, ret);
        r = r ?: fetch_field_fetch(tree, source, &suffix, ret);
        if (r != 0)
                return r;
        ret->source = strdup(source->name);
        ret->c_type = strdup(source->type);
        return ret->source && ret->c_type ? 0 : -ENOMEM;
}
