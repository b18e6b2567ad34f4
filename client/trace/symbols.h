/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

/* What symbols_read() needs. It is opened before anything untrusted is parsed, because a process
 * that parses may not open files. */
typedef struct Symbols {
        int fd; /* kallsyms; -1: none */
        char boot_id[64];
} Symbols;

void symbols_open(Symbols *ret);
void symbols_close(Symbols *symbols);
/* Reads the running kernel's /proc/kallsyms when the stream with this metadata needs it, comes from
 * this boot of this machine, and the caller may read it. Otherwise *ret stays NULL. Returns 0 or
 * -errno. */
int symbols_read(const Symbols *symbols, const json_object *metadata, char **ret);
