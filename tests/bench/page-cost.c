/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* page-cost: what the consumer's walk over sub-buffers costs, on full ones of 4K made by hand,
 * beside a memcpy of the same bytes in the same run. Each batch of 64K is copied first, as read(2)
 * would, and the copy is taken off. Prints a JSON object per case, each the median of its rounds:
 * ns an event, GB/s. */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "consumer/records/page.h"

#include "consumer/records/mask-rules.h"

#define PAGE_SIZE  4096
#define BATCH_SIZE ((size_t)65536)
#define N_BYTES    ((size_t)8 * 1024 * 1024)
#define N_ROUNDS   31
#define PID        4242
#define FORMAT                                                                         \
        "name: e\nID: 1\nformat:\n"                                                    \
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
        "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
        "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char enter_format[] =
                FORMAT "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n"
                       "\tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n\n"
                       "print fmt: \"\"\n",
                  switch_format[] = FORMAT
                  "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
                  "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
                  "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
                  "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
                  "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
                  "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
                  "\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n"
                  "print fmt: \"\"\n";

/* Whose records, and of whom a switch speaks, are a stranger's. */
typedef enum Strangers {
        EVERY_SECOND,
        AT_RANDOM, /* what a processor cannot foresee costs it more */
} Strangers;

typedef struct Case {
        const char *name;
        const char *cuts;
        bool is_judged;
        uint32_t member;
        bool is_switch;
        bool is_mixed; /* of records, too */
        Strangers strangers;
} Case;

#define OF_MEMBERS(which)                                                          \
        "{\"field\":\"" which "_comm\",\"how\":\"member\",\"pid\":\"" which        \
        "_pid\"},{\"field\":\"" which "_pid\",\"how\":\"member\",\"pid\":\"" which \
        "_pid\"},{\"field\":\"" which "_prio\",\"how\":\"member\",\"pid\":\"" which "_pid\"}"

#define SWITCH_CUTS "[" OF_MEMBERS("prev") "," OF_MEMBERS("next") "]"
#define ADDRESSES   "[{\"field\":\"id\",\"how\":\"words\"},{\"field\":\"args\",\"how\":\"words\"}]"

static const Case cases[] = {
        { "sys_enter, whole", "[]", .member = PID },
        { "sys_enter, addresses searched", ADDRESSES, .member = PID },
        { "sys_enter, one field zeroed", "[{\"field\":\"id\",\"how\":\"zero\"}]", .member = PID },
        { "sys_enter, judged", "[]", .is_judged = true, .member = PID },
        { "sys_enter, judged and all dropped", "[]", .is_judged = true, .member = PID + 1 },
        { "sys_enter, judged and every second dropped",
                        "[]",
                        .is_judged = true,
                        .member = PID,
                        .is_mixed = true },
        { "sys_enter, judged and some dropped",
                        "[]",
                        .is_judged = true,
                        .member = PID,
                        .is_mixed = true,
                        .strangers = AT_RANDOM },
        { "sched_switch, whole", "[]", .member = PID, .is_switch = true },
        { "sched_switch, judged, every second of members",
                        SWITCH_CUTS,
                        .is_judged = true,
                        .member = PID,
                        .is_switch = true },
        { "sched_switch, judged, some of members",
                        SWITCH_CUTS,
                        .is_judged = true,
                        .member = PID,
                        .is_switch = true,
                        .strangers = AT_RANDOM },
        { "sched_switch, judged and some dropped, of members",
                        SWITCH_CUTS,
                        .is_judged = true,
                        .member = PID,
                        .is_switch = true,
                        .is_mixed = true,
                        .strangers = AT_RANDOM },
};

static double now_nsec(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static Masks *make_masks(const Case *c) {
        json_object *events = json_object_new_array(), *event = json_object_new_object();
        Masks *masks = NULL;

        json_object_object_add(event,
                        "format",
                        json_object_new_string(c->is_switch ? switch_format : enter_format));
        json_object_object_add(event, "cut", json_tokener_parse(c->cuts));
        json_object_array_add(events, event);
        if (masks_new(events, c->is_judged, &masks) < 0)
                exit(1);
        json_object_put(events);
        return masks;
}

static uint32_t choose_pid(const Case *c, size_t n) {
        bool is_stranger = c->strangers == AT_RANDOM ? rand() & 1 : n % 2 == 0;

        return is_stranger ? PID + 7 : PID;
}

/* 64 bytes, as the two events have. */
static void make_record(const Case *c, uint8_t *record, size_t n) {
        const uint64_t arguments[] = { 1, 0x7ffd12345678, 4096, 0, 5, ~0ULL };
        uint32_t pid = c->is_mixed ? choose_pid(c, n) : PID, next = choose_pid(c, n);

        memcpy(record, (const uint32_t[]){ 1, pid }, 8);
        memcpy(record + 16, arguments, sizeof(arguments));
        if (!c->is_switch)
                return;
        memcpy(record + 8, "some-name\0\0\0\0\0\0\0", 16);
        memcpy(record + 24, &pid, 4);
        memcpy(record + 40, "another-name\0\0\0\0", 16);
        memcpy(record + 56, &next, 4);
}

/* Full sub-buffers. Returns the events. */
static size_t make_pages(const Case *c, uint8_t *bytes) {
        size_t n = 0;

        memset(bytes, 0, N_BYTES);
        srand(1);
        for (uint8_t *page = bytes; page < bytes + N_BYTES; page += PAGE_SIZE) {
                uint32_t at = PAGE_HEADER_SIZE, word = 16 | 250 << 5;

                for (; at + 68 <= PAGE_SIZE; at += 68, n++) {
                        memcpy(page + at, &word, 4);
                        make_record(c, page + at + 4, n);
                }
                memcpy(page + 8, (const uint32_t[]){ at - PAGE_HEADER_SIZE }, 4);
        }
        return n;
}

static void walk(const Case *c, const PageJudge *judge, uint8_t *batch, PageTally *tally) {
        PageSummary summary;

        for (uint8_t *page = batch; page < batch + BATCH_SIZE; page += PAGE_SIZE) {
                if (!c->is_judged) {
                        page_clean(judge->masks, page, PAGE_SIZE, tally);
                        continue;
                }
                if (page_scan(judge, page, PAGE_SIZE, tally, &summary) < 0)
                        exit(1);
                page_judge(judge, page, PAGE_SIZE, tally, &summary);
        }
}

/* c: NULL for the copy alone. */
static double run_round(const Case *c,
                const PageJudge *judge,
                const uint8_t *bytes,
                uint8_t *batch,
                PageTally *tally) {
        double begin = now_nsec();

        for (size_t at = 0; at < N_BYTES; at += BATCH_SIZE) {
                memcpy(batch, bytes + at, BATCH_SIZE);
                __asm__ volatile("" : : "r"(batch) : "memory");
                if (c)
                        walk(c, judge, batch, tally);
        }
        return now_nsec() - begin;
}

static int compare(const void *a, const void *b) {
        const double *x = a, *y = b;

        return *x < *y ? -1 : *x > *y;
}

static double median(double *values) {
        qsort(values, N_ROUNDS, sizeof(*values), compare);
        return values[N_ROUNDS / 2];
}

static void run_case(const Case *c, uint8_t *bytes, uint8_t *batch, PageTally *tally) {
        const LifeEvent member = { .kind = LIFE_MEMBER, .tid = c->member };
        PageJudge judge = { .fork_id = 2, .exit_id = 3 };
        double copies[N_ROUNDS], walks[N_ROUNDS];
        size_t n = make_pages(c, bytes);
        Masks *masks = make_masks(c);

        judge.masks = masks;
        if (lives_new(&judge.lives) < 0 || lives_note(judge.lives, &member) < 0 ||
                        lives_advance(judge.lives, UINT64_MAX) < 0)
                exit(1);
        for (size_t i = 0; i < N_ROUNDS; i++) {
                copies[i] = run_round(NULL, &judge, bytes, batch, tally);
                walks[i] = run_round(c, &judge, bytes, batch, tally) - copies[i];
        }
        double copy = median(copies), spent = median(walks);
        printf("{\"what\":\"%s\",\"nsec\":%.2f,\"rate\":%.2f,\"copy\":%.2f}\n",
                        c->name,
                        spent / (double)n,
                        (double)N_BYTES / spent,
                        (double)N_BYTES / copy);
        lives_free(judge.lives);
        masks_free(masks);
}

int main(void) {
        uint8_t *bytes = malloc(N_BYTES), *batch = aligned_alloc(PAGE_SIZE, BATCH_SIZE);
        PageTally tally = { .pids = calloc(1, PAGE_PIDS_MAX / 8) };

        if (!bytes || !batch || !tally.pids)
                return 1;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                run_case(&cases[i], bytes, batch, &tally);
        return 0;
}
