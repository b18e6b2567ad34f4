/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The consumer on rings of the kernel that runs: an instance of the test's own, in a mount of
 * tracefs that nobody else sees. What consumer.c and ring.c rely on is tried first, in their words.
 *
 * The instance does not bear the daemon's prefix: a ktraced that starts beside would take it for an
 * orphan. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "consumer-fixture.h"
#include "consumer/records/ring.h"

#define N_CALLS      1000000
#define FILE_MAX     ((size_t)1024 * 1024)
#define CPUS_MAX     64
#define CALLS_KB     "8192"
#define MARK         "slow event"
#define LATENCY_MSEC 200

static const char *skip_reason;
static char *mount_dir;
static char *instance_dir;
static unsigned n_cpus;

static int open_file(const char *name, int flags) {
        g_autofree char *path = g_build_filename(instance_dir, name, NULL);

        int fd = open(path, flags | O_CLOEXEC);
        if (fd < 0)
                g_error("%s: %s", name, g_strerror(errno));
        return fd;
}

static void write_file(const char *name, const char *text) {
        _cleanup_close_ int fd = open_file(name, O_WRONLY);

        if (fd_write_all(fd, text, strlen(text)) < 0)
                g_error("%s: cannot write \"%s\"", name, text);
}

static char *read_text(const char *name) {
        _cleanup_close_ int fd = open_file(name, O_RDONLY);
        char *text = NULL;

        g_assert_cmpint(fd_read_all(fd, FILE_MAX, &text, NULL), ==, 0);
        return text;
}

static int open_cpu(unsigned cpu, const char *name) {
        g_autofree char *path = g_strdup_printf("per_cpu/cpu%u/%s", cpu, name);

        return open_file(path, O_RDONLY | O_NONBLOCK);
}

static uint64_t now_usec(void) {
        return (uint64_t)g_get_monotonic_time();
}

static void pin_to_cpu(unsigned cpu) {
        cpu_set_t set;

        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        g_assert_no_errno(sched_setaffinity(0, sizeof(set), &set));
}

static void mark(void) {
        write_file("trace_marker", MARK);
}

static void begin(void) {
        write_file("buffer_size_kb", "256");
        write_file("options/overwrite", "0");
        write_file("tracing_on", "1");
}

static bool is_woken(int epoll_fd, int msec) {
        struct epoll_event event;

        return epoll_wait(epoll_fd, &event, 1, msec) == 1;
}

static void watch(int epoll_fd, int fd) {
        struct epoll_event event = { .events = EPOLLIN };

        (void)epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        g_assert_no_errno(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event));
}

/* With buffer_percent at 0 an empty ring sleeps and the first event wakes; with more than one
 * sub-buffer wanted it does not, until a timer looks. */
static void test_wait_queues(void) {
        _cleanup_close_ int fd = open_cpu(0, "trace_pipe_raw"), epoll_fd = epoll_create1(0);
        uint8_t page[65536];

        begin();
        pin_to_cpu(0);
        write_file("buffer_percent", "0");
        watch(epoll_fd, fd);
        g_assert_false(is_woken(epoll_fd, 300));
        mark();
        g_assert_true(is_woken(epoll_fd, LATENCY_MSEC));
        g_assert_cmpint(read(fd, page, sizeof(page)), >, 0);

        write_file("buffer_percent", "25");
        watch(epoll_fd, fd);
        mark();
        g_assert_false(is_woken(epoll_fd, 300));
        write_file("buffer_percent", "0");
        watch(epoll_fd, fd);
        g_assert_true(is_woken(epoll_fd, LATENCY_MSEC));
}

/* One read(2) gives at most one sub-buffer; what was written of the current one comes at once, and
 * the counters say so. */
static void test_partial_sub_buffer(void) {
        Ring ring = { .raw_fd = open_cpu(0, "trace_pipe_raw"), .stats_fd = open_cpu(0, "stats") };
        uint8_t page[65536];

        begin();
        pin_to_cpu(0);
        for (uint64_t i = 1; i <= 3; i++) {
                mark();
                g_assert_cmpint(ring_read_statistics(&ring), ==, 0);
                g_assert_cmpuint(ring.last.entries, ==, 1);
                g_assert_cmpuint(ring.last.read, ==, i - 1);
                ssize_t n = read(ring.raw_fd, page, sizeof(page));
                g_assert_cmpint(n, >=, PAGE_HEADER_SIZE);
                g_assert_cmpuint(page_get_used(page, (size_t)n), <, 200);
                g_assert_nonnull(memmem(page, (size_t)n, MARK, strlen(MARK)));
                g_assert_cmpint(read(ring.raw_fd, page, sizeof(page)), ==, -1);
                g_assert_cmpint(errno, ==, EAGAIN);
                g_assert_cmpint(ring_read_statistics(&ring), ==, 0);
                g_assert_cmpuint(ring.last.entries, ==, 0);
                g_assert_cmpuint(ring.last.read, ==, i);
        }
        ring_close(&ring);
}

static uint32_t get_subbuf_size(void) {
        g_autofree char *path = g_build_filename(instance_dir, "buffer_subbuf_size_kb", NULL);
        g_autofree char *text = NULL;

        return g_file_get_contents(path, &text, NULL, NULL) ? (uint32_t)atoi(text) * 1024 : 4096;
}

static char *make_metadata(void) {
        _cleanup_json_ json_object *object = json_object_new_object();
        json_object *events = json_object_new_array(), *event = json_object_new_object();
        g_autofree char *format = read_text("events/raw_syscalls/sys_enter/format");

        json_object_object_add(event, "format", json_object_new_string(format));
        json_object_array_add(events, event);
        json_object_object_add(object, "events", events);
        return g_strdup(json_object_to_json_string(object));
}

static void give_real_rings(Rig *rig) {
        int fds[1 + 2 * CPUS_MAX];
        size_t n = 0;

        fds[n++] = open_file("buffer_percent", O_WRONLY);
        for (unsigned cpu = 0; cpu < n_cpus; cpu++) {
                fds[n++] = open_cpu(cpu, "trace_pipe_raw");
                fds[n++] = open_cpu(cpu, "stats");
        }
        rig_send(rig, &(ControlMessage){ .type = CONTROL_RINGS, .rings = { 0, n_cpus } }, fds, n);
        while (n > 0)
                close(fds[--n]);
}

static uint32_t read_id(const char *event) {
        g_autofree char *name = g_strdup_printf("events/%s/id", event), *text = read_text(name);

        return (uint32_t)atoi(text);
}

static uint32_t find_child_offset(void) {
        g_autofree char *text = read_text("events/sched/sched_process_fork/format");
        const char *at = strstr(text, "child_pid;\toffset:");

        g_assert_nonnull(at);
        return (uint32_t)atoi(strchr(at, ':') + 1);
}

static void judge(ControlMessage *setup) {
        setup->setup.judged = true;
        setup->setup.fork_id = read_id("sched/sched_process_fork");
        setup->setup.fork_child_offset = find_child_offset();
        setup->setup.exit_id = read_id("sched/sched_process_exit");
        setup->setup.clock = CLOCK_MONOTONIC;
        write_file("trace_clock", "mono");
        write_file("events/sched/sched_process_fork/enable", "1");
        write_file("events/sched/sched_process_exit/enable", "1");
}

static void give_guard(Rig *rig, pid_t member) {
        _cleanup_close_ int fd = open_file("tracing_on", O_RDONLY);

        rig_add_member(rig, (uint32_t)member, 0);
        rig_send(rig, &(ControlMessage){ .type = CONTROL_GUARD }, &fd, 1);
}

/* sink: -1 for the daemon's pipe, or the client's. member: of a stream that is judged. */
static void start(Rig *rig, bool is_fenced, pid_t member, const char *buffer_kb, int sink) {
        g_autofree char *metadata = make_metadata();
        ControlMessage setup = {
                .type = CONTROL_SETUP,
                .setup = { .sink = sink < 0 ? CONTROL_SINK_PIPE : CONTROL_SINK_SOCKET,
                                .n_cpus = n_cpus,
                                .subbuf_size = get_subbuf_size(),
                                .fenced = is_fenced,
                                .buffer_bytes = strtoull(buffer_kb, NULL, 10) * 1024 },
        };
        int ends[2];

        begin();
        write_file("buffer_size_kb", buffer_kb);
        if (member > 0)
                judge(&setup);
        rig_start(rig, (const char *[]){ "--user", rig_user(), NULL });
        if (sink < 0) {
                g_assert_no_errno(pipe2(ends, O_CLOEXEC));
                g_assert_no_errno(fcntl(ends[1], F_SETFL, O_NONBLOCK));
        } else
                g_assert_no_errno(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
        rig->sink = ends[0];
        _cleanup_close_ int fd = fd_memfd_sealed("metadata", metadata, strlen(metadata));
        rig_send(rig, &setup, (int[]){ fd, ends[1] }, 2);
        close(ends[1]);
        rig_await(rig, CONTROL_READY, NULL);
        if (sink >= 0) {
                g_assert_cmpint(fd_send(rig->sink, "s", 1, &sink, 1), ==, 0);
                rig_await(rig, CONTROL_EXAMINING, NULL);
        }
        rig_await(rig, CONTROL_ATTACHED, NULL);
        if (member > 0)
                give_guard(rig, member);
        give_real_rings(rig);
}

/* Of all its threads. */
static uint64_t count_wake_ups(const Rig *rig) {
        g_autofree char *path = g_strdup_printf("/proc/%d/task", rig->pid);
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        uint64_t n = 0;

        g_assert_nonnull(dir);
        for (const char *tid; (tid = g_dir_read_name(dir));) {
                g_autofree char *file = g_build_filename(path, tid, "status", NULL), *text = NULL;

                g_assert_true(g_file_get_contents(file, &text, NULL, NULL));
                const char *at = strstr(text, "\nvoluntary_ctxt_switches:");
                g_assert_nonnull(at);
                n += strtoull(strchr(at, '\t'), NULL, 10);
        }
        return n;
}

static void settle(const Rig *rig) {
        for (uint64_t before = UINT64_MAX; count_wake_ups(rig) != before; g_usleep(300 * 1000))
                before = count_wake_ups(rig);
}

static void test_idle(void) {
        Rig rig;

        start(&rig, false, 0, "1024", -1);
        settle(&rig);
        uint64_t before = count_wake_ups(&rig);
        g_usleep(2 * G_USEC_PER_SEC);
        g_assert_cmpuint(count_wake_ups(&rig) - before, ==, 0);
        rig_free(&rig);
}

/* Now and then an event: each arrives although no other follows it, the first and one while the
 * consumer is active. It does not spin in between. On a loaded machine a few are late. */
static void test_slow_events(void) {
        Rig rig;

        start(&rig, false, 0, CALLS_KB, -1);
        pin_to_cpu(0);
        rig_read_frames(&rig, 1);
        settle(&rig);
        uint64_t wake_ups = count_wake_ups(&rig), began = now_usec();
        size_t n_late = 0;
        for (size_t i = 0; i < 20; i++) {
                size_t n_before = rig.stream->len;
                uint64_t before = now_usec();

                mark();
                while (!memmem(rig.stream->data + n_before,
                                rig.stream->len - n_before,
                                MARK,
                                strlen(MARK)))
                        g_assert_cmpint(rig_read(&rig, SIZE_MAX), >, 0);
                n_late += now_usec() - before >= LATENCY_MSEC * 1000;
                g_usleep(i % 2 ? 10 * 1000 : 250 * 1000);
        }
        double seconds = (double)(now_usec() - began) / G_USEC_PER_SEC;
        double rate = (double)(count_wake_ups(&rig) - wake_ups) / seconds;
        g_test_message("%.0f wake-ups a second, %zu late", rate, n_late);
        g_assert_cmpuint(n_late, <, 10);
        g_assert_cmpfloat(rate, <, 100);
        rig_free(&rig);
}

/* A process that makes N_CALLS calls of getppid once it may. */
static pid_t make_caller(int *ret_go) {
        int go[2];

        g_assert_no_errno(pipe2(go, O_CLOEXEC));
        pid_t pid = fork();
        g_assert_cmpint(pid, >=, 0);
        if (pid == 0) {
                char byte;

                close(go[1]);
                pin_to_cpu(0);
                if (read(go[0], &byte, 1) != 1)
                        _exit(1);
                for (int i = 0; i < N_CALLS; i++)
                        (void)syscall(SYS_getppid);
                _exit(0);
        }
        close(go[0]);
        *ret_go = go[1];
        return pid;
}

static void trace_caller(pid_t pid) {
        g_autofree char *text = g_strdup_printf("%d", pid),
                        *filter = g_strdup_printf("id == %d", SYS_getppid);

        write_file("set_event_pid", text);
        write_file("events/raw_syscalls/sys_enter/filter", filter);
        write_file("events/raw_syscalls/sys_enter/enable", "1");
}

/* Until the consumer has left; then the file is the stream. */
static void finish(Rig *rig, int sink) {
        off_t size;

        write_file("events/enable", "0");
        rig_finish(rig, NULL);
        rig_await(rig, CONTROL_RELEASED, NULL);
        rig_await(rig, CONTROL_GONE, NULL);
        g_assert_cmpint(rig_exit_status(rig), ==, 0);
        size = lseek(sink, 0, SEEK_END);
        g_byte_array_set_size(rig->stream, (guint)size);
        g_assert_cmpint(pread(sink, rig->stream->data, (size_t)size, 0), ==, size);
}

typedef struct Count {
        uint64_t n_records, n_dirty, n_lost;
        uint64_t n_short; /* frames that end in a sub-buffer that was not full */
} Count;

/* The records of sys_enter (8 bytes of common fields, id, six arguments) in one sub-buffer. */
static void count_records(const uint8_t *page, size_t size, Count *count) {
        size_t end = PAGE_HEADER_SIZE + (page_get_u32(page + 8) & 0xfffff);

        g_assert_cmpuint(end, <=, size);
        for (size_t at = PAGE_HEADER_SIZE; at + 4 <= end;) {
                uint32_t word = page_get_u32(page + at), type = word & 31;

                if (type == 29 && word == 29)
                        break;
                if (type >= 1 && type <= 28) {
                        count->n_records += type == 16;
                        at += 4 + 4 * (size_t)type;
                } else if (type >= 30)
                        at += 8;
                else
                        at += 4 + (size_t)page_get_u32(page + at + 4);
        }
        for (size_t at = end; at < size; at++)
                count->n_dirty += page[at] != 0;
}

static Count count_stream(const Frame *frames, size_t subbuf_size) {
        Count count = {};

        for (; frames->header.type; frames++) {
                if (frames->header.type != FRAME_DATA)
                        continue;
                size_t rest = frames->header.size % subbuf_size;

                count.n_lost += frames->header.lost;
                count.n_short += rest > 0;
                for (size_t at = 0; at < frames->header.size; at += subbuf_size)
                        count_records(frames->payload + at,
                                        MIN_OF(frames->header.size - at, subbuf_size),
                                        &count);
        }
        return count;
}

static Count check_count(const Rig *rig, bool is_fenced, bool is_judged) {
        uint64_t lost = 0, read = 0, entries = 0;
        size_t n;
        g_autofree Frame *frames = frames_parse(rig->stream, &n, NULL);
        Count count = count_stream(frames, get_subbuf_size());
        _cleanup_json_ json_object *statistics = frames_json(frames, FRAME_STATISTICS);

        for (unsigned cpu = 0; cpu < n_cpus; cpu++) {
                lost += statistics_get(statistics, cpu, "lost");
                read += statistics_get(statistics, cpu, "read");
                entries += statistics_get(statistics, cpu, "entries");
        }
        g_assert_cmpuint(count.n_records + lost, ==, N_CALLS);
        if (is_judged) /* with the forks and exits of all */
                g_assert_cmpuint(count.n_records, <=, read);
        else
                g_assert_cmpuint(count.n_records, ==, read);
        g_assert_cmpuint(count.n_lost, ==, lost);
        g_assert_cmpuint(entries, ==, 0);
        if (is_fenced)
                g_assert_cmpuint(count.n_dirty, ==, 0);
        return count;
}

/* A process that calls as fast as it can: every call is in the stream or reported as lost, and the
 * consumer sleeps until a watermark is reached. Then it leaves the sub-buffers that are not full to
 * the ticks. A fence has to read them. */
static void run_fast_events(bool is_fenced, bool is_judged) {
        _cleanup_close_ int sink = memfd_create("sink", MFD_CLOEXEC);
        int go, status;
        Rig rig;

        g_assert_no_errno(sink);
        pid_t pid = make_caller(&go);
        trace_caller(pid);
        start(&rig, is_fenced, is_judged ? pid : 0, CALLS_KB, sink);
        uint64_t wake_ups = count_wake_ups(&rig), began = now_usec();
        g_assert_cmpint(write(go, "g", 1), ==, 1);
        g_assert_no_errno(waitpid(pid, &status, 0));
        double seconds = (double)(now_usec() - began) / G_USEC_PER_SEC;
        wake_ups = count_wake_ups(&rig) - wake_ups;
        g_assert_cmpint(status, ==, 0);
        close(go);
        finish(&rig, sink);
        Count count = check_count(&rig, is_fenced, is_judged);
        g_test_message("%.0f events a second, %" PRIu64 " wake-ups, %" PRIu64
                       " short frames, %" PRIu64 " lost",
                        N_CALLS / seconds,
                        wake_ups,
                        count.n_short,
                        count.n_lost);
        if (!is_judged)
                g_assert_cmpfloat((double)count.n_short, <=, (10 * seconds + 3) * n_cpus);
        g_assert_cmpfloat((double)wake_ups, <=, 100 * MAX_OF(seconds, 1));
        rig_free(&rig);
}

static void test_fast_events(void) {
        run_fast_events(false, false);
}

static void test_fast_events_fenced(void) {
        run_fast_events(true, false);
}

static void test_fast_events_judged(void) {
        run_fast_events(true, true);
}

/* The last fd of the rings is closed when RELEASED is reported. */
static void test_released(void) {
        Rig rig;

        start(&rig, false, 0, "256", -1);
        g_assert_cmpint(rmdir(instance_dir), ==, -1);
        g_assert_cmpint(errno, ==, EBUSY);
        mark();
        rig_finish(&rig, NULL);
        rig_await(&rig, CONTROL_RELEASED, NULL);
        g_assert_no_errno(rmdir(instance_dir));
        g_assert_no_errno(mkdir(instance_dir, 0700)); /* for tear_down */
        rig_read_to_end(&rig);
        g_assert_nonnull(memmem(rig.stream->data, rig.stream->len, MARK, strlen(MARK)));
        rig_free(&rig);
}

static void run_test(gconstpointer data) {
        void (*run)(void) = (void (*)(void))data;

        if (skip_reason) {
                g_test_skip(skip_reason);
                return;
        }
        g_assert_no_errno(mkdir(instance_dir, 0700));
        run();
        g_assert_no_errno(rmdir(instance_dir));
}

static const char *set_up(void) {
        mount_dir = g_dir_make_tmp("ktrace-stream-XXXXXX", NULL);
        instance_dir = g_strdup_printf("%s/instances/stream-test-%d", mount_dir, getpid());
        n_cpus = (unsigned)sysconf(_SC_NPROCESSORS_CONF);
        if (geteuid() != 0)
                return "needs root";
        if (n_cpus > CPUS_MAX)
                return "has more CPUs than this test knows";
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return "needs a mount namespace of its own";
        if (mount("tracefs", mount_dir, "tracefs", 0, NULL) < 0)
                return "no tracefs can be mounted";
        if (mkdir(instance_dir, 0700) < 0)
                return "no instance can be made";
        (void)rmdir(instance_dir);
        return NULL;
}

static int run_in_child(void) {
        int status;

        pid_t pid = fork();
        g_assert_cmpint(pid, >=, 0);
        if (pid == 0)
                exit(g_test_run());
        while (waitpid(pid, &status, 0) < 0)
                g_assert_cmpint(errno, ==, EINTR);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        skip_reason = set_up();
#define ADD(path, run) g_test_add_data_func(path, (gconstpointer)run, run_test)
        ADD("/native/wait-queues", test_wait_queues);
        ADD("/native/partial-sub-buffer", test_partial_sub_buffer);
        ADD("/native/idle", test_idle);
        ADD("/native/slow-events", test_slow_events);
        ADD("/native/fast-events", test_fast_events);
        ADD("/native/fast-events-fenced", test_fast_events_fenced);
        ADD("/native/fast-events-judged", test_fast_events_judged);
        ADD("/native/released", test_released);
        int status = run_in_child();
        /* What a test that was aborted has left; its consumer has seen the end of its socket. */
        for (int i = 0; !skip_reason && rmdir(instance_dir) < 0 && errno == EBUSY && i < 50; i++)
                g_usleep(100 * 1000);
        (void)umount2(mount_dir, MNT_DETACH);
        (void)rmdir(mount_dir);
        g_free(instance_dir);
        g_free(mount_dir);
        return status;
}
