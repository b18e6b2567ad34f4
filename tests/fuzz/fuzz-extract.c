/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The sub-buffers of a shared instance: whatever they hold, the records of one class of viewers are
 * taken out within the room for them, and no record of another event is. */

#include <string.h>

#include "consumer/mux/extract.h"
#include "consumer/records/page.h"
#include "fuzz.h"

#define SIZE  4096
#define PAGES 3
#define DIRT  0xd7

const char *const fuzz_words[] = { "\x1d",
        "\x1e",
        "\x1f",
        "\x2c\x01",
        "\x2d\x01",
        "\x05\x00",
        "\x02",
        "00000003",
        "\xff\xff\xff\xff",
        NULL };

static bool is_chosen(const uint8_t *record, size_t size, uint64_t nsec, void *userdata) {
        uint16_t id;

        memcpy(&id, record, sizeof(id));
        fuzz_check(event_bits_has(&((const ExtractChoice *)userdata)->keep, id));
        return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static ExtractChoice choice;
        static Batch batch;
        uint8_t out[PAGES * SIZE + 64];

        choice.marker_id = 5;
        event_bits_add(&choice.keep, 5);
        event_bits_add(&choice.keep, 300);
        if (!batch.bytes && batch_init(&batch, SIZE) < 0)
                return 0;
        memset(batch.bytes, DIRT, PAGES * SIZE);
        for (size_t i = 0; i < PAGES; i++) {
                size_t from = size * i / PAGES, n = MIN_OF(size / PAGES, (size_t)SIZE);

                if (n > 0)
                        memcpy(batch.bytes + i * SIZE, data + from, n);
        }
        memset(out + PAGES * SIZE, DIRT, 64);
        Extract extract = {
                .choice = &choice,
                .viewer = size % 2 ? 3 : EXTRACT_NO_VIEWER,
                .out = out,
                .out_size = PAGES * SIZE,
        };
        batch_index(&batch, 0, PAGES * SIZE);
        size_t used = extract_batch(&extract, &batch);
        fuzz_check(used <= PAGES * SIZE);
        for (size_t i = 0; i < 64; i++)
                fuzz_check(out[PAGES * SIZE + i] == DIRT);
        for (size_t at = 0; at < used; at += SIZE)
                page_visit(out + at, MIN_OF((size_t)SIZE, used - at), is_chosen, &choice);
        return 0;
}
