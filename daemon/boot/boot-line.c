/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Parses those words of the kernel's command line that ktracectl has written. boot.c calls it. It
 * has no side effects. The words can be trusted, because only a user who may change how the machine
 * boots can write them. They are used only if the hash in the mark confirms that all words about
 * tracing are ours. */

#include "boot/boot-line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/defence.h"
#include "interfaces/glob.h"

BootLine *boot_line_free(BootLine *line) {
        if (!line)
                return NULL;
        free(line->text);
        free(line->events);
        free(line->names);
        free(line);
        return NULL;
}

/* Stores the list and cuts it into its names in place. */
static int set_events(BootLine *line, const char *list) {
        size_t n = 1;
        char *name, *rest;

        if (line->names) /* the kernel uses the last one, so ours is unknown */
                return -EINVAL;
        line->names = strdup(list);
        for (const char *c = list; *c; c++)
                n += *c == ',';
        line->events = calloc(n, sizeof(*line->events));
        if (!line->names || !line->events)
                return -ENOMEM;
        rest = line->names;
        while ((name = strsep(&rest, ",")))
                if (*name)
                        line->events[line->n_events++] = name;
        return 0;
}

/* "NAME[^FLAG…][@MEMORY],EVENT,…" */
static int set_instance(BootLine *line, const char *value) {
        size_t size = strcspn(value, ",^@");
        const char *list = strchr(value, ',');

        if (line->is_instance || strlen(line->mark.name) != size ||
                        strncmp(value, line->mark.name, size) != 0)
                return -EINVAL;
        line->is_instance = true;
        line->is_persistent = memchr(value, '@', list ? (size_t)(list - value) : strlen(value));
        return list ? set_events(line, list + 1) : 0;
}

static void set_options(BootLine *line, const char *value) {
        _cleanup_free_ char *copy = strdup(value);
        char *rest = copy, *option;

        while (rest && (option = strsep(&rest, ","))) {
                line->keeps_oldest = line->keeps_oldest || strcmp(option, "nooverwrite") == 0;
                line->has_stacks = line->has_stacks || strcmp(option, "stacktrace") == 0;
        }
}

static int boot_line_take_word(BootLine *line, const char *word) {
        const char *value;
        int r = 0;

        if ((value = boot_get_value(word, "trace_event")))
                r = set_events(line, value);
        else if ((value = boot_get_value(word, "trace_instance")))
                r = set_instance(line, value);
        else if ((value = boot_get_value(word, "trace_options")))
                set_options(line, value);
        else if (boot_get_value(word, "kprobe_event"))
                line->has_probes = true;
        return r;
}

/* Finds the mark and computes the hash of all words about tracing. */
static bool find_mark(const char *command_line, BootMark *ret, uint64_t *ret_hash) {
        _cleanup_free_ char *copy = strdup(command_line);
        char *rest = copy, *word;
        const char *value;
        bool is_found = false;

        *ret_hash = 0;
        while (rest && (word = boot_next_word(&rest))) {
                if (boot_word_traces(word))
                        boot_hash_add(ret_hash, word);
                value = boot_get_value(word, BOOT_MARK);
                is_found = (value && boot_mark_parse(value, ret)) || is_found;
        }
        return is_found;
}

static int take_words(BootLine *line, const char *command_line) {
        _cleanup_free_ char *copy = strdup(command_line);
        char *rest = copy, *word;
        size_t size;
        int r = 0;
        FILE *text = copy ? open_memstream(&line->text, &size) : NULL;

        if (!text)
                return -ENOMEM;
        while (r == 0 && (word = boot_next_word(&rest)))
                if (boot_word_traces(word)) {
                        fprintf(text, "%s%s", ftell(text) > 0 ? " " : "", word);
                        r = boot_line_take_word(line, word);
                }
        if (fclose(text) != 0)
                return -ENOMEM;
        /* The words of a bootconfig are not on the command line. */
        if (line->mark.hash == 0)
                line->is_instance = true;
        return r;
}

int boot_line_parse(const char *command_line, BootLine **ret, Reason *reason) {
        _cleanup_(boot_line_free_cleanup) BootLine *line = calloc(1, sizeof(*line));
        uint64_t hash;

        if (!line)
                return -ENOMEM;
        if (!find_mark(command_line, &line->mark, &hash)) {
                *ret = NULL;
                return 0;
        }
        bool is_ours = hash == line->mark.hash || !defence_is_on("boot-mark");
        int r = is_ours ? take_words(line, command_line) : -EINVAL;
        if (r == -EINVAL)
                return reason_set(reason,
                                KT_E_FAILED,
                                "the words about tracing on the kernel's command line are not those "
                                "that " BOOT_MARK
                                "=%s was made for: they were changed, or there are "
                                "others; run 'ktracectl bootconfig' again",
                                line->mark.name);
        if (r == 0)
                *ret = TAKE_PTR(line);
        return r;
}

bool boot_line_has(const BootLine *line, const char *event) {
        const char *colon = strchr(event, ':');
        char system[256];

        if (!colon || (size_t)(colon - event) >= sizeof(system))
                return false;
        (void)snprintf(system, sizeof(system), "%.*s", (int)(colon - event), event);
        if (line->has_probes && strcmp(system, BOOT_GROUP) == 0)
                return true;
        for (size_t i = 0; i < line->n_events; i++)
                if (glob_match_event(line->events[i], system, colon + 1))
                        return true;
        return line->mark.hash == 0;
}
