/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes a place in the kernel's own words (Documentation/trace/kprobetrace.rst): what it fetches,
 * with which of its few types, and how a reader shows that. Called by compile.c.
 *
 * The kernel knows integers, bit-fields, strings and arrays of at most 64 elements. Any other type
 * of C becomes one of them, or is refused with a suggestion. An argument may have 63 bytes. */

#include "define/fetch.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "define/compile.h"
#include "define/probe-tree.h"
#include "interfaces/pair-start.h"

#define ARRAY_MAX      64
#define ENUM_NAMES_MAX 64

static const struct {
        const char *word;
        const char *kernel;
        uint32_t size; /* bytes; 0: text */
        FieldShow show;
} types[] = {
        { "u8", "u8", 1, SHOW_PLAIN },
        { "u16", "u16", 2, SHOW_PLAIN },
        { "u32", "u32", 4, SHOW_PLAIN },
        { "u64", "u64", 8, SHOW_PLAIN },
        { "s8", "s8", 1, SHOW_PLAIN },
        { "s16", "s16", 2, SHOW_PLAIN },
        { "s32", "s32", 4, SHOW_PLAIN },
        { "s64", "s64", 8, SHOW_PLAIN },
        { "x8", "x8", 1, SHOW_PLAIN },
        { "x16", "x16", 2, SHOW_PLAIN },
        { "x32", "x32", 4, SHOW_PLAIN },
        { "x64", "x64", 8, SHOW_PLAIN },
        { "be16", "u16", 2, SHOW_SWAPPED },
        { "be32", "u32", 4, SHOW_SWAPPED },
        { "be64", "u64", 8, SHOW_SWAPPED },
        { "ip4", "u32", 4, SHOW_ADDRESS },
        { "symbol", "symbol", 8, SHOW_PLAIN },
        { "string", "string", 0, SHOW_PLAIN },
};

/* A program has no kernel symbols, and all of its memory is user memory. */
static int check_user_word(const ProbeTree *tree, const Word *word) {
        bool is_user = word->size == strlen("user") && memcmp(word->p, "user", word->size) == 0;

        if (!is_user && (word->size != strlen("symbol") ||
                                        memcmp(word->p, "symbol", word->size) != 0))
                return 0;
        return probe_refuse(tree,
                        word->p,
                        is_user ? "user is for values that the kernel reads from a "
                                  "program: here all are"
                                : "symbol is for kernel addresses: write x64");
}

static void set_suffix(TypeSuffix *suffix, const char *word, size_t size) {
        for (size_t k = 0; k < ELEMENTSOF(types); k++)
                if (strlen(types[k].word) == size && memcmp(types[k].word, word, size) == 0) {
                        suffix->type = types[k].word;
                        suffix->kernel = types[k].kernel;
                        suffix->size = types[k].size;
                        suffix->show = types[k].show;
                }
}

int probe_read_suffix(const ProbeTree *tree, TypeSuffix *ret) {
        *ret = (TypeSuffix){};
        for (size_t i = 0; i < tree->n_words; i++) {
                const Word *word = &tree->words[i];
                TypeSuffix found;

                int r = tree->context->place ? check_user_word(tree, word) : 0;
                if (r != 0)
                        return r;
                ret->at = ret->at ?: word->p;
                found = (TypeSuffix){ .at = ret->at, .is_user = ret->is_user };
                set_suffix(&found, word->p, word->size);
                if (word->size == strlen("user") && memcmp(word->p, "user", word->size) == 0)
                        ret->is_user = true;
                else if (!found.type)
                        return probe_refuse(tree,
                                        word->p,
                                        "no type %.*s: expected u8 to u64, s8 to s64, x8 to "
                                        "x64, be16 to be64, ip4, symbol, string, or user",
                                        (int)MIN_OF(word->size, (size_t)32),
                                        word->p);
                else if (ret->type)
                        return probe_refuse(tree, word->p, "expected one type, apart from user");
                else
                        *ret = found;
        }
        return 0;
}

/* Prints "+16(+600($arg1))". The caller adds the type. out stays empty if it is too small. */
static void print_place(const Place *place, bool is_user, char *out, size_t size) {
        char inner[256];
        int n = snprintf(inner, sizeof(inner), "%s", place->base);

        for (size_t i = 0; i < place->n_steps + place->in_memory; i++) {
                bool is_last = i == place->n_steps;
                int64_t offset = is_last ? place->offset : place->steps[i];
                char outer[sizeof(inner)];

                n = snprintf(outer,
                                sizeof(outer),
                                "%s%s%" PRId64 "(%s)",
                                offset < 0 ? "" : "+",
                                is_last && is_user ? "u" : "",
                                offset,
                                inner);
                if (n < 0 || (size_t)n >= sizeof(outer))
                        break;
                memcpy(inner, outer, (size_t)n + 1);
        }
        if (n > 0 && (size_t)n < MIN_OF(size, sizeof(inner)))
                memcpy(out, inner, (size_t)n + 1);
        else
                *out = '\0';
}

static int fetch_set_fetch(const ProbeTree *tree,
                const Place *place,
                bool is_user,
                ProbeField *field) {
        char text[256], whole[256 + sizeof(field->type) + 1];

        print_place(place, is_user, text, sizeof(text));
        int n = snprintf(whole, sizeof(whole), "%s:%s", text, field->type);
        if (text[0] == '\0' || n < 0 || n > PROBE_FETCH_MAX)
                return probe_refuse(tree,
                                tree->text,
                                "in the kernel's syntax it is longer than the maximum of %d "
                                "bytes: follow fewer pointers",
                                PROBE_FETCH_MAX);
        memcpy(field->fetch, whole, (size_t)n + 1);
        return 0;
}

/* Fetches text that a pointer leads to, or text in an array. */
static int fetch_text(ProbeTree *tree, Place *place, const TypeSuffix *suffix, ProbeField *field) {
        const char *at = suffix->at ?: tree->text;

        if (place->is_bytes || (place->has_type && place->type.class == TYPE_ARRAY &&
                                               place->bitfield_size == 0))
                ; /* it begins with the array */
        else if (!place->has_type || place->type.class == TYPE_POINTER ||
                        place->type.size == sizeof(uint64_t)) {
                if (place->in_memory && place->n_steps == PROBE_STEPS_MAX)
                        return probe_refuse(tree,
                                        at,
                                        "it follows more than %d pointers",
                                        PROBE_STEPS_MAX);
                field->is_free = !place->has_type || place->type.class != TYPE_POINTER;
                if (place->in_memory)
                        place->steps[place->n_steps++] = place->offset;
                place->in_memory = true;
                place->offset = 0;
        } else
                return probe_refuse(tree, at, "text is an array or a pointer to text");
        (void)snprintf(field->type, sizeof(field->type), suffix->is_user ? "ustring" : "string");
        return fetch_set_fetch(tree, place, false, field);
}

static bool is_text(const Place *place) {
        if (!place->has_type ||
                        (place->type.class != TYPE_POINTER && place->type.class != TYPE_ARRAY) ||
                        place->type.target == 0)
                return false;
        return type_get(place->type.btf, place->type.target).is_char;
}

static int fetch_number(ProbeTree *tree,
                const Place *place,
                const TypeSuffix *suffix,
                ProbeField *field) {
        uint32_t natural = place->has_type ? place->type.size : (uint32_t)sizeof(uint64_t);

        if (place->in_memory && (suffix->size > natural || place->bitfield_size > 0))
                return probe_refuse(tree,
                                suffix->at,
                                "%s has %u bytes, the value there has %u%s",
                                suffix->type,
                                suffix->size,
                                natural,
                                place->bitfield_size > 0 ? " and shares them with others" : "");
        (void)snprintf(field->type, sizeof(field->type), "%s", suffix->kernel);
        field->show = suffix->show;
        /* The code that cuts addresses does not recognise half of one. */
        field->is_free = natural >= sizeof(uint64_t) && suffix->size < sizeof(uint64_t);
        return fetch_set_fetch(tree, place, suffix->is_user, field);
}

/* The kernel counts bits in a container that it reads as a whole. */
static int fetch_bits(ProbeTree *tree, Place *place, const TypeSuffix *suffix, ProbeField *field) {
        uint32_t bits = (uint32_t)(place->offset % 8) * 8 + place->bit, size = 8;
        int64_t base = place->offset - place->offset % 8;

        /* Finds the smallest aligned container that holds the bit-field. */
        while (size < 64 && bits / size != (bits + place->bitfield_size - 1) / size)
                size *= 2;
        if (bits / size != (bits + place->bitfield_size - 1) / size)
                return probe_refuse(tree, tree->text, "this bit-field lies across two words");
        if (place->type.is_signed && place->type.class == TYPE_INTEGER)
                return probe_refuse(tree,
                                tree->text,
                                "a bit-field with a sign: the kernel would lose the sign");
        place->offset = base + bits / size * (size / 8);
        (void)snprintf(field->type,
                        sizeof(field->type),
                        "b%u@%u/%u",
                        place->bitfield_size,
                        bits % size,
                        size);
        return fetch_set_fetch(tree, place, suffix->is_user, field);
}

/* Sets an enum's names in the syntax of a format's last line. */
static int set_names(const Type *type, ProbeField *field) {
        const struct btf_type *t = btf__type_by_id(type->btf, type->id);
        char *text = NULL;
        size_t size;

        if (btf_vlen(t) == 0 || btf_vlen(t) > ENUM_NAMES_MAX)
                return 0;
        FILE *f = open_memstream(&text, &size);
        if (!f)
                return -ENOMEM;
        for (uint32_t i = 0; i < btf_vlen(t); i++) {
                bool is_wide = btf_is_enum64(t);
                uint32_t name = is_wide ? btf_enum64(t)[i].name_off : btf_enum(t)[i].name_off;
                int64_t value = is_wide ? (int64_t)btf_enum64_value(&btf_enum64(t)[i])
                                        : btf_enum(t)[i].val;

                fprintf(f,
                                "%s{ %" PRId64 ", \"%s\" }",
                                i > 0 ? ", " : "",
                                value,
                                btf__name_by_offset(type->btf, name) ?: "");
        }
        if (fclose(f) != 0) {
                free(text);
                return -ENOMEM;
        }
        field->names = text;
        field->show = SHOW_NAMES;
        return 0;
}

static int refuse_class(const ProbeTree *tree, const Place *place) {
        char name[TYPE_NAME_MAX];

        type_format(place->type.btf, place->declared, name);
        if (place->type.class == TYPE_STRUCT)
                return probe_refuse(tree,
                                tree->text,
                                "it is %s as a whole: write a dot and the name of a member",
                                name);
        return probe_refuse(tree,
                        tree->text,
                        "it is %s, which the kernel does not accept: write the type to read it "
                        "as, such as : x64",
                        name);
}

static int fetch_scalar(ProbeTree *tree,
                Place *place,
                const TypeSuffix *suffix,
                ProbeField *field) {
        const Type *type = &place->type;
        int r = 0;

        if (place->bitfield_size > 0) {
                r = type->class == TYPE_ENUM ? set_names(type, field) : 0;
                return r ?: fetch_bits(tree, place, suffix, field);
        }
        if (type->size != 1 && type->size != 2 && type->size != 4 && type->size != 8)
                return refuse_class(tree, place);
        (void)snprintf(field->type,
                        sizeof(field->type),
                        "%c%u",
                        type->class == TYPE_POINTER ? 'x'
                        : type->is_signed           ? 's'
                                                    : 'u',
                        type->size * 8);
        if (type->class == TYPE_ENUM)
                r = set_names(type, field);
        else if (type->class == TYPE_INTEGER && type_is_big_endian(type->btf, place->declared))
                field->show = SHOW_SWAPPED;
        return r ?: fetch_set_fetch(tree, place, suffix->is_user, field);
}

static int fetch_array(ProbeTree *tree,
                const Place *place,
                const TypeSuffix *suffix,
                ProbeField *field) {
        Type item = type_get(place->type.btf, place->type.target);
        bool is_number = item.class == TYPE_INTEGER || item.class == TYPE_ENUM ||
                         item.class == TYPE_POINTER;

        if (place->type.n_items == 0 || place->type.n_items > ARRAY_MAX || !is_number ||
                        item.size > 8)
                return probe_refuse(tree,
                                tree->text,
                                "the kernel takes arrays of 1 to %d numbers as a whole: name an "
                                "element, as [0]",
                                ARRAY_MAX);
        (void)snprintf(field->type,
                        sizeof(field->type),
                        "%c%u[%u]",
                        item.class == TYPE_POINTER ? 'x'
                        : item.is_signed           ? 's'
                                                   : 'u',
                        item.size * 8,
                        place->type.n_items);
        return fetch_set_fetch(tree, place, suffix->is_user, field);
}

static int fetch_natural(ProbeTree *tree,
                Place *place,
                const TypeSuffix *suffix,
                ProbeField *field) {
        if (is_text(place)) {
                TypeSuffix text = *suffix;

                text.is_user |= place->type.is_user;
                return fetch_text(tree, place, &text, field);
        }
        if (place->type.class == TYPE_ARRAY)
                return fetch_array(tree, place, suffix, field);
        if (place->type.class == TYPE_STRUCT || place->type.class == TYPE_OTHER)
                return refuse_class(tree, place);
        return fetch_scalar(tree, place, suffix, field);
}

static int fetch(ProbeTree *tree, Place *place, TypeSuffix *suffix, ProbeField *field) {
        if (place->is_text) {
                if (suffix->at)
                        return probe_refuse(
                                        tree, suffix->at, "$comm is text and has no other type");
                (void)snprintf(field->type, sizeof(field->type), "string");
                return fetch_set_fetch(tree, place, false, field);
        }
        if (suffix->type && strcmp(suffix->type, "string") == 0)
                return fetch_text(tree, place, suffix, field);
        if (suffix->is_user && !is_text(place) && !place->in_memory)
                return probe_refuse(tree,
                                suffix->at,
                                "it is not read from memory: user is for a pointer of a program");
        if (!suffix->type && !place->has_type)
                set_suffix(suffix, "x64", strlen("x64"));
        return suffix->type ? fetch_number(tree, place, suffix, field)
                            : fetch_natural(tree, place, suffix, field);
}

static int set_c_type(const Place *place, ProbeField *field) {
        char type[TYPE_NAME_MAX + 16];

        if (!place->has_type || place->declared == 0)
                return 0;
        type_format(place->type.btf, place->declared, type);
        if (place->bitfield_size > 0)
                (void)snprintf(type + strlen(type),
                                sizeof(type) - strlen(type),
                                " : %u",
                                place->bitfield_size);
        field->c_type = strdup(type);
        return field->c_type ? 0 : -ENOMEM;
}

int probe_set_name(const ProbeTree *tree, const char *label, size_t label_size, ProbeField *field) {
        /* The first names are those that trace_probe.c reserves. From the last two a stream's
         * worker knows when a pair began, and so whether the client may receive its first
         * record. */
        static const struct {
                const char *name, *user;
        } reserved[] = {
                { "common_type", "the kernel" },
                { "common_flags", "the kernel" },
                { "common_preempt_count", "the kernel" },
                { "common_pid", "the kernel" },
                { "common_tgid", "the kernel" },
                { "__probe_ip", "the kernel" },
                { "__probe_ret_ip", "the kernel" },
                { "__probe_func", "the kernel" },
                { PAIR_START_NSEC, "ktraced" },
                { PAIR_START_USEC, "ktraced" },
        };

        const Word *given = &tree->name;
        const char *p = given->size > 0 ? given->p : label;
        size_t size = given->size > 0 ? given->size : label_size;

        if (size > PROBE_FIELD_NAME_MAX && given->size > 0)
                return probe_refuse(tree, p, "a name has at most %d bytes", PROBE_FIELD_NAME_MAX);
        (void)snprintf(field->name,
                        sizeof(field->name),
                        "%.*s",
                        (int)MIN_OF(size, (size_t)PROBE_FIELD_NAME_MAX),
                        p);
        for (size_t i = 0; i < ELEMENTSOF(reserved); i++)
                if (strcmp(field->name, reserved[i].name) == 0)
                        return probe_refuse(tree,
                                        p,
                                        "%s keeps the name %s for itself",
                                        reserved[i].user,
                                        reserved[i].name);
        return 0;
}

int probe_fetch(ProbeTree *tree, const Place *place, ProbeField *ret) {
        Place copy = *place;
        TypeSuffix suffix;

        int r = probe_read_suffix(tree, &suffix);
        r = r ?: probe_set_name(tree, place->label, place->label_size, ret);
        r = r ?: set_c_type(place, ret);
        r = r ?: fetch(tree, &copy, &suffix, ret);
        ret->is_free |= place->is_free;
        return r;
}
