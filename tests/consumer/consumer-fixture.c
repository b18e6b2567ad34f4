/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "consumer-fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#define WAIT_MSEC   10000
#define NUMBER_MARK 0x80808080U /* no byte of it ends a string */

const char *rig_user(void) {
        return geteuid() == 0 ? "nobody" : NULL;
}

static bool wait_for(int fd, short events, int msec) {
        struct pollfd p = { .fd = fd, .events = events };
        int r;

        while ((r = poll(&p, 1, msec)) < 0)
                g_assert_cmpint(errno, ==, EINTR);
        return r > 0;
}

void rig_start(Rig *rig, const char *const *arguments) {
        const char *binary = g_getenv("KTRACE_CONSUMER");
        const char *argv[8] = { "ktrace-consumer" };
        int fds[2];

        g_assert_nonnull(binary);
        *rig = (Rig){
                .sink = -1, .percent = -1, .guard = { -1, -1 }, .stream = g_byte_array_new()
        };
        for (size_t i = 0; i < RIG_CPUS_MAX; i++)
                rig->rings[i] = rig->stats[i] = -1;
        for (size_t i = 0; arguments[i]; i++)
                argv[i + 1] = arguments[i];
        g_assert_no_errno(
                        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds));
        rig->pid = fork();
        g_assert_cmpint(rig->pid, >=, 0);
        if (rig->pid == 0) {
                dup2(fds[1], 3);
                close_range(4, ~0U, 0);
                execv(binary, (char *const *)argv);
                _exit(127);
        }
        close(fds[1]);
        rig->control = fds[0];
}

void rig_send(Rig *rig, const ControlMessage *message, const int *fds, size_t n_fds) {
        ControlMessage versioned = *message;

        versioned.version = CONTROL_VERSION;
        g_assert_cmpint(fd_send(rig->control, &versioned, sizeof(versioned), fds, n_fds), ==, 0);
}

void rig_send_type(Rig *rig, ControlType type) {
        rig_send(rig, &(ControlMessage){ .type = type }, NULL, 0);
}

static void set_up(Rig *rig, ControlMessage *setup, const char *plan) {
        bool is_pipe = setup->setup.sink == CONTROL_SINK_PIPE;
        g_autofree char *metadata = page_metadata_new();
        int ends[2] = { -1, -1 };

        setup->type = CONTROL_SETUP;
        setup->setup.subbuf_size = PAGE_SIZE_TEST;
        setup->setup.buffer_bytes = 256 * 1024;
        rig_start(rig,
                        rig_user() ? (const char *[]){ "--user", rig_user(), NULL }
                                   : (const char *[]){ NULL });
        rig->n_cpus = setup->setup.n_cpus;
        if (is_pipe) {
                g_assert_no_errno(pipe2(ends, O_CLOEXEC));
                g_assert_no_errno(fcntl(ends[1], F_SETFL, O_NONBLOCK));
        } else if (setup->setup.sink != CONTROL_SINK_NONE)
                g_assert_no_errno(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
        rig->sink = ends[0];
        _cleanup_close_ int fd = fd_memfd_sealed("metadata", metadata, strlen(metadata));
        _cleanup_close_ int plan_fd = plan ? fd_memfd_sealed("plan", plan, strlen(plan)) : -1;
        setup->setup.counted = plan != NULL;
        rig_send(rig, setup, (int[]){ fd, ends[1], plan_fd }, plan ? 3 : ends[1] >= 0 ? 2 : 1);
        close_cleanup(&ends[1]);
        rig_await(rig, CONTROL_READY, NULL);
}

void rig_set_up(Rig *rig, ControlSink sink, unsigned n_cpus, bool fenced) {
        set_up(rig,
                        &(ControlMessage){ .setup = { .sink = sink,
                                                           .n_cpus = n_cpus,
                                                           .fenced = fenced } },
                        NULL);
}

void rig_set_up_snapshot(Rig *rig, ControlSink sink, unsigned n_cpus, bool judged) {
        set_up(rig,
                        &(ControlMessage){ .setup = { .sink = sink,
                                                           .n_cpus = n_cpus,
                                                           .fenced = judged,
                                                           .judged = judged,
                                                           .fork_id = EVENT_ID_FORK,
                                                           .fork_child_offset = 8,
                                                           .exit_id = EVENT_ID_EXIT,
                                                           .clock = CLOCK_MONOTONIC,
                                                           .snapshot = CONTROL_SNAPSHOT_FROZEN } },
                        NULL);
        rig_await(rig, CONTROL_ATTACHED, NULL);
}

void rig_give_window(Rig *rig, int earlier_fd, int kept_fd) {
        rig_send(rig,
                        &(ControlMessage){ .type = CONTROL_WINDOW },
                        (int[]){ earlier_fd, kept_fd },
                        2);
}

void rig_run_compressed(Rig *rig, unsigned n_cpus) {
        set_up(rig,
                        &(ControlMessage){ .setup = { .sink = CONTROL_SINK_PIPE,
                                                           .n_cpus = n_cpus,
                                                           .compressed = true } },
                        NULL);
        rig_await(rig, CONTROL_ATTACHED, NULL);
        rig_give_rings(rig);
}

void rig_set_up_judged(Rig *rig, unsigned n_cpus, uint64_t bytes_per_sec) {
        rig_set_up_counted(rig, n_cpus, bytes_per_sec, NULL);
}

void rig_set_up_counted(Rig *rig, unsigned n_cpus, uint64_t bytes_per_sec, const char *plan) {
        set_up(rig,
                        &(ControlMessage){ .setup = { .sink = CONTROL_SINK_PIPE,
                                                           .n_cpus = n_cpus,
                                                           .fenced = true,
                                                           .judged = true,
                                                           .fork_id = EVENT_ID_FORK,
                                                           .fork_child_offset = 8,
                                                           .exit_id = EVENT_ID_EXIT,
                                                           .clock = CLOCK_MONOTONIC,
                                                           .bytes_per_sec = bytes_per_sec } },
                        plan);
        rig_await(rig, CONTROL_ATTACHED, NULL);
}

void rig_add_member(Rig *rig, uint32_t tid, uint64_t since_nsec) {
        rig_prove_member(rig, tid, since_nsec, 0);
}

void rig_prove_member(Rig *rig, uint32_t tid, uint64_t since_nsec, uint64_t until_nsec) {
        ControlMember member = { .tid = tid, .since_nsec = since_nsec };
        const ControlMessage message = {
                .type = CONTROL_MEMBERS,
                .members = { .n = 1, .until_nsec = until_nsec },
        };
        snprintf(member.comm, sizeof(member.comm), "mine \"%u\"", tid);
        _cleanup_close_ int fd = fd_memfd_sealed("members", (const char *)&member, sizeof(member));

        rig_send(rig, &message, &fd, 1);
}

void rig_give_guard(Rig *rig) {
        static const char hist[] = "# event histogram\n\nTotals:\n    Hits: 0\n    Entries: 0\n";

        rig->guard[0] = memfd_create("tracing_on", MFD_CLOEXEC);
        rig->guard[1] = memfd_create("hist", MFD_CLOEXEC);
        g_assert_cmpint(write(rig->guard[0], "1\n", 2), ==, 2);
        g_assert_cmpint(write(rig->guard[1], hist, strlen(hist)), ==, strlen(hist));
        rig_send(rig, &(ControlMessage){ .type = CONTROL_GUARD }, rig->guard, 2);
}

void rig_give_rings(Rig *rig) {
        int given[1 + 2 * RIG_CPUS_MAX], ends[2];
        size_t n = 0;

        g_assert_no_errno(pipe2(ends, O_CLOEXEC | O_NONBLOCK));
        rig->percent = ends[0];
        given[n++] = ends[1];
        for (unsigned i = 0; i < rig->n_cpus; i++) {
                g_assert_no_errno(socketpair(
                                AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends));
                rig->rings[i] = ends[0];
                given[n++] = ends[1];
                if (rig->stats[i] < 0) {
                        rig->stats[i] = memfd_create("stats", MFD_CLOEXEC);
                        g_assert_no_errno(rig->stats[i]);
                        rig_set_stats(rig, i, 0, 0, 0);
                }
                given[n++] = rig->stats[i];
        }
        rig_send(rig,
                        &(ControlMessage){ .type = CONTROL_RINGS, .rings = { 0, rig->n_cpus } },
                        given,
                        n);
        for (size_t i = 0; i < n; i++)
                if (i == 0 || i % 2 == 1)
                        close(given[i]);
}

void rig_run(Rig *rig, unsigned n_cpus, bool fenced) {
        rig_set_up(rig, CONTROL_SINK_PIPE, n_cpus, fenced);
        rig_await(rig, CONTROL_ATTACHED, NULL);
        rig_give_rings(rig);
}

void rig_free(Rig *rig) {
        if (rig->pid > 0) {
                g_assert_no_errno(kill(rig->pid, SIGKILL));
                g_assert_no_errno(waitpid(rig->pid, NULL, 0));
        }
        for (size_t i = 0; i < RIG_CPUS_MAX; i++) {
                close_cleanup(&rig->rings[i]);
                close_cleanup(&rig->stats[i]);
        }
        close_cleanup(&rig->control);
        close_cleanup(&rig->sink);
        close_cleanup(&rig->percent);
        close_cleanup(&rig->guard[0]);
        close_cleanup(&rig->guard[1]);
        g_byte_array_unref(rig->stream);
}

bool rig_has_message(Rig *rig, int wait_msec) {
        return wait_for(rig->control, POLLIN, wait_msec);
}

void rig_await(Rig *rig, ControlType type, ControlMessage *ret) {
        ControlMessage message;
        size_t n_fds;

        g_assert_true(rig_has_message(rig, WAIT_MSEC));
        ssize_t n = fd_receive(rig->control, &message, sizeof(message), NULL, 0, &n_fds);
        if (n == -ECONNRESET) /* reported once, before what it sent, when it left ours unread */
                n = fd_receive(rig->control, &message, sizeof(message), NULL, 0, &n_fds);
        g_assert_cmpint(n, ==, sizeof(message));
        g_assert_cmpuint(message.version, ==, CONTROL_VERSION);
        g_assert_cmpuint(message.type, ==, type);
        if (ret)
                *ret = message;
}

void rig_finish(Rig *rig, const char *names) {
        ControlMessage message = { .type = CONTROL_FINISH,
                .finish = { .code = "stopped", .text = "as it was wanted" } };
        _cleanup_close_ int fd = -1;

        if (names)
                fd = fd_memfd_sealed("names", names, strlen(names));
        rig_send(rig, &message, &fd, names ? 1 : 0);
}

int rig_exit_status(Rig *rig) {
        int status;

        for (int i = 0; i < WAIT_MSEC; i += 10) {
                pid_t pid = waitpid(rig->pid, &status, WNOHANG);

                g_assert_no_errno(pid);
                if (pid == 0) {
                        g_usleep(10 * 1000);
                        continue;
                }
                rig->pid = 0;
                g_assert_true(WIFEXITED(status));
                return WEXITSTATUS(status);
        }
        g_error("the consumer does not exit");
}

bool rig_feed(Rig *rig, unsigned cpu, const uint8_t *page) {
        if (send(rig->rings[cpu], page, PAGE_SIZE_TEST, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
                return true;
        g_assert_cmpint(errno, ==, EAGAIN);
        return false;
}

void rig_make_page(uint8_t *page, uint32_t pid, uint32_t number, bool full) {
        size_t size = full ? 4000 : 40;
        PageBuilder builder;

        page_begin(&builder, page);
        uint8_t *body = page_add_record(&builder, EVENT_ID_TEXT, pid, size);
        memset(body + 8, 'x', size - 8);
        page_put_u32(body + size - 4, number | NUMBER_MARK);
        page_end(&builder, 0);
}

uint32_t rig_feed_until_full(Rig *rig, unsigned cpu, uint32_t number) {
        uint8_t page[PAGE_SIZE_TEST];

        for (int n_full = 0; n_full < 30;) {
                rig_make_page(page, 1, number, true);
                if (rig_feed(rig, cpu, page)) {
                        number++;
                        n_full = 0;
                        continue;
                }
                n_full++;
                g_usleep(10 * 1000);
        }
        return number;
}

void rig_set_stats(Rig *rig, unsigned cpu, unsigned entries, unsigned overrun, unsigned dropped) {
        g_autofree char *text =
                        g_strdup_printf("entries: %u\noverrun: %u\ncommit overrun: 0\nbytes: 0\n"
                                        "oldest event ts:     1.000000\nnow ts:     2.000000\n"
                                        "dropped events: %u\nread events: 0\n          ",
                                        entries,
                                        overrun,
                                        dropped);

        g_assert_cmpint(pwrite(rig->stats[cpu], text, strlen(text), 0), ==, strlen(text));
}

void rig_set_held_bytes(Rig *rig, unsigned cpu, unsigned bytes) {
        g_autofree char *text =
                        g_strdup_printf("entries: 0\noverrun: 0\ncommit overrun: 0\nbytes: %u\n"
                                        "dropped events: 0\nread events: 0\n%128s",
                                        bytes,
                                        "");

        g_assert_cmpint(pwrite(rig->stats[cpu], text, strlen(text), 0), ==, strlen(text));
}

bool rig_ring_is_closed(Rig *rig, unsigned cpu) {
        struct pollfd p = { .fd = rig->rings[cpu] };

        return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP);
}

Frame *frames_parse(const GByteArray *stream, size_t *ret_n, size_t *ret_left) {
        GArray *frames = g_array_new(TRUE, TRUE, sizeof(Frame));
        size_t at = sizeof(StreamHeader);

        if (stream->len >= at)
                g_assert_cmpint(stream_header_decode(stream->data, stream->len, NULL), ==, 0);
        else
                at = stream->len;
        while (stream->len - at >= sizeof(FrameHeader)) {
                Frame frame = { .payload = stream->data + at + sizeof(FrameHeader) };

                g_assert_cmpint(frame_header_decode(stream->data + at, &frame.header, NULL), ==, 0);
                if (frame.header.size > stream->len - at - sizeof(FrameHeader))
                        break;
                g_array_append_val(frames, frame);
                at += sizeof(FrameHeader) + frame.header.size;
        }
        if (ret_left)
                *ret_left = stream->len - at;
        *ret_n = frames->len;
        return (Frame *)(void *)g_array_free(frames, FALSE);
}

ssize_t rig_read(Rig *rig, size_t max) {
        uint8_t bytes[65536];

        g_assert_true(wait_for(rig->sink, POLLIN, WAIT_MSEC));
        ssize_t n = read(rig->sink, bytes, MIN_OF(max, sizeof(bytes)));
        g_assert_no_errno(n);
        g_byte_array_append(rig->stream, bytes, (guint)n);
        return n;
}

void rig_read_frames(Rig *rig, size_t n) {
        for (;;) {
                size_t n_here, left;
                g_autofree Frame *frames = frames_parse(rig->stream, &n_here, &left);

                if (n_here >= n)
                        return;
                g_assert_cmpint(rig_read(rig, SIZE_MAX), >, 0);
        }
}

void rig_read_to_end(Rig *rig) {
        while (rig_read(rig, SIZE_MAX) > 0)
                ;
}

uint64_t frames_count(const Frame *frames, FrameType type) {
        uint64_t n = 0;

        for (; frames->header.type; frames++)
                n += frames->header.type == (uint32_t)type;
        return n;
}

GArray *frames_numbers(const Frame *frames, unsigned cpu) {
        GArray *numbers = g_array_new(FALSE, FALSE, sizeof(uint32_t));

        for (; frames->header.type; frames++) {
                if (frames->header.type != FRAME_DATA || frames->header.cpu != cpu)
                        continue;
                for (size_t at = 0; at < frames->header.size; at += PAGE_SIZE_TEST) {
                        const uint8_t *page = frames->payload + at;
                        size_t left = MIN_OF(frames->header.size - at, (size_t)PAGE_SIZE_TEST);
                        uint32_t number = page_get_u32(page + page_get_used(page, left) - 4);

                        number &= ~NUMBER_MARK;
                        g_array_append_val(numbers, number);
                }
        }
        return numbers;
}

void frames_assert_numbers(const Frame *frames, unsigned cpu, uint32_t n) {
        g_autoptr(GArray) numbers = frames_numbers(frames, cpu);

        g_assert_cmpuint(numbers->len, ==, n);
        for (uint32_t i = 0; i < n; i++)
                g_assert_cmpuint(g_array_index(numbers, uint32_t, i), ==, i);
}

json_object *frames_json(const Frame *frames, FrameType type) {
        const Frame *found = NULL;

        for (; frames->header.type; frames++)
                if (frames->header.type == (uint32_t)type) {
                        g_assert_null(found);
                        found = frames;
                }
        g_assert_nonnull(found);
        g_autofree char *text = g_strndup((const char *)found->payload, found->header.size);
        json_object *object = json_tokener_parse(text);
        g_assert_nonnull(object);
        return object;
}

uint64_t statistics_get(json_object *statistics, unsigned cpu, const char *key) {
        json_object *cpus, *value;

        g_assert_true(json_object_object_get_ex(statistics, "cpus", &cpus));
        json_object *object = json_object_array_get_idx(cpus, cpu);
        g_assert_nonnull(object);
        g_assert_true(json_object_object_get_ex(object, key, &value));
        return json_object_get_uint64(value);
}
