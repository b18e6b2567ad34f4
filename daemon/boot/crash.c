/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Takes the texts that a crash of the machine has left, one batch after the other, each into an
 * entry of root's in the spool. The registry owns it. It runs in the event loop. It does not
 * collect the texts: another process (manager/collect.c) does, and renames each finished batch, a
 * directory of files, into a directory that inotify watches.
 *
 * A batch is removed when its entry is complete. If a daemon ends before that, the next one starts
 * again with the whole batch. If the disk takes only a part, the same entry is continued. If that
 * fails for good, the batch has one entry that says why. The bytes are not changed: the spool's
 * thread copies them. The directory is root's alone and in memory, so reading it does not block. */

#include "boot/crash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "spool/spool-end.h"
#include "spool/spool-record.h"

#define FILES_MAX   256 /* files in a batch */
#define FILE_BYTES  ((uint64_t)4 * 1024 * 1024)
#define BATCH_BYTES ((uint64_t)64 * 1024 * 1024)
/* The disk may be full, or mounted after the daemon has started. */
#define RETRY_USEC ((uint64_t)10 * 1000000)
#define RETRIES    30

struct Crash {
        CrashOptions options;
        bool is_closing;
        int fd; /* the directory */
        sd_event_source *watch, *timer;
        unsigned n_tries; /* for the current batch */

        /* The current batch. */
        int batch_fd; /* -1: none */
        char batch[NAME_MAX + 1];
        SpoolEntry *entry;
        char **files;
        size_t n_files, next;
};

static void batch_clear(Crash *crash) {
        for (size_t i = 0; i < crash->n_files; i++)
                free(crash->files[i]);
        free(crash->files);
        crash->files = NULL;
        crash->n_files = crash->next = 0;
        crash->entry = NULL;
        close_cleanup(&crash->batch_fd);
}

Crash *crash_free(Crash *crash) {
        if (!crash)
                return NULL;
        spool_forget(crash->options.spool, crash);
        sd_event_source_disable_unref(crash->watch);
        sd_event_source_disable_unref(crash->timer);
        batch_clear(crash);
        close_cleanup(&crash->fd);
        free(crash);
        return NULL;
}

bool crash_is_idle(const Crash *crash) {
        return !crash || (crash->batch_fd < 0 && !crash->timer);
}

static void crash_look(Crash *crash);
static void batch_copy_next(Crash *crash);

static int crash_on_retry(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        Crash *crash = userdata;

        crash->timer = sd_event_source_disable_unref(crash->timer);
        if (crash->entry)
                batch_copy_next(crash);
        else
                crash_look(crash);
        return 0;
}

/* Renames the batch. Otherwise each daemon of this boot would make another entry of it. */
static void batch_give_up(Crash *crash, const char *why) {
        char aside[sizeof(crash->batch) + 1];

        (void)snprintf(aside, sizeof(aside), ".%s", crash->batch);
        log_warning("entry %s of the spool has only a part of the records of a crash: the "
                    "rest stays in %s/%s",
                        spool_get_id(crash->entry),
                        crash->options.path,
                        aside);
        spool_end(TAKE_PTR(crash->entry), "failed", why);
        bool is_aside = renameat(crash->fd, crash->batch, crash->fd, aside) == 0;
        if (!is_aside)
                log_errno(-errno, LOG_WARNING, NULL, "cannot rename %s", crash->batch);
        batch_clear(crash);
        if (!is_aside)
                return;
        crash->n_tries = 0;
        crash_look(crash);
}

/* The batch stays where it is. It is tried again later, or by the next daemon if it has no entry
 * yet. */
static void batch_fail(Crash *crash, const char *why) {
        if (crash->n_tries == 0)
                log_error("cannot keep the records of a crash: %s", why);
        bool is_over = crash->n_tries++ >= RETRIES ||
                       sd_event_add_time_relative(crash->options.event,
                                       &crash->timer,
                                       CLOCK_MONOTONIC,
                                       RETRY_USEC,
                                       0,
                                       crash_on_retry,
                                       crash) < 0;
        if (!crash->entry) {
                batch_clear(crash);
                crash->n_tries = is_over ? 0 : crash->n_tries; /* another batch is next */
        } else if (is_over)
                batch_give_up(crash, why);
        crash->options.on_changed(crash->options.userdata);
}

static void batch_end(Crash *crash) {
        log_notice("the records of a crash of the machine are entry %s of the spool",
                        spool_get_id(crash->entry));
        spool_end(TAKE_PTR(crash->entry), "crash", "left by a crash of the machine");
        for (size_t i = 0; i < crash->n_files; i++)
                (void)unlinkat(crash->batch_fd, crash->files[i], 0);
        if (unlinkat(crash->fd, crash->batch, AT_REMOVEDIR) < 0)
                log_errno(-errno, LOG_WARNING, NULL, "cannot remove %s", crash->batch);
        batch_clear(crash);
        crash->n_tries = 0;
        crash_look(crash);
        crash->options.on_changed(crash->options.userdata);
}

static void crash_on_copied(SpoolEntry *entry _unused_,
                int result,
                const Reason *reason,
                void *userdata) {
        Crash *crash = userdata;

        if (crash->batch_fd < 0 || crash->is_closing)
                return;
        if (result != 0) {
                batch_fail(crash, result > 0 ? reason->text : strerror(-result));
                return;
        }
        crash->next++;
        batch_copy_next(crash);
}

static void batch_copy_next(Crash *crash) {
        struct stat status;

        if (crash->next == crash->n_files) {
                batch_end(crash);
                return;
        }
        const char *file = crash->files[crash->next];
        int fd = openat(crash->batch_fd, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        int r = fd < 0 || fstat(fd, &status) < 0 ? -errno : 0;
        if (r == 0 && !S_ISREG(status.st_mode))
                r = -EINVAL;
        if (r == 0) /* consumes fd */
                r = spool_copy(crash->entry, file, TAKE_FD(fd), FILE_BYTES, crash_on_copied, crash);
        close_cleanup(&fd);
        if (r != 0)
                batch_fail(crash, r < 0 ? strerror(-r) : "the spool does not take it");
}

static void crash_on_made(SpoolEntry *entry, int result, const Reason *reason, void *userdata) {
        Crash *crash = userdata;

        if (crash->is_closing)
                return;
        if (result != 0) {
                batch_fail(crash, result > 0 ? reason->text : strerror(-result));
                return;
        }
        crash->entry = entry;
        batch_copy_next(crash);
}

static int list_batch(Crash *crash) {
        struct dirent **entries = NULL;
        int r = 0, n = scandirat(crash->batch_fd, ".", &entries, NULL, alphasort);

        crash->files = n > 0 ? calloc((size_t)n, sizeof(char *)) : NULL;
        for (int i = 0; i < n; i++) {
                const char *name = entries[i]->d_name;

                if (*name != '.' && crash->files && crash->n_files < FILES_MAX) {
                        crash->files[crash->n_files] = strdup(name);
                        if (crash->files[crash->n_files])
                                crash->n_files++;
                        else
                                r = -ENOMEM;
                }
                free(entries[i]);
        }
        free(entries);
        return n < 0 ? -errno : n > 0 && !crash->files ? -ENOMEM : r;
}

static int crash_batch_begin(Crash *crash, const char *name) {
        const SpoolMake make = {
                .uid = 0,
                .name = "crash",
                .kind = "crash",
                .max_bytes = BATCH_BYTES,
                .max_bytes_uid = UINT64_MAX,
        };

        (void)snprintf(crash->batch, sizeof(crash->batch), "%s", name);
        crash->batch_fd = openat(crash->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        int r = crash->batch_fd < 0 ? -errno : list_batch(crash);
        return r ?: spool_make(crash->options.spool, &make, crash_on_made, crash);
}

/* Begins with the first complete batch. The names of incomplete batches start with a dot. */
static void crash_look(Crash *crash) {
        struct dirent **entries = NULL;
        bool has_begun = crash->batch_fd >= 0 || crash->timer || crash->is_closing;
        int n = scandirat(crash->fd, ".", &entries, NULL, alphasort);

        for (int i = 0; i < n; i++) {
                if (!has_begun && entries[i]->d_name[0] != '.') {
                        int r = crash_batch_begin(crash, entries[i]->d_name);

                        has_begun = true;
                        if (r != 0)
                                batch_fail(crash,
                                                r < 0 ? strerror(-r)
                                                      : "the spool does not take it");
                }
                free(entries[i]);
        }
        free(entries);
}

static int on_inotify(sd_event_source *source _unused_,
                const struct inotify_event *event _unused_,
                void *userdata) {
        crash_look(userdata);
        return 0;
}

int crash_new(const CrashOptions *options, Crash **ret) {
        _cleanup_(crash_free_cleanup) Crash *crash = calloc(1, sizeof(*crash));

        if (!crash)
                return -ENOMEM;
        crash->options = *options;
        crash->fd = crash->batch_fd = -1;
        if (mkdir(options->path, 0700) < 0 && errno != EEXIST)
                return -errno;
        int r = fd_open_own_directory(AT_FDCWD, options->path, &crash->fd);
        if (r < 0)
                return r;
        r = sd_event_add_inotify(options->event,
                        &crash->watch,
                        options->path,
                        IN_MOVED_TO | IN_ONLYDIR,
                        on_inotify,
                        crash);
        if (r < 0)
                return r;
        crash_look(crash);
        *ret = TAKE_PTR(crash);
        return 0;
}

void crash_close(Crash *crash) {
        if (crash)
                crash->is_closing = true;
}
