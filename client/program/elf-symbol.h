/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "program/elf-code.h"

/* Adds the places of a symbol or a source line to the list. */
int elf_find_symbol(const ElfCode *code, const ElfPlace *place, json_object *list, Reason *reason);
/* Returns the C++ or Rust name, with or without parameters. NULL: the symbol is not mangled. */
char *elf_demangle(const char *symbol, bool with_parameters);
