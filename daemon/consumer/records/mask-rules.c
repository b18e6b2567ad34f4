/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Builds the rules that clean the records of one event, from the event's format and its list of
 * cuts. The consumer builds them once, at its set-up, so that mask.c can apply them to a record
 * with a few ANDs.
 *
 * The rules are an allow-list: a byte that belongs to no field is zeroed. The kernel does not zero
 * such bytes. Holes between fields, bytes after a string's NUL and bytes after the last field
 * contain old memory. Fields in "cut" are zeroed, replaced, or searched for words in the kernel's
 * address range. A located field (__data_loc, __rel_loc) is cut together with its payload.
 *
 * A list is refused when one of its entries is not understood: the data that the entry should cut
 * would pass. */

#include "consumer/records/mask-rules.h"

#include <errno.h>
#include <string.h>

#include "consumer/records/pseudonym.h"
#include "interfaces/defence.h"
#include "interfaces/format.h"
#include "interfaces/pair-start.h"

static const char *const cut_names[_CUT_N] = {
        [CUT_ALL] = "zero",
        [CUT_PSEUDONYM] = "pseudonym",
        [CUT_WORDS] = "words",
        [CUT_WORDS_PSEUDONYM] = "words-pseudonym",
        [CUT_MEMBER] = "member",
};

/* The state while the rules of one event are built. */
typedef struct Maker {
        Mask *mask;
        MaskRules *rules; /* the mask's rules */
        const Format *format;
        json_object *cuts;   /* NULL: no cuts */
        const char *also_of; /* name of a pid field; NULL: none */
        bool has_members;
        uint8_t *owned;   /* per byte up to fixed_end: a field owns it */
        uint8_t *hidden;  /* per byte: a field that is cut owns it */
        uint8_t *members; /* per byte: 1 + the group of its field */
} Maker;

static MaskRules *rules_free(MaskRules *rules) {
        if (!rules)
                return NULL;
        free(rules->strings);
        free(rules->runs);
        free(rules->located);
        free(rules);
        return NULL;
}

static Mask *mask_free(Mask *mask) {
        if (!mask)
                return NULL;
        for (size_t i = 0; i < ELEMENTSOF(mask->others); i++)
                free(mask->others[i].kept);
        free(mask->holes.kept);
        free(mask->author.kept);
        rules_free(mask->rules);
        free(mask);
        return NULL;
}

DEFINE_CLEANUP(Mask, mask_free);

static const char *mask_rules_find_text(json_object *object, const char *key) {
        json_object *value;

        return json_object_object_get_ex(object, key, &value) &&
                                               json_object_is_type(value, json_type_string)
                               ? json_object_get_string(value)
                               : NULL;
}

/* Each entry must name a field of the event, and each field at most once. An unknown entry is
 * refused, because its data would pass. */
static int check_cuts(json_object *cuts, const Format *format) {
        if (!json_object_is_type(cuts, json_type_array))
                return -EBADMSG;
        for (size_t i = 0; i < json_object_array_length(cuts); i++) {
                json_object *entry = json_object_array_get_idx(cuts, i);
                const char *name = mask_rules_find_text(entry, "field"),
                           *how = mask_rules_find_text(entry, "how");
                const FormatField *field = name ? format_field_find(format, name) : NULL;
                bool is_known = false;

                for (size_t k = 1; how && k < _CUT_N; k++)
                        is_known = is_known || strcmp(how, cut_names[k]) == 0;
                if (!field || field->is_common || !is_known)
                        return -EBADMSG;
                for (size_t k = 0; k < i; k++)
                        if (strcmp(name,
                                            mask_rules_find_text(json_object_array_get_idx(cuts, k),
                                                            "field")) == 0)
                                return -EBADMSG;
        }
        return 0;
}

static json_object *find_entry(const Maker *maker, const char *name) {
        for (size_t i = 0; maker->cuts && i < json_object_array_length(maker->cuts); i++) {
                json_object *entry = json_object_array_get_idx(maker->cuts, i);

                if (strcmp(name, mask_rules_find_text(entry, "field")) == 0)
                        return entry;
        }
        return NULL;
}

/* Finds or adds the group of the task whose pid field the entry names. */
static int find_group(Maker *maker, json_object *entry, size_t *ret) {
        const char *name = mask_rules_find_text(entry, "pid");
        const FormatField *pid = name ? format_field_find(maker->format, name) : NULL;
        Mask *mask = maker->mask;

        if (!pid || pid->kind != FIELD_PLAIN || pid->size != sizeof(uint32_t))
                return -EBADMSG;
        for (uint32_t i = 0; i < mask->n_groups; i++)
                if (mask->groups[i] == pid->offset) {
                        *ret = i;
                        return 0;
                }
        if (mask->n_groups == MASK_GROUPS_MAX)
                return -E2BIG;
        mask->groups[mask->n_groups] = pid->offset;
        *ret = mask->n_groups++;
        return 0;
}

static int find_cut(Maker *maker, const FormatField *field, Cut *ret, size_t *ret_group) {
        json_object *entry = find_entry(maker, field->name);
        int r = 0;

        *ret = CUT_NOTHING;
        *ret_group = 0;
        if (!entry || !defence_is_on("redaction"))
                return 0;
        for (Cut cut = CUT_ALL; cut < _CUT_N; cut++)
                if (strcmp(mask_rules_find_text(entry, "how"), cut_names[cut]) == 0)
                        *ret = cut;
        if (*ret == CUT_MEMBER) {
                r = find_group(maker, entry, ret_group);
                if (!maker->has_members)
                        *ret = CUT_ALL;
        } else if (*ret != CUT_ALL && !defence_is_on("addresses"))
                *ret = CUT_NOTHING;
        return r;
}

static uint32_t get_step(const FormatField *field) {
        static const struct {
                const char *type;
                uint32_t size;
        } known[] = {
                { "char[]", 1 },
                { "unsigned char[]", 1 },
                { "bool[]", 1 },
                { "u8[]", 1 },
                { "__u8[]", 1 },
                { "uint8_t[]", 1 },
                { "u16[]", 2 },
                { "__u16[]", 2 },
                { "u32[]", 4 },
                { "__u32[]", 4 },
                { "int[]", 4 },
                { "unsigned int[]", 4 },
        };

        if (field->n_elements > 0 && field->size / field->n_elements < sizeof(uint64_t))
                return field->size / field->n_elements;
        for (size_t i = 0; i < ELEMENTSOF(known); i++)
                if (strcmp(field->type, known[i].type) == 0)
                        return known[i].size;
        return sizeof(uint64_t);
}

/* Only numbers and words have pseudonyms. Other fields are zeroed. */
static Cut narrow_cut(const FormatField *field, Cut cut) {
        bool is_number = field->kind == FIELD_PLAIN && field->n_elements == 0 &&
                         (field->size == 1 || field->size == 2 || field->size == 4 ||
                                         field->size == 8);

        if (cut == CUT_PSEUDONYM && !is_number &&
                        (get_step(field) != sizeof(uint64_t) ||
                                        (field->kind == FIELD_PLAIN &&
                                                        field->size % sizeof(uint64_t) != 0)))
                return CUT_ALL;
        return cut;
}

static int add_located(Maker *maker, const FormatField *field, Cut cut, size_t group) {
        MaskRules *rules = maker->rules;

        if (rules->n_located == LOCATED_MAX)
                return -E2BIG;
        rules->located[rules->n_located++] = (Located){
                .offset = field->offset,
                .is_relative = field->kind == FIELD_REL_LOC,
                .is_string = field->is_string,
                .step = get_step(field),
                .cut = cut,
                .group = group,
        };
        return 0;
}

static void add_run(MaskRules *rules, const FormatField *field, Cut cut) {
        uint32_t step = get_step(field);

        if (cut == CUT_PSEUDONYM && field->size < sizeof(uint64_t))
                step = field->size;
        else if (field->size < sizeof(uint64_t)) /* too small for an address */
                return;
        Run *last = rules->n_runs > 0 ? &rules->runs[rules->n_runs - 1] : NULL;
        if (last && last->cut == cut && last->step == step && step == sizeof(uint64_t) &&
                        last->range.end == field->offset &&
                        (field->size | (last->range.end - last->range.begin)) % step == 0) {
                last->range.end += field->size; /* search both fields at once */
                return;
        }
        rules->runs[rules->n_runs++] =
                        (Run){ { field->offset, field->offset + field->size }, step, cut };
}

/* Adds a field whose data is in the record's fixed part. */
static void add_plain(Maker *maker, const FormatField *field, Cut cut, size_t group) {
        MaskRules *rules = maker->rules;

        memset(maker->owned + field->offset, 1, field->size);
        if (cut == CUT_ALL)
                memset(maker->hidden + field->offset, 1, field->size);
        else if (cut == CUT_MEMBER)
                memset(maker->members + field->offset, (int)group + 1, field->size);
        else if (cut != CUT_NOTHING)
                add_run(rules, field, cut);
}

/* The caller adds the fields in the order of their offsets. */
static int mask_rules_add_field(Maker *maker, const FormatField *field) {
        MaskRules *rules = maker->rules;
        bool is_plain = field->kind == FIELD_PLAIN, is_behind = field->offset >= rules->fixed_end;
        size_t group;
        Cut cut;

        int r = find_cut(maker, field, &cut, &group);
        if (r < 0)
                return r;
        cut = narrow_cut(field, cut);
        /* When two fields overlap, neither is cut after its NUL: the bytes may belong to the other
         * one. */
        while (rules->n_strings > 0 && rules->strings[rules->n_strings - 1].end > field->offset)
                rules->n_strings--;
        if (is_plain && field->is_string && field->size > 0 && is_behind && cut != CUT_ALL &&
                        !rules->keeps_holes)
                rules->strings[rules->n_strings++] =
                                (Range){ field->offset, field->offset + field->size };
        rules->is_open = is_plain && field->size == 0 && is_behind;
        if (rules->is_open)
                rules->open = (Located){ .is_string = field->is_string,
                        .step = get_step(field),
                        .cut = cut,
                        .group = group };
        rules->fixed_end = MAX_OF(rules->fixed_end, field->offset + field->size);
        if (!is_plain) {
                memset(maker->owned + field->offset, 1, field->size);
                return add_located(maker, field, cut, group);
        }
        add_plain(maker, field, cut, group);
        return 0;
}

typedef bool (*IsZeroed)(const Maker *maker, uint32_t offset, unsigned shown);

static bool is_hole(const Maker *maker, uint32_t offset, unsigned shown _unused_) {
        return maker->hidden[offset] || (!maker->owned[offset] && !maker->rules->keeps_holes);
}

/* shown: one bit for each group. */
static bool is_of_another(const Maker *maker, uint32_t offset, unsigned shown) {
        unsigned group = maker->members[offset];

        return group > 0 && !(shown >> (group - 1) & 1);
}

static bool is_of_author(const Maker *maker, uint32_t offset, unsigned shown _unused_) {
        return offset >= sizeof(uint16_t) && maker->members[offset] == 0; /* after common_type */
}

/* The stencil reaches from the first byte that it may zero to the last. Its size is the same for
 * every set of groups, so the processor can predict the loop. */
static void place_stencil(const Maker *maker, IsZeroed is_zeroed, Stencil *ret) {
        uint32_t end = maker->rules->fixed_end, size = sizeof(Bits), first = end, behind = 0;

        for (uint32_t i = 0; i < end; i++)
                if (is_zeroed(maker, i, 0)) {
                        first = MIN_OF(first, i);
                        behind = i + 1;
                }
        if (behind == 0)
                return;
        ret->n = (behind - first + size - 1) / size;
        ret->begin = first;
        ret->last = MIN_OF(first + (ret->n - 1) * size, MAX_OF(end, size) - size);
}

static int make_stencil(const Maker *maker, IsZeroed is_zeroed, unsigned shown, Stencil *ret) {
        Stencil stencil = {};

        place_stencil(maker, is_zeroed, &stencil);
        if (stencil.n == 0)
                return 0;
        stencil.kept = aligned_alloc(_Alignof(Bits), stencil.n * sizeof(Bits));
        if (!stencil.kept)
                return -ENOMEM;
        for (uint32_t i = 0; i < stencil.n; i++) {
                uint32_t offset = stencil_get_offset(&stencil, i);
                uint8_t kept[sizeof(Bits)];

                for (uint32_t k = 0; k < sizeof(kept); k++) {
                        bool is_in = offset + k < maker->rules->fixed_end;

                        kept[k] = is_in && is_zeroed(maker, offset + k, shown) ? 0 : 0xff;
                }
                memcpy(&stencil.kept[i], kept, sizeof(kept));
        }
        *ret = stencil;
        return 0;
}

static int compare_places(const void *a, const void *b) {
        const FormatField *const *x = a, *const *y = b;

        if ((*x)->offset != (*y)->offset)
                return (*x)->offset < (*y)->offset ? -1 : 1;
        return (*x)->size < (*y)->size ? -1 : (*x)->size > (*y)->size;
}

static int make_rules(Maker *maker, size_t n) {
        _cleanup_free_ const FormatField **sorted = calloc(n + 1, sizeof(*sorted));
        MaskRules *rules = maker->rules;
        Mask *mask = maker->mask;

        rules->strings = calloc(n + 1, sizeof(Range));
        rules->runs = calloc(n + 1, sizeof(Run));
        rules->located = calloc(n + 1, sizeof(Located));
        if (!sorted || !rules->strings || !rules->runs || !rules->located)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                sorted[i] = &maker->format->fields[i];
        qsort(sorted, n, sizeof(*sorted), compare_places);
        for (size_t i = 0; i < n; i++) {
                int r = mask_rules_add_field(maker, sorted[i]);
                if (r < 0)
                        return r;
        }
        int r = make_stencil(maker, is_hole, 0, &mask->holes);
        for (unsigned shown = 0; r == 0 && shown < 1U << mask->n_groups; shown++)
                r = make_stencil(maker, is_of_another, shown, &mask->others[shown]);
        return r;
}

/* The compiler of definitions writes only one of the two names, and no user may use either. */
static int find_start(const Format *format, Mask *mask) {
        static const struct {
                const char *name;
                uint32_t nsec;
        } fields[] = { { PAIR_START_NSEC, 1 }, { PAIR_START_USEC, 1000 } };

        if (format_field_find(format, PAIR_START_NSEC) &&
                        format_field_find(format, PAIR_START_USEC))
                return -EBADMSG;
        for (size_t i = 0; i < ELEMENTSOF(fields); i++) {
                const FormatField *field = format_field_find(format, fields[i].name);

                if (!field || field->kind != FIELD_PLAIN || field->size != sizeof(uint64_t))
                        continue;
                mask->start_offset = field->offset;
                mask->start_nsec = fields[i].nsec;
        }
        return 0;
}

/* Returns whether a search of whole words finds all that this run cuts. */
static bool is_searched_by_word(const Run *run) {
        uint32_t size = run->range.end - run->range.begin;

        return run->cut != CUT_PSEUDONYM && run->step == sizeof(uint64_t) &&
               size % sizeof(uint64_t) == 0;
}

/* For events whose records have all their data in the fixed part. */
static void find_short_cut(const MaskRules *rules, Mask *mask) {
        uint32_t size = rules->fixed_end;

        if (rules->n_runs > 1 || (rules->n_runs == 1 && !is_searched_by_word(&rules->runs[0])))
                return;
        if (mask->holes.n + rules->n_strings + rules->n_runs == 0)
                mask->whole_size = size;
        if (size < sizeof(Bits) || rules->n_strings > MASK_NAMES_MAX)
                return;
        for (size_t i = 0; i < rules->n_strings; i++) {
                Range range = rules->strings[i];

                if (range.end - range.begin != MASK_NAME_SIZE)
                        return;
                mask->names[i] = range.begin;
        }
        mask->n_names = (uint32_t)rules->n_strings;
        if (rules->n_runs == 1) {
                Range range = rules->runs[0].range;

                mask->words_begin = range.begin;
                mask->n_words = (range.end - range.begin) / (uint32_t)sizeof(uint64_t);
        }
        mask->plain_size = size;
}

/* Events with data after their fixed fields are left out: mask_cut_author() cuts at fixed
 * offsets. */
static int find_also_of(const Maker *maker, Mask *mask) {
        const MaskRules *rules = maker->rules;
        const FormatField *pid =
                        maker->also_of ? format_field_find(maker->format, maker->also_of) : NULL;
        bool is_fixed = rules->n_located == 0 && !rules->is_open;

        if (!pid || !maker->has_members || !is_fixed || rules->fixed_end < sizeof(Bits))
                return 0;
        mask->also_of_size = rules->fixed_end;
        for (uint32_t i = 0; i < mask->n_groups; i++)
                if (mask->groups[i] == pid->offset)
                        mask->also_of = pid->offset;
        return defence_is_on("author") ? make_stencil(maker, is_of_author, 0, &mask->author) : 0;
}

static int mask_new(json_object *event,
                const Format *format,
                json_object *cuts,
                bool has_members,
                Mask **ret) {
        enum { FORMAT_BYTES_MAX = 65536 + 8 }; /* format.c refuses longer ones */

        _cleanup_(mask_free_cleanup) Mask *mask = calloc(1, sizeof(*mask));
        _cleanup_free_ uint8_t *bytes = calloc(3, FORMAT_BYTES_MAX);

        if (!mask || !bytes)
                return -ENOMEM;
        MaskRules *rules = mask->rules = calloc(1, sizeof(*rules));
        if (!rules)
                return -ENOMEM;
        rules->keeps_holes = !defence_is_on("holes");
        Maker maker = {
                .mask = mask,
                .rules = rules,
                .format = format,
                .cuts = cuts,
                .also_of = mask_rules_find_text(event, "also-of"),
                .has_members = has_members,
                .owned = bytes,
                .hidden = bytes + FORMAT_BYTES_MAX,
                .members = bytes + 2 * FORMAT_BYTES_MAX,
        };
        int r = make_rules(&maker, format->n_fields);
        r = r ?: find_start(format, mask);
        if (r < 0)
                return r;
        mask->has_members = has_members && mask->n_groups > 0;
        if (rules->n_located == 0 && !rules->is_open && rules->fixed_end % 4 == 0)
                find_short_cut(rules, mask);
        r = find_also_of(&maker, mask);
        if (r == 0)
                *ret = TAKE_PTR(mask);
        return r;
}

static int masks_grow(Masks *masks, uint32_t id) {
        size_t n = (size_t)id + 1;

        if (n <= masks->n_ids)
                return 0;
        Mask **bigger = reallocarray(masks->by_id, n, sizeof(*bigger));
        if (!bigger)
                return -ENOMEM;
        memset(bigger + masks->n_ids, 0, (n - masks->n_ids) * sizeof(*bigger));
        masks->by_id = bigger;
        masks->n_ids = n;
        return 0;
}

static int masks_add(Masks *masks, json_object *event, bool has_members) {
        _cleanup_(format_free_cleanup) Format *format = NULL;
        json_object *cuts = NULL;
        Mask *mask = NULL;

        const char *text = mask_rules_find_text(event, "format");
        if (!text)
                return -EBADMSG;
        int r = format_parse(text, strlen(text), &format, NULL);
        if (r < 0)
                return r;
        if (format->id >= 65536) /* common_type has 16 bits */
                return -EBADMSG;
        if (json_object_object_get_ex(event, "cut", &cuts))
                r = check_cuts(cuts, format);
        bool is_of_task = json_object_get_boolean(json_object_object_get(event, "task"));
        r = r ?: masks_grow(masks, format->id);
        r = r ?: mask_new(event, format, cuts, has_members, &mask);
        if (r < 0)
                return r;
        mask->interrupts = is_of_task ? 0 : MASK_INTERRUPTS;
        mask_free(masks->by_id[format->id]);
        masks->by_id[format->id] = mask;
        return 0;
}

int masks_new(json_object *events, bool has_members, Masks **ret) {
        _cleanup_(masks_free_cleanup) Masks *masks = calloc(1, sizeof(*masks));

        if (!masks)
                return -ENOMEM;
        masks->pseudonyms = malloc(sizeof(*masks->pseudonyms));
        if (!masks->pseudonyms)
                return -ENOMEM;
        if (!json_object_is_type(events, json_type_array))
                return -EBADMSG;
        int r = pseudonyms_init(masks->pseudonyms);
        for (size_t i = 0; r == 0 && i < json_object_array_length(events); i++)
                r = masks_add(masks, json_object_array_get_idx(events, i), has_members);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(masks);
        return 0;
}

Masks *masks_free(Masks *masks) {
        if (!masks)
                return NULL;
        for (size_t i = 0; i < masks->n_ids; i++)
                mask_free(masks->by_id[i]);
        free(masks->by_id);
        free(masks->pseudonyms);
        free(masks);
        return NULL;
}
