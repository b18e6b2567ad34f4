/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl status: prints the state of the daemon and the caller's limits, or one session. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "call/proxy-session.h"
#include "terminal/table.h"
#include "verbs/administrator.h"
#include "verbs/describe.h"
#include "verbs/verb.h"

static void print_cost(json_object *limits) {
        uint64_t n = json_object_get_uint64(json_object_object_get(limits, "events"));

        /* Root's sessions have no process filter that the events of other users would have to
         * pass. */
        if (n > 0 && geteuid() != 0)
                printf("Your sessions have %" PRIu64 " event%s; while they run, each "
                       "hit of one costs\n"
                       "every process time, see 'ktracectl status SESSION'.\n",
                                n,
                                n == 1 ? "" : "s");
}

static uint64_t status_get(json_object *object, const char *key) {
        return json_object_get_uint64(json_object_object_get(object, key));
}

static void print_worker(json_object *worker) {
        char memory[TABLE_NUMBER_MAX];

        if (!json_object_object_get_ex(worker, "pid", NULL))
                return;
        printf("  worker %" PRIu64 " of %s: %s of memory, %" PRIu64 ".%03" PRIu64
               " s of CPU time\n",
                        status_get(worker, "pid"),
                        json_object_get_string(json_object_object_get(worker, "session")),
                        table_format_bytes(memory, status_get(worker, "memory-kb") * 1024),
                        status_get(worker, "cpu-usec") / 1000000,
                        status_get(worker, "cpu-usec") / 1000 % 1000);
}

static void print_workers(json_object *status) {
        json_object *workers = json_object_object_get(status, "consumers");

        for (size_t i = 0; i < json_object_array_length(workers); i++)
                print_worker(json_object_array_get_idx(workers, i));
}

/* Formats "3d 04:05:06"; omits the days when they are 0. */
static const char *format_uptime(char out[static TABLE_NUMBER_MAX], uint64_t seconds) {
        char days[16] = "";

        if (seconds >= 86400)
                (void)snprintf(days, sizeof(days), "%ud ", (unsigned)(seconds / 86400));
        (void)snprintf(out,
                        TABLE_NUMBER_MAX,
                        "%s%02u:%02u:%02u",
                        days,
                        (unsigned)(seconds / 3600 % 24),
                        (unsigned)(seconds / 60 % 60),
                        (unsigned)(seconds % 60));
        return out;
}

static void print_count(uint64_t n, const char *what, const char *end) {
        char number[TABLE_NUMBER_MAX];

        printf("%s %s%s", table_format_number(number, n), what, end);
}

/* The numbers of all users; only those who may trace every process get them. */
static void print_totals(json_object *totals) {
        if (!totals)
                return;
        printf("Since it started, for all users: ");
        print_count(status_get(totals, "sessions-created"), "sessions created", ", ");
        print_count(status_get(totals, "calls-denied"), "calls denied", ", ");
        print_count(status_get(totals, "calls-limited"), "refused by a limit", ",\n");
        print_count(status_get(totals, "lost"), "events lost", ", ");
        print_count(status_get(totals, "consumers-failed"), "workers failed", ".\n");
}

static void print_daemon(json_object *status) {
        char memory[TABLE_NUMBER_MAX], up[TABLE_NUMBER_MAX];

        printf("ktraced %s is process %" PRIu64 ", up %s, with %s of memory and %" PRIu64
               ".%03" PRIu64 " s of CPU time.\n",
                        json_object_get_string(json_object_object_get(status, "version")),
                        status_get(status, "pid"),
                        format_uptime(up, status_get(status, "uptime-usec") / 1000000),
                        table_format_bytes(memory, status_get(status, "memory-kb") * 1024),
                        status_get(status, "cpu-usec") / 1000000,
                        status_get(status, "cpu-usec") / 1000 % 1000);
        printf("You see %" PRIu64 " session%s, %" PRIu64 " of them running, %" PRIu64
               " stream%s; their buffers take %s of the kernel.\n",
                        status_get(status, "sessions"),
                        status_get(status, "sessions") == 1 ? "" : "s",
                        status_get(status, "running"),
                        status_get(status, "streams"),
                        status_get(status, "streams") == 1 ? "" : "s",
                        table_format_bytes(memory, status_get(status, "kernel-buffer-kb") * 1024));
        if (status_get(status, "prepared-kb") > 0)
                printf("The buffers of the instances that are ready for the next sessions take "
                       "%s.\n",
                                table_format_bytes(
                                                memory, status_get(status, "prepared-kb") * 1024));
        print_totals(json_object_object_get(status, "totals"));
        print_workers(status);
}

/* The use of a limit is a key of its own. It is printed as a column of the limit, not as another
 * limit. */
static const struct {
        const char *limit, *used;
} counted[] = {
        { "max-sessions-per-uid", "sessions" },
        { "max-events-per-uid", "events" },
        { "max-buffer-kb-per-uid", "buffer-kb" },
};

static bool is_count(const char *key) {
        for (size_t i = 0; i < ELEMENTSOF(counted); i++)
                if (strcmp(counted[i].used, key) == 0)
                        return true;
        return false;
}

static json_object *find_used(json_object *limits, const char *limit) {
        for (size_t i = 0; i < ELEMENTSOF(counted); i++)
                if (strcmp(counted[i].limit, limit) == 0)
                        return json_object_object_get(limits, counted[i].used);
        return NULL;
}

/* The names contain the units. For some limits 0 means no limit, see ktraced(8). */
static void print_limits(json_object *limits) {
        int width = 0, digits = 0;

        printf(geteuid() == 0 ? "Limits of users; for root only the totals apply:\n"
                              : "Your limits and their use:\n");
        json_object_object_foreach(limits, name, limit) {
                width = MAX_OF(width, (int)strlen(name));
                digits = MAX_OF(digits, (int)strlen(json_object_get_string(limit)));
        }
        json_object_object_foreach(limits, key, value) {
                json_object *used = find_used(limits, key);

                if (!is_count(key))
                        printf("  %-*s %*s%s%s\n",
                                        width,
                                        key,
                                        digits,
                                        json_object_get_string(value),
                                        used ? "  used: " : "",
                                        used ? json_object_get_string(used) : "");
        }
}

static int status_print(const Context *context,
                json_object *status,
                json_object *limits,
                json_object *sessions) {
        _cleanup_json_ json_object *whole = json_object_new_object();

        if (context->json != JSON_OFF) {
                if (!whole)
                        return -ENOMEM;
                (void)json_object_object_add(whole, "daemon", json_object_get(status));
                (void)json_object_object_add(whole, "limits", json_object_get(limits));
                (void)json_object_object_add(whole, "sessions", json_object_get(sessions));
                table_print_json(context, whole);
                return 0;
        }
        print_daemon(status);
        print_limits(limits);
        print_cost(limits);
        return 0;
}

static int status_run(Context *context, int argc, char **argv) {
        _cleanup_(proxy_free_cleanup) Proxy *proxy = NULL;
        _cleanup_json_ json_object *limits = NULL, *sessions = NULL, *stands = NULL;
        Reason reason = {};
        int status, r;

        if (options_parse(context, argc, argv, 0, 1, &status) != OPTIONS_END)
                return status;
        r = proxy_open(context->door, &proxy, &reason);
        if (r == 0 && optind < argc) {
                r = describe_session(context, proxy, argv[optind], false, &reason);
                return r == 0 ? KT_EXIT_OK : message_fail(r, &reason);
        }
        if (r == 0 && context->administrator)
                r = administrator_begin(context, proxy, &reason);
        if (r == 0)
                r = proxy_get(proxy, NULL, "GetLimits", NULL, &limits, &reason);
        if (r == 0)
                r = proxy_get(proxy, NULL, "GetStatus", NULL, &stands, &reason);
        if (r == 0)
                r = proxy_list(proxy, &sessions, &reason);
        if (r == 0)
                r = status_print(context, stands, limits, sessions);
        return r == 0 ? KT_EXIT_OK : message_fail(r, &reason);
}

const Verb verb_status = {
        .name = "status",
        .arguments = "[SESSION]",
        .summary = "Show how ktraced does and your limits, or one session's state and counts",
        .help = HELP_ADMINISTRATOR,
        .manages = true,
        .run = status_run,
};
