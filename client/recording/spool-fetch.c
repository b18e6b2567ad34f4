/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl spool fetch: copies a recording from the machine's disk into one or several files of
 * the caller. The daemon sends all streams through a pipe, one after the other. For .kts they are
 * written unchanged, and all readers of streams continue from one stream to the next. For other
 * formats they are first collected in a temporary file. */

#include "recording/spool-fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interfaces/descriptor.h"
#include "recording/input.h"
#include "recording/output.h"
#include "recording/spool-list.h"
#include "recording/spool-text.h"
#include "recording/target.h"

static const char *spool_fetch_text_of(json_object *object, const char *key) {
        return json_object_get_string(json_object_object_get(object, key)) ?: "";
}

/* Finds an entry by id, or the caller's newest by name. Other users can choose the same name for
 * their entries. */
static json_object *spool_fetch_find(json_object *rows, const char *name) {
        json_object *found = NULL;
        uid_t own = geteuid();

        for (size_t i = 0; i < json_object_array_length(rows); i++) {
                json_object *row = json_object_array_get_idx(rows, i);

                if (strcmp(spool_fetch_text_of(row, "id"), name) == 0)
                        return row;
                if (strcmp(spool_fetch_text_of(row, "name"), name) == 0 &&
                                json_object_get_uint64(json_object_object_get(row, "uid")) == own &&
                                (!found || strcmp(spool_fetch_text_of(found, "created-usec"),
                                                           spool_fetch_text_of(row,
                                                                           "created-usec")) < 0))
                        found = row;
        }
        return found;
}

int spool_resolve(Proxy *proxy,
                const char *name,
                char **ret_id,
                bool *ret_goes_on,
                Reason *reason) {
        _cleanup_json_ json_object *rows = NULL;

        int r = spool_list_read(proxy, &rows, reason);
        if (r != 0)
                return r;
        json_object *row = spool_fetch_find(rows, name);
        if (!row)
                return reason_set(reason,
                                KT_E_NO_SUCH_SESSION,
                                "%s: no such recording of yours: see 'ktracectl spool list', and name others' by their ids",
                                name);
        const char *state = spool_fetch_text_of(row, "state");
        if (ret_goes_on)
                *ret_goes_on = strcmp(state, "recording") == 0 || strcmp(state, "waiting") == 0;
        *ret_id = strdup(spool_fetch_text_of(row, "id"));
        return *ret_id ? 0 : -ENOMEM;
}

static int open_pipe(Proxy *proxy, const char *id, const char *file, int *ret_fd, Reason *reason) {
        _cleanup_json_ json_object *arguments = json_object_new_object();
        json_object *options = json_object_new_object();
        ProxyAnswer answer = { .fd = -1 };

        if (!arguments || !options ||
                        json_object_object_add(arguments, "id", json_object_new_string(id)) < 0 ||
                        json_object_object_add(arguments, "options", options) < 0)
                return -ENOMEM;
        if (file && json_object_object_add(options, "file", json_object_new_string(file)) < 0)
                return -ENOMEM;
        int r = proxy_perform(proxy,
                        &(ProxyCall){ .method = "OpenSpool", .arguments = arguments },
                        &answer,
                        reason);
        if (r == 0)
                *ret_fd = TAKE_FD(answer.fd);
        proxy_answer_done(&answer);
        return r;
}

/* Every stream begins with its metadata. A worker that cannot read the files sends nothing, and one
 * that was killed before its first write leaves none. */
static int spool_fetch_check_stream(int fd, json_object *row, Reason *reason) {
        const char *id = spool_fetch_text_of(row, "id"), *end = spool_fetch_text_of(row, "reason");
        struct stat status;

        if (fstat(fd, &status) < 0)
                return -errno;
        if (!S_ISREG(status.st_mode) || status.st_size > 0)
                return 0;
        if (json_object_array_length(json_object_object_get(row, "files")) == 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "%s: nothing of it is on the disk%s%s",
                                id,
                                *end ? "; it ended: " : " yet: fetch it again later",
                                end);
        return reason_set(reason,
                        KT_E_FAILED,
                        "%s: expected a stream, got nothing: no complete frame was written to the "
                        "disk, or ktrace-consumer cannot read it, see 'journalctl -u ktraced'",
                        id);
}

static int get_daemon(Proxy *proxy, uint64_t *ret_pid, Reason *reason) {
        _cleanup_json_ json_object *status = NULL;

        int r = proxy_get(proxy, NULL, "GetStatus", NULL, &status, reason);
        if (r == 0)
                *ret_pid = json_object_get_uint64(json_object_object_get(status, "pid"));
        return r;
}

/* A worker whose daemon has ended sends only its current file and then closes the pipe normally. So
 * this function compares the daemon's PID before and after. */
int spool_fetch_into(Proxy *proxy, const char *id, const char *file, int to, Reason *reason) {
        _cleanup_close_ int from = -1;
        uint64_t before = 0, after = 0;
        Reason ignored;

        int r = get_daemon(proxy, &before, reason);
        r = r ?: open_pipe(proxy, id, file, &from, reason);
        r = r ?: descriptor_copy(from, to);
        if (r != 0 || (get_daemon(proxy, &after, &ignored) == 0 && after == before))
                return r;
        return reason_set(reason,
                        KT_E_FAILED,
                        "%s: ktraced ended during the transfer, and the rest is missing: fetch "
                        "it again",
                        id);
}

static int spool_fetch_file(Proxy *proxy,
                const char *id,
                const char *file,
                const char *path,
                Reason *reason) {
        _cleanup_(target_free_cleanup) Target *target = NULL;

        int r = target_open(path, O_WRONLY, &target, reason);
        r = r ?: spool_fetch_into(proxy, id, file, target_get_fd(target), reason);
        return r ?: target_publish(target, reason);
}

/* Copies each file separately. */
static int spool_fetch_files(Proxy *proxy,
                json_object *row,
                const char *directory,
                Reason *reason) {
        json_object *files = json_object_object_get(row, "files");
        int r = 0;

        for (size_t i = 0; r == 0 && i < json_object_array_length(files); i++) {
                const char *name = spool_fetch_text_of(json_object_array_get_idx(files, i), "name");
                _cleanup_free_ char *path = NULL;

                if (strchr(name, '/') || asprintf(&path,
                                                         "%s/%s-%s",
                                                         directory,
                                                         spool_fetch_text_of(row, "id"),
                                                         name) < 0)
                        return -ENOMEM;
                r = spool_fetch_file(proxy, spool_fetch_text_of(row, "id"), name, path, reason);
        }
        return r;
}

static int open_stdio(const Output *output, FILE **ret) {
        int fd = fcntl(output_get_fd(output), F_DUPFD_CLOEXEC, 3);

        *ret = fd >= 0 ? fdopen(fd, "w") : NULL;
        if (*ret)
                return 0;
        int r = -errno;
        if (fd >= 0)
                close(fd);
        return r;
}

/* Uses a temporary file, because printing and conversion need the complete streams. */
static int fetch_converted(Context *context,
                Proxy *proxy,
                json_object *row,
                const SpoolFetch *fetch,
                Output *output,
                Reason *reason) {
        const char *id = spool_fetch_text_of(row, "id");
        _cleanup_fclose_ FILE *temporary = tmpfile(), *out = NULL;
        ExportFormat format = output_get_format(output);
        ExportSummary summary = {};

        if (!temporary)
                return -errno;
        int r = spool_fetch_into(proxy, id, fetch->file, fileno(temporary), reason);
        if (r == 0 && lseek(fileno(temporary), 0, SEEK_SET) < 0)
                r = -errno;
        r = r ?: spool_fetch_check_stream(fileno(temporary), row, reason);
        r = r ?: open_stdio(output, &out);
        r = r ?: export_file(fileno(temporary), id, format, out, &summary, reason);
        if (r == 0 && fflush(out) != 0)
                r = -errno;
        return r ?: input_report_summary(context, id, &summary);
}

static int fetch_whole(Context *context,
                Proxy *proxy,
                json_object *row,
                const SpoolFetch *fetch,
                Reason *reason) {
        const char *id = spool_fetch_text_of(row, "id");
        _cleanup_(output_free_cleanup) Output *output = NULL;
        _cleanup_free_ char *preset = NULL;
        bool is_converted = false;
        ExportSummary summary = {};

        if (!fetch->path && asprintf(&preset, "%s.kts", id) < 0)
                return -ENOMEM;
        int r = output_open_for(context, fetch->path ?: preset, fetch->format, &output, reason);
        r = r ?: output_begin(output, reason);
        if (r != 0)
                return r;
        int sink = output_get_sink_fd(output);
        if (sink < 0 && output_get_format(output) != EXPORT_KTS)
                return fetch_converted(context, proxy, row, fetch, output, reason);
        sink = sink >= 0 ? sink : output_get_fd(output);
        r = spool_fetch_into(proxy, id, fetch->file, sink, reason);
        r = r ?: spool_fetch_check_stream(sink, row, reason);
        if (r != 0) {
                output_discard(output);
                return r;
        }
        r = output_finish(output, &summary, &is_converted, reason);
        return r ?: is_converted ? input_report_summary(context, id, &summary) : 0;
}

static int spool_fetch_far(Context *context,
                Proxy *proxy,
                json_object *row,
                const SpoolFetch *fetch,
                Reason *reason) {
        if (!spool_is_text(row))
                return fetch_whole(context, proxy, row, fetch, reason);
        if (fetch->path && strcmp(fetch->path, "-") == 0 && !fetch->format)
                return spool_fetch_texts(proxy, row, fetch->file, fetch->path, reason);
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "%s contains text of a crash and no events: with -H, use -o - alone",
                        fetch->name);
}

int spool_fetch(Context *context, Proxy *proxy, const SpoolFetch *fetch, Reason *reason) {
        _cleanup_json_ json_object *rows = NULL;
        struct stat status;

        int r = spool_list_read(proxy, &rows, reason);
        if (r != 0)
                return r;
        json_object *row = spool_fetch_find(rows, fetch->name);
        if (!row)
                return reason_set(reason,
                                KT_E_NO_SUCH_SESSION,
                                "%s: no such recording of yours: see 'ktracectl spool list', and name others' by their ids",
                                fetch->name);
        if (context->far) /* the output is on the near side */
                return spool_fetch_far(context, proxy, row, fetch, reason);
        if (fetch->path && strcmp(fetch->path, "-") != 0 && stat(fetch->path, &status) == 0 &&
                        S_ISDIR(status.st_mode) && !fetch->file && !fetch->format)
                return spool_fetch_files(proxy, row, fetch->path, reason);
        if (spool_is_text(row) && fetch->format)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--to %s: %s contains text of a crash and no events: leave --to "
                                "out",
                                fetch->format,
                                fetch->name);
        if (spool_is_text(row))
                return spool_fetch_texts(proxy, row, fetch->file, fetch->path, reason);
        return fetch_whole(context, proxy, row, fetch, reason);
}
