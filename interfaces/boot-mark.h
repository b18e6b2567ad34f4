/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The word "ktrace.boot=NAME:HASH" identifies the tracing words that `ktracectl bootconfig`
 * wrote on the kernel's command line. The kernel ignores it, because it looks like a parameter
 * of a module that is not loaded. */
#define BOOT_MARK        "ktrace.boot"
#define BOOT_NAME_MAX    32 /* bytes: letters, digits, '_', '-' */
#define BOOT_GROUP       "ktrace_boot"
#define BOOT_HASH_DIGITS 16

typedef struct BootMark {
        char name[BOOT_NAME_MAX + 1];
        uint64_t hash;
} BootMark;

bool boot_name_is_valid(const char *name);
/* Returns the next word of a command line. It is cut out of *line in place, and its quotes are
 * removed as the kernel removes them. NULL: the line is at its end, or the rest is for PID 1. */
char *boot_next_word(char **line);
/* Returns the text after KEY=, or NULL if the word has another key. */
const char *boot_get_value(const char *word, const char *key);
/* True for a word that sets what is traced at boot, or the buffer. The hash covers these words. */
bool boot_word_traces(const char *word);
/* Adds the words one by one; *hash is 0 at first. */
void boot_hash_add(uint64_t *hash, const char *word);
/* "NAME:HASH". False: the value is not a mark. */
bool boot_mark_parse(const char *value, BootMark *ret);
