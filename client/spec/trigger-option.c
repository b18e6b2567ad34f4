/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Parses a trigger from the command line: "EVENT [if FILTER] do ACTION [TARGET] [times N]". TARGET
 * is the event for enable and disable, or the keys of hist, separated by commas. Only splits the
 * text; the daemon and the spec's setters check the values, as for other clients. */

#include "spec/trigger-option.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/quote.h"

static int trigger_option_refuse(const char *text, const char *why, Reason *reason) {
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "--trigger %s: %s: write " TRIGGER_OPTION_FORM,
                        quote(text).text,
                        why);
}

/* Finds the last word "do" outside of quotes, because a filter may compare with a text that
 * contains "do". Returns NULL when there is none. */
static char *find_do(char *text) {
        char *found = NULL, quoted = '\0';

        for (char *p = text; *p; p++) {
                if (quoted)
                        quoted = *p == quoted ? '\0' : quoted;
                else if (*p == '"' || *p == '\'')
                        quoted = *p;
                else if (strncmp(p, " do ", strlen(" do ")) == 0)
                        found = p;
        }
        return found;
}

static int trigger_option_set(SpecTriggerList *list,
                const char *key,
                const char *value,
                Reason *reason) {
        const SpecField *field;

        int r = spec_triggers_find_field(list, key, &field, reason);
        return r ?: spec_triggers_set_string(list, field, value, reason);
}

static int trigger_option_set_keys(SpecTriggerList *list, char *words, Reason *reason) {
        const SpecField *field;
        char *state = NULL;

        int r = spec_triggers_find_field(list, "keys", &field, reason);
        r = r ?: spec_triggers_begin_words(list, field, reason);
        for (char *word = strtok_r(words, ",", &state); r == 0 && word;
                        word = strtok_r(NULL, ",", &state))
                r = spec_triggers_add_word(list, field, word, reason);
        return r;
}

static int set_count(SpecTriggerList *list, const char *text, const char *number, Reason *reason) {
        const SpecField *field;
        char *end;

        /* strtoull also accepts signs and blanks. A number that is too long becomes UINT64_MAX,
         * which is over any limit. */
        unsigned long long n = strtoull(number, &end, 10);
        if (*number < '0' || *number > '9' || *end)
                return trigger_option_refuse(text, "no number after 'times'", reason);
        int r = spec_triggers_find_field(list, "count", &field, reason);
        return r ?: spec_triggers_set_number(list, field, n, reason);
}

/* Parses the text after "do": ACTION [TARGET] [times N]. */
static int read_action(SpecTriggerList *list, const char *text, char *words, Reason *reason) {
        char *state = NULL, *action = strtok_r(words, " ", &state);
        char *next = strtok_r(NULL, " ", &state);
        int r;

        if (!action)
                return trigger_option_refuse(text, "nothing after 'do'", reason);
        r = trigger_option_set(list, "do", action, reason);
        if (r == 0 && next && strcmp(next, "times") != 0) {
                r = strcmp(action, "hist") == 0 ? trigger_option_set_keys(list, next, reason)
                                                : trigger_option_set(list, "event", next, reason);
                next = strtok_r(NULL, " ", &state);
        }
        if (r == 0 && next && strcmp(next, "times") != 0)
                return trigger_option_refuse(text, "too many words", reason);
        if (r == 0 && next) {
                char *number = strtok_r(NULL, " ", &state);

                r = set_count(list, text, number ?: "", reason);
        }
        if (r == 0 && next && strtok_r(NULL, " ", &state))
                return trigger_option_refuse(text, "too many words", reason);
        return r;
}

int trigger_option_read(SpecTriggerList *list, const char *text, Reason *reason) {
        _cleanup_free_ char *copy = strdup(text);

        if (!copy)
                return -ENOMEM;
        char *action = find_do(copy);
        if (!action)
                return trigger_option_refuse(text, "no 'do'", reason);
        *action = '\0';
        int r = spec_triggers_add(list, reason);
        r = r ?: trigger_option_set(list, "when", copy, reason);
        return r ?: read_action(list, text, action + strlen(" do "), reason);
}
