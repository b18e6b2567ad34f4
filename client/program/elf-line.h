/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "program/elf-code.h"

int elf_find_line(const ElfCode *code, const ElfPlace *place, json_object *list, Reason *reason);
