/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The words and the mark on the kernel's command line that trace the boot. ktracectl writes
 * them, and the daemon finds them again. Pure. The hash is not a security check: a person who
 * can write the command line controls the machine. The hash shows the daemon that the words were
 * changed, or that other tracing words were added. The daemon then changes nothing. */

#include "interfaces/boot-mark.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/cleanup.h"

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

bool boot_name_is_valid(const char *name) {
        size_t size = strlen(name);

        return size > 0 && size <= BOOT_NAME_MAX && strspn(name, NAME_CHARACTERS) == size;
}

/* Works like next_arg() in lib/cmdline.c. Quotes keep blanks in one word. They are removed only
 * around a whole word or a whole value. */
static void unquote(char *word) {
        size_t size = strlen(word);
        char *value = strchr(word, '=');

        if (*word == '"') {
                memmove(word, word + 1, size--);
                if (size > 0 && word[size - 1] == '"')
                        word[size - 1] = '\0';
                return;
        }
        if (value && value[1] == '"') {
                memmove(value + 1, value + 2, strlen(value + 2) + 1);
                size = strlen(value + 1);
                if (size > 0 && value[size] == '"')
                        value[size] = '\0';
        }
}

char *boot_next_word(char **line) {
        char *start = *line + strspn(*line, " \t\n"), *end = start;
        bool in_quotes = false;

        for (; *end && (in_quotes || !isspace((unsigned char)*end)); end++)
                if (*end == '"')
                        in_quotes = !in_quotes;
        if (end == start)
                return NULL;
        *line = *end ? end + 1 : end;
        *end = '\0';
        if (strcmp(start, "--") == 0)
                return NULL;
        unquote(start);
        return start;
}

const char *boot_get_value(const char *word, const char *key) {
        size_t size = strlen(key);

        return strncmp(word, key, size) == 0 && word[size] == '=' ? word + size + 1 : NULL;
}

bool boot_word_traces(const char *word) {
        static const char *const keys[] = {
                "ftrace",
                "ftrace_filter",
                "ftrace_notrace",
                "kprobe_event",
                "reserve_mem",
                "trace_buf_size",
                "trace_clock",
                "trace_event",
                "trace_instance",
                "trace_options",
                "trace_trigger",
        };

        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (boot_get_value(word, keys[i]))
                        return true;
        return false;
}

/* 64-bit FNV-1a. The NUL of each word is hashed too, which keeps different lists apart. */
void boot_hash_add(uint64_t *hash, const char *word) {
        const unsigned char *byte = (const unsigned char *)word;

        if (*hash == 0)
                *hash = UINT64_C(0xcbf29ce484222325);
        do
                *hash = (*hash ^ *byte) * UINT64_C(0x100000001b3);
        while (*byte++);
}

bool boot_mark_parse(const char *value, BootMark *ret) {
        const char *colon = strchr(value, ':');
        size_t size = colon ? (size_t)(colon - value) : 0;
        BootMark mark = {};

        if (size == 0 || size > BOOT_NAME_MAX || strlen(colon + 1) != BOOT_HASH_DIGITS ||
                        strspn(colon + 1, "0123456789abcdef") != BOOT_HASH_DIGITS)
                return false;
        memcpy(mark.name, value, size);
        if (!boot_name_is_valid(mark.name))
                return false;
        mark.hash = strtoull(colon + 1, NULL, 16);
        *ret = mark;
        return true;
}
