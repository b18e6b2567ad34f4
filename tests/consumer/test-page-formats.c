/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* page_clean against the plainest reading of its contract: events with random fields of which some
 * are cut, records with random bytes, and for each byte the question which field owns it. No byte
 * that is cut survives. */

#include <glib.h>
#include <string.h>

#include "page-builder.h"

#include "consumer/records/mask-rules.h"

#define N_ROUNDS   4000
#define N_EVENTS   3
#define FIELDS_MAX 10
#define FIRST_ID   500
#define COMMON_END 8
#define RECORD_MAX 320

typedef enum Kind { NUMBER, CHARS, DATA_CHARS, DATA_BYTES, REL_CHARS, OPEN_CHARS, OPEN_BYTES } Kind;

typedef enum Treatment { KEEP, ZERO, WORDS } Treatment;

typedef struct Field {
        Kind kind;
        Treatment cut;
        unsigned offset, size;
} Field;

typedef struct Event {
        Field fields[FIELDS_MAX];
        unsigned n_fields, fixed_end;
} Event;

static void make_event(Event *event, GRand *random) {
        unsigned at = COMMON_END;

        event->n_fields = (unsigned)g_rand_int_range(random, 0, FIELDS_MAX);
        for (unsigned i = 0; i < event->n_fields; i++) {
                Field *field = &event->fields[i];
                bool is_last = i + 1 == event->n_fields;

                field->kind = (Kind)g_rand_int_range(
                                random, NUMBER, is_last ? OPEN_BYTES + 1 : OPEN_CHARS);
                field->cut = g_rand_boolean(random)
                                             ? KEEP
                                             : (Cut)g_rand_int_range(random, ZERO, WORDS + 1);
                field->size = field->kind == NUMBER  ? 1U << g_rand_int_range(random, 0, 4)
                              : field->kind == CHARS ? (unsigned)g_rand_int_range(random, 1, 24)
                              : field->kind >= OPEN_CHARS ? 0
                                                          : 4;
                at += g_rand_boolean(random) ? (unsigned)g_rand_int_range(random, 0, 20) : 0;
                if (field->cut == WORDS && field->kind != NUMBER) /* the bytes hold none */
                        field->cut = KEEP;
                field->offset = at;
                at += field->size;
        }
        event->fixed_end = at;
}

static void describe(const Event *event, unsigned id, GString *text) {
        static const char *const declarations[] = {
                [NUMBER] = "u64 f%u",
                [CHARS] = "char f%u[%u]",
                [DATA_CHARS] = "__data_loc char[] f%u",
                [DATA_BYTES] = "__data_loc u8[] f%u",
                [REL_CHARS] = "__rel_loc char[] f%u",
                [OPEN_CHARS] = "char f%u[]",
                [OPEN_BYTES] = "u32 f%u[]",
        };

        g_string_printf(text,
                        "name: e%u\nID: %u\nformat:\n"
                        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                        "\tfield:u16 common_rest;\toffset:2;\tsize:2;\tsigned:0;\n"
                        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n",
                        id,
                        id);
        for (unsigned i = 0; i < event->n_fields; i++) {
                const Field *field = &event->fields[i];

                g_string_append(text, "\tfield:");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
                g_string_append_printf(text, declarations[field->kind], i, field->size);
#pragma GCC diagnostic pop
                g_string_append_printf(text,
                                ";\toffset:%u;\tsize:%u;\tsigned:0;\n",
                                field->offset,
                                field->size);
        }
        g_string_append(text, "\nprint fmt: \"\"\n");
}

static void own(bool *owned, const uint8_t *record, unsigned begin, unsigned end, bool is_string) {
        for (unsigned i = begin; i < end && !(is_string && record[i] == 0); i++)
                owned[i] = true;
}

static bool find_payload(const Event *event,
                const Field *field,
                const uint8_t *record,
                unsigned size,
                unsigned ret[static 2]) {
        if (field->offset + 4 > size)
                return false;
        uint32_t word = page_get_u32(record + field->offset);
        ret[0] = (word & 0xffff) + (field->kind == REL_CHARS ? field->offset + 4 : 0);
        ret[1] = ret[0] + (word >> 16);
        return ret[0] >= event->fixed_end && ret[1] <= size;
}

static void own_fields(const Event *event, const uint8_t *record, unsigned size, bool *owned) {
        own(owned, record, 0, COMMON_END, false);
        for (unsigned i = 0; i < event->n_fields; i++) {
                const Field *field = &event->fields[i];
                unsigned end = field->offset + field->size, payload[2];

                switch (field->kind) {
                case NUMBER:
                        own(owned, record, field->offset, MIN_OF(end, size), false);
                        break;
                case CHARS: /* one that is not whole is not looked into */
                        own(owned, record, field->offset, MIN_OF(end, size), end <= size);
                        break;
                case OPEN_CHARS:
                case OPEN_BYTES:
                        own(owned, record, field->offset, size, field->kind == OPEN_CHARS);
                        break;
                default:
                        own(owned, record, field->offset, MIN_OF(end, size), false);
                        if (find_payload(event, field, record, size, payload))
                                own(owned,
                                                record,
                                                payload[0],
                                                payload[1],
                                                field->kind != DATA_BYTES);
                }
        }
}

static void cut_number(const Field *field, uint8_t *record, unsigned size) {
        unsigned end = field->offset + field->size;
        uint64_t word = 0;

        if (field->size != sizeof(word) || field->offset >= size)
                return;
        memcpy(&word, record + field->offset, MIN_OF(end, size) - field->offset);
        if (end > size || (word >= 0xff00000000000000 && word < 0xfffffffffffff000))
                memset(record + field->offset, 0, MIN_OF(end, size) - field->offset);
}

/* wanted: the record without its holes, of which what is cut goes. */
static void cut_fields(const Event *event, const uint8_t *record, unsigned size, uint8_t *wanted) {
        for (unsigned i = 0; i < event->n_fields; i++) {
                const Field *field = &event->fields[i];
                unsigned end = MIN_OF(field->offset + field->size, size), payload[2];
                bool is_located = field->kind >= DATA_CHARS && field->kind <= REL_CHARS;

                if (field->cut == WORDS && field->kind == NUMBER)
                        cut_number(field, wanted, size);
                if (field->cut != ZERO || field->offset >= size)
                        continue;
                if (field->kind >= OPEN_CHARS)
                        memset(wanted + field->offset, 0, size - field->offset);
                else if (!is_located)
                        memset(wanted + field->offset, 0, end - field->offset);
                else if (find_payload(event, field, record, size, payload)) {
                        bool has_nul = payload[1] > payload[0] && field->kind != DATA_BYTES;

                        memset(wanted + payload[0], 0, payload[1] - payload[0]);
                        page_put_u32(wanted + field->offset,
                                        (page_get_u32(record + field->offset) & 0xffff) |
                                                        (has_nul ? 1U << 16 : 0));
                } else if (field->offset + 4 <= size)
                        page_put_u32(wanted + field->offset, 0);
        }
}

static void fill_record(const Event *event, uint8_t *record, unsigned size, GRand *random) {
        for (unsigned i = COMMON_END; i < size; i++)
                record[i] = g_rand_int_range(random, 0, 6) == 0 ? 0 : DIRT;
        for (unsigned i = 0; i < event->n_fields; i++) {
                const Field *field = &event->fields[i];
                unsigned base = field->kind == REL_CHARS ? field->offset + 4 : 0;

                if (field->kind == NUMBER && field->size == 8 && field->offset + 8 <= size &&
                                g_rand_boolean(random))
                        memset(record + field->offset + 5, 0xff, 3);
                if (field->kind < DATA_CHARS || field->kind > REL_CHARS || field->offset + 4 > size)
                        continue;
                unsigned begin = event->fixed_end + (unsigned)g_rand_int_range(random, -8, 60);
                if (g_rand_int_range(random, 0, 4) > 0)
                        page_put_u32(record + field->offset,
                                        (uint32_t)g_rand_int_range(random, 0, 40) << 16 |
                                                        ((begin - base) & 0xffff));
        }
}

static json_object *describe_cuts(const Event *event) {
        json_object *cuts = json_object_new_array();

        for (unsigned i = 0; i < event->n_fields; i++) {
                json_object *entry = json_object_new_object();
                char name[16];

                if (event->fields[i].cut == KEEP) {
                        json_object_put(entry);
                        continue;
                }
                snprintf(name, sizeof(name), "f%u", i);
                json_object_object_add(entry, "field", json_object_new_string(name));
                json_object_object_add(entry,
                                "how",
                                json_object_new_string(
                                                event->fields[i].cut == ZERO ? "zero" : "words"));
                json_object_array_add(cuts, entry);
        }
        return cuts;
}

static Masks *make_masks(Event *events, GRand *random) {
        _cleanup_json_ json_object *array = json_object_new_array();
        g_autoptr(GString) text = g_string_new(NULL);
        Masks *masks = NULL;

        for (unsigned i = 0; i < N_EVENTS; i++) {
                json_object *event = json_object_new_object();

                make_event(&events[i], random);
                describe(&events[i], FIRST_ID + i, text);
                json_object_object_add(event, "format", json_object_new_string(text->str));
                json_object_object_add(event, "cut", describe_cuts(&events[i]));
                json_object_array_add(array, event);
        }
        g_assert_cmpint(masks_new(array, false, &masks), ==, 0);
        return masks;
}

/* What the page must look like afterwards. */
static void make_page(const Event *events, PageBuilder *builder, uint8_t *wanted, GRand *random) {
        memset(wanted, 0, PAGE_SIZE_TEST);
        for (;;) {
                unsigned which = (unsigned)g_rand_int_range(random, 0, N_EVENTS);
                const Event *event = &events[which];
                unsigned most = MIN_OF(event->fixed_end + 80, RECORD_MAX - 4);
                unsigned size = (unsigned)g_rand_int_range(random, 8, (gint32)most + 1);
                size_t begin = builder->at;
                bool owned[RECORD_MAX] = {};

                size = (size + 3) / 4 * 4;
                if (begin + 8 + size > PAGE_SIZE_TEST)
                        break;
                uint8_t *record = page_add_record(builder, (uint16_t)(FIRST_ID + which), 77, size);
                fill_record(event, record, size, random);
                own_fields(event, record, size, owned);
                memcpy(wanted + begin, builder->bytes + begin, builder->at - begin);
                for (unsigned i = 0; i < size; i++)
                        if (!owned[i])
                                wanted[record - builder->bytes + i] = 0;
                cut_fields(event, record, size, wanted + (record - builder->bytes));
        }
        page_end(builder, 0);
        memcpy(wanted, builder->bytes, PAGE_HEADER_SIZE);
}

static void test_random_formats(void) {
        g_autoptr(GRand) random = g_rand_new_with_seed(20261121);

        for (int round = 0; round < N_ROUNDS; round++) {
                uint8_t page[PAGE_SIZE_TEST], wanted[PAGE_SIZE_TEST];
                Event events[N_EVENTS];
                PageBuilder builder;
                PageTally tally = {};

                Masks *masks = make_masks(events, random);
                page_begin(&builder, page);
                make_page(events, &builder, wanted, random);
                page_clean(masks, page, sizeof(page), &tally);
                g_assert_cmpmem(page, sizeof(page), wanted, sizeof(wanted));
                g_assert_cmpuint(tally.n_unknown + tally.n_unparsed, ==, 0);
                masks_free(masks);
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/page/random-formats", test_random_formats);
        return g_test_run();
}
