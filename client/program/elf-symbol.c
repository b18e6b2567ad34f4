/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds a function by name: the linker's name, or the C++ or Rust name with or without parameter
 * types. Called by elf-code.c. It searches all symbols of the program and of its debug file. If
 * several functions have the name, it returns all of them. */

#include "program/elf-symbol.h"

#include <errno.h>
#include <libiberty/demangle.h>
#include <string.h>

#include "interfaces/nearest.h"
#include "interfaces/quote.h"
#include "program/elf-code.h"

#define SYMBOLS_MAX 4000000
#define NEAR_MAX    100000 /* symbols compared for "did you mean" */

char *elf_demangle(const char *symbol, bool with_parameters) {
        if (strncmp(symbol, "_Z", 2) != 0 && strncmp(symbol, "_R", 2) != 0)
                return NULL;
        if (strnlen(symbol, ELF_SYMBOL_MAX) == ELF_SYMBOL_MAX)
                return NULL;
        return cplus_demangle(symbol, DMGL_AUTO | DMGL_ANSI | (with_parameters ? DMGL_PARAMS : 0));
}

/* Returns the last word of a C++ name. A mangled name contains this word unchanged. */
static void get_last_word(const char *name, char *out, size_t size) {
        static const char word[] =
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
        size_t end = strcspn(name, "(<"), start;

        while (end > 0 && !strchr(word, name[end - 1]))
                end--;
        for (start = end; start > 0 && strchr(word, name[start - 1]);)
                start--;
        (void)snprintf(out, size, "%.*s", (int)MIN_OF(end - start, size - 1), name + start);
}

/* Matches versions such as "getpwuid_r@@GLIBC_2.2.5", which debug files of libraries contain. A
 * single @ marks a version for old programs. */
static bool is_version(const char *symbol, const char *wanted, bool of_old) {
        size_t size = strcspn(symbol, "@");

        return strlen(wanted) == size && memcmp(symbol, wanted, size) == 0 &&
               (symbol[size] == '\0' || symbol[size + 1] == '@' || of_old);
}

static bool elf_symbol_is_named(const char *symbol,
                const char *wanted,
                const char *last_word,
                bool of_old) {
        if (strcmp(symbol, wanted) == 0 || is_version(symbol, wanted, of_old))
                return true;
        /* Demangling is slow, so symbols without the word are skipped. The mangled name of an
         * operator does not contain it. */
        if (symbol[0] != '_' || (symbol[1] != 'Z' && symbol[1] != 'R') ||
                        (!strstr(symbol, last_word) && !strstr(wanted, "operator")))
                return false;
        _cleanup_free_ char *whole = elf_demangle(symbol, true);
        if (whole && strcmp(whole, wanted) == 0)
                return true;
        _cleanup_free_ char *plain = elf_demangle(symbol, false);
        return plain && strcmp(plain, wanted) == 0;
}

static bool is_code(const GElf_Sym *symbol, GElf_Word section) {
        unsigned type = GELF_ST_TYPE(symbol->st_info);

        return section != SHN_UNDEF &&
               (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

/* Facts that the search collects for its error message. */
typedef struct Passed {
        char near[NEAREST_NAME_MAX + 1];
        uint32_t distance;
        bool is_variable;
        int n;
} Passed;

static void look_near(const char *name, const char *wanted, Passed *passed) {
        uint32_t distance = nearest_distance(name, wanted, passed->distance);

        if (distance >= passed->distance)
                return;
        passed->distance = distance;
        (void)snprintf(passed->near, sizeof(passed->near), "%s", name);
}

static int search(const ElfCode *code,
                const ElfPlace *place,
                bool of_old,
                json_object *list,
                Passed *passed) {
        char last_word[256];
        int r = 0;

        get_last_word(place->symbol, last_word, sizeof(last_word));
        passed->n = MIN_OF(dwfl_module_getsymtab(code->module), SYMBOLS_MAX);
        for (int i = 1; r == 0 && i < passed->n; i++) {
                GElf_Word section;
                GElf_Addr address;
                GElf_Sym symbol;
                const char *name = dwfl_module_getsym_info(
                                code->module, i, &symbol, &address, &section, NULL, NULL);

                if (!name || !*name)
                        continue;
                if (!is_code(&symbol, section)) {
                        passed->is_variable |=
                                        section != SHN_UNDEF && strcmp(name, place->symbol) == 0;
                        continue;
                }
                if (i < NEAR_MAX)
                        look_near(name, place->symbol, passed);
                if (elf_symbol_is_named(name, place->symbol, last_word, of_old))
                        r = elf_code_add(code,
                                        place->file,
                                        address - code->bias + place->offset,
                                        place->offset == 0 ? name : NULL,
                                        list);
        }
        return r;
}

typedef struct Inlined {
        const char *name;
        bool found;
} Inlined;

static int on_function(Dwarf_Die *die, void *userdata) {
        Inlined *inlined = userdata;
        const char *name = dwarf_diename(die);

        if (!name || strcmp(name, inlined->name) != 0)
                return DWARF_CB_OK;
        inlined->found = true;
        return DWARF_CB_ABORT;
}

/* True if the function is in the debug information but has no symbol. */
static bool is_inlined(const ElfCode *code, const char *name) {
        Inlined inlined = { .name = name };
        Dwarf_Addr bias;

        for (Dwarf_Die *unit = NULL;
                        !inlined.found && (unit = dwfl_module_nextcu(code->module, unit, &bias));)
                (void)dwarf_getfuncs(unit, on_function, &inlined, 0);
        return inlined.found;
}

/* True if the only symbols are those for dynamic linking. */
static bool is_stripped(const ElfCode *code) {
        const char *debug_file = NULL;
        GElf_Shdr header;
        Elf_Data *data;

        (void)dwfl_module_info(code->module, NULL, NULL, NULL, NULL, NULL, NULL, &debug_file);
        return !debug_file && !elf_image_find_section(code->image, ".symtab", &header, &data);
}

static int elf_symbol_refuse(const ElfCode *code,
                const ElfPlace *place,
                const Passed *passed,
                Reason *reason) {
        const char *why = "";
        char near[NEAREST_NAME_MAX + 32] = "";

        if (passed->distance <= MAX_OF(strlen(place->symbol) / 4, (size_t)1))
                (void)snprintf(near, sizeof(near), ": did you mean %s", passed->near);
        else if (passed->is_variable)
                why = ": that is a variable";
        else if (is_inlined(code, place->symbol))
                why = ": it is inlined everywhere; FILE:SOURCE:LINE finds the places";
        else if (is_stripped(code))
                why = ": it is stripped; install its debug symbols, or name a place in the file as "
                      "FILE:0xOFFSET";
        return reason_set(reason,
                        KT_E_NO_SUCH_FUNCTION,
                        "%.200s has no function %s%s%s",
                        place->file,
                        quote(place->symbol).text,
                        near,
                        why);
}

int elf_find_symbol(const ElfCode *code, const ElfPlace *place, json_object *list, Reason *reason) {
        Passed passed = { .distance = UINT32_MAX };

        int r = search(code, place, false, list, &passed);
        if (r == 0 && json_object_array_length(list) == 0)
                r = search(code, place, true, list, &passed);
        if (r == 0 && json_object_array_length(list) == 0)
                r = elf_symbol_refuse(code, place, &passed, reason);
        return r;
}
