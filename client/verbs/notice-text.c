/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints notices, one line for each: for people, or as JSON. Used by notify.c and watch.c. Texts in
 * notices come from other users and from the kernel, so control characters are replaced. */

#include "verbs/notice-text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "interfaces/cleanup.h"
#include "interfaces/json-text.h"
#include "terminal/message.h"

/* Prints local time, such as "2026-11-21 11:22:33.123456". */
static void print_time(uint64_t nsec) {
        time_t seconds = (time_t)(nsec / 1000000000);
        char text[32] = "";
        struct tm tm;

        if (localtime_r(&seconds, &tm))
                (void)strftime(text, sizeof(text), "%F %T", &tm);
        (void)printf("%s.%06u", text, (unsigned)(nsec % 1000000000 / 1000));
}

static void notice_print_value(const char *key, json_object *value) {
        _cleanup_free_ char *text = strdup(json_object_get_string(value));

        if (!text)
                return;
        message_clean(text);
        if (json_object_is_type(value, json_type_string) && strcmp(key, "reason") == 0)
                (void)printf(" %s=\"%s\"", key, text);
        else
                (void)printf(" %s=%s", key, text);
}

/* Prints text such as " cpu0=12 cpu1=3". */
static void print_cpus(json_object *cpus) {
        for (size_t i = 0; i < json_object_array_length(cpus); i++) {
                json_object *cpu = json_object_array_get_idx(cpus, i);

                (void)printf(" cpu%s=%s",
                                json_object_get_string(json_object_object_get(cpu, "cpu")),
                                json_object_get_string(json_object_object_get(cpu, "lost")));
        }
}

static void print_quoted(const char *before, json_object *value) {
        _cleanup_free_ char *text = strdup(json_object_get_string(value) ?: "");

        if (!text)
                return;
        message_clean(text);
        (void)printf("%s\"%s\"", before, text);
}

/* Prints text such as ` change="FILE" was="..." is="..."` for each change. */
static void print_changes(json_object *changes) {
        for (size_t i = 0; i < json_object_array_length(changes); i++) {
                json_object *change = json_object_array_get_idx(changes, i);

                print_quoted(" change=", json_object_object_get(change, "file"));
                print_quoted(" was=", json_object_object_get(change, "was"));
                print_quoted(" is=", json_object_object_get(change, "is"));
        }
}

/* Keys that the beginning of the line shows, or that are of no use to people. */
static bool is_of_head(const char *key) {
        static const char *const heads[] = {
                "kind",
                "session",
                "name",
                "uid",
                "sequence",
                "monotonic-nsec",
                "realtime-nsec",
                "merged",
        };

        for (size_t i = 0; i < ELEMENTSOF(heads); i++)
                if (strcmp(heads[i], key) == 0)
                        return true;
        return false;
}

static const char *notice_get_text(json_object *notice, const char *key) {
        return json_object_get_string(json_object_object_get(notice, key)) ?: "";
}

/* Prints text such as " box". Only notices of a watch have a name and a uid. */
static void print_session(json_object *notice) {
        const char *name = notice_get_text(notice, "name");

        if (!json_object_object_get(notice, "uid"))
                return;
        (void)printf(" %s", *name ? name : notice_get_text(notice, "session"));
}

/* A change of state needs no kind: its line has "state=VALUE". */
static void print_kind(json_object *notice) {
        const char *kind = notice_get_text(notice, "kind");

        if (*kind && strcmp(kind, "state") != 0)
                (void)printf(" %s", kind);
}

static uint64_t get_realtime(json_object *notice) {
        json_object *given = json_object_object_get(notice, "realtime-nsec");
        struct timespec now = {};

        (void)clock_gettime(CLOCK_REALTIME, &now);
        return given ? json_object_get_uint64(given)
                     : (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void print_text(json_object *notice) {
        uint64_t merged = json_object_get_uint64(json_object_object_get(notice, "merged"));

        print_time(get_realtime(notice));
        print_session(notice);
        print_kind(notice);
        json_object_object_foreach(notice, key, value) {
                if (is_of_head(key) || !value)
                        continue;
                if (strcmp(key, "changes") == 0)
                        print_changes(value);
                else if (json_object_is_type(value, json_type_array))
                        print_cpus(value);
                else
                        notice_print_value(key, value);
        }
        if (merged > 0)
                (void)printf(" merged=%ju", (uintmax_t)merged);
        (void)putchar('\n');
}

int notice_print(json_object *notice, bool as_json) {
        int r = 0;

        if (!as_json)
                print_text(notice);
        else {
                /* Always one line, also with --json=pretty: a reader finds the end of an object by
                 * it. */
                r = json_text_print(stdout, notice, JSON_C_TO_STRING_PLAIN);
                (void)putchar('\n');
        }
        errno = 0;
        if (r == 0 && (fflush(stdout) != 0 || ferror(stdout)))
                r = errno ? -errno : -EIO;
        return r;
}
