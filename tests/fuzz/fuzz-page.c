/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sub-buffers: whatever the kernel's memory holds, the walk stays within the page, ends, leaves
 * nothing behind what carries anything, and cleaning what is clean brings nothing back. A short
 * input stands at the head of a page that is full of dirt behind it. */

#include <string.h>

#include "consumer/records/mask-rules.h"
#include "consumer/records/page.h"
#include "fuzz.h"

#define SIZE 4096
#define DIRT 0xd7

const char *const fuzz_words[] = { "\x1d",
        "\x1e",
        "\x1f",
        "\x2c\x01",
        "\x2d\x01",
        "\x2e\x01",
        "\xff\xff\xff\xff",
        "\x7f",
        "\xff\x0f",
        "\x08",
        "\x10",
        NULL };

#define COMMON                                                                      \
        "format:\\n"                                                                \
        "\\tfield:unsigned short common_type;\\toffset:0;\\tsize:2;\\tsigned:0;\\n" \
        "\\tfield:unsigned char common_flags;\\toffset:2;\\tsize:1;\\tsigned:0;\\n" \
        "\\tfield:unsigned char common_count;\\toffset:3;\\tsize:1;\\tsigned:0;\\n" \
        "\\tfield:int common_pid;\\toffset:4;\\tsize:4;\\tsigned:1;\\n\\n"

static const char events_text[] =
                "[{\"id\": 300, \"format\": \"name: a\\nID: 300\\n" COMMON
                "\\tfield:u8 small;\\toffset:8;\\tsize:1;\\tsigned:0;\\n"
                "\\tfield:u64 big;\\toffset:16;\\tsize:8;\\tsigned:0;\\n"
                "\\tfield:__data_loc char[] text;\\toffset:24;\\tsize:4;\\tsigned:0;\\n"
                "\\tfield:__data_loc u64[] words;\\toffset:28;\\tsize:4;\\tsigned:0;\\n"
                "\\tfield:__rel_loc char[] near;\\toffset:32;\\tsize:4;\\tsigned:0;\\n\\n"
                "print fmt: \\\"\\\"\\n\", \"cut\": [{\"field\": \"words\", \"how\": \"words\"}, "
                "{\"field\": \"small\", \"how\": \"zero\"}]},"
                "{\"id\": 301, \"format\": \"name: b\\nID: 301\\n" COMMON
                "\\tfield:char comm[16];\\toffset:8;\\tsize:16;\\tsigned:0;\\n"
                "\\tfield:int pid;\\toffset:24;\\tsize:4;\\tsigned:1;\\n\\n"
                "print fmt: \\\"\\\"\\n\", \"cut\": [{\"field\": \"comm\", \"how\": \"member\", "
                "\"pid\": \"pid\"}]},"
                "{\"id\": 302, \"format\": \"name: c\\nID: 302\\n" COMMON
                "\\tfield:unsigned long ip;\\toffset:8;\\tsize:8;\\tsigned:0;\\n"
                "\\tfield:char buf[];\\toffset:16;\\tsize:0;\\tsigned:0;\\n\\n"
                "print fmt: \\\"\\\"\\n\"}]";

static Masks *make_masks(void) {
        _cleanup_json_ json_object *events = json_tokener_parse(events_text);
        Masks *masks = NULL;

        fuzz_check(events && masks_new(events, false, &masks) == 0);
        return masks;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static Masks *masks;
        static uint8_t pids[PAGE_PIDS_MAX / 8];
        _cleanup_free_ uint8_t *page = malloc(SIZE), *once = malloc(SIZE);
        PageTally tally = { .pids = pids };
        size_t used;

        if (!masks)
                masks = make_masks();
        memset(page, DIRT, SIZE);
        memcpy(page, data, MIN_OF(size, (size_t)SIZE));
        page_clean(masks, page, SIZE, &tally);
        used = page_get_used(page, SIZE);
        fuzz_check(used <= SIZE && tally.n_unparsed <= 1 && tally.n_unknown <= SIZE / 4);
        for (size_t i = used; i < SIZE; i++)
                fuzz_check(page[i] == 0);

        memcpy(once, page, SIZE);
        page_clean(masks, page, SIZE, &tally);
        /* Where locations overlap, what one of them had cut may end the string of another. */
        for (size_t i = 0; i < SIZE; i++)
                fuzz_check(page[i] == once[i] || page[i] == 0);
        return 0;
}
