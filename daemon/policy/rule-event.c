/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads an entry of a rule's events from a file: a glob, or an object with more details. Fields are
 * named by globs, because the fields of an event are known only at a request. The grammar of a
 * filter is checked here, its fields later. */

#include "policy/rule-event.h"

#include <errno.h>
#include <string.h>

#include "interfaces/array.h"
#include "policy/filter.h"
#include "policy/rule.h"

#define PATTERN_MAX 256
#define FIELD_MAX   128

static int rule_event_read_name(void *target, json_object *o, const Place *place) {
        RuleEvent *event = target;
        const char *text;

        int r = place_read_string(place, o, PATTERN_MAX, &text);
        if (r != 0)
                return r;
        if (!strchr(text, ':'))
                return place_refuse_value(
                                place, o, "SYSTEM:EVENT, such as sched:sched_switch or sched:*");
        event->pattern = strdup(text);
        return event->pattern ? 0 : -ENOMEM;
}

static int read_class(void *target, json_object *o, const Place *place) {
        RuleEvent *event = target;
        const char *text;

        int r = place_read_string(place, o, PATTERN_MAX, &text);
        if (r != 0)
                return r;
        event->gives.speaks_of_others = strcmp(text, "others") == 0;
        return event->gives.speaks_of_others || strcmp(text, "own") == 0
                               ? 0
                               : place_refuse_value(place, o, "own or others");
}

static int read_fields(const Place *place, json_object *o, char ***ret, size_t *ret_n) {
        PlaceStrings globs = {};

        int r = place_read_strings(place, o, RULE_FIELDS_MAX, FIELD_MAX, &globs);
        *ret = globs.strings;
        *ret_n = globs.n;
        return r;
}

static int read_keep(void *target, json_object *o, const Place *place) {
        RuleEvent *event = target;

        return read_fields(place, o, &event->gives.keep, &event->gives.n_keep);
}

static int read_cut(void *target, json_object *o, const Place *place) {
        RuleEvent *event = target;

        return read_fields(place, o, &event->gives.cut, &event->gives.n_cut);
}

static int read_keys(void *target, json_object *o, const Place *place) {
        RuleEvent *event = target;

        return read_fields(place, o, &event->gives.keys, &event->gives.n_keys);
}

/* {"next_pid": ["next_*"]} */
static int rule_event_read_members(void *target, json_object *o, const Place *place) {
        GrantEvent *event = &((RuleEvent *)target)->gives;
        int r = 0;

        if (!json_object_is_type(o, json_type_object) || json_object_object_length(o) == 0 ||
                        json_object_object_length(o) > GRANT_MEMBERS_MAX)
                return place_refuse_value(place,
                                o,
                                "an object of 1 to %d fields that contain a pid, each with a "
                                "list of the fields that describe this process",
                                GRANT_MEMBERS_MAX);
        json_object_object_foreach(o, key, value) {
                Place at = place_of_key(place, key);

                r = array_grow(&event->members, event->n_members, sizeof(GrantMember));
                if (r < 0)
                        return r;
                GrantMember *member = &event->members[event->n_members++];
                member->pid_field = strdup(key);
                if (!member->pid_field)
                        return -ENOMEM;
                r = read_fields(&at, value, &member->fields, &member->n_fields);
                if (r != 0)
                        return r;
        }
        return 0;
}

static int read_also_of(void *target, json_object *o, const Place *place) {
        RuleEvent *event = target;

        return place_read_copy(place, o, FIELD_MAX, &event->gives.also_of);
}

static int read_filter(void *target, json_object *o, const Place *place) {
        RuleEvent *event = target;
        const char *text;
        Reason slip;

        int r = place_read_string(place, o, FILTER_TEXT_MAX, &text);
        if (r != 0)
                return r;
        r = filter_check_grammar(text, &slip);
        if (r > 0)
                return place_refuse(place, "%s", slip.text);
        event->gives.policy_filter = r == 0 ? strdup(text) : NULL;
        return event->gives.policy_filter ? 0 : -ENOMEM;
}

static bool has_member(const GrantEvent *event, const char *pid_field) {
        for (size_t i = 0; i < event->n_members; i++)
                if (strcmp(event->members[i].pid_field, pid_field) == 0)
                        return true;
        return false;
}

int rule_read_event(void *target, json_object *o, const Place *place) {
        static const PlaceKey keys[] = {
                { "name", rule_event_read_name },
                { "class", read_class },
                { "keep", read_keep },
                { "cut", read_cut },
                { "members", rule_event_read_members },
                { "also-of", read_also_of },
                { "filter", read_filter },
                { "keys", read_keys },
        };
        Rule *rule = target;

        int r = array_grow(&rule->events, rule->n_events, sizeof(RuleEvent));
        if (r < 0)
                return r;
        RuleEvent *event = &rule->events[rule->n_events++];
        if (json_object_is_type(o, json_type_string))
                return rule_event_read_name(event, o, place);
        r = place_read_object(place, o, keys, ELEMENTSOF(keys), event);
        if (r == 0 && !event->pattern)
                r = place_refuse(place, "name is missing");
        if (r == 0 && event->gives.n_members > 0 && !event->gives.speaks_of_others)
                r = place_refuse(place, "members: only allowed if \"class\" is \"others\"");
        if (r == 0 && event->gives.also_of && !has_member(&event->gives, event->gives.also_of))
                r = place_refuse(place,
                                "also-of: %s: expected one of the fields in members",
                                event->gives.also_of);
        return r;
}
