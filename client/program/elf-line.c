/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds the code of a source line: its start in each function that contains some of it, and in
 * each place where such a function is inlined. Called by elf-code.c. A line without code stands
 * for the next line that has code, as in debuggers. */

#include "program/elf-line.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "program/elf-code.h"

#define ROWS_MAX 4096 /* code addresses of one line */

/* A row of the line table and the function that contains it. */
typedef struct Row {
        uint64_t address;
        Dwarf_Off function;
} Row;

typedef struct Rows {
        Row *rows;
        size_t n;
        int line; /* the line of these rows */
} Rows;

/* True if `source` is the path or its last components. */
static bool elf_line_is_file(const char *path, const char *source) {
        size_t n = strlen(path), n_source = strlen(source);

        return n >= n_source && strcmp(path + n - n_source, source) == 0 &&
               (n == n_source || path[n - n_source - 1] == '/');
}

static Dwarf_Off elf_line_find_function(Dwarf_Die *unit, Dwarf_Addr address) {
        Dwarf_Die *scopes = NULL;
        Dwarf_Off found = 0;
        int n = dwarf_getscopes(unit, address, &scopes);

        for (int i = 0; i < n && found == 0; i++) {
                int tag = dwarf_tag(&scopes[i]);

                if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
                        found = dwarf_dieoffset(&scopes[i]);
        }
        free(scopes);
        return found;
}

/* Keeps the first row of each function. */
static void elf_line_add_row(Rows *rows, Dwarf_Die *unit, Dwarf_Addr address, GElf_Addr bias) {
        Row row = { address + bias, elf_line_find_function(unit, address) };

        for (size_t i = 0; i < rows->n; i++)
                if (rows->rows[i].function == row.function) {
                        rows->rows[i].address = MIN_OF(rows->rows[i].address, row.address);
                        return;
                }
        if (rows->n < ROWS_MAX)
                rows->rows[rows->n++] = row;
}

static void look_at(Rows *rows,
                Dwarf_Die *unit,
                Dwarf_Line *row,
                const ElfPlace *place,
                GElf_Addr bias) {
        bool is_statement = false, is_end = false;
        Dwarf_Addr address;
        int line;

        if (dwarf_lineno(row, &line) != 0 || line < (int)place->line ||
                        (rows->line != 0 && line > rows->line) ||
                        dwarf_linebeginstatement(row, &is_statement) != 0 || !is_statement ||
                        dwarf_lineendsequence(row, &is_end) != 0 || is_end ||
                        dwarf_lineaddr(row, &address) != 0)
                return;
        const char *path = dwarf_linesrc(row, NULL, NULL);
        if (!path || !elf_line_is_file(path, place->source))
                return;
        if (line != rows->line) { /* closer than the lines before */
                rows->n = 0;
                rows->line = line;
        }
        elf_line_add_row(rows, unit, address, bias);
}

static int report(const ElfCode *code,
                const ElfPlace *place,
                const Rows *rows,
                json_object *list,
                Reason *reason) {
        Dwarf_Addr bias;
        int r = 0;

        if (rows->n == 0 && !dwfl_module_getdwarf(code->module, &bias))
                return reason_set(reason,
                                KT_E_FAILED,
                                "%.200s: nothing is known of its source: install its debug symbols",
                                place->file);
        if (rows->n == 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "%.200s: no code of it comes from line %u or later of %.200s",
                                place->file,
                                place->line,
                                place->source);
        for (size_t i = 0; r == 0 && i < rows->n; i++)
                r = elf_code_add(code, place->file, rows->rows[i].address - code->bias, NULL, list);
        return r;
}

int elf_find_line(const ElfCode *code, const ElfPlace *place, json_object *list, Reason *reason) {
        Rows rows = { .rows = calloc(ROWS_MAX, sizeof(Row)) };
        Dwarf_Addr bias;

        if (!rows.rows)
                return -ENOMEM;
        for (Dwarf_Die *unit = NULL; (unit = dwfl_module_nextcu(code->module, unit, &bias));) {
                Dwarf_Lines *lines;
                size_t n;

                if (dwarf_getsrclines(unit, &lines, &n) != 0)
                        continue;
                for (size_t i = 0; i < n; i++)
                        look_at(&rows, unit, dwarf_onesrcline(lines, i), place, bias);
        }
        int r = report(code, place, &rows, list, reason);
        free(rows.rows);
        return r;
}
