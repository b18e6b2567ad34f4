/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Places in a program's code and the facts about them: symbol, function, source line. Uses
 * libdwfl, which finds separate debug files by build-id and .gnu_debuglink. It must not query
 * the network for them. Called by elf-reader.c's child. */

#include "program/elf-code.h"

#include <errno.h>
#include <string.h>

#include "interfaces/unwind-table.h"
#include "program/elf-line.h"
#include "program/elf-symbol.h"

void elf_code_close(ElfCode *code) {
        if (code->dwfl)
                dwfl_end(code->dwfl);
        elf_image_free(code->image);
        *code = (ElfCode){};
}

static int open_debug(const char *path, ElfCode *code) {
        static const Dwfl_Callbacks callbacks = {
                .find_elf = dwfl_build_id_find_elf,
                .find_debuginfo = dwfl_standard_find_debuginfo,
                .section_address = dwfl_offline_section_address,
        };
        int fd = dup(code->image->fd);

        if (fd < 0)
                return -errno;
        (void)unsetenv("DEBUGINFOD_URLS");
        code->dwfl = dwfl_begin(&callbacks);
        if (!code->dwfl) {
                close(fd);
                return -ENOMEM;
        }
        code->module = dwfl_report_offline(code->dwfl, path, path, fd); /* takes fd on success */
        if (!code->module) {
                close(fd);
                return KT_E_FAILED;
        }
        (void)dwfl_report_end(code->dwfl, NULL, NULL);
        return dwfl_module_getelf(code->module, &code->bias) ? 0 : KT_E_FAILED;
}

int elf_code_open(const char *path, ElfCode *ret, Reason *reason) {
        ElfCode code = {};

        int r = elf_image_open(path, &code.image, reason);
        if (r == 0) {
                r = open_debug(path, &code);
                if (r > 0)
                        reason_set(reason, r, "%.300s: %s", path, dwfl_errmsg(-1));
        }
        if (r == 0)
                *ret = code;
        else
                elf_code_close(&code);
        return r;
}

static int put_symbol(const ElfCode *code, uint64_t address, const char *symbol, json_object *o) {
        GElf_Off into = 0;
        GElf_Sym found = {};
        const char *name = dwfl_module_addrinfo(
                        code->module, address + code->bias, &into, &found, NULL, NULL, NULL);
        /* An address past the end of the last symbol does not belong to it. */
        if (!symbol && (!name || into >= MAX_OF(found.st_size, (GElf_Xword)1)))
                return 0;
        if (symbol)
                into = name && into < found.st_size ? into : 0;
        _cleanup_free_ char *demangled = elf_demangle(symbol ?: name, true);
        int r = elf_put(o, "symbol", elf_text(symbol ?: name, ELF_SYMBOL_MAX));
        if (r == 0 && demangled)
                r = elf_put(o, "name", elf_text(demangled, ELF_SYMBOL_MAX));
        r = r ?: elf_put(o, "into", json_object_new_uint64(into));
        if (r == 0 && name && found.st_size > 0)
                r = elf_put(o, "size", json_object_new_uint64(found.st_size));
        if (r == 0 && name && GELF_ST_TYPE(found.st_info) == STT_GNU_IFUNC)
                r = elf_put(o,
                                "note",
                                json_object_new_string("chooses at start which function is used"));
        return r;
}

/* The enclosing function, as stack unwinders see it. */
static int put_function(const ElfCode *code, uint64_t address, json_object *object) {
        UnwindEntry entry;
        GElf_Shdr header;
        Elf_Data *data;

        if (!elf_image_find_section(code->image, UNWIND_TABLE_SECTION, &header, &data) ||
                        !unwind_table_find(
                                        data->d_buf, data->d_size, header.sh_addr, address, &entry))
                return 0;
        return elf_put(object, "function", json_object_new_uint64(entry.start));
}

static bool is_statement(Dwfl_Line *row) {
        Dwarf_Addr bias;
        Dwarf_Line *line = dwfl_dwarf_line(row, &bias);
        bool is = false;

        return line && dwarf_linebeginstatement(line, &is) == 0 && is;
}

/* Finds the row of the line table for an address. Several rows may have the address, and libdwfl
 * returns the last of them. If that one begins no statement, it may be a line that begins elsewhere
 * (gcc for arm64 adds one for the end of a short function). Then the last row that begins a
 * statement there goes before it, as in elf-line.c. */
static Dwfl_Line *find_row(const ElfCode *code, Dwarf_Addr address) {
        Dwfl_Line *found = dwfl_module_getsrc(code->module, address), *statement = NULL;
        Dwarf_Die *unit = found ? dwfl_linecu(found) : NULL;
        Dwarf_Addr at, other;
        size_t n;

        if (!unit || is_statement(found) || dwfl_getsrclines(unit, &n) != 0 ||
                        !dwfl_lineinfo(found, &at, NULL, NULL, NULL, NULL))
                return found;
        for (size_t i = 0; i < n; i++) {
                Dwfl_Line *row = dwfl_onesrcline(unit, i);

                if (row && dwfl_lineinfo(row, &other, NULL, NULL, NULL, NULL) && other == at &&
                                is_statement(row))
                        statement = row;
        }
        return statement ?: found;
}

static int put_source(const ElfCode *code, uint64_t address, json_object *object) {
        Dwfl_Line *found = find_row(code, address + code->bias);
        int line = 0;
        const char *source = found ? dwfl_lineinfo(found, NULL, &line, NULL, NULL, NULL) : NULL;

        if (!source || line <= 0)
                return 0;
        int r = elf_put(object, "source", elf_text(source, ELF_SYMBOL_MAX));
        return r ?: elf_put(object, "line", json_object_new_int(line));
}

int elf_code_describe(const ElfCode *code,
                const char *path,
                uint64_t address,
                const char *symbol,
                json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();
        bool is_code = false;
        uint64_t offset;

        if (!elf_image_get_offset(code->image, address, &offset, &is_code) || !is_code)
                return KT_E_FAILED;
        int r = object ? 0 : -ENOMEM;
        r = r ?: elf_put(object, "file", elf_text(path, ELF_SYMBOL_MAX));
        r = r ?: elf_put(object, "offset", json_object_new_uint64(offset));
        r = r ?: elf_put(object, "address", json_object_new_uint64(address));
        r = r ?: put_symbol(code, address, symbol, object);
        r = r ?: put_function(code, address, object);
        r = r ?: put_source(code, address, object);
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r;
}

int elf_code_add(const ElfCode *code,
                const char *path,
                uint64_t address,
                const char *symbol,
                json_object *list) {
        json_object *object;

        for (size_t i = 0; i < json_object_array_length(list); i++)
                if (json_object_get_uint64(json_object_object_get(
                                    json_object_array_get_idx(list, i), "address")) == address)
                        return 0;
        if (json_object_array_length(list) == ELF_PLACES_MAX)
                return 0;
        int r = elf_code_describe(code, path, address, symbol, &object);
        if (r == 0 && json_object_array_add(list, object) < 0) {
                json_object_put(object);
                r = -ENOMEM;
        }
        return r > 0 ? 0 : r; /* r > 0: the address is not in code */
}

static int elf_code_find_offset(const ElfCode *code,
                const ElfPlace *place,
                json_object *list,
                Reason *reason) {
        bool is_code = false;
        uint64_t address;

        if (!elf_image_get_address(code->image, place->offset, &address, &is_code) || !is_code)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%.200s: no code lies at %#jx of the file",
                                place->file,
                                (uintmax_t)place->offset);
        return elf_code_add(code, place->file, address, NULL, list);
}

int elf_read_place(const void *what, json_object **ret, Reason *reason) {
        _cleanup_json_ json_object *list = json_object_new_array();
        const ElfPlace *place = what;
        ElfCode code = {};

        int r = list ? elf_code_open(place->file, &code, reason) : -ENOMEM;
        if (r == 0 && place->source)
                r = elf_find_line(&code, place, list, reason);
        else if (r == 0 && place->symbol)
                r = elf_find_symbol(&code, place, list, reason);
        else if (r == 0)
                r = elf_code_find_offset(&code, place, list, reason);
        elf_code_close(&code);
        if (r == 0)
                *ret = TAKE_PTR(list);
        return r;
}
