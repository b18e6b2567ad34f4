/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The daemon's side of a consumer: starts a consumer and passes messages. Under systemd the daemon
 * connects to ktrace-consumer.socket, and systemd starts the process: supervised, limited, and not
 * as a child of the daemon. Without systemd the daemon forks the same binary, which changes its
 * user itself. Used by the session floor in the event loop.
 *
 * The daemon never waits for a process here, because a process that hangs in the kernel does not
 * end even after SIGKILL. If a child still exists when its Consumer is freed, a floating event
 * source reaps it later. */

#include "work/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "base/fd.h"
#include "work/child.h"

/* A message that does not fit into the socket yet. */
typedef struct WaitingMessage {
        ControlMessage message;
        STAILQ_ENTRY(WaitingMessage) next;
        size_t n_fds;
        int fds[]; /* copies */
} WaitingMessage;

struct Consumer {
        int fd;
        pid_t pid;
        int pidfd; /* of a forked process; -1: started by systemd */
        sd_event_source *source;
        bool expects_fd;
        int message_fd; /* of the current message; -1: none */
        STAILQ_HEAD(, WaitingMessage) waiting;
        unsigned n_waiting;
        const ConsumerHandlers *handlers;
        void *userdata;
};

/* A process started by systemd is not a child of the daemon. The kernel reports its pid with a
 * message. */
static void note_sender(Consumer *consumer, struct msghdr *header) {
        for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
                struct ucred sender;

                if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS ||
                                c->cmsg_len != CMSG_LEN(sizeof(sender)))
                        continue;
                memcpy(&sender, CMSG_DATA(c), sizeof(sender));
                if (consumer->pidfd < 0)
                        consumer->pid = sender.pid;
        }
}

/* Provides space for fds only if one is expected. Otherwise the kernel drops descriptors that a
 * malicious consumer sends. If the daemon received such a descriptor, closing it could block the
 * daemon. */
static ssize_t spawn_receive(Consumer *consumer, ControlMessage *message) {
        if (consumer->expects_fd) {
                size_t n_fds = 0;
                ssize_t n = fd_receive(consumer->fd,
                                message,
                                sizeof(*message),
                                &consumer->message_fd,
                                1,
                                &n_fds);

                consumer->expects_fd = n_fds == 0;
                return n;
        }
        char control[CMSG_SPACE(sizeof(struct ucred))];
        struct iovec part = { message, sizeof(*message) };
        struct msghdr header = { .msg_iov = &part,
                .msg_iovlen = 1,
                .msg_control = control,
                .msg_controllen = sizeof(control) };
        ssize_t n = recvmsg(consumer->fd, &header, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
        if (n < 0)
                return -errno;
        if (n > 0)
                note_sender(consumer, &header);
        return n;
}

static void consumer_drop_first(Consumer *consumer) {
        WaitingMessage *first = STAILQ_FIRST(&consumer->waiting);

        STAILQ_REMOVE_HEAD(&consumer->waiting, next);
        consumer->n_waiting--;
        for (size_t i = 0; i < first->n_fds; i++)
                close(first->fds[i]);
        free(first);
}

/* A closed socket is reported by on_closed. */
static void consumer_send_waiting(Consumer *consumer) {
        const WaitingMessage *first;

        while ((first = STAILQ_FIRST(&consumer->waiting))) {
                if (consumer_send(consumer, &first->message, first->fds, first->n_fds) == -EAGAIN)
                        return;
                consumer_drop_first(consumer);
        }
        (void)sd_event_source_set_io_events(consumer->source, EPOLLIN);
}

static int consumer_on_io(sd_event_source *source _unused_,
                int fd _unused_,
                uint32_t revents,
                void *userdata) {
        Consumer *consumer = userdata;
        ControlMessage message;

        if (revents & EPOLLOUT)
                consumer_send_waiting(consumer);

        ssize_t n = spawn_receive(consumer, &message);
        /* If a consumer exits before it has read all our messages, the connection is reset. The
         * kernel reports this once, before the messages that the consumer has sent. */
        if (n == -EAGAIN || n == -EINTR || n == -ECONNRESET)
                return 0;
        if (n == sizeof(message) && message.version == CONTROL_VERSION) {
                consumer->handlers->on_message(consumer, &message, consumer->userdata);
                return 0;
        }
        /* The socket was closed, or the consumer is of another build. Both end the connection. */
        (void)sd_event_source_set_enabled(consumer->source, SD_EVENT_OFF);
        consumer->handlers->on_closed(consumer, consumer->userdata);
        return 0;
}

/* Runs in the child. Calls only functions that are safe between fork and exec. */
static _Noreturn void spawn_run_child(const ConsumerLauncher *launcher, int fd) {
        char *const argv[] = {
                (char *)"ktrace-consumer", (char *)"--user", (char *)launcher->user, NULL
        };
#ifdef KT_DEFENCE_SWITCHES
        const char *off = getenv("KTRACE_DEFENCES_OFF");
        char switches[256];
        int n = snprintf(switches, sizeof(switches), "KTRACE_DEFENCES_OFF=%s", off ?: "");
        char *const environment[] = { n < (int)sizeof(switches) ? switches : NULL, NULL };
#else
        char *const environment[] = { NULL };
#endif

        child_settle(fd);
        execve(launcher->binary, argv, environment);
        _exit(127);
}

static int check_launcher(const ConsumerLauncher *launcher, Reason *reason) {
        char buffer[16384];
        struct passwd entry, *found = NULL;

        int r = getpwnam_r(launcher->user, &entry, buffer, sizeof(buffer), &found);
        if (r != 0)
                return -r;
        if (!found)
                return reason_set(reason,
                                KT_E_NO_CONSUMER,
                                "consumer user \"%s\" does not exist: run systemd-sysusers, or give --consumer-user=",
                                launcher->user);
        if (found->pw_uid == 0)
                return reason_set(reason,
                                KT_E_NO_CONSUMER,
                                "consumer user \"%s\" is root: streams are never read as root",
                                launcher->user);
        if (access(launcher->binary, X_OK) < 0)
                return reason_set(reason,
                                KT_E_NO_CONSUMER,
                                "%s: %s: install ktraced whole, or give --consumer=",
                                launcher->binary,
                                strerror(errno));
        return 0;
}

static int fork_consumer(const ConsumerLauncher *launcher, Consumer *consumer, Reason *reason) {
        int fds[2];

        int r = check_launcher(launcher, reason);
        if (r != 0)
                return r;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
                return -errno;
        consumer->fd = fds[0];
        consumer->pid = fork();
        if (consumer->pid == 0)
                spawn_run_child(launcher, fds[1]);
        r = consumer->pid < 0 ? -errno : 0;
        close(fds[1]);
        if (r < 0)
                return r;
        consumer->pidfd = (int)syscall(SYS_pidfd_open, consumer->pid, 0);
        if (consumer->pidfd < 0)
                return -errno;
        /* The process may exit long after the Consumer is freed. */
        return child_reap_later(launcher->event, consumer->pidfd);
}

/* Fails with -ENOENT or -ECONNREFUSED if systemd is not running here. */
static int connect_consumer(const ConsumerLauncher *launcher, int *ret_fd) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        struct ucred peer;
        socklen_t size = sizeof(peer);

        if (!launcher->socket_path)
                return -ENOENT;
        if (strlen(launcher->socket_path) >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        memcpy(address.sun_path, launcher->socket_path, strlen(launcher->socket_path) + 1);
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
                return -errno;
        /* SO_PEERCRED returns the credentials of the listener, because systemd made the socket
         * before the process existed. */
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
                return -errno;
        if (peer.uid != 0)
                return -EPERM;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

static int watch_consumer(sd_event *event, Consumer *consumer) {
        const int on = 1;

        /* The sender's credentials take all the space: see spawn_receive(). */
        if (setsockopt(consumer->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
                return -errno;
        int r = sd_event_add_io(
                        event, &consumer->source, consumer->fd, EPOLLIN, consumer_on_io, consumer);

        if (r >= 0)
                (void)sd_event_source_set_description(consumer->source, "consumer");
        return r < 0 ? r : 0;
}

static Consumer *consumer_new(const ConsumerHandlers *handlers, void *userdata) {
        Consumer *consumer = calloc(1, sizeof(*consumer));

        if (!consumer)
                return NULL;
        consumer->fd = consumer->pidfd = consumer->message_fd = -1;
        STAILQ_INIT(&consumer->waiting);
        consumer->handlers = handlers;
        consumer->userdata = userdata;
        return consumer;
}

int consumer_spawn(const ConsumerLauncher *launcher,
                const ConsumerHandlers *handlers,
                void *userdata,
                Consumer **ret,
                Reason *reason) {
        _cleanup_(consumer_free_cleanup) Consumer *consumer = consumer_new(handlers, userdata);

        if (!consumer)
                return -ENOMEM;
        int r = connect_consumer(launcher, &consumer->fd);
        if (r == -ENOENT || r == -ECONNREFUSED)
                r = fork_consumer(launcher, consumer, reason);
        if (r == -EAGAIN)
                return reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "too many stream workers are being started: try again");
        r = r ?: watch_consumer(launcher->event, consumer);
        if (r != 0)
                return r;
        *ret = TAKE_PTR(consumer);
        return 0;
}

int consumer_adopt(sd_event *event,
                int fd,
                const ConsumerHandlers *handlers,
                void *userdata,
                Consumer **ret) {
        _cleanup_(consumer_release_cleanup) Consumer *consumer = consumer_new(handlers, userdata);

        if (!consumer)
                return -ENOMEM;
        consumer->fd = fd;
        int r = watch_consumer(event, consumer);
        if (r < 0) {
                consumer->fd = -1;
                return r;
        }
        *ret = TAKE_PTR(consumer);
        return 0;
}

int consumer_get_fd(const Consumer *consumer) {
        return consumer ? consumer->fd : -1;
}

int consumer_send(Consumer *consumer, const ControlMessage *message, const int *fds, size_t n_fds) {
        return fd_send(consumer->fd, message, sizeof(*message), fds, n_fds);
}

static int consumer_add_waiting(Consumer *consumer,
                const ControlMessage *message,
                const int *fds,
                size_t n_fds) {
        if (consumer->n_waiting >= CONSUMER_WAITING_MAX)
                return -EAGAIN;
        WaitingMessage *waiting = calloc(1, sizeof(*waiting) + n_fds * sizeof(int));
        if (!waiting)
                return -ENOMEM;
        waiting->message = *message;
        STAILQ_INSERT_TAIL(&consumer->waiting, waiting, next);
        consumer->n_waiting++;
        for (; waiting->n_fds < n_fds; waiting->n_fds++) {
                int fd = fcntl(fds[waiting->n_fds], F_DUPFD_CLOEXEC, 3);

                if (fd < 0)
                        return -errno; /* the caller gives the consumer up */
                waiting->fds[waiting->n_fds] = fd;
        }
        return 0;
}

int consumer_send_later(Consumer *consumer,
                const ControlMessage *message,
                const int *fds,
                size_t n_fds) {
        int r = STAILQ_EMPTY(&consumer->waiting) ? consumer_send(consumer, message, fds, n_fds)
                                                 : -EAGAIN;

        if (r != -EAGAIN)
                return r;
        r = consumer_add_waiting(consumer, message, fds, n_fds);
        return r < 0 ? r : sd_event_source_set_io_events(consumer->source, EPOLLIN | EPOLLOUT);
}

size_t consumer_prepare_rings(unsigned first_cpu, unsigned n_cpus, ControlMessage *ret) {
        size_t n_fds = first_cpu == 0 ? 1 : 0;
        unsigned n = MIN_OF(n_cpus - first_cpu, (unsigned)(FD_SEND_MAX - n_fds) / 2);

        *ret = (ControlMessage){
                .type = CONTROL_RINGS,
                .version = CONTROL_VERSION,
                .rings = { .first_cpu = first_cpu, .n = n },
        };
        return n > 0 ? n_fds + 2 * (size_t)n : 0;
}

void consumer_expect_fd(Consumer *consumer) {
        consumer->expects_fd = true;
}

int consumer_take_fd(Consumer *consumer) {
        return TAKE_FD(consumer->message_fd);
}

bool consumer_has_ended(const Consumer *consumer) {
        struct pollfd state = { .fd = consumer->fd };

        return poll(&state, 1, 0) == 1 && (state.revents & POLLHUP);
}

Consumer *consumer_release(Consumer *consumer) {
        if (!consumer)
                return NULL;
        close_cleanup(&consumer->message_fd);
        while (!STAILQ_EMPTY(&consumer->waiting))
                consumer_drop_first(consumer);
        sd_event_source_disable_unref(consumer->source);
        close_cleanup(&consumer->fd);
        close_cleanup(&consumer->pidfd);
        free(consumer);
        return NULL;
}

void consumer_kill(Consumer *consumer) {
        if (consumer->pidfd >= 0)
                (void)syscall(SYS_pidfd_send_signal,
                                consumer->pidfd,
                                SIGKILL,
                                NULL,
                                0); /* an error means that it has already ended */
        (void)shutdown(consumer->fd, SHUT_WR);
}

Consumer *consumer_free(Consumer *consumer) {
        if (consumer)
                consumer_kill(consumer);
        return consumer_release(consumer);
}

pid_t consumer_get_pid(const Consumer *consumer) {
        return consumer ? consumer->pid : 0;
}
