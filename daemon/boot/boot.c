/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Takes a trace that the kernel began before its first process, because the words of `ktracectl
 * bootconfig` are on the kernel's command line. The trace is taken once per boot, into an entry of
 * root's in the spool. registry.c calls it when the tracefs is first open. It does not access the
 * kernel itself: boot-trace.c does. It never reads the recorded data: a consumer does.
 *
 * The order prevents data loss: first an entry is made on disk, then the events are disabled, then
 * the rings are read, and then the daemon notes that this is done (".boot" in the state directory,
 * which a reboot empties). If a daemon is killed in between, the next one makes an entry of
 * all data that the kernel still holds. */

#include "boot/boot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/describe.h"
#include "base/log.h"
#include "boot/boot-trace.h"
#include "feed/feed.h"
#include "interfaces/spec-json.h"
#include "spool/spool-end.h"
#include "spool/spool-record.h"

#define COMMAND_LINE_PATH "/proc/cmdline"
#define COMMAND_LINE_MAX  8192    /* bytes; COMMAND_LINE_SIZE is 2048 where it matters */
#define STATE_NAME        ".boot" /* store_visit() skips it */

/* The disk may be mounted after the daemon has started. */
#define RETRY_USEC ((uint64_t)10 * 1000000)
#define RETRIES    30

#define FAILURES_MAX 3

#define LOOK_USEC ((uint64_t)1000000)
#define LOOKS_MAX 20
/* After so many, an event without files is not one that comes or goes. */
#define LOOKS_COMPLETE 10

#define ENTRY_SLACK ((uint64_t)16 * 1024 * 1024) /* formats, names, frames */

struct Boot {
        BootOptions options;
        bool is_closing;
        BootTrace trace;
        Plan plan;
        bool in_flight;
        void (*then)(Boot *boot, int result, const Reason *reason); /* after the plan */
        SpoolEntry *entry;
        Feed *feed;
        sd_event_source *timer;
        unsigned n_tries, n_looks;
};

Boot *boot_free(Boot *boot) {
        if (!boot)
                return NULL;
        spool_forget(boot->options.spool, boot);
        feed_free(boot->feed);
        boot_trace_clear(&boot->trace);
        sd_event_source_disable_unref(boot->timer);
        free(boot);
        return NULL;
}

static void boot_finish(Boot *boot) {
        BootOptions options = boot->options;

        boot_free(boot);
        options.on_over(options.userdata);
}

/* key: "entry", or the reason why no entry was made. */
static void boot_end(Boot *boot, const char *key, const char *text) {
        _cleanup_json_ json_object *state = json_object_new_object();

        int r = state ? describe_put(state, key, json_object_new_string(text)) : -ENOMEM;
        r = r ?: store_save(boot->options.store, STATE_NAME, state);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot note that the boot trace was taken");
        boot_finish(boot);
}

static void boot_leave(Boot *boot, const Reason *reason) {
        log_notice("the boot trace %s stays where it is: %s",
                        boot->trace.line->mark.name,
                        reason->text);
        boot_end(boot, "left", reason->text);
}

/* Returns how many daemons of this boot have failed to take the trace. INT_MAX: nothing is left to
 * do. */
static int count_failures(Store *store) {
        _cleanup_json_ json_object *state = NULL;
        json_object *failures = NULL;

        if (store_load(store, STATE_NAME, &state) < 0)
                return 0;
        return json_object_object_get_ex(state, "failures", &failures)
                               ? json_object_get_int(failures)
                               : INT_MAX;
}

static void count_failure(Store *store) {
        _cleanup_json_ json_object *state = json_object_new_object();
        int n = count_failures(store);

        int r = state && n < INT_MAX ? describe_put(state, "failures", json_object_new_int(n + 1))
                                     : -ENOMEM;
        if (r == 0)
                r = store_save(store, STATE_NAME, state);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot note that the boot trace was not taken");
}

/* The failure is ours, so the next daemon tries again, up to FAILURES_MAX daemons in all. The
 * number is limited because any user's call may start a daemon, and each one may leave an entry. */
static void boot_fail(Boot *boot, int r, const char *what) {
        count_failure(boot->options.store);
        log_errno(r < 0 ? r : -EIO, LOG_ERR, NULL, "cannot take the boot trace: %s", what);
        boot_finish(boot);
}

static void boot_submit(Boot *boot, void (*done)(Boot *boot, int result, const Reason *reason));

static void boot_set_timer(Boot *boot, uint64_t usec, sd_event_time_handler_t handler) {
        boot->timer = sd_event_source_disable_unref(boot->timer);
        int r = sd_event_add_time_relative(
                        boot->options.event, &boot->timer, CLOCK_MONOTONIC, usec, 1, handler, boot);
        if (r < 0) /* the next daemon tries again */
                log_errno(r, LOG_ERR, NULL, "cannot wait for the boot trace");
}

static void boot_cleaned(Boot *boot, int result _unused_, const Reason *reason _unused_) {
        if (boot->trace.line->is_persistent && !boot->trace.is_of_crash) {
                boot_end(boot, "left", "the previous boot left no records");
                return;
        }
        log_notice("the boot trace %s is entry %s of the spool",
                        boot->trace.line->mark.name,
                        boot->trace.trace.id);
        boot_end(boot, "entry", boot->trace.trace.id);
}

/* The feed */

static void boot_on_ready(Feed *feed _unused_,
                int result,
                const Reason *reason,
                int fd,
                void *userdata _unused_) {
        if (fd >= 0)
                close(fd);
        if (result != 0)
                log_error("cannot read the boot trace: %s",
                                result < 0 ? strerror(-result) : reason->text);
}

static int boot_on_finish(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        Boot *boot = userdata;

        if (boot->feed)
                feed_finish(boot->feed,
                                boot->trace.trace.names_fd,
                                boot->trace.is_of_crash ? "crash" : "boot",
                                "recorded by the kernel before ktraced was there");
        return 0;
}

/* The timer delays feed_finish, because the feed is still in the call that reports the rings. */
static void boot_on_reading(Feed *feed _unused_, void *userdata) {
        Boot *boot = userdata;

        boot_set_timer(boot, 0, boot_on_finish);
}

static void boot_on_released(Feed *feed _unused_, void *userdata _unused_) {
        /* The clean-up waits until all data is on disk. */
}

static void boot_on_tripped(Feed *feed _unused_,
                const char *text _unused_,
                void *userdata _unused_) {
        /* A boot trace has no guard. */
}

static void boot_on_closed(Feed *feed, int error, const char *text, void *userdata) {
        Boot *boot = userdata;

        boot->feed = feed_free(feed);
        if (error != 0) {
                boot_fail(boot, -error, *text ? text : "its consumer failed");
                return;
        }
        boot_trace_plan_clean(&boot->trace, &boot->plan);
        boot_submit(boot, boot_cleaned);
}

static void boot_stopped(Boot *boot, int result, const Reason *reason) {
        static const FeedHandlers handlers = {
                .on_ready = boot_on_ready,
                .on_reading = boot_on_reading,
                .on_released = boot_on_released,
                .on_tripped = boot_on_tripped,
                .on_closed = boot_on_closed,
        };
        Reason why = {};

        if (result != 0) {
                spool_end(TAKE_PTR(boot->entry), "failed", "its events cannot be turned off");
                boot_fail(boot, result, result > 0 ? reason->text : "its events stay on");
                return;
        }
        int r = feed_new_spool(boot->options.launcher,
                        boot->options.worker,
                        &boot->trace.trace,
                        TAKE_PTR(boot->entry),
                        &handlers,
                        boot,
                        &boot->feed,
                        &why);
        if (r != 0) {
                boot_fail(boot, r, why.text);
                return;
        }
}

/* The entry */

static void boot_make_entry(Boot *boot);

static int boot_on_retry(sd_event_source *source _unused_, uint64_t usec _unused_, void *userdata) {
        boot_make_entry(userdata);
        return 0;
}

static void boot_retry(Boot *boot, const char *why) {
        if (boot->n_tries == 0)
                log_warning("the boot trace waits for the spool: %s", why);
        if (boot->n_tries++ < RETRIES)
                boot_set_timer(boot, RETRY_USEC, boot_on_retry);
        else
                boot_fail(boot, -EIO, why);
}

static void boot_on_made(SpoolEntry *entry, int result, const Reason *reason, void *userdata) {
        Boot *boot = userdata;

        if (result != 0) {
                boot_retry(boot, result > 0 ? reason->text : strerror(-result));
                return;
        }
        boot->entry = entry;
        boot_trace_plan_stop(&boot->trace, &boot->plan);
        boot_submit(boot, boot_stopped);
}

static void boot_make_entry(Boot *boot) {
        uint64_t bytes =
                        boot->trace.spec->buffer_kb * 1024 * boot->trace.trace.n_cpus + ENTRY_SLACK;
        _cleanup_json_ json_object *spec = NULL;
        SpoolMake make = {
                .id = boot->trace.trace.id,
                .uid = 0,
                .name = boot->trace.line->mark.name,
                .kind = boot->trace.is_of_crash ? "crash" : "boot",
                .max_bytes = 2 * bytes, /* one file, and room for a second one */
                .max_bytes_uid = UINT64_MAX,
                .rotate_bytes = bytes,
        };

        int r = spec_to_json(boot->trace.spec, &spec);
        make.spec = spec;
        r = r ?: spool_make(boot->options.spool, &make, boot_on_made, boot);
        if (r != 0)
                boot_retry(boot, "the spool has no room for it");
}

static void boot_looked(Boot *boot, int result, const Reason *reason);

static int boot_on_look(sd_event_source *source _unused_, uint64_t usec _unused_, void *userdata) {
        Boot *boot = userdata;

        boot_trace_plan_look(&boot->trace, &boot->plan);
        boot_submit(boot, boot_looked);
        return 0;
}

/* While the machine boots, the kernel still adds and removes files of events, so a file may be gone
 * when it is read. */
static void boot_look_again(Boot *boot, int r) {
        boot->trace.skips_missing = boot->n_looks >= LOOKS_COMPLETE;
        if (boot->n_looks++ < LOOKS_MAX)
                boot_set_timer(boot, LOOK_USEC, boot_on_look);
        else
                boot_fail(boot, r, "it cannot be looked at");
}

static void boot_looked(Boot *boot, int result, const Reason *reason) {
        Reason none = { "nothing was recorded" };

        if (result > 0)
                boot_leave(boot, reason);
        else if (result < 0)
                boot_look_again(boot, result);
        else if (boot->trace.line->is_persistent && !boot->trace.is_of_crash) {
                boot_trace_plan_clean(&boot->trace, &boot->plan);
                boot_submit(boot, boot_cleaned);
        } else if (boot->trace.is_empty)
                boot_leave(boot, &none);
        else
                boot_make_entry(boot);
}

/* Plans */

static void boot_on_plan(Plan *plan, int result, const Reason *reason) {
        Boot *boot = plan->userdata;
        void (*done)(Boot *, int, const Reason *) = boot->then;

        boot->in_flight = false;
        if (!boot->is_closing)
                done(boot, result, reason);
}

static void boot_submit(Boot *boot, void (*done)(Boot *boot, int result, const Reason *reason)) {
        boot->then = done;
        boot->plan.done = boot_on_plan;
        boot->plan.userdata = boot;
        boot->in_flight = true;
        worker_submit(boot->options.worker, &boot->plan);
}

static int read_command_line(char **ret) {
        _cleanup_close_ int fd = open(COMMAND_LINE_PATH, O_RDONLY | O_CLOEXEC);
        _cleanup_free_ char *text = malloc(COMMAND_LINE_MAX + 1);

        if (fd < 0)
                return -errno;
        ssize_t n = text ? read(fd, text, COMMAND_LINE_MAX) : -1;
        if (n < 0)
                return text ? -errno : -ENOMEM;
        text[n] = '\0';
        *ret = TAKE_PTR(text);
        return 0;
}

static int boot_new_from_line(const BootOptions *options, BootLine *line, Boot **ret) {
        Boot *boot = calloc(1, sizeof(*boot));

        if (!boot)
                return -ENOMEM;
        boot->options = *options;
        int r = boot_trace_init(&boot->trace, line, options->tracefs, options->limits);
        if (r < 0) {
                boot_free(boot);
                return r;
        }
        *ret = boot;
        return 0;
}

int boot_new(const BootOptions *options, Boot **ret) {
        _cleanup_(boot_line_free_cleanup) BootLine *line = NULL;
        _cleanup_free_ char *text = NULL;
        Reason reason = {};

        *ret = NULL;
        if (count_failures(options->store) >= FAILURES_MAX)
                return 0;
        int r = read_command_line(&text);
        r = r ?: boot_line_parse(text, &line, &reason);
        if (r > 0)
                log_warning("%s", reason.text);
        if (r != 0 || !line)
                return r < 0 ? r : 0;
        r = boot_new_from_line(options, line, ret);
        if (r < 0)
                return r;
        line = NULL; /* owned by the boot */
        boot_trace_plan_look(&(*ret)->trace, &(*ret)->plan);
        boot_submit(*ret, boot_looked);
        return 0;
}

void boot_close(Boot *boot) {
        if (boot)
                boot->is_closing = true;
}
