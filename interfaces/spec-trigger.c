/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Triggers of a session spec: actions at the moment of an event. Each caller (D-Bus, JSON, command
 * line) sets the keys of one trigger after the other. Each value is checked when it is set;
 * combinations are checked at the end of the list. Part of spec.h.
 *
 * This file does not look at the machine. Other code checks that the event is granted, that the
 * filter's types are right, and that the kernel accepts the action. */

#include "interfaces/spec-trigger.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "interfaces/ascii.h"
#include "interfaces/quote.h"
#include "interfaces/utf8.h"

#define ACTION_MAX 16
/* "SYSTEM:EVENT if FILTER" */
#define WHEN_MAX (SPEC_EVENT_NAME_MAX + SPEC_FILTER_MAX + 16)

const SpecField spec_trigger_fields[] = {
        { "when",
                        SPEC_STRING,
                        1,
                        WHEN_MAX,
                        NULL,
                        "The event, 'SYSTEM:EVENT', and optionally ' if ' and a filter. In the "
                        "list of an event: only the filter. Default there: each record of the "
                        "event." },
        { "do",
                        SPEC_STRING,
                        1,
                        ACTION_MAX,
                        NULL,
                        "The action: start, stop, snapshot, enable, disable, stacktrace, hist "
                        "or notify. No default." },
        { "count",
                        SPEC_NUMBER,
                        1,
                        SPEC_COUNT_MAX,
                        "times",
                        "How often the trigger acts at most. Default: no limit; for a snapshot "
                        "1." },
        { "event",
                        SPEC_STRING,
                        1,
                        SPEC_EVENT_NAME_MAX,
                        NULL,
                        "For enable and disable: the event of the session to turn on or off. No "
                        "default." },
        { "keys",
                        SPEC_WORDS,
                        1,
                        SPEC_HIST_KEYS_MAX,
                        NULL,
                        "For hist: the fields to count by. No default." },
        { "values",
                        SPEC_WORDS,
                        1,
                        SPEC_HIST_VALUES_MAX,
                        NULL,
                        "For hist: the fields to add up. Default: none, hits are counted." },
        { "sort",
                        SPEC_WORDS,
                        1,
                        SPEC_HIST_SORT_MAX,
                        NULL,
                        "For hist: the order of the rows. Default: by hits." },
        { "size",
                        SPEC_NUMBER,
                        SPEC_HIST_SIZE_MIN,
                        SPEC_HIST_SIZE_MAX,
                        "rows",
                        "For hist: the maximum number of rows. Default: 2048." },
        { "name",
                        SPEC_STRING,
                        1,
                        SPEC_HIST_NAME_MAX,
                        NULL,
                        "For hist: the name for reading it. Default: the event's name." },
};

const size_t n_spec_trigger_fields = ELEMENTSOF(spec_trigger_fields);

static const char *const actions[_ACTION_N] = {
        [ACTION_START] = "start",
        [ACTION_STOP] = "stop",
        [ACTION_SNAPSHOT] = "snapshot",
        [ACTION_ENABLE] = "enable",
        [ACTION_DISABLE] = "disable",
        [ACTION_STACKTRACE] = "stacktrace",
        [ACTION_HIST] = "hist",
        [ACTION_NOTIFY] = "notify",
};

const char *spec_action_to_string(SpecAction action) {
        return actions[action];
}

bool spec_trigger_is_counter(const SpecTrigger *trigger) {
        return trigger->action == ACTION_HIST || trigger->action == ACTION_NOTIFY;
}

bool spec_trigger_is_window(const SpecTrigger *trigger) {
        return trigger->action == ACTION_START || trigger->action == ACTION_STOP;
}

static void spec_trigger_clear_words(SpecWords *words) {
        for (size_t i = 0; i < words->n; i++)
                free(words->items[i]);
        free(words->items);
        *words = (SpecWords){};
}

void spec_trigger_clear(SpecTrigger *trigger) {
        free(trigger->event);
        free(trigger->filter);
        free(trigger->target);
        free(trigger->hist.name);
        spec_trigger_clear_words(&trigger->hist.keys);
        spec_trigger_clear_words(&trigger->hist.values);
        spec_trigger_clear_words(&trigger->hist.sort);
        *trigger = (SpecTrigger){};
}

SpecTriggerList spec_triggers_begin(Spec *spec, size_t entry) {
        return (SpecTriggerList){ .spec = spec, .entry = entry, .first = spec->n_triggers };
}

SpecTriggerPlace spec_trigger_place(const SpecTrigger *trigger) {
        SpecTriggerPlace place;

        if (trigger->entry == SPEC_NO_ENTRY)
                snprintf(place.text, sizeof(place.text), "triggers[%zu]", trigger->index);
        else
                snprintf(place.text,
                                sizeof(place.text),
                                "events[%zu].triggers[%zu]",
                                trigger->entry,
                                trigger->index);
        return place;
}

static SpecTriggerPlace get_last_place(const SpecTriggerList *list) {
        return spec_trigger_place(&list->spec->triggers[list->spec->n_triggers - 1]);
}

static SpecTrigger *get_last(SpecTriggerList *list) {
        return &list->spec->triggers[list->spec->n_triggers - 1];
}

int spec_triggers_add(SpecTriggerList *list, Reason *reason) {
        Spec *spec = list->spec;

        if (spec->n_triggers >= SPEC_TRIGGERS_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "triggers: more than %d in a session",
                                SPEC_TRIGGERS_MAX);
        SpecTrigger *grown = reallocarray(spec->triggers, spec->n_triggers + 1, sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        spec->triggers = grown;
        grown[spec->n_triggers] = (SpecTrigger){
                .entry = list->entry,
                .index = list->n_before + spec->n_triggers - list->first,
        };
        spec->n_triggers++;
        return 0;
}

int spec_triggers_find_field(const SpecTriggerList *list,
                const char *key,
                const SpecField **ret,
                Reason *reason) {
        for (size_t i = 0; i < n_spec_trigger_fields; i++)
                if (strcmp(spec_trigger_fields[i].name, key) == 0) {
                        *ret = &spec_trigger_fields[i];
                        return 0;
                }
        return reason_set(reason,
                        KT_E_UNKNOWN_KEY,
                        "%s: unknown key %s: the known ones are when, do, count, event, keys, "
                        "values, sort, size, name",
                        get_last_place(list).text,
                        quote(key).text);
}

int spec_triggers_refuse_type(const SpecTriggerList *list,
                const SpecField *field,
                const char *got,
                Reason *reason) {
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "%s.%s: expected %s, got %s",
                        get_last_place(list).text,
                        field->name,
                        field->type == SPEC_STRING   ? "a string"
                        : field->type == SPEC_NUMBER ? "a number"
                                                     : "a list of strings",
                        got);
}

/* Refuses a second value of a key. JSON was already checked for duplicates, a D-Bus dictionary
 * was not. */
static int begin_field(SpecTriggerList *list, const SpecField *field, Reason *reason) {
        uint32_t bit = UINT32_C(1) << (field - spec_trigger_fields);

        if (get_last(list)->set_keys & bit)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s.%s: is given twice",
                                get_last_place(list).text,
                                field->name);
        get_last(list)->set_keys |= bit;
        return 0;
}

static bool spec_trigger_is_set(const SpecTrigger *trigger, const char *key) {
        for (size_t i = 0; i < n_spec_trigger_fields; i++)
                if (strcmp(spec_trigger_fields[i].name, key) == 0)
                        return trigger->set_keys & (UINT32_C(1) << i);
        return false;
}

static int spec_trigger_check_text(const char *place,
                const SpecField *field,
                const char *value,
                size_t max,
                Reason *reason) {
        size_t size = strlen(value);

        if (size == 0 || strspn(value, " ") == size)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s.%s: \"\" is empty: leave the key out or give it a value",
                                place,
                                field->name);
        if (size > max)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s.%s: %s has %zu bytes, the maximum is %zu",
                                place,
                                field->name,
                                quote(value).text,
                                size,
                                max);
        size_t at = utf8_find_unprintable(value, size);
        if (at == 0)
                return 0;
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "%s.%s: %s: byte %zu is not printable: write it on one line of text",
                        place,
                        field->name,
                        quote(value).text,
                        at);
}

static bool spec_trigger_is_name_character(char c, const char *others) {
        return ascii_is_alphanumeric(c) || (c != '\0' && strchr(others, c));
}

/* "SYSTEM:EVENT". Neither part may be "." or "..", which name a directory. */
static bool spec_trigger_is_event(const char *name) {
        const char *colon = strchr(name, ':');

        if (!colon || colon == name || colon[1] == '\0' || strlen(name) > SPEC_EVENT_NAME_MAX)
                return false;
        for (const char *p = name; *p; p++)
                if (p != colon && !spec_trigger_is_name_character(*p, "_-."))
                        return false;
        return strspn(name, ".") < (size_t)(colon - name) &&
               strspn(colon + 1, ".") < strlen(colon + 1);
}

static int set_action(const char *place, SpecTrigger *trigger, const char *value, Reason *reason) {
        for (SpecAction action = 0; action < _ACTION_N; action++)
                if (strcmp(value, actions[action]) == 0) {
                        trigger->action = action;
                        return 0;
                }
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "%s.do: %s is not known: write start, stop, snapshot, enable, disable, "
                        "stacktrace, hist or notify",
                        place,
                        quote(value).text);
}

static int spec_trigger_refuse_event(const char *place,
                const char *key,
                const char *name,
                Reason *reason) {
        bool is_word = *name && strlen(name) <= SPEC_EVENT_NAME_MAX;

        for (const char *p = name; *p; p++)
                is_word = is_word && spec_trigger_is_name_character(*p, "_");
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "%s.%s: %s is not one event: write system:event, as 'ktracectl events%s%s' "
                        "lists them",
                        place,
                        key,
                        quote(name).text,
                        is_word ? " " : "",
                        is_word ? name : "");
}

static int check_hist_name(const char *place, const char *name, Reason *reason) {
        for (const char *p = name; *p; p++)
                if (!spec_trigger_is_name_character(*p, "_-."))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "%s.name: %s contains characters other than letters, "
                                        "digits, '.', '_', '-'",
                                        place,
                                        quote(name).text);
        return 0;
}

static int copy_to(char **target, const char *value) {
        *target = strdup(value);
        return *target ? 0 : -ENOMEM;
}

int spec_triggers_set_string(SpecTriggerList *list,
                const SpecField *field,
                const char *value,
                Reason *reason) {
        SpecTrigger *trigger = get_last(list);
        SpecTriggerPlace place = get_last_place(list);

        if (field->type != SPEC_STRING)
                return spec_triggers_refuse_type(list, field, "a string", reason);
        int r = begin_field(list, field, reason);
        r = r ?: spec_trigger_check_text(place.text, field, value, field->max, reason);
        if (r != 0)
                return r;
        if (strcmp(field->name, "do") == 0)
                return set_action(place.text, trigger, value, reason);
        /* It is split at the end of the list: the owner of the trigger is not known before. */
        if (strcmp(field->name, "when") == 0)
                return copy_to(&trigger->filter, value);
        if (strcmp(field->name, "event") == 0)
                return spec_trigger_is_event(value)
                                       ? copy_to(&trigger->target, value)
                                       : spec_trigger_refuse_event(
                                                         place.text, "event", value, reason);
        return check_hist_name(place.text, value, reason) ?: copy_to(&trigger->hist.name, value);
}

int spec_triggers_set_number(SpecTriggerList *list,
                const SpecField *field,
                uint64_t value,
                Reason *reason) {
        SpecTrigger *trigger = get_last(list);

        if (field->type != SPEC_NUMBER)
                return spec_triggers_refuse_type(list, field, "a number", reason);
        int r = begin_field(list, field, reason);
        if (r != 0)
                return r;
        if (value < field->min || value > field->max)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s.%s: %" PRIu64 " is %s of %" PRIu64,
                                get_last_place(list).text,
                                field->name,
                                value,
                                value < field->min ? "less than the minimum"
                                                   : "more than the maximum",
                                value < field->min ? field->min : field->max);
        *(strcmp(field->name, "count") == 0 ? &trigger->count : &trigger->hist.size) = value;
        return 0;
}

static SpecWords *get_words(SpecTrigger *trigger, const SpecField *field) {
        return strcmp(field->name, "keys") == 0     ? &trigger->hist.keys
               : strcmp(field->name, "values") == 0 ? &trigger->hist.values
                                                    : &trigger->hist.sort;
}

int spec_triggers_begin_words(SpecTriggerList *list, const SpecField *field, Reason *reason) {
        if (field->type != SPEC_WORDS)
                return spec_triggers_refuse_type(list, field, "a list", reason);
        return begin_field(list, field, reason);
}

int spec_triggers_add_word(SpecTriggerList *list,
                const SpecField *field,
                const char *word,
                Reason *reason) {
        SpecWords *words = get_words(get_last(list), field);
        SpecTriggerPlace place = get_last_place(list);

        if (words->n >= field->max)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s.%s: more than %" PRIu64 " entries",
                                place.text,
                                field->name,
                                field->max);
        int r = spec_trigger_check_text(place.text, field, word, SPEC_HIST_WORD_MAX, reason);
        if (r != 0)
                return r;
        char **grown = reallocarray(words->items, words->n + 1, sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        words->items = grown;
        grown[words->n] = strdup(word);
        return grown[words->n] ? (words->n++, 0) : -ENOMEM;
}

/* Splits "EVENT" or "EVENT if FILTER", which is stored in trigger->filter. */
static int split_when(const char *place, SpecTrigger *trigger, Reason *reason) {
        _cleanup_free_ char *when = TAKE_PTR(trigger->filter);
        char *name = when + strspn(when, " "), *rest = name + strcspn(name, " ");

        if (*rest)
                *rest++ = '\0';
        rest += strspn(rest, " ");
        if (!spec_trigger_is_event(name))
                return spec_trigger_refuse_event(place, "when", name, reason);
        if (*rest && (strncmp(rest, "if", 2) != 0 || rest[2] != ' ' ||
                                     rest[2 + strspn(rest + 2, " ")] == '\0'))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s.when: %s after the event: write \"system:event if FILTER\"",
                                place,
                                quote(rest).text);
        int r = copy_to(&trigger->event, name);
        return r ?: *rest ? copy_to(&trigger->filter, rest + 3 + strspn(rest + 3, " ")) : 0;
}

/* Refuses keys that belong to other actions. */
static int spec_trigger_check_keys(const char *place, const SpecTrigger *trigger, Reason *reason) {
        static const char *const of_hist[] = { "keys", "values", "sort", "size", "name" };
        bool has_target = trigger->action == ACTION_ENABLE || trigger->action == ACTION_DISABLE;
        const char *foreign = !has_target && trigger->target ? "event" : NULL;

        for (size_t i = 0; i < ELEMENTSOF(of_hist); i++)
                if (trigger->action != ACTION_HIST && spec_trigger_is_set(trigger, of_hist[i]))
                        foreign = of_hist[i];
        if (trigger->action == ACTION_HIST && spec_trigger_is_set(trigger, "count"))
                foreign = "count";
        if (foreign)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s.%s: is not for do %s: leave it out",
                                place,
                                foreign,
                                actions[trigger->action]);
        if (has_target && !trigger->target)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s.event: missing: name the event to %s",
                                place,
                                actions[trigger->action]);
        if (trigger->action == ACTION_HIST && trigger->hist.keys.n == 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s.keys: missing: name the fields to count by",
                                place);
        return 0;
}

static int end_trigger(const char *place, SpecTrigger *trigger, const char *event, Reason *reason) {
        int r = 0;

        if (!event && !trigger->filter)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s.when: missing: write \"system:event\" or \"system:event if "
                                "FILTER\"",
                                place);
        if (!spec_trigger_is_set(trigger, "do"))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s.do: missing: write start, stop, snapshot, enable, disable, "
                                "stacktrace, hist or notify",
                                place);
        if (!event)
                r = split_when(place, trigger, reason);
        else if (!spec_trigger_is_event(event))
                r = reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: %s is not one event: name it as system:event",
                                place,
                                quote(event).text);
        else
                r = copy_to(&trigger->event, event);
        /* Leading blanks are dropped here, as split_when() drops those after " if ". */
        if (r == 0 && event && trigger->filter)
                memmove(trigger->filter,
                                trigger->filter + strspn(trigger->filter, " "),
                                strlen(trigger->filter + strspn(trigger->filter, " ")) + 1);
        if (r == 0 && trigger->filter && strlen(trigger->filter) > SPEC_FILTER_MAX)
                r = reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s.when: the filter has %zu bytes, the maximum is %d",
                                place,
                                strlen(trigger->filter),
                                SPEC_FILTER_MAX);
        /* The first moment is the important one. A second snapshot would replace it. */
        if (trigger->action == ACTION_SNAPSHOT && trigger->count == 0)
                trigger->count = 1;
        return r ?: spec_trigger_check_keys(place, trigger, reason);
}

int spec_triggers_end(SpecTriggerList *list, const char *event, Reason *reason) {
        int r = 0;

        for (size_t i = list->first; r == 0 && i < list->spec->n_triggers; i++) {
                SpecTrigger *trigger = &list->spec->triggers[i];

                r = end_trigger(spec_trigger_place(trigger).text, trigger, event, reason);
        }
        return r;
}

static size_t count_of_event(const Spec *spec, const char *event) {
        size_t n = 0;

        for (size_t i = 0; i < spec->n_triggers; i++)
                n += strcmp(spec->triggers[i].event, event) == 0;
        return n;
}

int spec_check_triggers(const Spec *spec, Reason *reason) {
        for (size_t i = 0; i < spec->n_triggers; i++) {
                const SpecTrigger *one = &spec->triggers[i];

                if (one->action == ACTION_SNAPSHOT && spec->mode != MODE_FLIGHT)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "triggers: snapshot on %s requires mode flight, because "
                                        "a stream overwrites no events; write stop, or mode "
                                        "flight",
                                        quote(one->event).text);
                if (count_of_event(spec, one->event) > SPEC_EVENT_TRIGGERS_MAX)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "triggers: more than %d of %s",
                                        SPEC_EVENT_TRIGGERS_MAX,
                                        quote(one->event).text);
                for (size_t j = i + 1; one->hist.name && j < spec->n_triggers; j++)
                        if (spec->triggers[j].hist.name &&
                                        strcmp(spec->triggers[j].hist.name, one->hist.name) == 0)
                                return reason_set(reason,
                                                KT_E_INVALID_SPEC,
                                                "triggers: two histograms are called %s",
                                                quote(one->hist.name).text);
        }
        return 0;
}
