/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What of programs' files is read by our own code: notes of markers (the first byte chooses the
 * size of addresses), and the table of functions. What is found lies within the bytes. */

#include <string.h>

#include "fuzz.h"
#include "interfaces/unwind-table.h"
#include "interfaces/usdt.h"

const char *const fuzz_words[] = { "stapsdt",
        "provider",
        "name",
        "-8@%rbx 8@%r14 -4@$7",
        "\x03\x01\x3b\x03",
        "\x3b\x03",
        NULL };

static void check_text(const uint8_t *data, size_t size, const char *text, size_t max) {
        const uint8_t *p = (const uint8_t *)text;

        fuzz_check(p >= data && p < data + size);
        fuzz_check(memchr(p, '\0', (size_t)(data + size - p)));
        fuzz_check(strlen(text) <= max);
}

static void read_notes(const uint8_t *data, size_t size, bool is_64) {
        size_t at = 0, before = 0;
        UsdtNote note;

        while (usdt_note_next(data, size, is_64, &at, &note) == 1) {
                fuzz_check(at > before && at <= size);
                before = at;
                check_text(data, size, note.provider, USDT_NAME_MAX);
                check_text(data, size, note.name, USDT_NAME_MAX);
                check_text(data, size, note.args, USDT_ARGS_MAX);
        }
}

static void read_table(const uint8_t *data, size_t size) {
        for (uint64_t address = 0x1000; address < 0x1100; address += 8) {
                UnwindEntry entry;

                if (unwind_table_find(data, size, 0x1000, address, &entry))
                        fuzz_check(entry.start <= address);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        if (size == 0)
                return 0;
        read_notes(data + 1, size - 1, data[0] & 1);
        read_table(data + 1, size - 1);
        return 0;
}
