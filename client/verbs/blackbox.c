/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl blackbox: turns the machine's black box on and off, and shows its cost. The black box
 * is a flight recorder of all processes: the saved session KT_BLACK_BOX of root, which
 * ktrace-session@.service runs from boot on. `enable` makes its file from a preset, which is a
 * session spec in /usr/lib/ktrace/blackbox.d. last.c reads it. blackbox-persistent.c makes a second
 * recorder of the same events, for a crash.
 *
 * How fast the preset's events occur is measured before: a session that records them for a second.
 * The time that an event costs is not measured: it is KT_RECORD_NSEC. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "call/proxy-session.h"
#include "interfaces/cost.h"
#include "interfaces/spec-json.h"
#include "recording/session-copy.h"
#include "recording/target.h"
#include "spec/bootconfig-kernel.h"
#include "spec/saved-file.h"
#include "spec/spec-options.h"
#include "terminal/table.h"
#include "verbs/blackbox-persistent.h"
#include "verbs/systemctl.h"
#include "verbs/verb.h"

#define UNIT "ktrace-session@" KT_BLACK_BOX ".service"

#define NSEC_PER_SEC 1e9
#define SECONDS_MAX  86400
/* A ring has more room than the measured second requires, because the load changes. */
#define MARGIN       2
#define KB_MIN       64
#define MEMORY_SHARE 4 /* --seconds uses at most this part of the machine's memory */

enum {
        OPTION_PRESET = OPTION_VERB,
        OPTION_SECONDS,
        OPTION_MEMORY,
        OPTION_PERSISTENT,
        OPTION_DRY_RUN,
        OPTION_LIB_DIR,
        OPTION_CONFIG_DIR,
};

static const char *const presets[] = { "light", "sched", "calls" };

typedef struct BlackBox {
        Context *context;
        const char *preset;
        uint64_t seconds;       /* 0: not given */
        uint64_t memory;        /* bytes of all CPUs; 0: not given */
        const char *persistent; /* memory that survives a crash, "16M"; NULL: not given */
        bool is_dry_run;
        SavedDirs dirs;
        Proxy *proxy;
} BlackBox;

/* What a second of the session has shown. */
typedef struct BlackBoxLoad {
        unsigned n_cpus;
        double events; /* per second, of all CPUs */
        double bytes;  /* per second, of the busiest CPU */
} BlackBoxLoad;

static json_object *blackbox_get(json_object *object, const char *key) {
        return json_object_object_get(object, key);
}

static double blackbox_number(json_object *object, const char *key) {
        return json_object_get_double(blackbox_get(object, key));
}

/* Reads the counters of the session now and a second later. *ret is the second answer. */
static int blackbox_measure(Proxy *proxy,
                const char *id,
                BlackBoxLoad *ret_load,
                json_object **ret,
                Reason *reason) {
        _cleanup_json_ json_object *before = NULL, *after = NULL;
        BlackBoxLoad load = {};

        int r = proxy_get(proxy, id, "GetStatistics", NULL, &before, reason);
        if (r != 0)
                return r;
        (void)sleep(1);
        r = proxy_get(proxy, id, "GetStatistics", NULL, &after, reason);
        if (r != 0)
                return r;
        json_object *then = blackbox_get(before, "cpus"), *cpus = blackbox_get(after, "cpus");
        load.n_cpus = (unsigned)json_object_array_length(cpus);
        for (unsigned i = 0; i < load.n_cpus; i++) {
                json_object *cpu = json_object_array_get_idx(cpus, i);
                /* A snapshot in this second begins the counters anew. */
                double n = MAX_OF(0.0,
                                blackbox_number(cpu, "recorded") -
                                                blackbox_number(json_object_array_get_idx(then, i),
                                                                "recorded"));
                double entries = blackbox_number(cpu, "entries");

                load.events += n;
                if (entries > 0)
                        load.bytes = MAX_OF(
                                        load.bytes, n * blackbox_number(cpu, "bytes") / entries);
        }
        *ret_load = load;
        *ret = TAKE_PTR(after);
        return 0;
}

/* Records the preset's events for a second, with a session without a name. */
static int blackbox_try(BlackBox *box, json_object *spec, BlackBoxLoad *ret, Reason *reason) {
        _cleanup_json_ json_object *statistics = NULL;
        _cleanup_free_ char *id = NULL;
        Reason ignored = {};

        int r = proxy_create(box->proxy, spec, &id, reason);
        if (r != 0)
                return r;
        r = proxy_order(box->proxy, id, "Start", NULL, reason);
        r = r ?: blackbox_measure(box->proxy, id, ret, &statistics, reason);
        /* It also ends with our connection. */
        (void)proxy_order(box->proxy, id, "Destroy", NULL, &ignored);
        return r;
}

/* Changes the spec, and checks that the size is possible. */
static int blackbox_put_size(json_object *object, uint64_t kb, Reason *reason) {
        _cleanup_spec_ Spec *spec = spec_new();

        int r = spec ? spec_json_put(object, "buffer-kb", json_object_new_uint64(kb)) : -ENOMEM;
        return r ?: spec_from_json(spec, object, reason);
}

static int blackbox_put_memory(const BlackBox *box,
                unsigned n_cpus,
                json_object *spec,
                Reason *reason) {
        uint64_t all_kb = box->memory / 1024, kb = all_kb / MAX_OF(n_cpus, 1U);

        if (kb >= SPEC_BUFFER_KB_MIN && kb <= SPEC_BUFFER_KB_MAX)
                return blackbox_put_size(spec, kb, reason);
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "--memory: expected %d kB to %d kB for each of the %u CPUs, got %" PRIu64
                        " kB for all of them",
                        SPEC_BUFFER_KB_MIN,
                        SPEC_BUFFER_KB_MAX,
                        n_cpus,
                        all_kb);
}

static int blackbox_choose_size(const BlackBox *box,
                const BlackBoxLoad *load,
                json_object *spec,
                Reason *reason) {
        uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES);
        uint64_t all_kb = pages * (uint64_t)sysconf(_SC_PAGESIZE) / 1024, kb;

        if (box->memory > 0)
                return blackbox_put_memory(box, load->n_cpus, spec, reason);
        if (box->seconds == 0)
                return 0;
        kb = (uint64_t)(load->bytes * (double)box->seconds * MARGIN / 1024);
        kb = MAX_OF(kb, (uint64_t)KB_MIN);
        if (kb * load->n_cpus > all_kb / MEMORY_SHARE)
                return reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "--seconds %" PRIu64
                                ": with the present load this requires %" PRIu64
                                " MB, expected at most a quarter of the memory: give fewer "
                                "seconds, --memory, or a smaller preset",
                                box->seconds,
                                kb * load->n_cpus / 1024);
        return blackbox_put_size(spec, kb, reason);
}

/* For all CPUs. Without kprobes there is no history, and only root can read the records. */
static uint64_t blackbox_get_history_kb(const BlackBoxLoad *load) {
        bool has_kprobes = access(KT_TRACEFS_DIR "/kprobe_events", F_OK) == 0;

        return has_kprobes ? (uint64_t)KT_HISTORY_KB * load->n_cpus : 0;
}

static void blackbox_print_cost(uint64_t buffer_kb, const BlackBoxLoad *load) {
        char all[TABLE_NUMBER_MAX], each[TABLE_NUMBER_MAX], rate[TABLE_NUMBER_MAX],
                        history[TABLE_NUMBER_MAX];
        double percent = load->events * KT_RECORD_NSEC * 100 / NSEC_PER_SEC;
        uint64_t history_kb = blackbox_get_history_kb(load);

        printf("Memory: %s of the kernel, %s for each of %u CPUs\n",
                        table_format_bytes(all, buffer_kb * load->n_cpus * 1024),
                        table_format_bytes(each, buffer_kb * 1024),
                        load->n_cpus);
        if (history_kb > 0)
                printf("History: %s more and some kprobes, with which users other than root can read their own records\n",
                                table_format_bytes(history, history_kb * 1024));
        else
                printf("History: none, because this kernel has no kprobes: only root can read the records\n");
        printf("Load: %s events in the last second\n",
                        table_format_number(rate, (uint64_t)load->events));
        printf("Cost: about %d ns for each event, %.2f %% of one CPU at this load "
               "(an estimate, see ktraced(8))\n",
                        KT_RECORD_NSEC,
                        percent);
}

static void blackbox_print_persistent(const char *size) {
        printf("Crash: %s more memory keeps the last records over a crash or a reset. Each event is "
               "recorded twice, at twice the cost\n",
                        size);
}

/* The words are alone on standard output's last line. */
static void blackbox_print_words(const char *words, bool is_booted) {
        if (is_booted)
                printf("The kernel was booted for this: 'ktracectl spool list' has the records of a "
                       "crash\n");
        else
                printf("A reboot is needed for this. First add this line to the kernel's command "
                       "line (BEFORE THE DAEMON in ktraced(8)):\n%s",
                                words);
}

/* Returns its spec, without a name and a lifetime. */
static int blackbox_find_preset(const BlackBox *box,
                const char *preset,
                json_object **ret,
                Reason *reason) {
        _cleanup_free_ char *path = NULL;
        _cleanup_spec_ Spec *spec = NULL;
        bool has_lifetime, is_known = false;

        for (size_t i = 0; i < ELEMENTSOF(presets); i++)
                is_known = is_known || strcmp(preset, presets[i]) == 0;
        if (!is_known)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--preset: expected light, sched or calls, got \"%s\"",
                                preset);
        if (asprintf(&path, "%s/blackbox.d/%s.json", box->dirs.lib_dir, preset) < 0)
                return -ENOMEM;
        int r = saved_load(path, KT_BLACK_BOX, &spec, &has_lifetime, reason);
        r = r ?: spec_to_json(spec, ret);
        if (r == 0) {
                json_object_object_del(*ret, "name");
                json_object_object_del(*ret, "lifetime");
        }
        return r;
}

static int blackbox_make_path(const BlackBox *box, char **ret) {
        int n = asprintf(ret, "%s/sessions.d/" KT_BLACK_BOX ".json", box->dirs.config_dir);

        return n < 0 ? -ENOMEM : 0;
}

static int blackbox_make_folder(const char *path, Reason *reason) {
        if (mkdir(path, 0755) == 0 || errno == EEXIST)
                return 0;
        return reason_set(reason, KT_E_FAILED, "%s: cannot be created: %s", path, strerror(errno));
}

/* A new installation has no /etc/ktrace. */
static int blackbox_make_folders(const BlackBox *box, Reason *reason) {
        _cleanup_free_ char *sessions = NULL;

        if (asprintf(&sessions, "%s/sessions.d", box->dirs.config_dir) < 0)
                return -ENOMEM;
        int r = blackbox_make_folder(box->dirs.config_dir, reason);
        return r ?: blackbox_make_folder(sessions, reason);
}

static int blackbox_write(const char *path, json_object *spec, Reason *reason) {
        _cleanup_(target_free_cleanup) Target *target = NULL;
        _cleanup_fclose_ FILE *out = NULL;

        int r = target_open(path, O_WRONLY, &target, reason);
        r = r ?: target_open_stdio(target, &out);
        if (r != 0)
                return r;
        fprintf(out, "%s\n", json_object_to_json_string_ext(spec, JSON_C_TO_STRING_PRETTY));
        if (fclose(TAKE_PTR(out)) != 0)
                return target_refuse(target, errno, reason);
        return target_publish(target, reason);
}

/* Returns 0 also when nothing was there. Without its file it does not start again, even if systemd
 * does not answer. */
static int blackbox_remove(const char *path, Reason *reason) {
        const char *const words[SYSTEMCTL_WORDS_MAX] = { "disable", "--now", "--quiet", UNIT };
        int r = systemctl_run(words, NULL, 0, reason);

        if (unlink(path) == 0 || errno == ENOENT || r != 0)
                return r;
        return reason_set(reason, KT_E_FAILED, "%s: cannot be removed: %s", path, strerror(errno));
}

/* `restart` also starts it, and gives one that runs the new spec. */
static int blackbox_turn_on(const char *path, Reason *reason) {
        const char *const enable[SYSTEMCTL_WORDS_MAX] = { "enable", "--quiet", UNIT };
        const char *const restart[SYSTEMCTL_WORDS_MAX] = { "restart", UNIT };
        Reason ignored = {};

        int r = systemctl_run(enable, NULL, 0, reason);
        r = r ?: systemctl_run(restart, NULL, 0, reason);
        if (r != 0)
                (void)blackbox_remove(path, &ignored);
        return r;
}

static int blackbox_enable(BlackBox *box, Reason *reason) {
        _cleanup_free_ char *path = NULL;
        _cleanup_json_ json_object *spec = NULL;
        _cleanup_free_ char *words = NULL;
        BlackBoxLoad load = {};
        bool is_booted = false;

        int r = blackbox_find_preset(box, box->preset ?: presets[0], &spec, reason);
        if (r == 0 && box->persistent)
                r = blackbox_persistent_make(spec, box->persistent, &words, &is_booted, reason);
        r = r ?: blackbox_make_path(box, &path);
        r = r ?: blackbox_try(box, spec, &load, reason);
        r = r ?: blackbox_choose_size(box, &load, spec, reason);
        if (r != 0)
                return r;
        if (!box->context->quiet) {
                blackbox_print_cost(json_object_get_uint64(blackbox_get(spec, "buffer-kb")), &load);
                if (words)
                        blackbox_print_persistent(box->persistent);
                (void)fflush(stdout);
        }
        if (!box->is_dry_run) {
                r = blackbox_make_folders(box, reason);
                r = r ?: blackbox_write(path, spec, reason);
                r = r ?: blackbox_turn_on(path, reason);
        }
        if (r == 0 && words)
                blackbox_print_words(words, is_booted);
        return r;
}

static int blackbox_disable(BlackBox *box, Reason *reason) {
        _cleanup_free_ char *path = NULL;

        int r = blackbox_make_path(box, &path);
        r = r ?: blackbox_remove(path, reason);
        if (r == 0 && blackbox_persistent_is_on())
                printf("The kernel still records for a crash: remove the words with trace_instance=" KT_BLACK_BOX
                       " from its command line, and reboot\n");
        return r;
}

/* A ring that has overwritten nothing has all since the start. The others reach back to their
 * oldest record, and together they are complete as far as the shortest of them. */
static void blackbox_find_reach(json_object *statistics, double *ret_complete, double *ret_oldest) {
        json_object *cpus = blackbox_get(statistics, "cpus");
        double complete = -1, oldest = 0;

        for (size_t i = 0; i < json_object_array_length(cpus); i++) {
                json_object *cpu = json_object_array_get_idx(cpus, i);
                double age = (blackbox_number(cpu, "now-nsec") -
                                             blackbox_number(cpu, "oldest-nsec")) /
                             NSEC_PER_SEC;

                if (!blackbox_get(cpu, "oldest-nsec"))
                        continue;
                oldest = MAX_OF(oldest, age);
                if (blackbox_number(cpu, "overwritten") > 0 && (complete < 0 || age < complete))
                        complete = age;
        }
        *ret_complete = complete < 0 ? oldest : complete;
        *ret_oldest = oldest;
}

/* Returns the preset with the same events; NULL: none. */
static const char *blackbox_guess_preset(const BlackBox *box, json_object *spec) {
        for (size_t i = 0; i < ELEMENTSOF(presets); i++) {
                _cleanup_json_ json_object *preset = NULL;
                Reason ignored = {};

                if (blackbox_find_preset(box, presets[i], &preset, &ignored) == 0 &&
                                json_object_equal(blackbox_get(preset, "events"),
                                                blackbox_get(spec, "events")))
                        return presets[i];
        }
        return NULL;
}

static int blackbox_put_status(json_object *status,
                const BlackBoxLoad *load,
                const char *preset,
                uint64_t buffer_kb,
                json_object *statistics) {
        double complete, oldest;

        blackbox_find_reach(statistics, &complete, &oldest);
        int r = spec_json_put(status, "preset", json_object_new_string(preset));
        r = r ?: spec_json_put(status, "cpus", json_object_new_uint64(load->n_cpus));
        r = r ?: spec_json_put(status, "buffer-kb", json_object_new_uint64(buffer_kb));
        r = r
                            ?: spec_json_put(status,
                                               "memory-kb",
                                               json_object_new_uint64(buffer_kb * load->n_cpus));
        r = r
                            ?: spec_json_put(status,
                                               "history-kb",
                                               json_object_new_uint64(
                                                               blackbox_get_history_kb(load)));
        r = r
                            ?: spec_json_put(status,
                                               "events-per-sec",
                                               json_object_new_uint64((uint64_t)load->events));
        r = r ?: spec_json_put(status, "nsec-per-event", json_object_new_uint64(KT_RECORD_NSEC));
        r = r
                            ?: spec_json_put(status,
                                               "persistent",
                                               json_object_new_boolean(
                                                               blackbox_persistent_is_on()));
        r = r ?: spec_json_put(status, "complete-sec", json_object_new_double(complete));
        return r ?: spec_json_put(status, "oldest-sec", json_object_new_double(oldest));
}

static void blackbox_print_status(json_object *status, const BlackBoxLoad *load) {
        printf("The black box is on. Preset: %s\n",
                        json_object_get_string(blackbox_get(status, "preset")));
        blackbox_print_cost(json_object_get_uint64(blackbox_get(status, "buffer-kb")), load);
        printf("Reaches back: %.0f s on all CPUs; the oldest record is %.0f s old\n",
                        blackbox_number(status, "complete-sec"),
                        blackbox_number(status, "oldest-sec"));
        if (json_object_get_boolean(blackbox_get(status, "persistent")))
                printf("Crash: the kernel was booted to keep the last records over a crash or a "
                       "reset, at twice the cost\n");
}

/* The session is gone, or was never made. */
static int blackbox_report_off(const BlackBox *box, json_object *status) {
        _cleanup_free_ char *path = NULL;
        bool is_enabled = blackbox_make_path(box, &path) == 0 && access(path, F_OK) == 0;

        if (box->context->json != JSON_OFF)
                table_print_json(box->context, status);
        else if (is_enabled)
                printf("The black box is enabled, but does not run: see 'systemctl status " UNIT
                       "'\n");
        else
                printf("The black box is off: root turns it on with 'ktracectl blackbox enable'\n");
        return 0;
}

static int blackbox_status(BlackBox *box, Reason *reason) {
        _cleanup_json_ json_object *status = json_object_new_object(), *session = NULL,
                                   *statistics = NULL;
        _cleanup_free_ char *id = NULL;
        BlackBoxLoad load = {};

        int r = status ? session_find_own(box->proxy, KT_BLACK_BOX, &id, reason) : -ENOMEM;
        r = r ?: spec_json_put(status, "running", json_object_new_boolean(id != NULL));
        if (r != 0 || !id)
                return r ?: blackbox_report_off(box, status);
        r = proxy_get(box->proxy, id, "Describe", NULL, &session, reason);
        r = r ?: blackbox_measure(box->proxy, id, &load, &statistics, reason);
        if (r != 0)
                return r;
        json_object *spec = blackbox_get(session, "spec");
        r = blackbox_put_status(status,
                        &load,
                        blackbox_guess_preset(box, spec) ?: "none",
                        json_object_get_uint64(blackbox_get(spec, "buffer-kb")),
                        statistics);
        if (r == 0 && box->context->json != JSON_OFF)
                table_print_json(box->context, status);
        else if (r == 0)
                blackbox_print_status(status, &load);
        return r;
}

static int blackbox_take(BlackBox *box, int option, const char *text, Reason *reason) {
        char *end;

        switch (option) {
        case OPTION_PRESET:
                box->preset = text;
                return 0;
        case OPTION_SECONDS:
                box->seconds = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
                if (box->seconds > 0 && box->seconds <= SECONDS_MAX && *end == '\0')
                        return 0;
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--seconds: expected a number from 1 to %d, got \"%s\"",
                                SECONDS_MAX,
                                text);
        case OPTION_MEMORY:
                if (spec_options_parse_size(text, &box->memory) == 0 && box->memory > 0)
                        return 0;
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--memory: expected a size such as 64M for all CPUs together, got \"%s\"",
                                text);
        case OPTION_PERSISTENT:
                box->persistent = text;
                if (boot_is_size(text))
                        return 0;
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--persistent: expected a number with K, M or G such as 16M, got "
                                "\"%s\"",
                                text);
        case OPTION_DRY_RUN:
                box->is_dry_run = true;
                return 0;
        default:
                *(option == OPTION_LIB_DIR ? &box->dirs.lib_dir : &box->dirs.config_dir) = text;
                return 0;
        }
}

/* Returns OPTIONS_END, or OPTIONS_EXIT. */
static int blackbox_parse(BlackBox *box, int argc, char **argv, int *ret_status) {
        static const struct option options[] = { OPTIONS_GLOBAL,
                { "preset", required_argument, NULL, OPTION_PRESET },
                { "seconds", required_argument, NULL, OPTION_SECONDS },
                { "memory", required_argument, NULL, OPTION_MEMORY },
                { "persistent", required_argument, NULL, OPTION_PERSISTENT },
                { "dry-run", no_argument, NULL, OPTION_DRY_RUN },
                { "lib-dir", required_argument, NULL, OPTION_LIB_DIR },
                { "config-dir", required_argument, NULL, OPTION_CONFIG_DIR },
                {} };
        Reason reason = {};
        int option;

        while ((option = options_next(box->context, argc, argv, "hq", options, ret_status)) >= 0)
                if (blackbox_take(box, option, optarg, &reason) != 0) {
                        *ret_status = message_show_usage(box->context, "%s", reason.text);
                        return OPTIONS_EXIT;
                }
        if (option == OPTIONS_END)
                option = options_count(box->context, argc, argv, 1, 1, ret_status);
        return option;
}

static const struct {
        const char *name;
        bool calls_daemon, has_options;
        int (*run)(BlackBox *box, Reason *reason);
} words[] = {
        { "enable", true, true, blackbox_enable },
        { "disable", false, false, blackbox_disable },
        { "status", true, false, blackbox_status },
};

static int blackbox_go(BlackBox *box, size_t word) {
        bool has_options = box->preset || box->seconds > 0 || box->memory > 0 || box->persistent ||
                           box->is_dry_run;
        Reason reason = {};
        int r = 0;

        if (has_options && !words[word].has_options)
                return message_show_usage(box->context,
                                "blackbox %s: --preset, --seconds, --memory, --persistent and --dry-run are for "
                                "enable",
                                words[word].name);
        if (box->seconds > 0 && box->memory > 0)
                return message_show_usage(
                                box->context, "--seconds and --memory: expected one of them");
        if (geteuid() != 0)
                r = reason_set(&reason,
                                KT_E_ACCESS_DENIED,
                                "blackbox %s: only root may do this: the black box has the records "
                                "of all users",
                                words[word].name);
        if (r == 0 && words[word].calls_daemon)
                r = proxy_open(box->context->door, &box->proxy, &reason);
        r = r ?: words[word].run(box, &reason);
        proxy_free(box->proxy);
        return r == 0 ? KT_EXIT_OK : message_fail(r, &reason);
}

static int blackbox_run(Context *context, int argc, char **argv) {
        BlackBox box = { .context = context, .dirs = { KT_LIB_DIR, KT_CONFIG_DIR } };
        int status;

        if (blackbox_parse(&box, argc, argv, &status) != OPTIONS_END)
                return status;
        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                if (strcmp(argv[optind], words[i].name) == 0)
                        return blackbox_go(&box, i);
        return message_show_usage(context,
                        "blackbox: expected enable, disable or status, got \"%s\"",
                        argv[optind]);
}

const Verb verb_blackbox = {
        .name = "blackbox",
        .arguments = "enable|disable|status",
        .summary = "Keep what all processes did last, from boot on, for 'ktracectl last'",
        .help = "Only for root. The black box is a flight recorder of all processes, which systemd\n"
                "runs as " UNIT ".\n"
                "\n"
                "  enable                     measure the load for a second, print the cost, and\n"
                "                             start it, now and at each boot; a black box that\n"
                "                             runs starts again, empty, with the new options\n"
                "  disable                    end it, and remove its file\n"
                "  status                     print whether it runs, its cost, and how far it\n"
                "                             reaches back now\n"
                "\n"
                "  --preset light             (default) births and ends of processes, programs that\n"
                "                             are started, signals, and kills for lack of memory\n"
                "  --preset sched             also switches and wake-ups\n"
                "  --preset calls             the events of light, and system calls\n"
                "  --seconds N                as large as N seconds of twice the measured load\n"
                "                             require, at most a quarter of the memory\n"
                "  --memory SIZE              this large, for all CPUs together, such as 64M;\n"
                "                             default: 1M for each CPU, 8M with sched and calls\n"
                "  --persistent SIZE          also keep the last records over a crash, in SIZE of\n"
                "                             memory, such as 16M; Linux 6.12; print the words\n"
                "                             for the kernel's command line that it requires\n"
                "  --dry-run                  only print the cost\n"
                "  --config-dir=DIR, --lib-dir=DIR\n"
                "                             the parents of sessions.d and blackbox.d, instead of\n"
                "                             /etc/ktrace and /usr/lib/ktrace\n",
        .run = blackbox_run,
};
