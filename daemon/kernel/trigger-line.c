/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Parses the lines of an event's trigger file: which line is a trigger of ours, and its state.
 * Implements part of trigger.h; trigger.c documents the kernel behaviour. Pure. */

#include "kernel/trigger-line.h"

#include <ctype.h>
#include <string.h>

#include "kernel/trigger.h"

#define HIST   "hist:"
#define ACTIVE " [active]"
#define PAUSED " [paused]"

/* Cuts " if CONDITION" off the end of the line, if present, by reducing *size. */
static bool cut_condition(const char *line, size_t *size, const char *condition) {
        static const char word[] = " if ";
        size_t n = condition ? strlen(condition) : 0;

        if (!condition)
                return !memmem(line, *size, word, strlen(word));
        if (*size < n + strlen(word))
                return false;
        const char *tail = line + *size - n - strlen(word);
        if (memcmp(tail, word, strlen(word)) != 0 || memcmp(tail + strlen(word), condition, n) != 0)
                return false;
        *size -= n + strlen(word);
        return true;
}

/* Newer kernels use another word for a stack. */
static bool is_listed(const char *line, size_t size, const char *listed) {
        static const char older[] = "stacktrace", newer[] = "common_stacktrace";
        const char *end = line + size;

        if (size < strlen(HIST) || memcmp(line, HIST, strlen(HIST)) != 0)
                return false;
        for (line += strlen(HIST); *listed; line++, listed++) {
                if ((size_t)(end - line) >= strlen(newer) &&
                                memcmp(line, newer, strlen(newer)) == 0 &&
                                strncmp(listed, older, strlen(older)) == 0)
                        line += strlen(newer) - strlen(older);
                if (line == end || *line != *listed)
                        return false;
        }
        return line == end;
}

static bool match_hist(const char *line, size_t size, const Trigger *trigger, TriggerState *ret) {
        size_t tail = strlen(ACTIVE);

        if (size < tail)
                return false;
        ret->is_paused = memcmp(line + size - tail, PAUSED, tail) == 0;
        if (!ret->is_paused && memcmp(line + size - tail, ACTIVE, tail) != 0)
                return false;
        size -= tail;
        ret->line = line;
        ret->line_size = size;
        return cut_condition(line, &size, trigger->condition) &&
               is_listed(line, size, trigger->listed);
}

/* "COMMAND:unlimited" or "COMMAND:count=N" */
static bool match_plain(const char *line, size_t size, const Trigger *trigger, TriggerState *ret) {
        static const char without_end[] = ":unlimited", counted[] = ":count=";
        size_t n = strlen(trigger->command);

        if (!cut_condition(line, &size, trigger->condition) || size < n ||
                        memcmp(line, trigger->command, n) != 0)
                return false;
        line += n;
        size -= n;
        if (trigger->count == TRIGGER_WITHOUT_END)
                return size == strlen(without_end) && memcmp(line, without_end, size) == 0;
        if (size <= strlen(counted) || memcmp(line, counted, strlen(counted)) != 0)
                return false;
        ret->left = 0;
        for (size_t i = strlen(counted); i < size; i++) {
                if (!isdigit((unsigned char)line[i]))
                        return false;
                ret->left = ret->left * 10 + (uint64_t)(line[i] - '0');
        }
        return ret->left <= trigger->count;
}

TriggerState trigger_find(const char *text, const Trigger *trigger) {
        for (const char *line = text; *line; line += *line == '\n') {
                size_t size = strcspn(line, "\n");
                TriggerState state = {};

                state.stands = strncmp(trigger->command, HIST, strlen(HIST)) == 0
                                               ? match_hist(line, size, trigger, &state)
                                               : match_plain(line, size, trigger, &state);
                if (state.stands)
                        return state;
                line += size;
        }
        return (TriggerState){};
}
