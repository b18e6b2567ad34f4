/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds the function around an address in a program without symbols. .eh_frame_hdr holds a
 * sorted table of function starts (LSB core specification, "Exception frames"), which stays in
 * stripped programs. Used by the client and by the confined reader. Pure. The bytes are
 * untrusted: an unsorted table gives a wrong answer, but does no other harm. */

#include "interfaces/unwind-table.h"

#include <string.h>

#define VERSION     1
#define OMIT        0xff
#define UDATA4      0x03            /* DW_EH_PE_udata4 */
#define SDATA4      0x0b            /* DW_EH_PE_sdata4 */
#define TABLE_FORM  (0x30 | SDATA4) /* DW_EH_PE_datarel: the form that all linkers write */
#define POINTER_AT  4
#define ENTRY_BYTES (2 * sizeof(int32_t))

/* column 0: the start of the function; 1: its frame. */
static uint64_t unwind_table_get(const uint8_t *table, size_t index, size_t column, uint64_t base) {
        int32_t distance;

        memcpy(&distance,
                        table + index * ENTRY_BYTES + column * sizeof(distance),
                        sizeof(distance));
        return base + (uint64_t)(int64_t)distance;
}

bool unwind_table_find(const uint8_t *data,
                size_t size,
                uint64_t base,
                uint64_t address,
                UnwindEntry *ret) {
        size_t pointer_bytes = 4, low = 0, high;
        uint32_t n;

        if (size < POINTER_AT || data[0] != VERSION || data[1] == OMIT || data[2] != UDATA4 ||
                        data[3] != TABLE_FORM)
                return false;
        if ((data[1] & 0x0f) != SDATA4 && (data[1] & 0x0f) != UDATA4)
                pointer_bytes = 8;
        size_t table_at = POINTER_AT + pointer_bytes + sizeof(n);
        if (size < table_at)
                return false;
        memcpy(&n, data + POINTER_AT + pointer_bytes, sizeof(n));
        high = n;
        if (high > (size - table_at) / ENTRY_BYTES)
                return false;

        /* Finds the last function that begins at the address or before it. */
        const uint8_t *table = data + table_at;
        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (unwind_table_get(table, middle, 0, base) <= address)
                        low = middle + 1;
                else
                        high = middle;
        }
        if (low == 0)
                return false;
        ret->start = unwind_table_get(table, low - 1, 0, base);
        ret->frame = unwind_table_get(table, low - 1, 1, base);
        ret->next = low < n ? unwind_table_get(table, low, 0, base) : UINT64_MAX;
        return true;
}
