/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The session spec: each value's limits, each refusal's words, and that a spec survives the way to
 * JSON and back. */

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "interfaces/spec-field.h"
#include "interfaces/spec-json.h"
#include "interfaces/spec-list.h"
#include "interfaces/spec-scope.h"
#include "interfaces/spec-summary.h"
#include "interfaces/spec.h"

#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static int feed(Spec *spec, const char *text, Reason *reason) {
        _cleanup_json_ json_object *object = NULL;
        int r;

        r = json_parse_strict("SPEC", text, strlen(text), &object, reason);
        return r != 0 ? r : spec_from_json(spec, object, reason);
}

static void assert_refused(const char *text, int code, const char *message) {
        _cleanup_spec_ Spec *spec = spec_new();
        Reason reason = { "" };
        int r = feed(spec, text, &reason);

        if (r != code || strcmp(reason.text, message) != 0)
                g_error("%s: %d %s", text, r, reason.text);
}

static void assert_string(const char *key, const char *value, const char *message) {
        _cleanup_spec_ Spec *spec = spec_new();
        Reason reason = { "" };
        int r = spec_set_string(spec, key, value, &reason);

        if (message) {
                g_assert_cmpint(r, ==, KT_E_INVALID_SPEC);
                g_assert_cmpstr(reason.text, ==, message);
        } else if (r != 0)
                g_error("%s=%s: %s", key, value, reason.text);
}

static void test_table(void) {
        static const char *const keys[] = { "name",
                "mode",
                "scope",
                "events",
                "probes",
                "triggers",
                "where",
                "buffer-kb",
                "clock",
                "lifetime",
                "allow-setuid",
                "cpus",
                "stacktrace",
                "tracer",
                "functions",
                "instance",
                "locked",
                "spool",
                "compression",
                "share",
                "unredacted" };

        g_assert_cmpuint(n_spec_fields, ==, G_N_ELEMENTS(keys));
        for (size_t i = 0; i < n_spec_fields; i++) {
                const SpecField *field = &spec_fields[i];

                g_assert_cmpstr(field->name, ==, keys[i]);
                g_assert_true(spec_field_find(keys[i]) == field);
                g_assert_cmpuint(field->min, <=, field->max);
                g_assert_nonnull(strstr(field->doc, "efault"));
                g_assert_true(g_str_has_suffix(field->doc, "."));
        }
        g_assert_null(spec_field_find("pool"));
        g_assert_null(spec_field_find(""));
}

static void test_defaults(void) {
        _cleanup_spec_ Spec *spec = spec_new();

        g_assert_null(spec->name);
        g_assert_false(spec->has_scope);
        g_assert_cmpuint(spec->buffer_kb, ==, 1024);
        g_assert_cmpstr(spec->clock, ==, "mono");
        g_assert_cmpint(spec->lifetime, ==, LIFETIME_CLIENT);
        g_assert_null(spec_free(NULL));
}

static void test_unknown_keys(void) {
        static const char *const later[] = { "metrics" };

        assert_refused("{\"bufer-kb\":1}",
                        KT_E_UNKNOWN_KEY,
                        "unknown key \"bufer-kb\": did you mean \"buffer-kb\"?");
        assert_refused("{\"Name\":1}",
                        KT_E_UNKNOWN_KEY,
                        "unknown key \"Name\": did you mean \"name\"?");
        assert_refused("{\"frobnicate\":1}",
                        KT_E_UNKNOWN_KEY,
                        "unknown key \"frobnicate\": the known ones are name, mode, scope, events, "
                        "probes, triggers, where, buffer-kb, clock, lifetime, allow-setuid, cpus, stacktrace, tracer, functions, instance, locked, spool, compression, share, unredacted");
        assert_refused("{\"\":1}",
                        KT_E_UNKNOWN_KEY,
                        "unknown key \"\": the known ones are name, mode, scope, events, "
                        "probes, triggers, where, buffer-kb, clock, lifetime, allow-setuid, cpus, stacktrace, tracer, functions, instance, locked, spool, compression, share, unredacted");
        for (size_t i = 0; i < G_N_ELEMENTS(later); i++) {
                _cleanup_spec_ Spec *spec = spec_new();
                Reason reason;

                g_assert_cmpint(spec_set_string(spec, later[i], "x", &reason),
                                ==,
                                KT_E_UNKNOWN_KEY);
                g_assert_cmpint(spec_set_number(spec, later[i], 1, &reason), ==, KT_E_UNKNOWN_KEY);
                g_assert_nonnull(strstr(reason.text, later[i]));
        }
}

static void test_types(void) {
        _cleanup_spec_ Spec *spec = spec_new();
        Reason reason;

        assert_refused("{\"buffer-kb\":\"1\"}",
                        KT_E_INVALID_SPEC,
                        "buffer-kb: expected a number, got a string");
        assert_refused("{\"buffer-kb\":64.0}",
                        KT_E_INVALID_SPEC,
                        "buffer-kb: expected a number, got a number with a fraction");
        assert_refused("{\"name\":7}", KT_E_INVALID_SPEC, "name: expected a string, got a number");
        assert_refused("{\"name\":null}", KT_E_INVALID_SPEC, "name: expected a string, got null");
        assert_refused("{\"scope\":{}}",
                        KT_E_INVALID_SPEC,
                        "scope: expected a string, got an object");
        assert_refused("{\"events\":\"x\"}",
                        KT_E_INVALID_SPEC,
                        "events: expected a list, got a string");
        assert_refused("[]", KT_E_INVALID_SPEC, "session spec: expected an object, got a list");
        assert_refused("null", KT_E_INVALID_SPEC, "session spec: expected an object, got null");

        g_assert_cmpint(spec_set_number(spec, "name", 1, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text, ==, "name: expected a string, got a number");
        g_assert_cmpint(spec_set_string(spec, "events", "x", &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text, ==, "events: expected a list, got a string");
}

static void test_twice(void) {
        _cleanup_spec_ Spec *spec = spec_new();
        Reason reason;

        g_assert_cmpint(spec_set_string(spec, "clock", "local", &reason), ==, 0);
        g_assert_cmpint(spec_set_string(spec, "clock", "local", &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text, ==, "clock: given twice: give it once");
        g_assert_cmpint(spec_set_number(spec, "buffer-kb", 64, &reason), ==, 0);
        g_assert_cmpint(spec_set_number(spec, "buffer-kb", 64, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpint(spec_begin_list(spec, spec_field_find("events"), &reason), ==, 0);
        g_assert_cmpint(spec_begin_list(spec, spec_field_find("probes"), NULL), ==, 0);
        g_assert_cmpint(spec_begin_list(spec, spec_field_find("events"), &reason),
                        ==,
                        KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text, ==, "events: given twice: give it once");
        g_assert_cmpint(spec_set_string(spec, "mode", "stream", &reason), ==, 0);
        g_assert_cmpint(spec_set_string(spec, "mode", "stream", &reason), ==, KT_E_INVALID_SPEC);
}

static void test_failure_changes_nothing(void) {
        _cleanup_spec_ Spec *spec = spec_new();

        g_assert_cmpint(spec_set_string(spec, "scope", "pids:1,2,x", NULL), ==, KT_E_INVALID_SPEC);
        g_assert_cmpint(spec_set_string(spec, "clock", "A", NULL), ==, KT_E_INVALID_SPEC);
        g_assert_cmpint(spec_set_string(spec, "lifetime", "linger:0", NULL), ==, KT_E_INVALID_SPEC);
        g_assert_cmpint(spec_set_number(spec, "buffer-kb", 0, NULL), ==, KT_E_INVALID_SPEC);
        g_assert_cmpint(spec_add_event(spec, "a:b", "", NULL), ==, KT_E_INVALID_SPEC);
        g_assert_false(spec->has_scope);
        g_assert_null(spec->pids);
        g_assert_cmpstr(spec->clock, ==, "mono");
        g_assert_cmpint(spec->lifetime, ==, LIFETIME_CLIENT);
        g_assert_cmpuint(spec->buffer_kb, ==, 1024);
        g_assert_cmpuint(spec->n_events, ==, 0);

        /* A refused value does not count as given. */
        g_assert_cmpint(spec_set_string(spec, "clock", "boot", NULL), ==, 0);
        g_assert_cmpint(spec_set_number(spec, "buffer-kb", 8, NULL), ==, 0);
}

static void test_name(void) {
        assert_string("name", "a", NULL);
        assert_string("name", A64, NULL);
        assert_string("name", "A-b_c.9", NULL);
        assert_string("name", "0123456789abcde", NULL);
        assert_string("name", "0123456789abcdefg", NULL);
        assert_string("name", "...", NULL);
        assert_string("name", "", "name: \"\" is empty: leave the key out or give it a value");
        assert_string("name", A64 "b", "name: \"" A64 "...\" has 65 bytes, the maximum is 64");
        assert_string("name",
                        "a/b",
                        "name: \"a/b\" contains characters other than letters, digits, '.', "
                        "'_', '-'");
        assert_string("name",
                        "a\nb",
                        "name: \"a?b\" contains characters other than letters, digits, '.', "
                        "'_', '-'");
        assert_string("name",
                        "é",
                        "name: \"é\" contains characters other than letters, digits, '.', '_', "
                        "'-'");
        assert_string("name",
                        "..",
                        "name: \"..\" is a directory: write a name with a letter or a digit");
        assert_string("name",
                        "0123456789abcdef",
                        "name: \"0123456789abcdef\" looks like a session id: choose another");
        assert_string("name",
                        "0123456789ABCDEF",
                        "name: \"0123456789ABCDEF\" looks like a session id: choose another");
}

static void test_mode(void) {
        assert_string("mode", "stream", NULL);
        assert_string("mode", "flight", NULL);
        assert_string("mode", "Stream", "mode: \"Stream\" is not known: write stream or flight");
}

static void test_scope(void) {
        assert_string("scope", "own", NULL);
        assert_string("scope", "system", NULL);
        assert_string("scope", "command:1", NULL);
        assert_string("scope", "pids:1,4194303,2", NULL);
        assert_string("scope",
                        "command",
                        "scope: \"command\" names no process: write command:PID, or let 'ktracectl "
                        "record -- CMD' do it");
        assert_string("scope", "pids", "scope: \"pids\" names no process: write pids:PID,PID");
        assert_string("scope", "unit:ssh.service", NULL);
        assert_string("scope",
                        "user:1000",
                        "scope: \"user:1000\" is not known: write command:PID, own, "
                        "pids:PID,PID, unit:NAME, cgroup:PATH or system");
        assert_string("scope", "pids:", "scope: \"pids:\": expected a pid");
        assert_string("scope", "pids:1,", "scope: \"pids:1,\": expected a pid after ','");
        assert_string("scope", "pids:-1", "scope: \"pids:-1\": expected a pid");
        assert_string("scope", "pids:0", "scope: \"pids:0\": expected a pid from 1 to 4194303");
        assert_string("scope",
                        "pids:4194304",
                        "scope: \"pids:4194304\": expected a pid from 1 to 4194303");
        assert_string("scope",
                        "pids:18446744073709551617",
                        "scope: \"pids:18446744073709551617\": expected a pid from 1 to 4194303");
        assert_string("scope",
                        "pids:1 2",
                        "scope: \"pids:1 2\": expected pids with a ',' between them");
        assert_string("scope", "pids:7,8,7", "scope: pid 7 twice: give it once");
        assert_string("scope",
                        "command:1,2",
                        "scope: \"command:1,2\": expected one process: for more write "
                        "pids:PID,PID");
}

static void test_scope_values(void) {
        _cleanup_spec_ Spec *spec = spec_new();
        g_autoptr(GString) many = g_string_new("pids:1");
        _cleanup_free_ char *text = NULL;
        Reason reason;

        for (unsigned i = 2; i <= SPEC_PIDS_MAX; i++)
                g_string_append_printf(many, ",%u", i + 4000000);
        g_assert_cmpint(spec_set_string(spec, "scope", many->str, &reason), ==, 0);
        g_assert_true(spec->has_scope);
        g_assert_cmpint(spec->scope, ==, SCOPE_PIDS);
        g_assert_cmpuint(spec->n_pids, ==, SPEC_PIDS_MAX);
        g_assert_cmpint(spec->pids[1], ==, 4000002);
        g_assert_cmpint(spec_format_scope(spec, &text), ==, 0);
        g_assert_cmpstr(text, ==, many->str);

        g_string_append(many, ",2");
        assert_string("scope", many->str, "scope: more than 1024 pids");
        for (unsigned i = 0; i < SPEC_PIDS_MAX; i++)
                g_string_append(many, ",2");
        assert_string("scope",
                        many->str,
                        "scope: "
                        "\"pids:1,4000002,4000003,4000004,4000005,4000006,4000007,4000008,4...\" "
                        "has 10240 bytes, the maximum is 8200");
}

static void assert_group(const char *value, SpecScope scope, const char *group) {
        _cleanup_spec_ Spec *spec = spec_new();
        _cleanup_free_ char *text = NULL;

        g_assert_cmpint(spec_set_string(spec, "scope", value, NULL), ==, 0);
        g_assert_cmpint(spec->scope, ==, scope);
        g_assert_cmpstr(spec->group, ==, group);
        g_assert_cmpint(spec_format_scope(spec, &text), ==, 0);
        g_assert_cmpstr(text, ==, value);
}

static void test_scope_unit(void) {
        g_autofree char *longest = g_strdup_printf("unit:%0247d.service", 1),
                        *longer = g_strdup_printf("unit:%0248d.service", 1);

        assert_group("unit:a@b\\x2dc.service", SCOPE_UNIT, "a@b\\x2dc.service");
        assert_group("unit:session-3.scope", SCOPE_UNIT, "session-3.scope");
        assert_group(longest, SCOPE_UNIT, longest + strlen("unit:"));
        assert_string("scope",
                        "unit",
                        "scope: \"unit\" has no name: write unit:NAME or cgroup:PATH");
        static const char *const nameless[] = {
                "unit:", "unit:ssh", "unit:.service", "unit:a.target"
        };
        for (size_t i = 0; i < G_N_ELEMENTS(nameless); i++) {
                g_autofree char *text = g_strdup_printf(
                                "scope: \"%s\" names no unit with processes: write unit:NAME.service "
                                "(or .scope, .slice, .socket, .mount, .swap), at most 255 bytes",
                                nameless[i]);

                assert_string("scope", nameless[i], text);
        }
        g_autofree char *too_long = g_strdup_printf(
                        "scope: \"%.64s...\" names no unit with processes: write unit:NAME.service (or "
                        ".scope, .slice, .socket, .mount, .swap), at most 255 bytes",
                        longer);
        assert_string("scope", longer, too_long);
        assert_string("scope",
                        "unit:../a.service",
                        "scope: \"unit:../a.service\": a unit's name holds only letters, digits and "
                        "':', '-', '_', '.', '\\', '@'");
}

static void test_scope_cgroup(void) {
        static const char *const outside[] = { "cgroup:",
                "cgroup:a",
                "cgroup:/",
                "cgroup:/sys/fs/cgroup/a" },
                                 *const crooked[] = { "cgroup://a",
                                         "cgroup:/a/",
                                         "cgroup:/a//b",
                                         "cgroup:/../a",
                                         "cgroup:/a/..",
                                         "cgroup:/.",
                                         "cgroup:/a/./b" };

        assert_group("cgroup:/a.slice/b.service", SCOPE_CGROUP, "/a.slice/b.service");
        assert_group("cgroup:/a b/...", SCOPE_CGROUP, "/a b/...");
        assert_string("scope",
                        "cgroup",
                        "scope: \"cgroup\" has no name: write unit:NAME or cgroup:PATH");
        for (size_t i = 0; i < G_N_ELEMENTS(outside); i++) {
                g_autofree char *text = g_strdup_printf(
                                "scope: \"%s\": write the path as /proc/PID/cgroup shows it "
                                "after '0::', such as cgroup:/system.slice/x.service",
                                outside[i]);

                assert_string("scope", outside[i], text);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(crooked); i++) {
                g_autofree char *text = g_strdup_printf(
                                "scope: \"%s\": the path contains an empty part, '.' or '..': "
                                "write the path as /proc/PID/cgroup shows it after '0::', such "
                                "as cgroup:/system.slice/x.service",
                                crooked[i]);

                assert_string("scope", crooked[i], text);
        }
        assert_string("scope",
                        "cgroup:/a\nb",
                        "scope: \"cgroup:/a?b\": byte 3 of the path is not printable");
}

static void test_scope_names(void) {
        g_assert_cmpstr(spec_scope_to_string(SCOPE_COMMAND), ==, "command");
        g_assert_cmpstr(spec_scope_to_string(SCOPE_OWN), ==, "own");
        g_assert_cmpstr(spec_scope_to_string(SCOPE_PIDS), ==, "pids");
        g_assert_cmpstr(spec_scope_to_string(SCOPE_UNIT), ==, "unit");
        g_assert_cmpstr(spec_scope_to_string(SCOPE_CGROUP), ==, "cgroup");
        g_assert_cmpstr(spec_scope_to_string(SCOPE_SYSTEM), ==, "system");
}

static void test_clock(void) {
        assert_string("clock", "x86-tsc", NULL);
        assert_string("clock", "mono_raw", NULL);
        assert_string("clock",
                        "[mono]",
                        "clock: \"[mono]\" contains characters other than a-z, 0-9, '_', '-': "
                        "write a name of the kernel's trace_clock, such as mono");
        assert_string("clock",
                        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                        "clock: \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\" has 33 bytes, the maximum is "
                        "32");
}

static void test_lifetime(void) {
        static const struct {
                const char *text;
                SpecLifetime lifetime;
                uint64_t usec;
        } good[] = {
                { "client", LIFETIME_CLIENT, 0 },
                { "linger", LIFETIME_LINGER, 0 },
                { "linger:30", LIFETIME_LINGER, 30000000 },
                { "linger:500ms", LIFETIME_LINGER, 500000 },
                { "linger:5min", LIFETIME_LINGER, 300000000 },
                { "linger:7d", LIFETIME_LINGER, SPEC_LINGER_MAX_USEC },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
                _cleanup_spec_ Spec *spec = spec_new();

                g_assert_cmpint(spec_set_string(spec, "lifetime", good[i].text, NULL), ==, 0);
                g_assert_cmpint(spec->lifetime, ==, good[i].lifetime);
                g_assert_cmpuint(spec->linger_usec, ==, good[i].usec);
        }
        assert_string("lifetime",
                        "unit:x",
                        "lifetime: \"unit:x\" names no unit with processes: write unit:NAME.service (or "
                        ".scope, .slice, .socket, .mount, .swap), at most 255 bytes");
        assert_string("lifetime",
                        "unit:../x.service",
                        "lifetime: \"unit:../x.service\": a unit's name holds only letters, digits and "
                        "':', '-', '_', '.', '\\', '@'");
        assert_string("lifetime",
                        "client:5s",
                        "lifetime: \"client:5s\" is not known: write client, linger, "
                        "linger:TIME or unit:NAME");
        assert_string("lifetime",
                        "linger:",
                        "lifetime: \"linger:\" has no time: write linger:30s, with us, ms, s, "
                        "min, h or d");
        assert_string("lifetime",
                        "linger:soon",
                        "lifetime: \"linger:soon\" has no time: write linger:30s, with us, "
                        "ms, s, min, h or d");
        assert_string("lifetime",
                        "linger:0",
                        "lifetime: \"linger:0\": expected a time above 0 and up to 7d: write "
                        "linger for no end");
        assert_string("lifetime",
                        "linger:604800001ms",
                        "lifetime: \"linger:604800001ms\": expected a time above 0 and up to 7d: "
                        "write linger for no end");
        assert_string("lifetime",
                        "linger:99999999999999999999d",
                        "lifetime: \"linger:99999999999999999999d\": expected a time above 0 "
                        "and up to 7d: write linger for no end");
}

/* It comes back as it was given, also the longest. */
static void test_lifetime_unit(void) {
        char name[SPEC_UNIT_MAX + 1], text[SPEC_UNIT_MAX + 8];
        _cleanup_spec_ Spec *spec = spec_new(), *again = spec_new();
        _cleanup_json_ json_object *object = NULL;

        memset(name, 'u', SPEC_UNIT_MAX);
        strcpy(name + SPEC_UNIT_MAX - strlen(".service"), ".service");
        (void)snprintf(text, sizeof(text), "unit:%s", name);
        g_assert_cmpint(spec_set_string(spec, "lifetime", text, NULL), ==, 0);
        g_assert_cmpint(spec->lifetime, ==, LIFETIME_UNIT);
        g_assert_cmpint(spec_to_json(spec, &object), ==, 0);
        g_assert_cmpint(spec_from_json(again, object, NULL), ==, 0);
        g_assert_cmpstr(again->lifetime_unit, ==, name);
}

static void test_buffer(void) {
        _cleanup_spec_ Spec *spec = spec_new();

        assert_refused("{\"buffer-kb\":0}",
                        KT_E_INVALID_SPEC,
                        "buffer-kb: 0 is less than the minimum of 8");
        assert_refused("{\"buffer-kb\":7}",
                        KT_E_INVALID_SPEC,
                        "buffer-kb: 7 is less than the minimum of 8");
        assert_refused("{\"buffer-kb\":-5}",
                        KT_E_INVALID_SPEC,
                        "buffer-kb: -5 is less than the minimum of 8");
        assert_refused("{\"buffer-kb\":1048577}",
                        KT_E_INVALID_SPEC,
                        "buffer-kb: 1048577 is more than the maximum of 1048576");
        assert_refused("{\"buffer-kb\":10737418240}",
                        KT_E_INVALID_SPEC,
                        "buffer-kb: 10737418240 is more than the maximum of 1048576");
        assert_refused("{\"buffer-kb\":18446744073709551615}",
                        KT_E_INVALID_SPEC,
                        "buffer-kb: 18446744073709551615 is more than the maximum of 1048576");
        g_assert_cmpint(feed(spec, "{\"buffer-kb\":1048576}", NULL), ==, 0);
        g_assert_cmpuint(spec->buffer_kb, ==, 1048576);
}

static void test_event_names(void) {
        static const char *const good[] = { "a",
                "a:b",
                "*",
                "*:*",
                "sched:sched_*",
                "[a-z]?:x",
                "s[!a]*:[^b]",
                "9p:9p_x",
                "a.b:c-d" };
        static const char list[] = ": write system:event, as 'ktracectl events' lists them";

        static const struct {
                const char *name, *what;
        } bad[] = {
                { "", "\"\" names no event" },
                { ":", "\":\" names no event" },
                { "a:", "\"a:\" names no event" },
                { ":b", "\":b\" names no event" },
                { "..", "\"..\" names no event" },
                { "..:b", "\"..:b\" names no event" },
                { "a:.", "\"a:.\" names no event" },
                { "a:b:c", "\"a:b:c\" contains more than one ':'" },
                { "a/b", "\"a/b\" contains '/'" },
                { "../../x", "\"../../x\" contains '/'" },
                { "a b", "\"a b\" contains ' '" },
                { "a\nb", "\"a?b\" contains '?'" },
                { "é", "\"é\" contains 'é'" },
        };

        _cleanup_spec_ Spec *spec = spec_new();
        Reason reason;

        for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
                g_assert_cmpint(spec_add_event(spec, good[i], NULL, &reason), ==, 0);
                g_assert_cmpstr(spec->events[i].name, ==, good[i]);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                g_autofree char *message = g_strdup_printf(
                                "events[%zu].name: %s%s", G_N_ELEMENTS(good), bad[i].what, list);

                g_assert_cmpint(spec_add_event(spec, bad[i].name, NULL, &reason),
                                ==,
                                KT_E_INVALID_SPEC);
                g_assert_cmpstr(reason.text, ==, message);
        }
        g_assert_cmpuint(spec->n_events, ==, G_N_ELEMENTS(good));
}

static void test_event_limits(void) {
        _cleanup_spec_ Spec *spec = spec_new();
        g_autofree char *name = g_strnfill(SPEC_EVENT_NAME_MAX, 'a');
        g_autofree char *long_name = g_strnfill(SPEC_EVENT_NAME_MAX + 1, 'a');
        g_autofree char *filter = g_strnfill(SPEC_FILTER_MAX, 'f');
        g_autofree char *long_filter = g_strnfill(SPEC_FILTER_MAX + 1, 'f');
        Reason reason;

        g_assert_cmpint(spec_add_event(spec, name, filter, &reason), ==, 0);
        g_assert_cmpstr(spec->events[0].filter, ==, filter);
        g_assert_cmpint(spec_add_event(spec, long_name, NULL, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text,
                        ==,
                        "events[1].name: \"" A64 "...\" has 257 bytes, the maximum is 256");
        g_assert_cmpint(spec_add_event(spec, "a:b", long_filter, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_true(g_str_has_suffix(reason.text, "has 2049 bytes, the maximum is 2048"));

        while (spec->n_events < SPEC_EVENTS_MAX)
                g_assert_cmpint(spec_add_event(spec, "a:b", NULL, &reason), ==, 0);
        g_assert_cmpint(spec_add_event(spec, "a:b", NULL, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text, ==, "events: more than 4096 entries: use globs");
}

static void test_filters(void) {
        _cleanup_spec_ Spec *spec = spec_new();
        Reason reason;

        g_assert_cmpint(spec_add_event(spec, "a:b", "comm == \"é\" && (x > 1", &reason), ==, 0);
        g_assert_cmpint(spec_add_event(spec, "a:b", " ", &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text,
                        ==,
                        "events[1].filter: \"\" is empty: leave the key out for none");
        g_assert_cmpint(spec_add_event(spec, "a:b", "x\n0", &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text,
                        ==,
                        "events[1].filter: \"x?0\": byte 2 is not printable: write the filter "
                        "on one line of text");
        g_assert_cmpint(spec_add_event(spec, "a:b", "\xff", &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpint(spec_add_event(spec, "a:b", "\x7f", &reason), ==, KT_E_INVALID_SPEC);
}

static void test_events_as_json(void) {
        _cleanup_spec_ Spec *spec = spec_new();

        g_assert_cmpint(feed(spec,
                                        "{\"events\":[\"a:b\",{\"name\":\"c\"},"
                                        "{\"filter\":\"x\",\"name\":\"d\"}]}",
                                        NULL),
                        ==,
                        0);
        g_assert_cmpuint(spec->n_events, ==, 3);
        g_assert_cmpstr(spec->events[1].name, ==, "c");
        g_assert_null(spec->events[1].filter);
        g_assert_cmpstr(spec->events[2].filter, ==, "x");

        assert_refused("{\"events\":[\"a\",7]}",
                        KT_E_INVALID_SPEC,
                        "events[1]: expected a string or an object, got a number");
        assert_refused("{\"events\":[{\"name\":\"a\",\"fields\":[]}]}",
                        KT_E_UNKNOWN_KEY,
                        "events[0]: unknown key \"fields\": the known ones are name, filter, "
                        "enabled, triggers");
        assert_refused("{\"events\":[{\"name\":7}]}",
                        KT_E_INVALID_SPEC,
                        "events[0].name: expected a string, got a number");
        assert_refused("{\"events\":[\"a\",{\"filter\":\"x\"}]}",
                        KT_E_INVALID_SPEC,
                        "events[1].name: missing: write system:event, as 'ktracectl events' "
                        "lists them");
        assert_refused("{\"events\":[\"a\",\"b\",\"c\",\"a/b\"]}",
                        KT_E_INVALID_SPEC,
                        "events[3].name: \"a/b\" contains '/': write system:event, as 'ktracectl "
                        "events' lists them");
}

static void test_complete(void) {
        _cleanup_spec_ Spec *spec = spec_new();
        Reason reason;

        g_assert_cmpint(feed(spec, "{\"events\":[]}", NULL), ==, 0);
        g_assert_cmpint(spec_complete(spec, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text,
                        ==,
                        "scope: missing: write command:PID, own, pids:PID,PID, unit:NAME, "
                        "cgroup:PATH or system");
        g_assert_cmpint(spec_set_string(spec, "scope", "own", NULL), ==, 0);
        g_assert_cmpint(spec_complete(spec, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text,
                        ==,
                        "events: none given: name at least one, as 'ktracectl events' lists them");
        g_assert_cmpint(spec_add_event(spec, "a:b", NULL, NULL), ==, 0);
        g_assert_cmpint(spec_complete(spec, &reason), ==, 0);
}

static void test_kernel_keys(void) {
        static const char *const good[] = { "0", "0-3,5", "7,7,1", "8191", "0-8191" };
        static const char *const bad[] = { "0-99999",
                "8192",
                "-1",
                "1-",
                "1,,2",
                "1,",
                "a",
                "0 1",
                "0x1",
                "18446744073709551616",
                "0-1-2" };
        static const char *const functions[] = {
                "", "schedule:traceoff", "!vfs_read", "a b", "a/b", "12", "a\n", "#x"
        };
        _cleanup_spec_ Spec *spec = spec_new();
        Reason reason;

        for (size_t i = 0; i < G_N_ELEMENTS(good); i++)
                assert_string("cpus", good[i], NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                _cleanup_spec_ Spec *other = spec_new();

                g_assert_cmpint(spec_set_string(other, "cpus", bad[i], &reason),
                                ==,
                                KT_E_INVALID_SPEC);
                g_assert_true(g_str_has_prefix(reason.text, "cpus: "));
                g_assert_null(other->cpus);
        }
        assert_string("cpus", "3-1", "cpus: 3-1 runs backwards: write 1-3");
        assert_string("tracer",
                        "wakeup",
                        "tracer: \"wakeup\" is not known: write nop, function or function_graph");
        for (size_t i = 0; i < G_N_ELEMENTS(functions); i++)
                g_assert_cmpint(spec_add_name(spec, NULL, functions[i], &reason),
                                ==,
                                KT_E_INVALID_SPEC);
        for (size_t i = 0; i < SPEC_FUNCTIONS_MAX; i++)
                g_assert_cmpint(spec_add_name(spec, NULL, "vfs_*", &reason), ==, 0);
        g_assert_cmpint(spec_add_name(spec, NULL, "vfs_*", &reason), ==, KT_E_INVALID_SPEC);
        g_assert_nonnull(strstr(reason.text, "more than 256"));
}

/* A tracer is never unfiltered by accident. */
static void test_tracer_wants_functions(void) {
        static const struct {
                const char *json, *refused;
        } cases[] = {
                { "{\"scope\":\"system\",\"tracer\":\"function\"}", "functions: missing" },
                { "{\"scope\":\"system\",\"tracer\":\"function\",\"functions\":[]}",
                                "functions: missing" },
                { "{\"scope\":\"system\",\"functions\":[\"*\"],\"events\":[\"a:b\"]}",
                                "functions: require a tracer" },
                { "{\"scope\":\"own\",\"tracer\":\"function\",\"functions\":[\"*\"]}",
                                "tracer: records functions of every process" },
                { "{\"scope\":\"system\",\"tracer\":\"function\",\"functions\":[\"*\"]}", NULL },
                { "{\"scope\":\"own\",\"tracer\":\"nop\",\"events\":[\"a:b\"]}", NULL },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                _cleanup_spec_ Spec *spec = spec_new();
                Reason reason = {};

                g_assert_cmpint(feed(spec, cases[i].json, &reason), ==, 0);
                int r = spec_complete(spec, &reason);
                g_assert_cmpint(r, ==, cases[i].refused ? KT_E_INVALID_SPEC : 0);
                if (cases[i].refused)
                        g_assert_true(g_str_has_prefix(reason.text, cases[i].refused));
        }
        assert_refused("{\"functions\":[7]}",
                        KT_E_INVALID_SPEC,
                        "functions: expected a list of strings, got a number");
        assert_refused("{\"functions\":\"a\"}",
                        KT_E_INVALID_SPEC,
                        "functions: expected a list of strings, got a string");
}

/* Every refusal must leave its remedy readable, however long the values are. */
/* Polkit's rules and the journal see each way to learn something, whatever events stand before. */
static void test_summary(void) {
        _cleanup_spec_ Spec *spec = spec_new();
        Reason reason = { "" }, text = { "sched:sched_switch" };

        g_assert_cmpint(feed(spec, "{\"scope\": \"system\"}", &reason), ==, 0);
        spec_summarize_rest(spec, &text);
        g_assert_cmpstr(text.text, ==, "sched:sched_switch");
        spec_free(spec);
        spec = spec_new();
        g_assert_cmpint(feed(spec,
                                        "{\"scope\": \"system\", \"events\": [\"sched:sched_switch\"], "
                                        "\"probes\": [\"reads\"], \"stacktrace\": true, "
                                        "\"tracer\": \"function\", \"functions\": [\"vfs_*\", \"do_*\"], "
                                        "\"triggers\": [{\"when\": \"net:netif_rx\", \"do\": \"hist\", "
                                        "\"keys\": [\"len\"]}]}",
                                        &reason),
                        ==,
                        0);
        spec_summarize_rest(spec, &text);
        g_assert_cmpstr(text.text,
                        ==,
                        "sched:sched_switch, probe reads, trigger on net:netif_rx, "
                        "calls of vfs_* and 1 more with stacks of the kernel");
        memset(text.text, 'a', sizeof(text.text) - 1);
        spec_summarize_rest(spec, &text);
        g_assert_true(g_str_has_suffix(text.text,
                        "a, probe reads, trigger on net:netif_rx, calls of vfs_* and 1 more with "
                        "stacks of the kernel"));
}

static void test_reasons_hold_the_remedy(void) {
        g_autofree char *name = g_strnfill(256, '/');
        g_autofree char *scope = g_strnfill(8000, 'x');
        _cleanup_spec_ Spec *spec = spec_new();
        Reason reason;

        g_assert_cmpint(spec_add_event(spec, name, NULL, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_true(g_str_has_suffix(reason.text, "as 'ktracectl events' lists them"));
        g_assert_cmpint(spec_set_string(spec, "scope", scope, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_true(g_str_has_suffix(reason.text, "cgroup:PATH or system"));
        g_assert_cmpint(spec_set_string(spec, scope, "x", &reason), ==, KT_E_UNKNOWN_KEY);
        g_assert_true(g_str_has_suffix(reason.text, "unredacted"));
}

static char *print(const Spec *spec) {
        _cleanup_json_ json_object *object = NULL;

        g_assert_cmpint(spec_to_json(spec, &object), ==, 0);
        return strdup(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
}

static void assert_survives(const Spec *spec) {
        _cleanup_spec_ Spec *again = spec_new();
        _cleanup_free_ char *first = print(spec), *second = NULL;
        Reason reason;

        if (feed(again, first, &reason) != 0)
                g_error("%s: %s", first, reason.text);
        second = print(again);
        g_assert_cmpstr(first, ==, second);
        g_assert_cmpint(again->has_scope, ==, spec->has_scope);
        g_assert_cmpuint(again->linger_usec, ==, spec->linger_usec);
        g_assert_cmpuint(again->n_events, ==, spec->n_events);
        g_assert_cmpuint(again->n_pids, ==, spec->n_pids);
}

static void test_where(void) {
        _cleanup_spec_ Spec *spec = spec_new();

        g_assert_null(spec->where);
        g_assert_cmpint(feed(spec, "{\"where\":\"pid == 1\"}", NULL), ==, 0);
        g_assert_cmpstr(spec->where, ==, "pid == 1");
        assert_refused("{\"where\":\" \"}",
                        KT_E_INVALID_SPEC,
                        "where: \"\" is empty: leave the key out for none");
        assert_refused("{\"where\":\"x\\n\"}",
                        KT_E_INVALID_SPEC,
                        "where: \"x?\": byte 2 is not printable: write the filter on one line of "
                        "text");
        assert_refused("{\"where\":[]}", KT_E_INVALID_SPEC, "where: expected a string, got a list");
}

static void test_both_ways(void) {
        static const char *const texts[] = {
                "{\"mode\":\"stream\",\"events\":[],\"buffer-kb\":1024,\"clock\":\"mono\",\"lifetime\":\"client\"}",
                "{\"name\":\"n\",\"mode\":\"stream\",\"scope\":\"pids:7,8\",\"events\":[{\"name\":\"a:*\",\"filter\":\"x "
                "== "
                "\\\"é\\\"\"},{\"name\":\"b\"}],\"where\":\"y\",\"buffer-kb\":8,\"clock\":\"x86-tsc\",\"lifetime\":\"linger:90s\"}",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
                _cleanup_spec_ Spec *spec = spec_new();
                _cleanup_free_ char *printed = NULL;

                g_assert_cmpint(feed(spec, texts[i], NULL), ==, 0);
                printed = print(spec);
                g_assert_cmpstr(printed, ==, texts[i]);
                assert_survives(spec);
        }
}

/* Objects from good and bad pieces: never a crash, and what is taken survives the way to JSON. */
static void test_any_object(void) {
        static const char *const keys[] = { "name",
                "mode",
                "scope",
                "events",
                "where",
                "buffer-kb",
                "clock",
                "lifetime",
                "nam",
                "é" };
        static const char *const values[] = { "\"stream\"",
                "\"own\"",
                "\"pids:1,2\"",
                "\"command:3\"",
                "\"linger:1500us\"",
                "\"linger\"",
                "\"mono\"",
                "8",
                "64",
                "-1",
                "1e3",
                "null",
                "[]",
                "[\"a:b\"]",
                "{}",
                "[{\"name\":\"a\",\"filter\":\"x\"},\"b\"]",
                "[{\"name\":null}]",
                "[[]]",
                "\"\"",
                "\"\\u0001\"",
                "\"pids:99999999999\"",
                "true" };
        unsigned n_good = 0;

        for (unsigned i = 0; i < 30000; i++) {
                g_autoptr(GString) text = g_string_new("{");
                _cleanup_spec_ Spec *spec = spec_new();
                int n_keys = g_test_rand_int_range(0, 4);
                Reason reason = { "" };

                for (int k = 0; k < n_keys; k++)
                        g_string_append_printf(text,
                                        "%s\"%s\":%s",
                                        k ? "," : "",
                                        keys[g_test_rand_int_range(0, G_N_ELEMENTS(keys))],
                                        values[g_test_rand_int_range(0, G_N_ELEMENTS(values))]);
                g_string_append_c(text, '}');
                if (feed(spec, text->str, &reason) == 0) {
                        assert_survives(spec);
                        n_good++;
                } else
                        g_assert_cmpuint(strlen(reason.text), >, 0);
        }
        g_assert_cmpuint(n_good, >, 1000);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/spec/table", test_table);
        g_test_add_func("/spec/defaults", test_defaults);
        g_test_add_func("/spec/unknown-keys", test_unknown_keys);
        g_test_add_func("/spec/types", test_types);
        g_test_add_func("/spec/twice", test_twice);
        g_test_add_func("/spec/failure-changes-nothing", test_failure_changes_nothing);
        g_test_add_func("/spec/name", test_name);
        g_test_add_func("/spec/mode", test_mode);
        g_test_add_func("/spec/scope", test_scope);
        g_test_add_func("/spec/scope-values", test_scope_values);
        g_test_add_func("/spec/scope-names", test_scope_names);
        g_test_add_func("/spec/scope-unit", test_scope_unit);
        g_test_add_func("/spec/scope-cgroup", test_scope_cgroup);
        g_test_add_func("/spec/clock", test_clock);
        g_test_add_func("/spec/lifetime", test_lifetime);
        g_test_add_func("/spec/lifetime-unit", test_lifetime_unit);
        g_test_add_func("/spec/buffer", test_buffer);
        g_test_add_func("/spec/event-names", test_event_names);
        g_test_add_func("/spec/event-limits", test_event_limits);
        g_test_add_func("/spec/filters", test_filters);
        g_test_add_func("/spec/where", test_where);
        g_test_add_func("/spec/events-as-json", test_events_as_json);
        g_test_add_func("/spec/complete", test_complete);
        g_test_add_func("/spec/kernel-keys", test_kernel_keys);
        g_test_add_func("/spec/a-tracer-wants-functions", test_tracer_wants_functions);
        g_test_add_func("/spec/summary", test_summary);
        g_test_add_func("/spec/reasons-hold-the-remedy", test_reasons_hold_the_remedy);
        g_test_add_func("/spec/both-ways", test_both_ways);
        g_test_add_func("/spec/any-object", test_any_object);
        return g_test_run();
}
