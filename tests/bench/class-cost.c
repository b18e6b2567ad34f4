/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* class-cost: what each class of viewers costs the reader of a shared instance, on full sub-buffers
 * of 4K made by hand. Each batch is copied first, as read(2) would, and the copy is taken off. Then
 * CLASSES classes take their pieces of it. Prints a JSON object per case, the least of its rounds:
 * ns for each event and class. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "consumer/mux/class.h"
#include "consumer/records/page.h"
#include "interfaces/share.h"

#define PAGE_SIZE  4096
#define BATCH_SIZE SHARE_ENTRY_MAX
#define N_BYTES    (32 * BATCH_SIZE)
#define N_ROUNDS   31
#define CLASSES    4
#define MARKER_ID  5

#define EVENT(id, cuts)                                                                     \
        "{\"id\":" id ",\"cut\":[" cuts "],\"format\":\"name: e\\nID: " id "\\nformat:\\n"  \
        "\\tfield:unsigned short common_type;\\toffset:0;\\tsize:2;\\tsigned:0;\\n"         \
        "\\tfield:unsigned char common_flags;\\toffset:2;\\tsize:1;\\tsigned:0;\\n"         \
        "\\tfield:unsigned char common_preempt_count;\\toffset:3;\\tsize:1;\\tsigned:0;\\n" \
        "\\tfield:int common_pid;\\toffset:4;\\tsize:4;\\tsigned:1;\\n\\n"                  \
        "\\tfield:long id;\\toffset:8;\\tsize:8;\\tsigned:1;\\n"                            \
        "\\tfield:unsigned long args[6];\\toffset:16;\\tsize:48;\\tsigned:0;\\n\\n"         \
        "print fmt: \\\"\\\"\\n\"}"
#define METADATA(cuts) "{\"events\":[" EVENT("1", cuts) "," EVENT("2", cuts) "]}"

#define FILTER(parts) "[{\"id\":1,\"condition\":{\"and\":[" parts "]}}]"
#define ADDRESSES     "{\"field\":\"id\",\"how\":\"words\"},{\"field\":\"args\",\"how\":\"words\"}"
#define NOT_5000      "{\"field\":\"id\",\"op\":\"==\",\"number\":5000,\"not\":true}"

typedef struct Case {
        const char *name, *filter;
        bool is_cut;
        bool is_mixed; /* half of the records, at random, are of another event, which passes */
} Case;

/* The ids of the calls are 0 to 3, at random. */
static const Case cases[] = {
        { .name = "all records", .filter = "[]" },
        { .name = "a filter that all pass", .filter = FILTER(NOT_5000) },
        { .name = "a filter that none passes",
                        .filter = FILTER("{\"field\":\"id\",\"op\":\"==\",\"number\":5000}") },
        { .name = "a filter that half pass at random",
                        .filter = FILTER("{\"field\":\"id\",\"op\":\"<\",\"number\":2}") },
        { .name = "a filter that a quarter pass at random",
                        .filter = FILTER("{\"field\":\"id\",\"op\":\"==\",\"number\":2}") },
        { .name = "a filter of three parts that all pass",
                        .filter = FILTER(
                                        NOT_5000 "," NOT_5000
                                                 ",{\"or\":[{\"field\":\"common_pid\",\"op\":\">\","
                                                 "\"number\":3}," NOT_5000 "]}") },
        { .name = "a filter that all pass, two events at random",
                        .filter = FILTER(NOT_5000),
                        .is_mixed = true },
        { .name = "cuts", .filter = "[]", .is_cut = true },
        { .name = "cuts, a filter that all pass", .filter = FILTER(NOT_5000), .is_cut = true },
};

static double now_nsec(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static Class *make_class(const Case *c, uint32_t id) {
        int fd = memfd_create("pool", MFD_CLOEXEC);
        Class *class;

        const ClassSetup setup = { .id = id,
                .metadata = c->is_cut ? METADATA(ADDRESSES) : METADATA(""),
                .conditions = c->filter,
                .is_redacted = c->is_cut,
                .marker_id = MARKER_ID };
        if (fd < 0 || ftruncate(fd, (off_t)SHARE_POOL_BLOCKS * SHARE_BLOCK_SIZE) < 0 ||
                        class_new(&setup, fd, &class) < 0)
                exit(1);
        return class;
}

/* Full sub-buffers of sys_enter. Returns the events. */
static size_t make_pages(uint8_t *bytes, bool is_mixed) {
        const uint64_t arguments[] = { 1, 0x7ffd12345678, 4096, 0, 5, ~0ULL };
        size_t n = 0;

        memset(bytes, 0, N_BYTES);
        srand(1);
        for (uint8_t *page = bytes; page < bytes + N_BYTES; page += PAGE_SIZE) {
                uint32_t at = PAGE_HEADER_SIZE, word = 16 | 250 << 5;

                for (; at + 68 <= PAGE_SIZE; at += 68, n++) {
                        uint64_t id = (uint64_t)rand() >> 8 & 3;
                        uint32_t event = is_mixed && (rand() >> 8 & 1) ? 2 : 1;

                        memcpy(page + at, &word, 4);
                        memcpy(page + at + 4, (const uint32_t[]){ event, 4242 }, 8);
                        memcpy(page + at + 12, &id, 8);
                        memcpy(page + at + 20, arguments, sizeof(arguments));
                }
                memcpy(page + 8, (const uint32_t[]){ at - PAGE_HEADER_SIZE }, 4);
        }
        return n;
}

/* classes: NULL for the copy alone. */
static double run_round(Class **classes, const uint8_t *bytes, Batch *batch) {
        const ExtractPortion portion = { .viewer = EXTRACT_NO_VIEWER };
        double begin = now_nsec();

        for (size_t at = 0; at < N_BYTES; at += BATCH_SIZE) {
                memcpy(batch->bytes, bytes + at, BATCH_SIZE);
                __asm__ volatile("" : : "r"(batch->bytes) : "memory");
                if (classes)
                        batch_index(batch, 0, BATCH_SIZE);
                for (unsigned i = 0; classes && i < CLASSES; i++) {
                        Piece piece;

                        class_fill(classes[i], batch, &portion, &piece);
                        class_settle(classes[i], &piece);
                }
        }
        return now_nsec() - begin;
}

static void run_case(const Case *c, uint8_t *bytes, Batch *batch) {
        Class *classes[CLASSES];
        size_t n = make_pages(bytes, c->is_mixed);
        double copy = 0, all = 0;

        for (uint32_t i = 0; i < CLASSES; i++)
                classes[i] = make_class(c, i);
        for (size_t i = 0; i < N_ROUNDS; i++) {
                double copied = run_round(NULL, bytes, batch),
                       filled = run_round(classes, bytes, batch);

                copy = i == 0 || copied < copy ? copied : copy;
                all = i == 0 || filled < all ? filled : all;
        }
        printf("{\"what\":\"%s\",\"nsec\":%.2f}\n", c->name, (all - copy) / (double)n / CLASSES);
        for (uint32_t i = 0; i < CLASSES; i++)
                class_free(classes[i]);
}

int main(void) {
        uint8_t *bytes = malloc(N_BYTES);
        Batch batch;

        if (!bytes || batch_init(&batch, PAGE_SIZE) < 0)
                return 1;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                run_case(&cases[i], bytes, &batch);
        return 0;
}
