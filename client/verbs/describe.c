/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints one session: Describe and GetStatistics in one object, used by `show` and `status`.
 * Owns nothing. */

#include "verbs/describe.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "terminal/table.h"
#include "verbs/administrator.h"

static json_object *describe_get(json_object *object, const char *key) {
        return json_object_object_get(object, key);
}

static uint64_t describe_number(json_object *object, const char *key) {
        return json_object_get_uint64(describe_get(object, key));
}

/* Makes a line such as "sched:* (where pid == 1)" per requested event or probe. */
static int describe_add_needs(json_object *wanted, const char *what, json_object *list) {
        size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;

        for (size_t i = 0; i < n; i++) {
                json_object *one = json_object_array_get_idx(list, i);
                const char *filter = json_object_get_string(describe_get(one, "filter"));
                _cleanup_free_ char *text = NULL;

                if (asprintf(&text,
                                    "%s%s%s%s%s",
                                    what,
                                    json_object_get_string(describe_get(one, "name")),
                                    filter ? "  (where " : "",
                                    filter ?: "",
                                    filter ? ")" : "") < 0)
                        return -ENOMEM;
                (void)json_object_array_add(wanted, json_object_new_string(text));
        }
        return 0;
}

/* "id,common_pid" */
static char *join_words(json_object *list) {
        size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0,
               size = 0;
        char *text = NULL;
        FILE *out = open_memstream(&text, &size);

        for (size_t i = 0; out && i < n; i++)
                fprintf(out,
                                "%s%s",
                                i > 0 ? "," : "",
                                json_object_get_string(json_object_array_get_idx(list, i)));
        if (!out || fclose(out) != 0) {
                free(text);
                return NULL;
        }
        return text;
}

/* "sched:sched_waking if pid == 1 do enable sched:sched_switch times 1", in the form of
 * --trigger. Of a histogram only the keys are shown; the spec has the rest. */
static int describe_add_triggers(json_object *lines, json_object *list) {
        size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;

        for (size_t i = 0; i < n; i++) {
                json_object *one = json_object_array_get_idx(list, i);
                const char *event = json_object_get_string(describe_get(one, "event"));
                const char *times = json_object_get_string(describe_get(one, "count"));
                _cleanup_free_ char *text = NULL, *keys = join_words(describe_get(one, "keys"));

                if (!keys)
                        return -ENOMEM;
                if (asprintf(&text,
                                    "%s do %s%s%s%s%s",
                                    json_object_get_string(describe_get(one, "when")),
                                    json_object_get_string(describe_get(one, "do")),
                                    event || *keys ? " " : "",
                                    event ?: keys,
                                    times ? " times " : "",
                                    times ?: "") < 0)
                        return -ENOMEM;
                (void)json_object_array_add(lines, json_object_new_string(text));
        }
        return 0;
}

static int describe_spec(json_object *session, json_object *spec) {
        static const char *const keys[] = { "mode",
                "scope",
                "where",
                "buffer-kb",
                "clock",
                "compression",
                "lifetime",
                "tracer",
                "functions",
                "stacktrace",
                "instance",
                "locked",
                "share",
                "unredacted" };
        json_object *wanted = json_object_new_array(), *triggers = json_object_new_array();

        if (!wanted || json_object_object_add(session, "wanted", wanted) < 0 || !triggers ||
                        json_object_object_add(session, "triggers", triggers) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (describe_get(spec, keys[i]))
                        (void)json_object_object_add(session,
                                        keys[i],
                                        json_object_get(describe_get(spec, keys[i])));
        if (describe_get(spec, "cpus"))
                (void)json_object_object_add(session,
                                "recorded-cpus",
                                json_object_get(describe_get(spec, "cpus")));
        int r = describe_add_needs(wanted, "", describe_get(spec, "events"));
        r = r ?: describe_add_needs(wanted, "probe ", describe_get(spec, "probes"));
        return r ?: describe_add_triggers(triggers, describe_get(spec, "triggers"));
}

/* "calls: raw_syscalls:sys_enter by id, common_pid" */
static int describe_histograms(json_object *session) {
        json_object *list = describe_get(session, "histograms"), *lines = json_object_new_array();
        size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;

        if (!lines)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                json_object *hist = json_object_array_get_idx(list, i),
                            *keys = describe_get(hist, "keys");
                size_t n_keys = json_object_is_type(keys, json_type_array)
                                                ? json_object_array_length(keys)
                                                : 0;
                char text[700];
                int size = snprintf(text,
                                sizeof(text),
                                "%s: %s by",
                                json_object_get_string(describe_get(hist, "name")),
                                json_object_get_string(describe_get(hist, "event")));

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
        json_object *windows = describe_get(session, "windows"), *lines = json_object_new_array();
        size_t n = json_object_is_type(windows, json_type_array) ? json_object_array_length(windows)
                                                                 : 0;

        if (!lines)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                json_object *window = json_object_array_get_idx(windows, i);
                const char *event = json_object_get_string(describe_get(window, "event"));
                char text[300];

                (void)snprintf(text,
                                sizeof(text),
                                "%s %s",
                                event && *event ? event : "all events",
                                json_object_get_boolean(describe_get(window, "open")) ? "open"
                                                                                      : "closed");
                (void)json_object_array_add(lines, json_object_new_string(text));
        }
        return json_object_object_add(session, "windows", lines) < 0 ? -ENOMEM : 0;
}

static bool is_flight(json_object *session) {
        const char *mode = json_object_get_string(describe_get(session, "mode"));

        return mode && strcmp(mode, "flight") == 0;
}

/* "process 123, 4.2 MB of memory, 0.120 s of CPU time" */
static void describe_worker(json_object *session, json_object *statistics) {
        char memory[TABLE_NUMBER_MAX], text[160];

        if (!describe_get(statistics, "worker-pid"))
                return;
        (void)snprintf(text,
                        sizeof(text),
                        "process %" PRIu64 ", %s of memory, %.3f s of CPU time",
                        describe_number(statistics, "worker-pid"),
                        table_format_bytes(memory,
                                        describe_number(statistics, "worker-memory-kb") * 1024),
                        (double)describe_number(statistics, "worker-cpu-usec") / 1e6);
        (void)json_object_object_add(session, "worker", json_object_new_string(text));
}

static void describe_counts(json_object *session, json_object *statistics) {
        char events[TABLE_NUMBER_MAX], lost[TABLE_NUMBER_MAX], bytes[TABLE_NUMBER_MAX],
                        discarded[TABLE_NUMBER_MAX], text[160];

        (void)snprintf(text,
                        sizeof(text),
                        "%s recorded, %s lost",
                        table_format_number(events, describe_number(statistics, "recorded")),
                        table_format_number(lost, describe_number(statistics, "lost")));
        (void)json_object_object_add(session, "counts", json_object_new_string(text));
        /* A session that records to disk has no other stream, and a flight recorder has none. */
        if (describe_get(statistics, "spool") || is_flight(session))
                return;
        (void)snprintf(text,
                        sizeof(text),
                        "%s written, %s discarded",
                        table_format_bytes(bytes, describe_number(statistics, "written-bytes")),
                        table_format_bytes(
                                        discarded, describe_number(statistics, "discarded-bytes")));
        (void)json_object_object_add(session, "stream", json_object_new_string(text));
}

/* "recording, 298.6 kB in 2 files". `spool list` shows the same facts. */
static void describe_spool(json_object *session, json_object *statistics) {
        json_object *spool = describe_get(statistics, "spool"),
                    *files = describe_get(spool, "files");
        size_t n = json_object_is_type(files, json_type_array) ? json_object_array_length(files)
                                                               : 0;
        char bytes[TABLE_NUMBER_MAX], text[160];

        if (!spool)
                return;
        (void)snprintf(text,
                        sizeof(text),
                        "%s, %s in %zu file%s",
                        json_object_get_string(describe_get(spool, "state")),
                        table_format_bytes(bytes, describe_number(spool, "bytes")),
                        n,
                        n == 1 ? "" : "s");
        (void)json_object_object_add(session, "spool", json_object_new_string(text));
}

/* Changes by others in the instance during the session. */
static void describe_interference(json_object *session, json_object *statistics) {
        uint64_t n = describe_number(statistics, "interference");
        char changes[TABLE_NUMBER_MAX], text[160];

        if (n == 0)
                return;
        (void)snprintf(text,
                        sizeof(text),
                        "%s change%s by others, for %.3f s in all",
                        table_format_number(changes, n),
                        n == 1 ? "" : "s",
                        (double)describe_number(statistics, "interference-nsec") / 1e9);
        (void)json_object_object_add(session, "interference", json_object_new_string(text));
}

/* "cpu 0: 1,200 recorded, 1,000 read, 0 dropped, 0 overwritten, 200 kept (14 kB, 1.25 s back)" */
static int describe_cpu(json_object *lines, json_object *cpu) {
        char n[4][TABLE_NUMBER_MAX], entries[TABLE_NUMBER_MAX], bytes[TABLE_NUMBER_MAX],
                        back[40] = "";
        uint64_t now = describe_number(cpu, "now-nsec"),
                 oldest = describe_number(cpu, "oldest-nsec");
        char text[256];

        if (now > oldest)
                (void)snprintf(back, sizeof(back), ", %.3f s back", (double)(now - oldest) / 1e9);
        (void)snprintf(text,
                        sizeof(text),
                        "cpu %" PRIu64
                        ": %s recorded, %s read, %s dropped, %s overwritten, %s kept (%s%s)",
                        describe_number(cpu, "cpu"),
                        table_format_number(n[0], describe_number(cpu, "recorded")),
                        table_format_number(n[1], describe_number(cpu, "read")),
                        table_format_number(n[2], describe_number(cpu, "dropped")),
                        table_format_number(n[3], describe_number(cpu, "overwritten")),
                        table_format_number(entries, describe_number(cpu, "entries")),
                        table_format_bytes(bytes, describe_number(cpu, "bytes")),
                        back);
        return json_object_array_add(lines, json_object_new_string(text));
}

/* CPUs without any event are not shown: kernels also count CPUs that could be plugged in. */
static int describe_cpus(json_object *session, json_object *statistics) {
        json_object *cpus = describe_get(statistics, "cpus"), *lines = json_object_new_array();
        size_t n = json_object_is_type(cpus, json_type_array) ? json_object_array_length(cpus) : 0;

        if (!lines || json_object_object_add(session, "cpus", lines) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                json_object *cpu = json_object_array_get_idx(cpus, i);

                if (describe_number(cpu, "recorded") + describe_number(cpu, "lost") > 0 &&
                                describe_cpu(lines, cpu) < 0)
                        return -ENOMEM;
        }
        return 0;
}

/* The CPU time that the session costs other processes. */
static int describe_cost(json_object *session, json_object *statistics) {
        uint64_t usec = describe_number(statistics, "cost-usec"),
                 nsec = describe_number(statistics, "hit-cost-nsec");
        json_object *events = describe_get(session, "events");
        char text[160];
        int n = snprintf(text,
                        sizeof(text),
                        "about %" PRIu64 ".%" PRIu64
                        " ms of CPU time of the processes that it records",
                        usec / 1000,
                        usec % 1000 / 100);

        if (nsec > 0 && json_object_is_type(events, json_type_array))
                (void)snprintf(text + n,
                                sizeof(text) - (size_t)n,
                                ", and up to %" PRIu64 " ns for each hit of its %zu event%s in "
                                "any process",
                                nsec,
                                json_object_array_length(events),
                                json_object_array_length(events) == 1 ? "" : "s");
        return json_object_object_add(session, "cost", json_object_new_string(text));
}

static int describe_print(json_object *session, json_object *statistics, bool whole) {
        static const TableColumn columns[] = {
                { "id", "Session", false },
                { "name", "Name", false },
                { "state", "State", false },
                { "uid", "Owner", false },
                { "mode", "Mode", false },
                { "scope", "Scope", false },
                { "counts", "Events", false },
                { "stream", "Stream", false },
                { "spool", "Spool", false },
                { "worker", "Worker", false },
                { "interference", "Interference", false },
                { "cpus", "CPUs", false },
                { "off", "Turned off", false },
                { "windows", "Windows", false },
                { "histograms", "Histograms", false },
                { "cost", "Costs", false },
                /* Only `show` prints the rows from here on. */
                { "container", "Container", false },
                { "host-pids", "Pids on the host", false },
                { "lifetime", "Lifetime", false },
                { "where", "Where", false },
                { "buffer-kb", "Buffer (kB/CPU)", false },
                { "clock", "Clock", false },
                { "compression", "Compression", false },
                { "recorded-cpus", "Recorded CPUs", false },
                { "instance", "Instance", false },
                { "tracer", "Tracer", false },
                { "functions", "Functions", false },
                { "stacktrace", "Stacks", false },
                { "locked", "Locked", false },
                { "share", "Share", false },
                { "shared-instance", "Shared instance", false },
                { "exclusive", "Own instance for", false },
                { "rule", "Policy rule", false },
                { "notes", "Notes", false },
                { "unredacted", "Unredacted", false },
                { "wanted", "Asked for", false },
                { "triggers", "Triggers", false },
                { "events", "Granted", false },
        };
        int r = describe_spec(session, describe_get(session, "spec"));

        if (r < 0)
                return r;
        describe_counts(session, statistics);
        describe_spool(session, statistics);
        describe_worker(session, statistics);
        describe_interference(session, statistics);
        if (describe_windows(session) < 0 || describe_histograms(session) < 0 ||
                        describe_cpus(session, statistics) < 0 ||
                        describe_cost(session, statistics) < 0)
                return -ENOMEM;
        table_print_object(session, columns, whole ? ELEMENTSOF(columns) : 16);
        return 0;
}

int describe_session(const Context *context,
                Proxy *proxy,
                const char *name,
                bool whole,
                Reason *reason) {
        _cleanup_json_ json_object *session = NULL, *statistics = NULL;
        _cleanup_free_ char *id = NULL;
        int r = administrator_resolve(context, proxy, name, &id, reason);

        if (r == 0)
                r = proxy_get(proxy, id, "Describe", NULL, &session, reason);
        if (r == 0)
                r = proxy_get(proxy, id, "GetStatistics", NULL, &statistics, reason);
        if (r != 0)
                return r;
        if (context->json == JSON_OFF)
                return describe_print(session, statistics, whole);
        if (json_object_object_add(session, "statistics", statistics) < 0)
                return -ENOMEM;
        statistics = NULL; /* owned by the session now */
        table_print_json(context, session);
        return 0;
}
