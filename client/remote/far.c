/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The far side of -H, for `ktracectl serve`, which ssh starts. It reads packets on standard input:
 * the hello, a command line, then input and signals. It runs the command line in a child process,
 * which is this program again, and sends its output, its stream and its exit status.
 *
 * The near side is the user who has logged in: it may run any command, so this file protects only
 * its own memory and the machine from a connection that is gone. When the connection ends, or when
 * no packet has come for 30 s, the child gets SIGHUP, and 2 s later SIGKILL. The child also dies
 * with this process. ktraced ends the sessions of a client that is gone, so the lease of a
 * recording is its child. The command of a recording is a child of that child, which passes signals
 * to it and to its group (child.c). It may ignore them and go on, as a command of ssh may.
 *
 * When the near side has several machines, the recording waits at a gate (recording/gate.h) until
 * the near side says when it starts. The exit status of a recording waits until the near side has
 * compared the clocks for the last time. A flight recorder sends a stream for each snapshot
 * (recording/series.h).
 *
 * The child cannot ask for a password: it has no terminal. The far side never sends names of files
 * to be written. Owns the child, its pipes and the carrier. */

#include "remote/far.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "recording/gate.h"
#include "recording/series.h"
#include "remote/carrier.h"
#include "remote/hello.h"
#include "terminal/message.h"

#define FAR_LEASE_USEC    ((uint64_t)30 * 1000 * 1000)
#define FAR_PERIOD_USEC   ((uint64_t)2 * 1000 * 1000) /* from SIGHUP to SIGKILL */
#define FAR_ACCURACY_USEC ((uint64_t)100 * 1000)
#define FAR_WORDS_MAX     4096
#define FAR_BYTES_MAX     ((size_t)1024 * 1024) /* of all words */

/* Descriptors of the child: 0 to 2, the stream, the eventfd, the gate, the series. */
#define FAR_FDS ((size_t)7)

/* One of the child's pipes that this process reads. */
typedef struct FarPipe {
        PacketType type;
        int fd;
        sd_event_source *source;
} FarPipe;

enum {
        FAR_OUTPUT,
        FAR_ERRORS,
        FAR_STREAM,
        _FAR_PIPE_N,
};

typedef struct Far {
        Context *context;
        sd_event *event;
        Carrier *carrier;
        sd_event_source *timer, *child_source;
        Hello there;
        char **words; /* NULL at the end */
        int n_words;
        size_t n_bytes;
        pid_t child;
        int child_status;
        bool is_child_gone, is_broken, is_stream_ended, may_leave, is_finished;
        FarPipe pipes[_FAR_PIPE_N];
        Outlet *input;  /* of the child */
        size_t n_input; /* bytes of input that were not yet reported as taken */
        size_t n_taken; /* of these, bytes that the child has */
        int discard_fd;
        int gate_fd; /* -1: the recording does not wait */
        sd_event_source *gate;
        int series_fd; /* -1: the recording has one stream */
        sd_event_source *series;
        char stream_end;   /* SERIES_KEEP or SERIES_DROP, until its bytes are sent; 0: none */
        unsigned n_wanted; /* requests that were passed on since the last snapshot */
} Far;

static void far_advance(Far *far);

static void far_close_pipe(FarPipe *pipe) {
        pipe->source = sd_event_source_disable_unref(pipe->source);
        if (pipe->fd >= 0)
                close(TAKE_FD(pipe->fd));
}

static void far_done(Far *far) {
        for (size_t i = 0; i < ELEMENTSOF(far->pipes); i++)
                far_close_pipe(&far->pipes[i]);
        outlet_free(far->input);
        carrier_free(far->carrier);
        sd_event_source_disable_unref(far->timer);
        sd_event_source_disable_unref(far->child_source);
        sd_event_source_disable_unref(far->gate);
        sd_event_source_disable_unref(far->series);
        sd_event_unref(far->event);
        if (far->series_fd >= 0)
                close(far->series_fd);
        if (far->gate_fd >= 0)
                close(far->gate_fd);
        if (far->discard_fd >= 0)
                close(far->discard_fd);
        for (int i = 0; i < far->n_words; i++)
                free(far->words[i]);
        free(far->words);
}

static void far_set_timer(Far *far, uint64_t usec) {
        (void)sd_event_source_set_time_relative(far->timer, usec);
        (void)sd_event_source_set_enabled(far->timer, SD_EVENT_ONESHOT);
}

/* Without a connection there is no one to answer. */
static void far_break(Far *far) {
        if (far->is_broken)
                return;
        far->is_broken = true;
        carrier_hold(far->carrier, true);
        if (far->child > 0 && !far->is_child_gone) {
                (void)kill(far->child, SIGHUP);
                far_set_timer(far, FAR_PERIOD_USEC);
        }
        far_advance(far);
}

static int far_on_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        Far *far = userdata;

        if (far->is_broken)
                (void)kill(far->child, SIGKILL);
        else
                far_break(far);
        return 0;
}

/* Sends the last packet of a command line that does not run. */
static void far_refuse(Far *far, const char *text) {
        (void)carrier_send(far->carrier, PACKET_ERROR, text, strlen(text));
        far->is_finished = true;
}

/* Reads what one pipe has now. Returns false at its end, or when the child is gone and it is
 * empty: a process that the child has left there may hold it open. */
static bool far_carry(Far *far, FarPipe *pipe) {
        ssize_t n = carrier_send_from(far->carrier, pipe->type, pipe->fd, PACKET_DATA_MAX);

        if (n > 0 || (n == -EAGAIN && !far->is_child_gone) || n == -EINTR)
                return true;
        far_close_pipe(pipe);
        return false;
}

static int far_on_readable(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Far *far = userdata;

        for (size_t i = 0; i < ELEMENTSOF(far->pipes); i++)
                if (far->pipes[i].fd == fd)
                        (void)far_carry(far, &far->pipes[i]);
        far_advance(far);
        return 0;
}

static bool far_has_pipes(const Far *far) {
        for (size_t i = 0; i < ELEMENTSOF(far->pipes); i++)
                if (far->pipes[i].fd >= 0)
                        return true;
        return false;
}

static void far_end_stream(Far *far) {
        uint64_t n = 0;
        uint8_t is_discarded;

        far->is_stream_ended = true;
        is_discarded = far->discard_fd >= 0 && read(far->discard_fd, &n, sizeof(n)) == sizeof(n);
        if (far->there.wants_stream)
                (void)carrier_send(far->carrier, PACKET_STREAM_END, &is_discarded, 1);
}

static bool far_has_stream_bytes(const Far *far) {
        int n = 0;

        return ioctl(far->pipes[FAR_STREAM].fd, FIONREAD, &n) == 0 && n > 0;
}

/* The recording has completed a stream and waits until all of it is sent. */
static void far_divide_stream(Far *far) {
        static const char answer = SERIES_GO;
        uint8_t is_discarded = far->stream_end == SERIES_DROP;

        if (far->stream_end == 0 || far->is_stream_ended || far_has_stream_bytes(far) ||
                        carrier_is_full(far->carrier))
                return;
        far->stream_end = 0;
        (void)carrier_send(far->carrier, PACKET_STREAM_NEXT, &is_discarded, 1);
        (void)!send(far->series_fd, &answer, sizeof(answer), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void far_finish(Far *far) {
        uint8_t status = (uint8_t)far->child_status;

        far->is_finished = true;
        (void)carrier_send(far->carrier, PACKET_EXIT, &status, 1);
}

/* An answer waits while the connection is full: the near side may send much and read nothing. */
static void far_report_input(Far *far) {
        uint8_t taken[4];

        if (far->n_taken == 0 || far->is_finished || carrier_is_full(far->carrier))
                return;
        for (size_t i = 0; i < sizeof(taken); i++)
                taken[i] = (uint8_t)(far->n_taken >> 8 * i);
        (void)carrier_send(far->carrier, PACKET_INPUT_TAKEN, taken, sizeof(taken));
        far->n_input -= far->n_taken;
        far->n_taken = 0;
}

/* Decides after each event what is read next, and when all is done. */
static void far_advance(Far *far) {
        bool is_full = carrier_is_full(far->carrier);

        if (far->is_broken) {
                for (size_t i = 0; i < ELEMENTSOF(far->pipes); i++)
                        far->pipes[i].source = sd_event_source_disable_unref(far->pipes[i].source);
                if (far->child <= 0 || far->is_child_gone)
                        (void)sd_event_exit(far->event, 0);
                return;
        }
        for (size_t i = 0; i < ELEMENTSOF(far->pipes); i++) {
                FarPipe *pipe = &far->pipes[i];

                while (far->is_child_gone && pipe->fd >= 0 && !carrier_is_full(far->carrier))
                        if (!far_carry(far, pipe))
                                break;
                if (pipe->source)
                        (void)sd_event_source_set_enabled(
                                        pipe->source, is_full ? SD_EVENT_OFF : SD_EVENT_ON);
        }
        far_report_input(far);
        far_divide_stream(far);
        if (far->is_child_gone && !far_has_pipes(far) && !far->is_stream_ended)
                far_end_stream(far);
        bool must_wait = far->there.waits || far->there.compares;
        if (far->is_stream_ended && !far->is_finished && (far->may_leave || !must_wait))
                far_finish(far);
        if (far->is_finished && carrier_is_empty(far->carrier))
                (void)sd_event_exit(far->event, 0);
}

/* Returns false when there is no message now. */
static bool far_read_series(Far *far) {
        char message;
        ssize_t n = recv(far->series_fd, &message, sizeof(message), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return false;
        if (n == sizeof(message)) {
                far->stream_end = message;
                far->n_wanted = 0;
                return true;
        }
        far->series = sd_event_source_disable_unref(far->series);
        return false;
}

static int far_on_series(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Far *far = userdata;

        (void)far_read_series(far);
        far_advance(far);
        return 0;
}

/* The end of its last snapshot comes before the end of the stream. */
static int far_on_child(sd_event_source *source, const siginfo_t *si, void *userdata) {
        Far *far = userdata;

        while (far->series && far_read_series(far))
                ;
        far->is_child_gone = true;
        far->child_status = si->si_code == CLD_EXITED ? si->si_status : 128 + si->si_status;
        far_advance(far);
        return 0;
}

static void far_on_input_written(Outlet *outlet, size_t size, void *userdata) {
        Far *far = userdata;

        far->n_taken += size;
        far_advance(far);
}

static void far_on_input_empty(Outlet *outlet, int error, void *userdata) {
}

/* Passes on what the recording says at its gate: that it is armed, or when it has started. */
static int far_on_gate(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Far *far = userdata;
        GateTime time = 0;
        ssize_t n = recv(fd, &time, sizeof(time), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n <= 0) {
                far->gate = sd_event_source_disable_unref(far->gate);
        } else if (n == sizeof(time)) {
                uint8_t data[8];

                packet_write_number(data, time, sizeof(data));
                (void)carrier_send(far->carrier, PACKET_STARTED, data, sizeof(data));
        } else {
                (void)carrier_send(far->carrier, PACKET_ARMED, NULL, 0);
        }
        far_advance(far);
        return 0;
}

static int far_open_gate(Far *far, int *ret_child_fd) {
        int fds[2];

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
                return -errno;
        far->gate_fd = fds[0];
        *ret_child_fd = fds[1];
        return sd_event_add_io(far->event, &far->gate, far->gate_fd, EPOLLIN, far_on_gate, far);
}

static int far_open_series(Far *far, int *ret_child_fd) {
        int fds[2];

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
                return -errno;
        far->series_fd = fds[0];
        *ret_child_fd = fds[1];
        return sd_event_add_io(
                        far->event, &far->series, far->series_fd, EPOLLIN, far_on_series, far);
}

/* Never returns. Only what it needs stays open. */
static _Noreturn void far_run_child(Far *far, const int fds[static FAR_FDS], pid_t parent) {
        FarEnd end = { .stream_fd = fds[3] >= 0 ? 3 : -1,
                .discard_fd = fds[3] >= 0 ? 4 : -1,
                .gate_fd = fds[5] >= 0 ? 5 : -1,
                .series_fd = fds[6] >= 0 ? 6 : -1,
                .is_terminal = far->there.is_terminal,
                .draws = far->there.draws };
        Context context = { .legend = true, .far = &end };
        int moved[FAR_FDS], last = 2;
        sigset_t mask;

        /* The session must end with the connection, even if this process is killed. */
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
                _exit(KT_EXIT_FAILED);
        /* First above the numbers that are their places. */
        for (size_t i = 0; i < ELEMENTSOF(moved); i++)
                moved[i] = fds[i] >= 0 ? fcntl(fds[i], F_DUPFD, 10) : -1;
        for (int i = 0; i < (int)ELEMENTSOF(moved); i++) {
                if (moved[i] < 0) {
                        if (i > 2)
                                (void)close(i);
                        continue;
                }
                if (dup2(moved[i], i) < 0 || (i > 2 && fcntl(i, F_SETFD, FD_CLOEXEC) < 0))
                        _exit(KT_EXIT_FAILED);
                last = i;
        }
        (void)close_range((unsigned)last + 1, ~0U, 0);
        (void)sigemptyset(&mask);
        (void)sigprocmask(SIG_SETMASK, &mask, NULL);
        (void)signal(SIGPIPE, SIG_DFL);
        if (far->there.columns > 0) {
                char columns[16];

                (void)snprintf(columns, sizeof(columns), "%u", far->there.columns);
                (void)setenv("COLUMNS", columns, true);
        }
        message_set_no_password("-H: no password can be asked over this connection: run the "
                                "command there with 'ssh -t', or ask an administrator for a rule "
                                "without polkit, see ktrace-policy(5)");
        int status = far->context->run_here(&context, far->n_words, far->words);
        (void)fflush(NULL);
        _exit(status);
}

static int far_open_pipe(Far *far, size_t which, int *ret_child_fd) {
        static const PacketType types[_FAR_PIPE_N] = {
                PACKET_OUTPUT, PACKET_ERRORS, PACKET_STREAM
        };
        FarPipe *pipe = &far->pipes[which];
        int fds[2];

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        /* A command that prints much, or a stream, then waits less. A refusal costs only speed. */
        (void)fcntl(fds[1], F_SETPIPE_SZ, (int)OUTLET_FULL);
        pipe->type = types[which];
        pipe->fd = fds[0];
        *ret_child_fd = fds[1];
        if (fcntl(pipe->fd, F_SETFL, O_NONBLOCK) < 0)
                return -errno;
        return sd_event_add_io(far->event, &pipe->source, pipe->fd, EPOLLIN, far_on_readable, far);
}

static int far_open_input(Far *far, int *ret_child_fd) {
        static const OutletHandlers handlers = { far_on_input_written, far_on_input_empty };
        int fds[2], r;

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        *ret_child_fd = fds[0];
        r = outlet_new(far->event, fds[1], true, &handlers, far, &far->input);
        if (r < 0)
                close(fds[1]);
        return r;
}

static int far_fork(Far *far, const int fds[static FAR_FDS]) {
        pid_t parent = getpid();

        far->child = fork();
        if (far->child < 0)
                return -errno;
        if (far->child == 0)
                far_run_child(far, fds, parent);
        return sd_event_add_child(
                        far->event, &far->child_source, far->child, WEXITED, far_on_child, far);
}

static int far_start(Far *far) {
        int fds[FAR_FDS] = { -1, -1, -1, -1, -1, -1, -1 };
        int r = far_open_input(far, &fds[0]);

        if (r >= 0)
                r = far_open_pipe(far, FAR_OUTPUT, &fds[1]);
        if (r >= 0)
                r = far_open_pipe(far, FAR_ERRORS, &fds[2]);
        if (r >= 0 && far->there.wants_stream)
                r = far_open_pipe(far, FAR_STREAM, &fds[3]);
        if (r >= 0 && far->there.wants_stream) {
                far->discard_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
                fds[4] = far->discard_fd;
                r = far->discard_fd < 0 ? -errno : 0;
        }
        if (r >= 0 && far->there.wants_stream && far->there.waits)
                r = far_open_gate(far, &fds[5]);
        else if (r >= 0 && far->there.wants_stream && far->there.wants_series)
                r = far_open_series(far, &fds[6]);
        if (r >= 0)
                r = far_fork(far, fds);
        for (size_t i = 0; i < FAR_FDS; i++)
                if (fds[i] >= 0 && i != 4) /* the eventfd is this process's own */
                        close(fds[i]);
        return r;
}

static bool far_take_word(Far *far, const Packet *packet) {
        char **words;

        far->n_bytes += packet->size;
        if (far->n_words >= FAR_WORDS_MAX || far->n_bytes > FAR_BYTES_MAX ||
                        memchr(packet->data, '\0', packet->size))
                return false;
        words = reallocarray(far->words, (size_t)far->n_words + 2, sizeof(*words));
        if (!words)
                return false;
        far->words = words;
        words[far->n_words] = strndup((const char *)packet->data, packet->size);
        if (!words[far->n_words])
                return false;
        words[++far->n_words] = NULL;
        return true;
}

static void far_take_hello(Far *far, const Packet *packet) {
        Hello here = hello_make(0);
        _cleanup_free_ char *text = hello_to_text(&here);
        Reason reason = {};

        if (text)
                (void)carrier_send(far->carrier, PACKET_HELLO, text, strlen(text));
        if (hello_parse((const char *)packet->data, packet->size, &far->there, &reason) != 0)
                far_refuse(far, reason.text);
        /* The near side compares the two hellos and says which one is too old. */
        else if (!hello_is_spoken(&here, &far->there))
                far_refuse(far, "no protocol that both sides speak");
}

static void far_take_input(Far *far, const Packet *packet) {
        if (packet->size == 0) {
                outlet_end(far->input);
                return;
        }
        far->n_input += packet->size;
        if (far->n_input > PACKET_INPUT_WINDOW) {
                message_print("serve: more standard input than the window allows");
                far_break(far);
        } else if (outlet_is_open(far->input)) {
                (void)outlet_put(far->input, packet->data, packet->size);
        } else { /* the command reads no more */
                far->n_taken += packet->size;
        }
}

/* The recording takes one snapshot for all requests that wait. So more than two messages say
 * nothing new, and they could fill the socket. */
static void far_ask_snapshot(Far *far) {
        static const char message = SERIES_WANTED;

        if (far->series && far->n_wanted++ < 2)
                (void)!send(far->series_fd, &message, sizeof(message), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* SIGPIPE: the output has no reader, so the command gets SIGPIPE itself if it writes more. */
static void far_take_signal(Far *far, const Packet *packet) {
        static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

        if (packet->data[0] == SIGPIPE)
                far_close_pipe(&far->pipes[FAR_OUTPUT]);
        if (packet->data[0] == SIGUSR1)
                far_ask_snapshot(far);
        for (size_t i = 0; i < ELEMENTSOF(signals); i++)
                if (packet->data[0] == signals[i] && !far->is_child_gone)
                        (void)kill(far->child, signals[i]);
}

static uint64_t far_read_clock(clockid_t clock) {
        struct timespec now;

        (void)clock_gettime(clock, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Without room for the answer, the near side asks again later. */
static void far_answer_clock(Far *far, const Packet *packet) {
        uint8_t data[28];

        if (carrier_is_full(far->carrier))
                return;
        memcpy(data, packet->data, 4);
        packet_write_number(data + 4, far_read_clock(CLOCK_MONOTONIC), 8);
        packet_write_number(data + 12, far_read_clock(CLOCK_BOOTTIME), 8);
        packet_write_number(data + 20, far_read_clock(CLOCK_REALTIME), 8);
        (void)carrier_send(far->carrier, PACKET_CLOCK_TIMES, data, sizeof(data));
}

/* A recording that is gone needs no time. */
static void far_take_start(Far *far, const Packet *packet) {
        GateTime time = packet_get_u64(packet, 0);

        if (far->gate)
                (void)!send(far->gate_fd, &time, sizeof(time), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void far_on_packet(Carrier *carrier, const Packet *packet, void *userdata) {
        Far *far = userdata;

        far_set_timer(far, FAR_LEASE_USEC);
        if (far->is_finished)
                return;
        switch (packet->type) {
        case PACKET_HELLO:
                far_take_hello(far, packet);
                break;
        case PACKET_ARGUMENT:
                if (!far_take_word(far, packet))
                        far_refuse(far, "the command line is too long: expected at most 4096 words and 1 MiB");
                break;
        case PACKET_RUN:
                if (far->n_words == 0)
                        far_refuse(far, "a command line without a word");
                else if (far_start(far) < 0)
                        far_refuse(far, "the process of the command cannot be started");
                break;
        case PACKET_INPUT:
                far_take_input(far, packet);
                break;
        case PACKET_SIGNAL:
                far_take_signal(far, packet);
                break;
        case PACKET_CLOCK:
                far_answer_clock(far, packet);
                break;
        case PACKET_START:
                far_take_start(far, packet);
                break;
        case PACKET_LEAVE:
                far->may_leave = true;
                break;
        case PACKET_PING:
                if (!carrier_is_full(far->carrier))
                        (void)carrier_send(far->carrier, PACKET_PONG, NULL, 0);
                break;
        default: /* the reader refuses what a near side does not send */
                break;
        }
        far_advance(far);
}

static void far_on_end(Carrier *carrier, int error, const Reason *reason, void *userdata) {
        Far *far = userdata;

        if (error == -EBADMSG)
                message_print("serve: %s", reason->text);
        far_break(far);
}

static void far_on_written(Carrier *carrier, void *userdata) {
        far_advance(userdata);
}

static int far_prepare(Far *far) {
        static const CarrierHandlers handlers = { far_on_packet, far_on_end, far_on_written };
        sigset_t mask;
        int r;

        (void)signal(SIGPIPE, SIG_IGN);
        (void)sigemptyset(&mask);
        (void)sigaddset(&mask, SIGCHLD);
        if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0)
                return -errno;
        r = sd_event_new(&far->event);
        if (r >= 0)
                r = sd_event_add_time_relative(far->event,
                                &far->timer,
                                CLOCK_MONOTONIC,
                                FAR_LEASE_USEC,
                                FAR_ACCURACY_USEC,
                                far_on_timer,
                                far);
        if (r < 0)
                return r;
        return carrier_new(far->event,
                        STDIN_FILENO,
                        STDOUT_FILENO,
                        PACKET_NEAR,
                        &handlers,
                        far,
                        &far->carrier);
}

int far_run(Context *context) {
        Far far = { .context = context, .discard_fd = -1, .gate_fd = -1, .series_fd = -1 };
        int r;

        for (size_t i = 0; i < ELEMENTSOF(far.pipes); i++)
                far.pipes[i].fd = -1;
        r = far_prepare(&far);
        if (r >= 0)
                r = sd_event_loop(far.event);
        bool is_broken = far.is_broken;
        far_done(&far);
        if (r < 0)
                return message_fail(r, NULL);
        return is_broken ? KT_EXIT_FAILED : KT_EXIT_OK;
}
