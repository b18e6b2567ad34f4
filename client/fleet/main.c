/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* ktrace-fleet: the part of `ktracectl fleet` that speaks with the broker, in a process of its own.
 * ktracectl starts it and needs no library for this. Standard output is the list, with one
 * recording as JSON on each line, or the streams of a recording. Standard error has messages. */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "fleet/archive.h"
#include "fleet/confinement.h"
#include "fleet/reassembly.h"
#include "interfaces/ascii.h"
#include "interfaces/duration.h"
#include "interfaces/names.h"

#define FLEET_FILE    KT_CONFIG_DIR "/fleet.json"
#define FOLLOW_SEC    1
#define BACKOFF_SEC   30 /* the longest delay before another connection */
#define REPLICAS_MAX  5
#define NSEC_PER_USEC 1000
#define USEC_PER_SEC  1000000

enum {
        OPTION_CONFIG = 256,
        OPTION_FOLLOW,
        OPTION_REPLICAS,
        OPTION_MAX_BYTES,
        OPTION_MAX_AGE,
};

typedef struct FleetOptions {
        const char *config;
        bool follows;
        int64_t n_replicas, max_bytes, max_age_nsec;
} FleetOptions;

/* As messages of ktracectl, which the user has called. */
static _printf_(1, 2) void fleet_say(const char *format, ...) {
        va_list args;

        va_start(args, format);
        fputs("ktracectl: ", stderr);
        (void)vfprintf(stderr, format, args);
        fputc('\n', stderr);
        va_end(args);
}

static int fleet_fail(int r, const Reason *reason) {
        fleet_say("%s", reason->text[0] ? reason->text : strerror(r < 0 ? -r : EINVAL));
        return r == KT_E_ACCESS_DENIED ? KT_EXIT_DENIED : KT_EXIT_FAILED;
}

/* The list, a recording on each line */

static void fleet_print_row(json_object *row, void *userdata _unused_) {
        (void)puts(json_object_to_json_string_ext(row, JSON_C_TO_STRING_PLAIN));
}

static void fleet_report_missing(const char *text, void *userdata) {
        bool *is_partial = userdata;

        *is_partial = true;
        fleet_say("%s", text);
}

static int fleet_list(Archive *archive, char **arguments, Reason *reason) {
        bool is_partial = false;
        const ArchiveListener listener = {
                .take = fleet_print_row,
                .report = fleet_report_missing,
                .userdata = &is_partial,
        };

        int r = archive_list(archive, arguments[0], &listener, reason);
        if (r == 0 && (fflush(stdout) != 0 || ferror(stdout)))
                r = reason_set(reason, KT_E_FAILED, "the list cannot be written");
        if (r != 0)
                return fleet_fail(r, reason);
        return is_partial ? KT_EXIT_LOST : KT_EXIT_OK;
}

/* Fetching */

typedef struct FleetFetch {
        char machine_id[MACHINE_ID_DIGITS + 1];
        const char *session;
        Reassembly *reassembly;
        uint32_t n_strange; /* messages that are no chunks */
        bool is_empty;
} FleetFetch;

static void fleet_report(const char *text, void *userdata) {
        const FleetFetch *fetch = userdata;

        fleet_say("%s: %s", fetch->session, text);
}

/* The delay before the next connection. Readers of one broker do not come back all at once. */
static void fleet_pause(unsigned int delay_sec) {
        uint64_t random = 0, usec = (uint64_t)delay_sec * USEC_PER_SEC;

        (void)getrandom(&random, sizeof(random), GRND_NONBLOCK); /* without it there is no jitter */
        usec += random % (usec / 2);
        (void)nanosleep(&(struct timespec){ (time_t)(usec / USEC_PER_SEC),
                                        (long)(usec % USEC_PER_SEC) * NSEC_PER_USEC },
                        NULL);
}

/* Tries until there is a connection and the machine's stream, or an error that stays. The caller
 * keeps its position, so nothing is read twice. */
static int fleet_reconnect(Archive *archive, const FleetFetch *fetch, Reason *reason) {
        unsigned int delay_sec = FOLLOW_SEC;
        int r;

        fleet_say("%s: connection lost, trying again: %s", fetch->session, reason->text);
        do {
                fleet_pause(delay_sec);
                delay_sec = MIN_OF(2 * delay_sec, (unsigned int)BACKOFF_SEC);
                *reason = (Reason){};
                r = archive_reconnect(archive, reason);
                if (r == KT_E_ACCESS_DENIED)
                        return r;
                if (r == 0)
                        r = archive_check(archive, fetch->machine_id, reason);
        } while (r != 0 && r != KT_E_FAILED && r != KT_E_ACCESS_DENIED);
        return r;
}

/* Reads all chunks. With `follows`, waits for more until the end of the recording. */
static int fleet_read(Archive *archive, FleetFetch *fetch, bool follows, Reason *reason) {
        Reassembly *reassembly = fetch->reassembly;
        uint64_t position = 1;
        int r = 0;

        /* Nothing may come after the end, so all is read. */
        while (r == 0) {
                Chunk chunk;

                r = archive_read(archive,
                                fetch->machine_id,
                                fetch->session,
                                &position,
                                &chunk,
                                reason);
                if (r == 0) {
                        fetch->is_empty = false;
                        r = reassembly_add(reassembly, &chunk);
                } else if (r == -EBADMSG) {
                        fetch->n_strange++;
                        r = 0;
                } else if (r == -ENOENT && follows && !reassembly_get_result(reassembly).is_ended) {
                        (void)sleep(FOLLOW_SEC);
                        r = 0;
                } else if (r == -ENOTCONN) {
                        r = follows ? fleet_reconnect(archive, fetch, reason) : KT_E_FAILED;
                }
        }
        if (r != 0 && r != -ENOENT)
                return r;
        return reassembly_finish(reassembly);
}

static int fleet_conclude(const FleetFetch *fetch) {
        ReassemblyResult result = reassembly_get_result(fetch->reassembly);

        if (fetch->n_strange > 0)
                fleet_say("%s: %" PRIu32 " messages are not part of a recording, and are left out",
                                fetch->session,
                                fetch->n_strange);
        if (fetch->is_empty) {
                fleet_say("%s: no such recording of this machine: 'ktracectl fleet list' "
                          "shows them",
                                fetch->session);
                return KT_EXIT_FAILED;
        }
        if (!result.is_ended)
                fleet_say("%s: its end has not arrived yet", fetch->session);
        return result.n_gaps + fetch->n_strange > 0 ? KT_EXIT_LOST : KT_EXIT_OK;
}

/* A file that is complete is read once more for the output, so two disks can be full. ktracectl
 * gives a file its name only after a success. */
static int fleet_refuse_write(const FleetFetch *fetch, int r, Reason *reason) {
        bool has_no_draft = reassembly_get_result(fetch->reassembly).has_no_draft;

        return reason_set(reason,
                        KT_E_FAILED,
                        "%s: %s cannot be written: %s: make room there, and fetch it again",
                        fetch->session,
                        has_no_draft ? "a temporary file in " P_tmpdir : "the output",
                        strerror(-r));
}

static int fleet_fetch(Archive *archive, FleetFetch *fetch, const char *host, bool follows) {
        Reason reason = {};

        if (!ascii_is_hex(fetch->session, KT_ID_DIGITS)) {
                fleet_say("expected the id of a session, 16 hexadecimal digits");
                return KT_EXIT_USAGE;
        }
        int r = archive_resolve(archive, host, fetch->machine_id, &reason);
        r = r ?: fleet_read(archive, fetch, follows, &reason);
        if (r < 0)
                r = fleet_refuse_write(fetch, r, &reason);
        return r == 0 ? fleet_conclude(fetch) : fleet_fail(r, &reason);
}

static int fleet_add(Archive *archive, const FleetOptions *o, char **arguments, Reason *reason) {
        const ArchiveStream stream = {
                .machine_id = arguments[0],
                .name = arguments[1] ?: "",
                .n_replicas = o->n_replicas,
                .max_bytes = o->max_bytes,
                .max_age_nsec = o->max_age_nsec,
        };

        if (!ascii_is_hex(stream.machine_id, MACHINE_ID_DIGITS)) {
                fleet_say("expected a machine id, 32 digits: see /etc/machine-id there");
                return KT_EXIT_USAGE;
        }
        int r = archive_add(archive, &stream, reason);
        return r == 0 ? KT_EXIT_OK : fleet_fail(r, reason);
}

/* The command line. ktracectl has checked it; this program has no help of its own. */

static int fleet_read_option(FleetOptions *o, int option, const char *text) {
        uint64_t usec = 0;
        char *end = NULL;

        errno = 0;
        switch (option) {
        case OPTION_CONFIG:
                o->config = text;
                return 0;
        case OPTION_FOLLOW:
                o->follows = true;
                return 0;
        case OPTION_REPLICAS:
                o->n_replicas = strtoll(text, &end, 10);
                return *end || o->n_replicas < 1 || o->n_replicas > REPLICAS_MAX ? -EINVAL : 0;
        case OPTION_MAX_BYTES:
                o->max_bytes = strtoll(text, &end, 10);
                return *end || errno || o->max_bytes < 1 ? -EINVAL : 0;
        case OPTION_MAX_AGE:
                if (duration_parse(text, &usec) < 0 || usec > INT64_MAX / NSEC_PER_USEC)
                        return -EINVAL;
                o->max_age_nsec = (int64_t)usec * NSEC_PER_USEC;
                return 0;
        default:
                return -EINVAL;
        }
}

static int fleet_run_verb(Archive *archive,
                const FleetOptions *o,
                FleetFetch *fetch,
                char **words) {
        Reason reason = {};

        if (fetch)
                return fleet_fetch(archive, fetch, words[1], o->follows);
        return strcmp(words[0], "list") == 0 ? fleet_list(archive, words + 1, &reason)
                                             : fleet_add(archive, o, words + 1, &reason);
}

static bool fleet_is_verb(int n, char **words) {
        return n > 0 && ((strcmp(words[0], "list") == 0 && n <= 2) ||
                                        (strcmp(words[0], "fetch") == 0 && n == 3) ||
                                        (strcmp(words[0], "add") == 0 && (n == 2 || n == 3)));
}

static int fleet_make_reassembly(FleetFetch *fetch, Reassembly **ret, Reason *reason) {
        int r = reassembly_new(STDOUT_FILENO, fleet_report, fetch, ret);

        return r == 0 ? 0
                      : reason_set(reason,
                                        KT_E_FAILED,
                                        "cannot make a temporary file in " P_tmpdir ": %s",
                                        strerror(-r));
}

static int fleet_run(const FleetOptions *o, int n, char **words) {
        _cleanup_(fleet_settings_free_cleanup) FleetSettings *settings = NULL;
        _cleanup_(reassembly_free_cleanup) Reassembly *reassembly = NULL;
        _cleanup_(archive_free_cleanup) Archive *archive = NULL;
        FleetFetch fetch = { .session = n == 3 ? words[2] : "", .is_empty = true };
        Reason reason = {};

        if (!fleet_is_verb(n, words)) {
                fleet_say("expected list, fetch or add");
                return KT_EXIT_USAGE;
        }
        bool is_fetch = strcmp(words[0], "fetch") == 0;
        ArchiveAccess access = strcmp(words[0], "add") == 0 ? ARCHIVE_ADDS : ARCHIVE_READS;
        int r = fleet_settings_load(o->config, &settings, &reason);
        /* It makes a temporary file, which is no longer possible afterwards. */
        if (r == 0 && is_fetch)
                r = fleet_make_reassembly(&fetch, &reassembly, &reason);
        fetch.reassembly = reassembly;
        r = r ?: confinement_enter(settings, &reason);
        r = r ?: archive_open(settings, access, &archive, &reason);
        return r == 0 ? fleet_run_verb(archive, o, is_fetch ? &fetch : NULL, words)
                      : fleet_fail(r, &reason);
}

int main(int argc, char **argv) {
        static const struct option options[] = {
                { "config", required_argument, NULL, OPTION_CONFIG },
                { "follow", no_argument, NULL, OPTION_FOLLOW },
                { "replicas", required_argument, NULL, OPTION_REPLICAS },
                { "max-bytes", required_argument, NULL, OPTION_MAX_BYTES },
                { "max-age", required_argument, NULL, OPTION_MAX_AGE },
                { 0 },
        };
        FleetOptions o = { .config = FLEET_FILE, .n_replicas = 1, .max_bytes = -1 };
        int option;

        (void)close_range(3, ~0U, 0); /* only the three are of this program */
        while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
                if (option == '?' || fleet_read_option(&o, option, optarg) < 0) {
                        fleet_say("%s is not expected", optarg ?: "an option");
                        return KT_EXIT_USAGE;
                }
        return fleet_run(&o, argc - optind, argv + optind);
}
