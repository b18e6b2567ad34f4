/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A reason that names a place of the spec names the words of the command line. */

#include <glib.h>
#include <string.h>

#include "spec/origin.h"

static const char when[] = "sched:sched_switch if nxt == 1";

static void fill(Origins *origins) {
        g_assert_cmpint(origins_add(origins, &(Origin){ .option = "--trigger" }, "triggers"),
                        ==,
                        0);
        g_assert_cmpint(origins_add_when(origins, 1, "--snapshot-on", when), ==, 0);
        g_assert_cmpint(origins_add_when(origins, 12, "--trigger", "ä:b  if  x do stop"), ==, 0);
        g_assert_cmpint(origins_add(origins,
                                        &(Origin){ .option = "--trigger",
                                                        .text = "a:b do stop times 0",
                                                        .part = "times" },
                                        "triggers[%d].count",
                                        12),
                        ==,
                        0);
        g_assert_cmpint(origins_add(origins,
                                        &(Origin){ .of_filter = true, .option = "-f", .text = "x" },
                                        "triggers[2]"),
                        ==,
                        0);
        g_assert_cmpint(origins_add(origins,
                                        &(Origin){ .option = "-e", .text = "c:d" },
                                        "triggers[2]"),
                        ==,
                        0);
        g_assert_cmpint(origins_add(origins,
                                        &(Origin){ .option = "--by", .text = "y", .shift = -3 },
                                        "args[1]"),
                        ==,
                        0);
        g_assert_cmpint(origins_add(origins,
                                        &(Origin){ .place = "events[3].triggers[0]" },
                                        "triggers[4]"),
                        ==,
                        0);
        g_assert_cmpint(origins_add(origins,
                                        &(Origin){ .option = "--size", .text = "1000" },
                                        "triggers[2].size"),
                        ==,
                        0);
}

/* What a user typed as -p 7,8 -e a:x* -f f1 -e b:y -f f2 -e b:* -f f3 --clock mono. */
static void fill_keys(Origins *origins) {
        static const Origin items[] = {
                { .path = (char *)"scope", .option = "-p", .text = "7,8", .sent = "pids:7,8" },
                { .path = (char *)"process 7", .kind = ORIGIN_PREFIX, .option = "-p" },
                { .path = (char *)"a:x*", .kind = ORIGIN_VALUE, .option = "-e", .text = "a:x*" },
                { .path = (char *)"filter", .of_event = "a:x*", .option = "-f", .text = "f1" },
                { .path = (char *)"filter", .of_event = "b:y", .option = "-f", .text = "f2" },
                { .path = (char *)"filter", .of_event = "b:*", .option = "-f", .text = "f3" },
                { .path = (char *)"filter", .of_event = "c:*", .place = "events[4].filter" },
                { .path = (char *)"clock", .option = "--clock", .text = "mono" },
                { .path = (char *)"on", .option = "--on", .text = "./p:f", .sent = "/p:0x1" },
                { .path = (char *)"no fun",
                                .kind = ORIGIN_VALUE,
                                .option = "--on",
                                .text = "no fun" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(items); i++)
                g_assert_cmpint(origins_add(origins, &items[i], "%s", items[i].path), ==, 0);
}

static void assert_named(const char *said, const char *wanted, const char *text, size_t column) {
        _cleanup_(origins_done) Origins origins = {};
        Reason reason = {};
        size_t found = 0;

        fill(&origins);
        fill_keys(&origins);
        g_strlcpy(reason.text, said, sizeof(reason.text));
        const char *place = origins_name(&origins, &reason, &found);
        g_assert_cmpstr(reason.text, ==, wanted);
        g_assert_cmpstr(place, ==, text);
        if (text)
                g_assert_cmpuint(found, ==, column);
}

static void test_words(void) {
        assert_named("triggers[1].when: \"sched\" is not one event",
                        "--snapshot-on \"sched:sched_switch if nxt == 1\": \"sched\" is not one event",
                        NULL,
                        0);
        assert_named("triggers[12].count: 0 is under",
                        "--trigger \"a:b do stop times 0\", times: 0 is under",
                        NULL,
                        0);
        assert_named("triggers: more than 8 of \"x\"", "--trigger: more than 8 of \"x\"", NULL, 0);
        assert_named("triggers[2].size: 1000 is not a power of two: write 1024",
                        "--size: 1000 is not a power of two: write 1024",
                        NULL,
                        0);
        assert_named("triggers[2].when: c:d speaks of others", "-e: c:d speaks of others", NULL, 0);
}

/* A refusal names both of two that exclude each other. */
static void test_several(void) {
        assert_named("triggers[12]: stop on ä:b excludes start of triggers[1] there",
                        "--trigger \"ä:b  if  x do stop\": stop on ä:b excludes start of "
                        "--snapshot-on \"sched:sched_switch if nxt == 1\" there",
                        NULL,
                        0);
        assert_named("triggers[1]: stop excludes start of triggers[3] there",
                        "--snapshot-on \"sched:sched_switch if nxt == 1\": stop excludes start of "
                        "triggers[3] there",
                        NULL,
                        0);
}

static void test_of_a_file(void) {
        assert_named("triggers[4].keys[1]: \"x\": the same as triggers[4].when",
                        "events[3].triggers[0].keys[1]: \"x\": the same as events[3].triggers[0].when",
                        NULL,
                        0);
        assert_named("a:b: triggers[4].when column 3: no field",
                        "a:b: events[3].triggers[0].when column 3: no field",
                        NULL,
                        0);
}

/* In what was typed, not in the filter alone. */
static void test_columns(void) {
        assert_named("sched:sched_switch: triggers[1].when column 1: no field 'nxt'",
                        "sched:sched_switch: --snapshot-on \"sched:sched_switch if nxt == 1\" column 23: "
                        "no field 'nxt'",
                        when,
                        22);
        assert_named("ä:b: triggers[12].when column 1: x",
                        "ä:b: --trigger \"ä:b  if  x do stop\" column 10: x",
                        "ä:b  if  x do stop",
                        9);
        assert_named("c:d: triggers[2].when column 1: x", "c:d: -f \"x\" column 1: x", "x", 0);
        assert_named("args[1] column 4: no field", "--by \"y\" column 1: no field", "y", 0);
        /* What stands before it is none of the user's. */
        assert_named("args[1] column 1: no field", "--by \"y\" column 1: no field", "y", 0);
}

/* A key is named where the error begins. What was made of the value is replaced by the value. */
static void test_keys(void) {
        assert_named("scope: \"pids:7,8\": expected a pid", "-p \"7,8\": expected a pid", NULL, 0);
        assert_named("scope: pid 7 twice", "-p \"7,8\": pid 7 twice", NULL, 0);
        assert_named("scope pids:7,8: no process", "-p \"7,8\": no process", NULL, 0);
        assert_named("unredacted, scope pids: no rule", "unredacted, -p \"7,8\": no rule", NULL, 0);
        assert_named("clock: mono is unknown", "--clock: mono is unknown", NULL, 0);
        assert_named("clock: cannot be set", "--clock \"mono\": cannot be set", NULL, 0);
        assert_named("probe x: on: /p:0x1: it ends", "probe x: --on \"./p:f\": it ends", NULL, 0);
}

static void test_values(void) {
        assert_named("a:x*: no such event", "-e \"a:x*\": no such event", NULL, 0);
        assert_named("probe p: \"no fun\": expected FUNCTION",
                        "probe p: --on \"no fun\": expected FUNCTION",
                        NULL,
                        0);
        assert_named("process 7 is not yours", "-p: process 7 is not yours", NULL, 0);
        assert_named("process 7 (thread 8) may", "-p: process 7 (thread 8) may", NULL, 0);
}

/* The filter of the one option that applies to the event. */
static void test_filters(void) {
        assert_named("a:xy: filter column 1: no field",
                        "a:xy: -f \"f1\" column 1: no field",
                        "f1",
                        0);
        assert_named("a:xy: filter: it speaks", "a:xy: -f \"f1\": it speaks", NULL, 0);
        assert_named("b:z: filter column 2: no field",
                        "b:z: -f \"f3\" column 2: no field",
                        "f3",
                        1);
        assert_named("b:y: filter column 2: no field", "b:y: -f column 2: no field", NULL, 0);
        assert_named("c:d: filter column 2: x", "c:d: events[4].filter column 2: x", NULL, 0);
}

static void test_others(void) {
        static const char *const texts[] = {
                "",
                "triggers[3].when: of a file",
                "triggers[11].when: of a file",
                "x.json:3:7: triggers of it",
                "sched:x: \"triggers[1]\" is a value",
                "name: more than triggers",
                "x.json:3: a word such as clock: mono",
                "b:y has no clock: none",
                "process 77 is not yours",
                "d:e: filter column 1: no option",
                "a:x*y: no such event",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
                assert_named(texts[i], texts[i], NULL, 0);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/client/origin/words", test_words);
        g_test_add_func("/client/origin/several", test_several);
        g_test_add_func("/client/origin/of-a-file", test_of_a_file);
        g_test_add_func("/client/origin/columns", test_columns);
        g_test_add_func("/client/origin/keys", test_keys);
        g_test_add_func("/client/origin/values", test_values);
        g_test_add_func("/client/origin/filters", test_filters);
        g_test_add_func("/client/origin/others", test_others);
        return g_test_run();
}
