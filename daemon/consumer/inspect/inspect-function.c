/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds where a function of a program begins and ends. The unwinding data (.eh_frame) is searched
 * first: stripped programs keep it, it is exact, and it covers no data. Assembler code and some
 * languages have none, so the symbols are searched next. inspect.c calls this in the sandbox. */

#include "consumer/inspect/inspect-function.h"

#include <errno.h>
#include <string.h>

#include "interfaces/unwind-table.h"

#define FRAME_BYTES   64 /* the part of an FDE to read: length, CIE, start, size */
#define CIE_BYTES     128
#define SYMBOLS_CHUNK 4096 /* symbols per read */

/* DW_EH_PE_* (LSB core specification, "DWARF exception header encoding") */
#define FORM_MASK   0x0f
#define FORM_WORD   0x00
#define FORM_UDATA4 0x03
#define FORM_UDATA8 0x04
#define FORM_SDATA4 0x0b
#define FORM_SDATA8 0x0c
#define RELATIVE    0x10 /* relative to its own address */
#define BASE_MASK   0x70

/* Reads bytes of the file at an address. Bytes after the segment's end are zero. */
static int inspect_function_read_at(InspectFile *file,
                uint64_t address,
                uint8_t *data,
                size_t size) {
        const Elf64_Phdr *segment = inspect_find_address(file, address, 1);

        if (!segment)
                return -EBADMSG;
        uint64_t into = address - segment->p_vaddr;
        size_t there = (size_t)MIN_OF((uint64_t)size, segment->p_filesz - into);
        memset(data, 0, size);
        return inspect_read(file, segment->p_offset + into, data, there);
}

static size_t skip_leb128(const uint8_t *data, size_t size, size_t at) {
        while (at < size && (data[at] & 0x80))
                at++;
        return at + 1;
}

static size_t form_bytes(const InspectFile *file, uint8_t form) {
        switch (form & FORM_MASK) {
        case FORM_WORD:
                return file->is_64 ? 8 : 4;
        case FORM_UDATA4:
        case FORM_SDATA4:
                return 4;
        case FORM_UDATA8:
        case FORM_SDATA8:
                return 8;
        }
        return 0;
}

/* Finds how the FDEs of this CIE encode addresses. */
static int read_form(InspectFile *file, uint64_t address, uint8_t *ret) {
        uint8_t data[CIE_BYTES];

        int r = inspect_function_read_at(file, address, data, sizeof(data));
        if (r < 0)
                return r;
        uint8_t version = data[8];
        const char *letters = (const char *)data + 9;
        size_t at = 9 + strnlen(letters, sizeof(data) - 9) + 1;

        *ret = FORM_WORD;
        if (letters[0] != 'z' || (version != 1 && version != 3))
                return letters[0] == '\0' ? 0 : -EBADMSG;
        at = skip_leb128(data, sizeof(data), at); /* code alignment */
        at = skip_leb128(data, sizeof(data), at); /* data alignment */
        at = version == 1 ? at + 1 : skip_leb128(data, sizeof(data), at);
        at = skip_leb128(data, sizeof(data), at); /* size of what follows */
        for (const char *p = letters + 1; *p && at < sizeof(data); p++) {
                if (*p == 'R') {
                        *ret = data[at];
                        return 0;
                }
                if (*p == 'P')
                        at += 1 + form_bytes(file, data[at]);
                else if (*p == 'L')
                        at++;
                else if (!strchr("SBG", *p))
                        return -EBADMSG;
        }
        return at < sizeof(data) ? 0 : -EBADMSG;
}

static uint64_t inspect_function_get_number(const uint8_t *data, size_t size, bool is_signed) {
        uint64_t wide;
        uint32_t narrow;

        if (size == sizeof(wide)) {
                memcpy(&wide, data, sizeof(wide));
                return wide;
        }
        memcpy(&narrow, data, sizeof(narrow));
        return is_signed ? (uint64_t)(int64_t)(int32_t)narrow : narrow;
}

/* Reads the FDE to which the table points: checks where it begins and returns where it ends. */
static int inspect_function_read_frame(InspectFile *file,
                const UnwindEntry *entry,
                uint64_t *ret_end) {
        uint8_t data[FRAME_BYTES], form;
        uint32_t length, back;

        int r = inspect_function_read_at(file, entry->frame, data, sizeof(data));
        if (r < 0)
                return r;
        memcpy(&length, data, sizeof(length));
        memcpy(&back, data + 4, sizeof(back));
        if (length == UINT32_MAX || back == 0) /* a 64-bit FDE, or a CIE */
                return -EBADMSG;
        r = read_form(file, entry->frame + 4 - back, &form);
        size_t bytes = form_bytes(file, form);
        if (r == 0 && (bytes == 0 || ((form & BASE_MASK) != 0 && (form & BASE_MASK) != RELATIVE)))
                r = -EBADMSG;
        if (r < 0)
                return r;
        uint64_t start = inspect_function_get_number(data + 8, bytes, true);
        if (form & RELATIVE)
                start += entry->frame + 8;
        if (!file->is_64)
                start &= UINT32_MAX;
        if (start != entry->start)
                return -EBADMSG;
        *ret_end = start + inspect_function_get_number(data + 8 + bytes, bytes, false);
        return 0;
}

/* Loads the table once for all places of a marker. */
static int load_table(InspectFile *file) {
        for (size_t i = 0; !file->table_segment && i < file->n_segments; i++)
                if (file->segments[i].p_type == PT_GNU_EH_FRAME)
                        file->table_segment = &file->segments[i];
        if (!file->table_segment)
                return -ENOENT;
        if (file->table)
                return 0;
        return inspect_load(file,
                        file->table_segment->p_offset,
                        file->table_segment->p_filesz,
                        INSPECT_TABLE_MAX,
                        &file->table);
}

static int find_by_unwinding(InspectFile *file, uint64_t address, uint64_t *start, uint64_t *end) {
        UnwindEntry entry;

        int r = load_table(file);
        if (r < 0)
                return r;
        if (!unwind_table_find(file->table,
                            file->table_segment->p_filesz,
                            file->table_segment->p_vaddr,
                            address,
                            &entry))
                return -ENOENT;
        r = inspect_function_read_frame(file, &entry, end);
        if (r == 0 && address >= *end) /* between two functions */
                r = -ENOENT;
        *start = entry.start;
        return r;
}

static Elf64_Sym get_symbol(const InspectFile *file, const uint8_t *data, size_t index) {
        Elf64_Sym wide;
        Elf32_Sym narrow;

        if (file->is_64) {
                memcpy(&wide, data + index * sizeof(wide), sizeof(wide));
                return wide;
        }
        memcpy(&narrow, data + index * sizeof(narrow), sizeof(narrow));
        return (Elf64_Sym){
                .st_info = narrow.st_info,
                .st_shndx = narrow.st_shndx,
                .st_value = narrow.st_value,
                .st_size = narrow.st_size,
        };
}

/* Finds the nearest beginning of all functions that contain the address. */
static int find_in_symbols(InspectFile *file,
                const Elf64_Shdr *section,
                uint64_t address,
                uint64_t *start,
                uint64_t *end) {
        size_t bytes = file->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
        _cleanup_free_ uint8_t *chunk = malloc(SYMBOLS_CHUNK * bytes);
        uint64_t left = section->sh_size / bytes, at = section->sh_offset;
        bool found = false;
        int r = chunk ? 0 : -ENOMEM;

        for (size_t n; r == 0 && left > 0; left -= n, at += n * bytes) {
                n = (size_t)MIN_OF(left, (uint64_t)SYMBOLS_CHUNK);
                r = inspect_read(file, at, chunk, n * bytes);
                for (size_t i = 0; r == 0 && i < n; i++) {
                        Elf64_Sym symbol = get_symbol(file, chunk, i);
                        unsigned type = ELF64_ST_TYPE(symbol.st_info);

                        if ((type != STT_FUNC && type != STT_GNU_IFUNC) ||
                                        symbol.st_shndx == SHN_UNDEF || symbol.st_value > address ||
                                        address - symbol.st_value >= symbol.st_size ||
                                        (found && symbol.st_value <= *start))
                                continue;
                        found = true;
                        *start = symbol.st_value;
                        *end = symbol.st_value + symbol.st_size;
                }
        }
        return r ?: found ? 0 : -ENOENT;
}

int inspect_find_function(InspectFile *file,
                uint64_t address,
                uint64_t *ret_start,
                uint64_t *ret_end) {
        static const uint32_t tables[] = { SHT_SYMTAB, SHT_DYNSYM };
        Elf64_Shdr section;

        int r = find_by_unwinding(file, address, ret_start, ret_end);
        for (size_t i = 0; r == -ENOENT && i < ELEMENTSOF(tables); i++) {
                r = inspect_find_section(file, NULL, tables[i], &section);
                r = r ?: find_in_symbols(file, &section, address, ret_start, ret_end);
        }
        return r;
}
