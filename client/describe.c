/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One session for a reader: Describe and GetStatistics in one object, used by `show` and `status`.
 * Owns nothing. */

#include "describe.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "administrator.h"
#include "table.h"

static json_object *get(json_object *object, const char *key) {
        return json_object_object_get(object, key);
}

static uint64_t number(json_object *object, const char *key) {
        return json_object_get_uint64(get(object, key));
}

/* "sched:*  (where pid == 1)", one for each requested event. */
static int describe_spec(json_object *session, json_object *spec) {
        static const char *const keys[] = { "scope",
                "where",
                "buffer-kb",
                "clock",
                "lifetime",
                "tracer",
                "functions",
                "stacktrace",
                "instance",
                "locked" };
        json_object *events = get(spec, "events"), *wanted = json_object_new_array();
        size_t n = json_object_is_type(events, json_type_array) ? json_object_array_length(events)
                                                                : 0;

        if (!wanted || json_object_object_add(session, "wanted", wanted) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (get(spec, keys[i]))
                        (void)json_object_object_add(
                                        session, keys[i], json_object_get(get(spec, keys[i])));
        if (get(spec, "cpus"))
                (void)json_object_object_add(
                                session, "recorded-cpus", json_object_get(get(spec, "cpus")));
        for (size_t i = 0; i < n; i++) {
                json_object *event = json_object_array_get_idx(events, i);
                const char *filter = json_object_get_string(get(event, "filter"));
                _cleanup_free_ char *text = NULL;

                if (asprintf(&text,
                                    "%s%s%s%s",
                                    json_object_get_string(get(event, "name")),
                                    filter ? "  (where " : "",
                                    filter ?: "",
                                    filter ? ")" : "") < 0)
                        return -ENOMEM;
                (void)json_object_array_add(wanted, json_object_new_string(text));
        }
        return 0;
}

/* "calls: raw_syscalls:sys_enter by id, common_pid" */
static int describe_histograms(json_object *session) {
        json_object *list = get(session, "histograms"), *lines = json_object_new_array();
        size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;

        if (!lines)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                json_object *hist = json_object_array_get_idx(list, i), *keys = get(hist, "keys");
                size_t n_keys = json_object_is_type(keys, json_type_array)
                                                ? json_object_array_length(keys)
                                                : 0;
                char text[700];
                int size = snprintf(text,
                                sizeof(text),
                                "%s: %s by",
                                json_object_get_string(get(hist, "name")),
                                json_object_get_string(get(hist, "event")));

                for (size_t k = 0; k < n_keys && size > 0 && (size_t)size < sizeof(text); k++)
                        size += snprintf(text + size,
                                        sizeof(text) - (size_t)size,
                                        "%s %s",
                                        k > 0 ? "," : "",
                                        json_object_get_string(json_object_array_get_idx(keys, k)));
                (void)json_object_array_add(lines, json_object_new_string(text));
        }
        return json_object_object_add(session, "histograms", lines) < 0 ? -ENOMEM : 0;
}

/* "raw_syscalls:sys_enter closed", one for each event that triggers turn on and off. */
static int describe_windows(json_object *session) {
        json_object *windows = get(session, "windows"), *lines = json_object_new_array();
        size_t n = json_object_is_type(windows, json_type_array) ? json_object_array_length(windows)
                                                                 : 0;

        if (!lines)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                json_object *window = json_object_array_get_idx(windows, i);
                const char *event = json_object_get_string(get(window, "event"));
                char text[300];

                (void)snprintf(text,
                                sizeof(text),
                                "%s %s",
                                event && *event ? event : "all events",
                                json_object_get_boolean(get(window, "open")) ? "open" : "closed");
                (void)json_object_array_add(lines, json_object_new_string(text));
        }
        return json_object_object_add(session, "windows", lines) < 0 ? -ENOMEM : 0;
}

static void describe_counts(json_object *session, json_object *statistics) {
        char events[TABLE_NUMBER_MAX], lost[TABLE_NUMBER_MAX], bytes[TABLE_NUMBER_MAX],
                        discarded[TABLE_NUMBER_MAX], text[160];

        (void)snprintf(text,
                        sizeof(text),
                        "%s recorded, %s lost",
                        table_format_number(events, number(statistics, "recorded")),
                        table_format_number(lost, number(statistics, "lost")));
        (void)json_object_object_add(session, "counts", json_object_new_string(text));
        (void)snprintf(text,
                        sizeof(text),
                        "%s written, %s discarded",
                        table_format_bytes(bytes, number(statistics, "written-bytes")),
                        table_format_bytes(discarded, number(statistics, "discarded-bytes")));
        (void)json_object_object_add(session, "stream", json_object_new_string(text));
}

/* "cpu 0: 1,200 recorded, 1,000 read, 0 dropped, 0 overwritten, 200 kept (14 kB, 1.25 s back)" */
static int describe_cpu(json_object *lines, json_object *cpu) {
        char n[4][TABLE_NUMBER_MAX], entries[TABLE_NUMBER_MAX], bytes[TABLE_NUMBER_MAX],
                        back[40] = "";
        uint64_t now = number(cpu, "now-nsec"), oldest = number(cpu, "oldest-nsec");
        char text[256];

        if (now > oldest)
                (void)snprintf(back, sizeof(back), ", %.3f s back", (double)(now - oldest) / 1e9);
        (void)snprintf(text,
                        sizeof(text),
                        "cpu %" PRIu64
                        ": %s recorded, %s read, %s dropped, %s overwritten, %s kept (%s%s)",
                        number(cpu, "cpu"),
                        table_format_number(n[0], number(cpu, "recorded")),
                        table_format_number(n[1], number(cpu, "read")),
                        table_format_number(n[2], number(cpu, "dropped")),
                        table_format_number(n[3], number(cpu, "overwritten")),
                        table_format_number(entries, number(cpu, "entries")),
                        table_format_bytes(bytes, number(cpu, "bytes")),
                        back);
        return json_object_array_add(lines, json_object_new_string(text));
}

/* CPUs that never had anything are not shown: kernels count those that could be plugged in. */
static int describe_cpus(json_object *session, json_object *statistics) {
        json_object *cpus = get(statistics, "cpus"), *lines = json_object_new_array();
        size_t n = json_object_is_type(cpus, json_type_array) ? json_object_array_length(cpus) : 0;

        if (!lines || json_object_object_add(session, "cpus", lines) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                json_object *cpu = json_object_array_get_idx(cpus, i);

                if (number(cpu, "recorded") + number(cpu, "lost") > 0 &&
                                describe_cpu(lines, cpu) < 0)
                        return -ENOMEM;
        }
        return 0;
}

/* What the session takes of other people's time. */
static int describe_cost(json_object *session, json_object *statistics) {
        uint64_t usec = number(statistics, "cost-usec"), nsec = number(statistics, "hit-cost-nsec");
        json_object *events = get(session, "events");
        char text[160];
        int n = snprintf(text,
                        sizeof(text),
                        "about %" PRIu64 ".%" PRIu64 " ms of those it records",
                        usec / 1000,
                        usec % 1000 / 100);

        if (nsec > 0 && json_object_is_type(events, json_type_array))
                (void)snprintf(text + n,
                                sizeof(text) - (size_t)n,
                                ", and up to %" PRIu64
                                " ns of everybody's for each hit of its %zu events",
                                nsec,
                                json_object_array_length(events));
        return json_object_object_add(session, "cost", json_object_new_string(text));
}

static int describe_print(json_object *session, json_object *statistics, bool whole) {
        static const TableColumn columns[] = {
                { "id", "Session", false },
                { "name", "Name", false },
                { "state", "State", false },
                { "uid", "Owner", false },
                { "scope", "Scope", false },
                { "counts", "Events", false },
                { "stream", "Stream", false },
                { "cpus", "CPUs", false },
                { "off", "Turned off", false },
                { "windows", "Windows", false },
                { "histograms", "Histograms", false },
                { "cost", "Costs", false },
                /* From here on only `show`. */
                { "lifetime", "Lifetime", false },
                { "where", "Where", false },
                { "buffer-kb", "Buffer (kB/CPU)", false },
                { "clock", "Clock", false },
                { "recorded-cpus", "Recorded CPUs", false },
                { "instance", "Instance", false },
                { "tracer", "Tracer", false },
                { "functions", "Functions", false },
                { "stacktrace", "Stacks", false },
                { "locked", "Locked", false },
                { "rule", "Policy rule", false },
                { "notes", "Notes", false },
                { "wanted", "Asked for", false },
                { "events", "Granted", false },
        };
        int r = describe_spec(session, get(session, "spec"));

        if (r < 0)
                return r;
        describe_counts(session, statistics);
        if (describe_windows(session) < 0 || describe_histograms(session) < 0 ||
                        describe_cpus(session, statistics) < 0 ||
                        describe_cost(session, statistics) < 0)
                return -ENOMEM;
        table_print_object(session, columns, whole ? ELEMENTSOF(columns) : 12);
        return 0;
}

int describe_session(const Context *context,
                Proxy *proxy,
                const char *name,
                bool whole,
                Reason *reason) {
        _cleanup_json_ json_object *session = NULL, *statistics = NULL;
        _cleanup_free_ char *path = NULL;
        int r = administrator_resolve(context, proxy, name, &path, reason);

        if (r == 0)
                r = proxy_call_json(proxy,
                                path,
                                KT_SESSION_INTERFACE,
                                "Describe",
                                NULL,
                                &session,
                                reason);
        if (r == 0)
                r = proxy_call_json(proxy,
                                path,
                                KT_SESSION_INTERFACE,
                                "GetStatistics",
                                NULL,
                                &statistics,
                                reason);
        if (r != 0)
                return r;
        if (context->json == JSON_OFF)
                return describe_print(session, statistics, whole);
        if (json_object_object_add(session, "statistics", statistics) < 0)
                return -ENOMEM;
        statistics = NULL; /* the session's now */
        table_print_json(context, session);
        return 0;
}
