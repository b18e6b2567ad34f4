/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints the rule that an administrator can add when the policy or the fence has refused a session
 * of a container (-M). The processes of a container have ids of others or capabilities, so a trace
 * of own processes cannot have them: a rule for all processes is needed. Called by caret.c. */

#include "spec/rule-hint.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "terminal/message.h"

static bool rule_hint_is_wanted(json_object *spec, const Origins *origins, int code) {
        if (geteuid() == 0 || !origins || !spec ||
                        (code != KT_E_ACCESS_DENIED && code != KT_E_NO_SUCH_PROCESS))
                return false;
        for (size_t i = 0; i < origins->n; i++)
                if (origins->items[i].option && strcmp(origins->items[i].option, "-M") == 0)
                        return true;
        return false;
}

/* The names without filters: a rule grants whole events. */
static json_object *rule_hint_make_events(json_object *spec) {
        json_object *events = json_object_object_get(spec, "events");
        json_object *names = json_object_new_array();

        for (size_t i = 0; names && events && i < json_object_array_length(events); i++) {
                json_object *event = json_object_array_get_idx(events, i);
                json_object *name = json_object_is_type(event, json_type_object)
                                                    ? json_object_object_get(event, "name")
                                                    : event;

                (void)json_object_array_add(names, json_object_get(name));
        }
        return names;
}

static json_object *rule_hint_make_subjects(void) {
        const struct passwd *user = getpwuid(geteuid());
        json_object *subject = json_object_new_object(), *subjects = json_object_new_array();

        if (user)
                (void)json_object_object_add(
                                subject, "user", json_object_new_string(user->pw_name));
        else
                (void)json_object_object_add(subject, "uid", json_object_new_int64(geteuid()));
        (void)json_object_array_add(subjects, subject);
        return subjects;
}

static json_object *rule_hint_make(json_object *spec) {
        json_object *rule = json_object_new_object(), *scopes = json_object_new_array();
        json_object *rules = json_object_new_array(), *file = json_object_new_object();

        (void)json_object_array_add(scopes, json_object_new_string("cgroup"));
        (void)json_object_object_add(rule, "name", json_object_new_string("containers"));
        (void)json_object_object_add(rule, "subjects", rule_hint_make_subjects());
        (void)json_object_object_add(rule, "scopes", scopes);
        (void)json_object_object_add(rule, "processes", json_object_new_string("any"));
        (void)json_object_object_add(rule, "events", rule_hint_make_events(spec));
        (void)json_object_array_add(rules, rule);
        (void)json_object_object_add(file, "rules", rules);
        return file;
}

void rule_hint_print(json_object *spec, const Origins *origins, int code) {
        if (!rule_hint_is_wanted(spec, origins, code))
                return;
        _cleanup_json_ json_object *file = rule_hint_make(spec);
        message_print("processes of a container have ids of others or capabilities. To let you trace "
                      "them, and those of any other cgroup, an administrator can write this to "
                      "/etc/ktrace/policy.d/40-containers.json and run 'ktracectl policy reload':");
        (void)fprintf(stderr,
                        "  %s\n",
                        json_object_to_json_string_ext(file,
                                        JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
}
