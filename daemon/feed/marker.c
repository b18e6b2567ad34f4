/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Marks: text that the session owner writes among the session's events, through the instance's
 * trace_marker. Clients never get that file itself: it cannot be revoked, it pins the instance, and
 * it accepts binary marks. The write does not wait or sleep, so the event loop does it.
 *
 * Fast writers get a pipe in packet mode, with one mark per packet. The event loop reads a few
 * marks at a time when it is otherwise idle, so a writer that floods its pipe slows down only
 * itself. A socket would be unsafe: its messages can contain file descriptors, and closing those
 * takes as long as their owner likes. Such a writer gets no answer, so no mark is refused: text
 * that is too long is cut, and bytes that are not printable text become '?'.
 *
 * In a judged stream, records of that event by this thread pass. The thread's other records are
 * judged as usual.
 *
 * Relies on: a mark is an ftrace:print event of the task that writes, whatever the pid list
 * contains. The write fails with EBADF while tracing_on is 0 and when the ring is full. Only a full
 * ring increments the dropped count in per_cpu/cpuN/stats, and reading that count takes no lock.
 * The counters of a viewer of a shared instance change only when its reader has read. */

#include "feed/marker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "interfaces/utf8.h"
#include "trace/trace-mark.h"
#include "trace/trace-statistics.h"

#define BURST 32
#define CUT   "…"

struct Marker {
        struct MarkerList *list;
        const Trace *trace;
        bool (*is_open)(void *userdata);
        void *userdata;
        sd_event_source *source;
        int fd;
        TAILQ_ENTRY(Marker) markers;
};

static bool marker_is_printable(const char *text, size_t left, size_t *ret_length) {
        size_t n = utf8_length(text, left);

        *ret_length = MAX_OF(n, (size_t)1);
        return n > 1 || (n == 1 && (unsigned char)*text >= 0x20 && *text != 0x7f);
}

static uint64_t count_dropped(const Trace *trace) {
        uint64_t n = 0;

        for (unsigned cpu = 0; cpu < trace->n_cpus; cpu++) {
                CpuStatistics s;

                if (trace_read_ring_statistics(trace, cpu, &s) == 0)
                        n += s.dropped;
        }
        return n;
}

/* The kernel has refused a mark. If the ring was full, the mark counts as dropped. While tracing_on
 * is 0, the dropped count does not change. */
static int marker_try_again(const Trace *trace, const char *text, size_t size, Reason *reason) {
        uint64_t n_dropped = count_dropped(trace);
        int r = trace_mark(trace, text, size);

        if (r != -EBADF)
                return r;
        if (count_dropped(trace) != n_dropped)
                return reason_set(reason,
                                KT_E_BUSY,
                                "the ring buffer is full and the mark is lost: read the "
                                "session's stream, or use a larger buffer-kb");
        return reason_set(reason,
                        KT_E_WRONG_STATE,
                        trace->grant->fenced ? "the guard has ended the recording"
                                             : "nothing is recorded now: the session's "
                                               "triggers have closed its window");
}

int marker_write(const Trace *trace, const char *text, Reason *reason) {
        size_t size = strnlen(text, MARK_MAX + 1);

        if (size == 0)
                return reason_set(reason, KT_E_INVALID_SPEC, "text: it is empty");
        if (size > MARK_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "text: a mark has at most %d bytes",
                                MARK_MAX);
        for (size_t i = 0, n; i < size; i += n)
                if (!marker_is_printable(text + i, size - i, &n))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "text: byte %zu is not printable text",
                                        i + 1);
        int r = trace_mark(trace, text, size);
        return r == -EBADF ? marker_try_again(trace, text, size, reason) : r;
}

static Marker *marker_free(Marker *marker) {
        TAILQ_REMOVE(marker->list, marker, markers);
        sd_event_source_disable_unref(marker->source);
        close_cleanup(&marker->fd);
        free(marker);
        return NULL;
}

/* The caller provides room for CUT after size bytes. */
static size_t marker_make_text(char *data, size_t size) {
        bool is_long = size > MARK_MAX;

        if (is_long)
                size = MARK_MAX - strlen(CUT);
        while (size > 0 && (data[size - 1] == '\n' || data[size - 1] == '\0')) /* of echo */
                size--;
        for (size_t i = 0, n; i < size; i += n)
                if (!marker_is_printable(data + i, size - i, &n))
                        data[i] = '?';
        if (is_long)
                size += (size_t)sprintf(data + size, CUT);
        return size;
}

static int on_packets(sd_event_source *source _unused_,
                int fd,
                uint32_t revents _unused_,
                void *userdata) {
        Marker *marker = userdata;
        char data[PIPE_BUF + sizeof(CUT)];

        for (unsigned i = 0; i < BURST; i++) {
                ssize_t n = read(fd, data, PIPE_BUF);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 && errno == EAGAIN)
                        return 0;
                if (n <= 0) { /* the last writer has closed */
                        marker_free(marker);
                        return 0;
                }
                size_t size = marker_make_text(data, (size_t)n);
                if (size > 0 && marker->is_open(marker->userdata))
                        (void)trace_mark(marker->trace, data, size); /* tracing off: not recorded */
        }
        return 0;
}

static int marker_add(struct MarkerList *list, sd_event *event, const Marker *template) {
        Marker *marker = malloc(sizeof(*marker));

        if (!marker)
                return -ENOMEM;
        *marker = *template;
        int r = sd_event_add_io(event, &marker->source, marker->fd, EPOLLIN, on_packets, marker);
        if (r >= 0)
                r = sd_event_source_set_priority(marker->source, SD_EVENT_PRIORITY_IDLE);
        if (r < 0) {
                sd_event_source_disable_unref(marker->source);
                free(marker);
                return r;
        }
        (void)sd_event_source_set_description(marker->source, "marker");
        TAILQ_INSERT_TAIL(list, marker, markers);
        return 0;
}

static size_t marker_count(const struct MarkerList *list) {
        const Marker *marker;
        size_t n = 0;

        TAILQ_FOREACH(marker, list, markers)
                n++;
        return n;
}

int marker_open(struct MarkerList *list,
                sd_event *event,
                const Trace *trace,
                bool (*is_open)(void *userdata),
                void *userdata,
                int *ret_fd,
                int *ret_kept,
                Reason *reason) {
        int fds[2];

        if (marker_count(list) == MARKERS_MAX)
                marker_read_all(list); /* a busy loop has not yet seen which pipes are closed */
        if (marker_count(list) == MARKERS_MAX)
                return reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "a session has at most %d marker pipes: share yours with the "
                                "other writers",
                                MARKERS_MAX);
        if (pipe2(fds, O_CLOEXEC | O_DIRECT) < 0)
                return -errno;
        /* The flags affect only our end: the writer's end has another file description. */
        if (fcntl(fds[0], F_SETFL, O_NONBLOCK | O_DIRECT) < 0) {
                int error = -errno;

                close(fds[0]);
                close(fds[1]);
                return error;
        }
        int r = marker_add(list, event, &(Marker){ list, trace, is_open, userdata, .fd = fds[0] });
        if (r < 0) {
                close(fds[0]);
                close(fds[1]);
                return r;
        }
        *ret_fd = fds[1];
        *ret_kept = fds[0];
        return 0;
}

int marker_adopt(struct MarkerList *list,
                sd_event *event,
                const Trace *trace,
                bool (*is_open)(void *userdata),
                void *userdata,
                int fd) {
        int r = marker_add(list, event, &(Marker){ list, trace, is_open, userdata, .fd = fd });

        if (r == 0)
                (void)sd_event_source_set_enabled(
                                TAILQ_LAST(list, MarkerList)->source, SD_EVENT_OFF);
        return r;
}

void marker_resume_all(struct MarkerList *list) {
        Marker *marker;

        TAILQ_FOREACH(marker, list, markers)
                (void)sd_event_source_set_enabled(marker->source, SD_EVENT_ON);
}

void marker_read_all(struct MarkerList *list) {
        Marker *next;

        for (Marker *marker = TAILQ_FIRST(list); marker; marker = next) {
                next = TAILQ_NEXT(marker, markers); /* on_packets frees a marker without writers */
                (void)on_packets(marker->source, marker->fd, EPOLLIN, marker);
        }
}

void marker_close_all(struct MarkerList *list) {
        while (!TAILQ_EMPTY(list))
                marker_free(TAILQ_FIRST(list));
}
