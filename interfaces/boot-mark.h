/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What `ktracectl bootconfig` has written on the kernel's command line is told from what others
 * have by "ktrace.boot=NAME:HASH". The kernel passes over it: it looks like a parameter of a module
 * that is not there. */
#define BOOT_MARK        "ktrace.boot"
#define BOOT_NAME_MAX    32 /* bytes: letters, digits, '_', '-' */
#define BOOT_GROUP       "ktrace_boot"
#define BOOT_HASH_DIGITS 16

typedef struct BootMark {
        char name[BOOT_NAME_MAX + 1];
        uint64_t hash;
} BootMark;

bool boot_name_is_valid(const char *name);
/* The next word of a command line, cut out of *line in place and without its quotes, as the kernel
 * does it. NULL: no more, or what follows is for PID 1. */
char *boot_next_word(char **line);
/* What stands behind KEY=, or NULL: another word. */
const char *boot_get_value(const char *word, const char *key);
/* One that says what is traced at boot, and into which buffer: the words that the hash is of. */
bool boot_word_traces(const char *word);
/* Of one word after the other; *hash is 0 at first. */
void boot_hash_add(uint64_t *hash, const char *word);
/* "NAME:HASH". False: it is no mark. */
bool boot_mark_parse(const char *value, BootMark *ret);
