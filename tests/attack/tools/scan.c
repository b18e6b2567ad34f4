/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads what an attacker was given, byte by byte, and believes neither our consumer nor our client:
 * its walk over the records is its own.
 *
 *   scan words FILE      8-byte words in the kernel's address range, anywhere in any file, and such
 *                        addresses as text
 *   scan holes STREAM    bytes of records that no field owns, and of padding, that are not zero
 *   scan records STREAM  a line a record: EVENT PID FLAGS WORD (of the fields' first eight bytes)
 *
 * words and holes print what they find; the status is 1 when that is something, 2 when the file
 * cannot be read as it should.
 *
 * Addresses as x86-64 lays them out (Documentation/arch/x86/x86_64/mm.rst). A small negative number
 * is made of the same bytes when it is read from a byte before its own begin; two rules keep those
 * out: the number itself ends the word (text), or goes on behind it (everything else). In a record
 * an aligned word has no such excuse. */

#include <ctype.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define HITS_SHOWN    20
#define PAGE_HEADER   16
#define FRAME_HEADER  24
#define PACKED_HEADER 24
#define STREAM_HEADER 16
#define N_IDS         65536
#define FIELDS_MAX    64
#define ERRNO_FIRST   0xfffffffffffff000

typedef struct Field {
        unsigned offset, size;
        bool is_located, is_relative;
} Field;

typedef struct Event {
        char *name;
        Field fields[FIELDS_MAX];
        unsigned n_fields, fixed_end;
        bool is_open; /* its last field reaches to the end */
} Event;

typedef struct Scan {
        const uint8_t *bytes;
        size_t size;
        size_t subbuf_size;
        Event *events[N_IDS];
        uint8_t *owned; /* of the record at hand */
        uint64_t n_hits;

        enum { WORDS, HOLES, RECORDS } verb;
} Scan;

static uint64_t get_u64(const uint8_t *at) {
        uint64_t value;

        memcpy(&value, at, sizeof(value));
        return value;
}

static uint32_t get_u32(const uint8_t *at) {
        uint32_t value;

        memcpy(&value, at, sizeof(value));
        return value;
}

static _Noreturn void unreadable(const char *why) {
        printf("scan: %s\n", why);
        exit(2);
}

static void hit(Scan *scan, const uint8_t *at, uint64_t value, const char *what) {
        if (scan->n_hits++ < HITS_SHOWN)
                printf("%#zx: %#" PRIx64 " %s\n", (size_t)(at - scan->bytes), value, what);
}

static bool is_tail_of_number(const uint8_t *at, size_t left) {
        for (size_t k = 1; k < 8 && k + 8 <= left; k++)
                if (get_u64(at + k) >= ERRNO_FIRST)
                        return true;
        return false;
}

static bool is_address(uint64_t word) {
        return (word >= 0xffff888000000000 && word < 0xffffeb0000000000) ||
               (word >= 0xffffffff80000000 && word < ERRNO_FIRST);
}

/* "ffffffff81234567" */
static void scan_text(Scan *scan) {
        size_t run = 0;

        for (size_t i = 0; i <= scan->size; i++) {
                char digits[17] = "";

                if (i < scan->size && isxdigit(scan->bytes[i])) {
                        run++;
                        continue;
                }
                if (run == 16) {
                        memcpy(digits, scan->bytes + i - run, run);
                        uint64_t word = strtoull(digits, NULL, 16);
                        if (is_address(word))
                                hit(scan, scan->bytes + i - run, word, "as text");
                }
                run = 0;
        }
}

/* At every byte of the file. */
static void scan_bytes(Scan *scan) {
        for (size_t i = 0; i + 8 <= scan->size; i++) {
                const uint8_t *at = scan->bytes + i;
                size_t left = scan->size - i;

                if (at[7] != 0xff || at[6] != 0xff)
                        continue;
                uint64_t word = get_u64(at);
                if (word >= 0xffffffff80000000 && word < ERRNO_FIRST) {
                        if (!is_tail_of_number(at, left))
                                hit(scan, at, word, "kernel text or module");
                } else if (word >= 0xffff888000000000 && word < 0xffffeb0000000000) {
                        /* Jiffies begin five minutes before 2^32, mostly behind zeroes. */
                        if ((left == 8 || at[8] != 0xff) && (uint32_t)word != 0)
                                hit(scan, at, word, "kernel memory");
                }
        }
}

/* "	field:unsigned long args[6];	offset:16;	size:48;	signed:0;" */
static void add_field(Event *event, const char *line) {
        const char *offset = strstr(line, "offset:"), *size = strstr(line, "size:");

        if (!offset || !size)
                return;
        if (event->n_fields == FIELDS_MAX)
                unreadable("an event with more fields than expected");
        Field *field = &event->fields[event->n_fields++];
        field->offset = (unsigned)strtoul(offset + 7, NULL, 10);
        field->size = (unsigned)strtoul(size + 5, NULL, 10);
        field->is_relative = strstr(line, "__rel_loc") && strstr(line, "__rel_loc") < offset;
        field->is_located = field->is_relative ||
                            (strstr(line, "__data_loc") && strstr(line, "__data_loc") < offset);
        event->is_open = field->size == 0;
        if (field->offset + field->size > event->fixed_end)
                event->fixed_end = field->offset + field->size;
}

static void add_event(Scan *scan, json_object *object) {
        Event *event = calloc(1, sizeof(*event));
        unsigned id = (unsigned)json_object_get_int(json_object_object_get(object, "id"));
        char *text = strdup(json_object_get_string(json_object_object_get(object, "format")) ?: ""),
             *rest = NULL;

        if (!event || !text || id >= N_IDS)
                unreadable("an event that cannot be one");
        event->name = strdup(json_object_get_string(json_object_object_get(object, "name")) ?: "?");
        for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
                if (strstr(line, "field:"))
                        add_field(event, line);
        free(text);
        scan->events[id] = event;
}

static void read_metadata(Scan *scan, const uint8_t *at, size_t size) {
        char *text = strndup((const char *)at, size);
        json_object *object = text ? json_tokener_parse(text) : NULL;
        json_object *events = object ? json_object_object_get(object, "events") : NULL;

        if (!events)
                unreadable("no metadata in the first frame");
        scan->subbuf_size = (size_t)json_object_get_int64(
                        json_object_object_get(object, "subbuf-size"));
        if (scan->subbuf_size < 4096)
                unreadable("no size of sub-buffers");
        scan->owned = malloc(scan->subbuf_size);
        for (size_t i = 0; i < json_object_array_length(events); i++)
                add_event(scan, json_object_array_get_idx(events, i));
        json_object_put(object);
        free(text);
}

static void own(Scan *scan, size_t begin, size_t end, size_t size) {
        for (size_t i = begin; i < end && i < size; i++)
                scan->owned[i] = 1;
}

static void scan_holes(Scan *scan, const Event *event, const uint8_t *record, size_t size) {
        memset(scan->owned, 0, size);
        for (unsigned i = 0; event && i < event->n_fields; i++) {
                const Field *field = &event->fields[i];

                own(scan, field->offset, field->offset + field->size, size);
                if (!field->is_located || field->offset + 4 > size)
                        continue;
                uint32_t loc = get_u32(record + field->offset);
                size_t begin = (loc & 0xffff) + (field->is_relative ? field->offset + 4 : 0);
                own(scan, begin, begin + (loc >> 16), size);
        }
        if (event && event->is_open)
                own(scan, event->fixed_end, size, size);
        for (size_t i = 0; i < size; i++)
                if (!scan->owned[i] && record[i] != 0) {
                        hit(scan, record + i, record[i], event ? event->name : "padding");
                        return;
                }
}

static void scan_record(Scan *scan, const uint8_t *record, size_t size) {
        const Event *event = NULL;
        uint16_t id;

        if (size < 8) {
                hit(scan, record, size, "too short a record");
                return;
        }
        memcpy(&id, record, sizeof(id));
        event = scan->events[id];
        if (scan->verb == RECORDS)
                printf("%s %" PRIu32 " %u %" PRIu64 "\n",
                                event ? event->name : "unknown",
                                get_u32(record + 4),
                                record[2],
                                size >= 16 ? get_u64(record + 8) : 0);
        if (scan->verb == HOLES)
                scan_holes(scan, event, record, size);
        if (scan->verb == WORDS)
                for (size_t i = 8; i + 8 <= size; i += 8)
                        if (get_u64(record + i) >= 0xffff800000000000 &&
                                        get_u64(record + i) < ERRNO_FIRST &&
                                        get_u32(record + i + 4) != UINT32_MAX)
                                hit(scan,
                                                record + i,
                                                get_u64(record + i),
                                                event ? event->name : "?");
}

/* Bytes of the record at `at`, or what is left. */
static size_t scan_one(Scan *scan, const uint8_t *at, size_t left) {
        uint32_t word = get_u32(at), type = word & 31;
        size_t whole, begin = 4;

        if (type == 30 || type == 31)
                return 8;
        if (type >= 1 && type <= 28)
                whole = 4 + 4 * (size_t)type;
        else if (word == 29 || left < 8)
                whole = left;
        else {
                whole = 4 + (size_t)get_u32(at + 4);
                begin = 8;
        }
        if (whole > left || whole <= begin)
                return left;
        if (type != 29)
                scan_record(scan, at + begin, whole - begin);
        else if (scan->verb == HOLES)
                scan_holes(scan, NULL, at + begin, whole - begin);
        return whole;
}

static void scan_subbuf(Scan *scan, const uint8_t *page, size_t size) {
        uint32_t head = get_u32(page + 8);
        size_t end = PAGE_HEADER + (head & 0xfffff), at = PAGE_HEADER;

        if (end > size)
                unreadable("a sub-buffer that is cut within its records");
        while (end - at >= 4)
                at += scan_one(scan, page + at, end - at);
        if (head >> 30 == 3) /* the number of missed events is behind the records */
                end += 8;
        if (scan->verb == HOLES && end < size)
                scan_holes(scan, NULL, page + end, size - end);
}

static void scan_subbufs(Scan *scan, const uint8_t *data, size_t size) {
        for (size_t i = 0; i + PAGE_HEADER <= size; i += scan->subbuf_size)
                scan_subbuf(scan,
                                data + i,
                                size - i < scan->subbuf_size ? size - i : scan->subbuf_size);
}

static void scan_packed(Scan *scan, const uint8_t *payload, size_t size) {
        Scan inner = *scan;

        if (size < PACKED_HEADER)
                unreadable("a packed frame without its head");
        inner.size = get_u32(payload + PACKED_HEADER - 4);
        uint8_t *data = malloc(inner.size);
        if (!data || ZSTD_decompress(data,
                                     inner.size,
                                     payload + PACKED_HEADER,
                                     size - PACKED_HEADER) != inner.size)
                unreadable("a packed frame that cannot be unpacked");
        inner.bytes = data;
        if (inner.verb == WORDS)
                scan_bytes(&inner);
        scan_subbufs(&inner, data, inner.size);
        scan->n_hits = inner.n_hits;
        free(data);
}

static void scan_frames(Scan *scan) {
        size_t at = STREAM_HEADER;

        if (scan->size < STREAM_HEADER || memcmp(scan->bytes, "KTSTREAM", 8) != 0)
                unreadable("not a stream");
        while (scan->size - at >= FRAME_HEADER) {
                uint32_t type = get_u32(scan->bytes + at);
                size_t size = get_u64(scan->bytes + at + 8);
                const uint8_t *payload = scan->bytes + at + FRAME_HEADER;

                if (size > scan->size - at - FRAME_HEADER)
                        unreadable("a cut frame");
                if (type == 1)
                        read_metadata(scan, payload, size);
                if (type == 2)
                        scan_subbufs(scan, payload, size);
                if (type == 6)
                        scan_packed(scan, payload, size);
                at += FRAME_HEADER + size;
        }
}

static uint8_t *read_all(const char *path, size_t *ret_size) {
        FILE *f = fopen(path, "re");
        uint8_t *bytes = NULL;
        size_t size = 0, n;

        if (!f)
                unreadable(path);
        do {
                bytes = realloc(bytes, size + 65536);
                if (!bytes)
                        unreadable("no memory");
                n = fread(bytes + size, 1, 65536, f);
                size += n;
        } while (n > 0);
        fclose(f);
        *ret_size = size;
        return bytes;
}

int main(int argc, char **argv) {
        static Scan scan;

        if (argc != 3)
                unreadable("see the head of scan.c");
        scan.verb = strcmp(argv[1], "words") == 0   ? WORDS
                    : strcmp(argv[1], "holes") == 0 ? HOLES
                                                    : RECORDS;
        scan.bytes = read_all(argv[2], &scan.size);
        if (scan.verb == WORDS) {
                scan_bytes(&scan);
                scan_text(&scan);
        }
        if (scan.verb != WORDS || (scan.size >= 8 && memcmp(scan.bytes, "KTSTREAM", 8) == 0))
                scan_frames(&scan);
        if (scan.n_hits > 0)
                printf("%" PRIu64 " in all\n", scan.n_hits);
        return scan.n_hits > 0;
}
