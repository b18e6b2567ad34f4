/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads the subjects of a rule from a file: "any", or an object of which all keys must match. Names
 * of users and groups are resolved when the file is read; a name that does not exist matches no
 * user. A unit alone is not accepted, because any user has units and chooses their names: it only
 * narrows a user. A container is a subject of its own and takes no other key: its users have uids
 * of the host. */

#include "policy/rule-subject.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>

#include "interfaces/array.h"
#include "policy/rule.h"

#define NAME_LENGTH_MAX 256

static int read_uid(void *target, json_object *o, const Place *place) {
        RuleSubject *subject = target;
        uint64_t uid;

        /* The kernel uses UINT32_MAX for "none". */
        int r = place_read_number(place, o, 0, UINT32_MAX - 1, &uid);
        if (r == 0 && subject->has_uid)
                return place_refuse(place, "there is a user already");
        subject->has_uid = true;
        subject->uid = (uid_t)uid;
        return r;
}

/* This is not an error: a rule may exist before its user. policy_visit_warnings() reports it. */
static int note_absent(const char *name, char **ret) {
        *ret = strdup(name);
        return *ret ? 0 : -ENOMEM;
}

/* The non-reentrant functions are safe here and below: only the event loop's thread reads files. */
static int read_user(void *target, json_object *o, const Place *place) {
        RuleSubject *subject = target;
        const char *name;

        int r = place_read_string(place, o, NAME_LENGTH_MAX, &name);
        if (r != 0)
                return r;
        if (subject->has_uid)
                return place_refuse(place, "there is a uid already");
        const struct passwd *user = getpwnam(name);
        subject->has_uid = true;
        subject->uid = user ? user->pw_uid : (uid_t)-1;
        return user ? 0 : note_absent(name, &subject->no_user);
}

static int read_group(void *target, json_object *o, const Place *place) {
        RuleSubject *subject = target;
        const char *name;

        int r = place_read_string(place, o, NAME_LENGTH_MAX, &name);
        if (r != 0)
                return r;
        const struct group *group = getgrnam(name);
        subject->has_gid = true;
        subject->gid = group ? group->gr_gid : (gid_t)-1;
        return group ? 0 : note_absent(name, &subject->no_group);
}

static int read_seat(void *target, json_object *o, const Place *place) {
        RuleSubject *subject = target;
        const char *text;

        int r = place_read_string(place, o, NAME_LENGTH_MAX, &text);
        if (r == 0 && strcmp(text, "active") != 0)
                r = place_refuse_value(place, o, "\"active\"");
        subject->needs_seat = true;
        return r;
}

static int rule_subject_read_unit(void *target, json_object *o, const Place *place) {
        RuleSubject *subject = target;
        const char *glob;

        int r = place_read_string(place, o, NAME_LENGTH_MAX, &glob);
        if (r != 0)
                return r;
        subject->unit = strdup(glob);
        return subject->unit ? 0 : -ENOMEM;
}

static int rule_subject_read_container(void *target, json_object *o, const Place *place) {
        RuleSubject *subject = target;

        return place_read_copy(place, o, NAME_LENGTH_MAX, &subject->container);
}

int rule_read_subject(void *target, json_object *o, const Place *place) {
        static const PlaceKey keys[] = {
                { "uid", read_uid },
                { "user", read_user },
                { "group", read_group },
                { "seat", read_seat },
                { "unit", rule_subject_read_unit },
                { "container", rule_subject_read_container },
        };
        Rule *rule = target;

        int r = array_grow(&rule->subjects, rule->n_subjects, sizeof(RuleSubject));
        if (r < 0)
                return r;
        RuleSubject *subject = &rule->subjects[rule->n_subjects++];
        if (json_object_is_type(o, json_type_string) &&
                        strcmp(json_object_get_string(o), "any") == 0)
                return 0;
        if (!json_object_is_type(o, json_type_object) || json_object_object_length(o) == 0)
                return place_refuse_value(place,
                                o,
                                "\"any\", or an object of uid or user, group, seat, unit, or of container, such as {\"user\": \"alice\"}");
        r = place_read_object(place, o, keys, ELEMENTSOF(keys), subject);
        if (r == 0 && subject->container && json_object_object_length(o) > 1)
                r = place_refuse(place, "container: takes no other key");
        if (r == 0 && subject->unit && !subject->has_uid)
                r = place_refuse(place, "unit: only narrows a uid or user, add one");
        return r;
}
