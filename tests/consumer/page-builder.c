/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "page-builder.h"

#include <string.h>

#define COMMON                                                                         \
        "format:\n"                                                                    \
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
        "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
        "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char event_format[] =
                "name: holed\nID: 300\n" COMMON "\tfield:u8 small;\toffset:8;\tsize:1;\tsigned:0;\n"
                "\tfield:u64 big;\toffset:16;\tsize:8;\tsigned:0;\n"
                "\tfield:__data_loc char[] text;\toffset:24;\tsize:4;\tsigned:0;\n"
                "\tfield:__data_loc u8[] data;\toffset:28;\tsize:4;\tsigned:0;\n"
                "\tfield:__rel_loc char[] near;\toffset:32;\tsize:4;\tsigned:0;\n\n"
                "print fmt: \"%d\", REC->small\n";

static const char text_format[] = "name: text\nID: 301\n" COMMON
                                  "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
                                  "\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n\n"
                                  "print fmt: \"%s\", REC->buf\n";

static const char names_format[] = "name: names\nID: 302\n" COMMON
                                   "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
                                   "\tfield:char odd[11];\toffset:24;\tsize:11;\tsigned:0;\n"
                                   "\tfield:u8 last;\toffset:35;\tsize:1;\tsigned:0;\n\n"
                                   "print fmt: \"%s\", REC->comm\n";

static const char switch_format[] = "name: switch\nID: 303\n" COMMON
                                    "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
                                    "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
                                    "\tfield:u32 rest;\toffset:28;\tsize:4;\tsigned:0;\n\n"
                                    "print fmt: \"%s\", REC->comm\n";

void page_put_u32(uint8_t *at, uint32_t value) {
        memcpy(at, &value, sizeof(value));
}

uint32_t page_get_u32(const uint8_t *at) {
        uint32_t value;

        memcpy(&value, at, sizeof(value));
        return value;
}

void page_begin(PageBuilder *builder, uint8_t *bytes) {
        *builder = (PageBuilder){ bytes, PAGE_HEADER_SIZE, 1 };
        memset(bytes, DIRT, PAGE_SIZE_TEST);
        memset(bytes, 0, PAGE_HEADER_SIZE);
        bytes[0] = 1; /* a time stamp */
}

void page_add_u32(PageBuilder *builder, uint32_t value) {
        g_assert_cmpuint(builder->at + 4, <=, PAGE_SIZE_TEST);
        page_put_u32(builder->bytes + builder->at, value);
        builder->at += 4;
}

void page_add_word(PageBuilder *builder, uint32_t type_len, uint32_t delta) {
        page_add_u32(builder, type_len | delta << 5);
}

uint8_t *page_add_record(PageBuilder *builder, uint16_t id, uint32_t pid, size_t size) {
        g_assert_cmpuint(size % 4, ==, 0);
        if (size <= 28 * 4)
                page_add_word(builder, (uint32_t)size / 4, 7);
        else {
                page_add_word(builder, 0, 7);
                page_add_u32(builder, (uint32_t)size + 4);
        }
        uint8_t *body = builder->bytes + builder->at;
        g_assert_cmpuint(builder->at + size, <=, PAGE_SIZE_TEST);
        builder->at += size;
        memset(body, DIRT, size);
        if (size >= 2)
                memcpy(body, &id, sizeof(id));
        if (size >= 8)
                page_put_u32(body + 4, pid);
        return body;
}

void page_set_time(PageBuilder *builder, uint64_t nsec) {
        builder->nsec = nsec - DELTA_TEST;
        memcpy(builder->bytes, &builder->nsec, sizeof(builder->nsec));
}

uint8_t *page_add_at(PageBuilder *builder, uint64_t nsec, uint16_t id, uint32_t pid) {
        uint64_t delta = nsec - builder->nsec;

        if (builder->at == PAGE_HEADER_SIZE)
                page_set_time(builder, nsec);
        else if (delta > DELTA_TEST) { /* a time extend */
                page_add_word(builder, 30, (uint32_t)(delta - DELTA_TEST) & 0x7ffffff);
                page_add_u32(builder, (uint32_t)((delta - DELTA_TEST) >> 27));
        }
        uint8_t *body = page_add_record(builder, id, pid, 32);
        if (delta < DELTA_TEST && builder->at > PAGE_HEADER_SIZE + 36)
                page_put_u32(body - 4, 8 | (uint32_t)delta << 5);
        builder->nsec = nsec;
        body[2] = body[3] = 0; /* in the task's own context */
        return body;
}

void page_add_fork(PageBuilder *builder, uint64_t nsec, uint32_t pid, uint32_t child) {
        page_put_u32(page_add_at(builder, nsec, EVENT_ID_FORK, pid) + 8, child);
}

size_t page_end(PageBuilder *builder, uint32_t flags) {
        page_put_u32(builder->bytes + 8, (uint32_t)(builder->at - PAGE_HEADER_SIZE) | flags);
        return page_get_used(builder->bytes, PAGE_SIZE_TEST);
}

static const char pair_format[] =
                "name: pair\nID: 304\n" COMMON
                "\tfield:u64 latency;\toffset:8;\tsize:8;\tsigned:0;\n"
                "\tfield:u64 ktrace_from_nsec;\toffset:16;\tsize:8;\tsigned:0;\n\n"
                "print fmt: \"\"\n";

static json_object *event_new(const char *name, int id, const char *format) {
        json_object *event = json_object_new_object();

        json_object_object_add(event, "system", json_object_new_string("test"));
        json_object_object_add(event, "name", json_object_new_string(name));
        json_object_object_add(event, "id", json_object_new_int(id));
        json_object_object_add(event, "format", json_object_new_string(format));
        return event;
}

json_object *page_events_new(void) {
        json_object *events = json_object_new_array();

        json_object_array_add(events, event_new("holed", EVENT_ID, event_format));
        json_object_array_add(events, event_new("text", EVENT_ID_TEXT, text_format));
        json_object_array_add(events, event_new("names", EVENT_ID_NAMES, names_format));
        json_object_array_add(events, event_new("pair", EVENT_ID_PAIR, pair_format));
        json_object *other = event_new("switch", EVENT_ID_SWITCH, switch_format);
        json_object_object_add(other,
                        "cut",
                        json_tokener_parse(
                                        "[{\"field\":\"comm\",\"how\":\"member\",\"pid\":\"pid\"},"
                                        "{\"field\":\"pid\",\"how\":\"member\",\"pid\":\"pid\"}]"));
        json_object_array_add(events, other);
        return events;
}

char *page_metadata_new(void) {
        _cleanup_json_ json_object *object = json_object_new_object();

        json_object_object_add(object, "version", json_object_new_int(1));
        json_object_object_add(object, "subbuf-size", json_object_new_int(PAGE_SIZE_TEST));
        json_object_object_add(object, "events", page_events_new());
        return g_strdup(json_object_to_json_string(object));
}
