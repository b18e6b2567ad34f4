/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "elf-code.h"

/* Places of a symbol or a line of the source are added to the list. */
int elf_find_symbol(const ElfCode *code, const ElfPlace *place, json_object *list, Reason *reason);
/* As C++ and Rust have it, with or without parameters; NULL: it is no such name. */
char *elf_demangle(const char *symbol, bool with_parameters);
