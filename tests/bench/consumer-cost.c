/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* consumer-cost CONSUMER USER SUBBUF_KB BUFFER_KB FILE [-- PRODUCER... [-- PRODUCER...]]: the
 * product's ktrace-consumer on a bare instance of raw_syscalls:sys_enter, started and reported by
 * the daemon's own code, so that the sub-buffer size can be chosen and nothing but the consumer is
 * measured. Runs the producers at the same time (none: five idle seconds). Prints one JSON object;
 * CPU and context switches are the consumer's alone. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <time.h>

#include "base/fd.h"
#include "kernel/buffer.h"
#include "kernel/instance.h"
#include "kernel/statistics.h"
#include "work/spawn.h"

#define ID        "be0cbe0cbe0cbe0c"
#define CPUS_MAX  64
#define KTS_EMPTY "{}"

typedef struct Run {
        Instance *instance;
        Consumer *consumer;
        unsigned n_cpus;
        ControlType last;
        bool closed;
} Run;

static sd_event *event;

static void die(const char *what, int r) {
        fprintf(stderr, "consumer-cost: %s: %s\n", what, strerror(-r));
        exit(1);
}

static void on_message(Consumer *consumer, const ControlMessage *message, void *userdata) {
        Run *run = userdata;

        run->last = message->type;
        if (message->status.error != 0)
                fprintf(stderr, "consumer-cost: consumer says: %s\n", message->status.text);
}

static void on_closed(Consumer *consumer, void *userdata) {
        Run *run = userdata;

        run->closed = true;
}

static void await(Run *run, ControlType type) {
        while (run->last != type && !run->closed) {
                int r = sd_event_run(event, 10000000);

                if (r <= 0)
                        die("waiting for the consumer", r < 0 ? r : -ETIMEDOUT);
        }
        if (run->last != type)
                die("the consumer closed", -EPIPE);
}

static void send_message(Run *run, const ControlMessage *message, const int *fds, size_t n_fds) {
        int r = consumer_send(run->consumer, message, fds, n_fds);

        if (r < 0)
                die("send", r);
}

static void setup_instance(Run *run,
                const Tracefs *tracefs,
                unsigned subbuf_kb,
                unsigned buffer_kb) {
        int r;

        (void)instance_remove(tracefs, KT_INSTANCE_PREFIX ID);
        r = instance_create(tracefs, ID, &run->instance);
        if (r == 0)
                r = instance_set_subbuf_kb(run->instance, subbuf_kb);
        if (r == 0 || (r == -EOPNOTSUPP && subbuf_kb == 4))
                r = instance_set_buffer_kb(run->instance, buffer_kb);
        if (r == 0)
                r = instance_set_option(run->instance, "overwrite", false);
        if (r == 0)
                r = instance_n_cpus(run->instance, &run->n_cpus);
        if (r != 0)
                die("instance", r);
}

static void setup_consumer(Run *run, const char *binary, const char *user, unsigned kb, int out) {
        static const ConsumerHandlers handlers = { .on_message = on_message,
                .on_closed = on_closed };
        ConsumerLauncher launcher = { .event = event, .binary = binary, .user = user };
        int sink[2], metadata, r;
        Reason reason = {};
        size_t size;

        r = consumer_spawn(&launcher, &handlers, run, &run->consumer, &reason);
        if (r != 0)
                die(reason.text, r > 0 ? -ENOENT : r);
        r = instance_get_subbuf_size(run->instance, &size);
        if (r < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sink) < 0)
                die("setup", r < 0 ? r : -errno);
        metadata = fd_memfd_sealed("metadata", KTS_EMPTY, strlen(KTS_EMPTY));
        send_message(run,
                        &(ControlMessage){ .type = CONTROL_SETUP,
                                        .version = CONTROL_VERSION,
                                        .setup = { .sink = CONTROL_SINK_SOCKET,
                                                        .n_cpus = run->n_cpus,
                                                        .subbuf_size = (uint32_t)size,
                                                        .buffer_bytes = (uint64_t)kb * 1024 } },
                        (int[]){ metadata, sink[1] },
                        2);
        close(metadata);
        close(sink[1]);
        await(run, CONTROL_READY);
        r = fd_send(sink[0], "s", 1, &out, 1);
        if (r < 0)
                die("sink", r);
        await(run, CONTROL_ATTACHED);
}

static void send_rings(Run *run) {
        int fds[1 + 2 * CPUS_MAX];
        size_t n = 0;

        fds[n++] = instance_open_file(run->instance, "buffer_percent", O_WRONLY);
        for (unsigned cpu = 0; cpu < run->n_cpus && cpu < CPUS_MAX; cpu++) {
                char path[64];

                snprintf(path, sizeof(path), "per_cpu/cpu%u/trace_pipe_raw", cpu);
                fds[n++] = instance_open_file(run->instance, path, O_RDONLY | O_NONBLOCK);
                snprintf(path, sizeof(path), "per_cpu/cpu%u/stats", cpu);
                fds[n++] = instance_open_file(run->instance, path, O_RDONLY | O_NONBLOCK);
        }
        send_message(run,
                        &(ControlMessage){ .type = CONTROL_RINGS,
                                        .version = CONTROL_VERSION,
                                        .rings = { .n = run->n_cpus } },
                        fds,
                        n);
        while (n > 0)
                close(fds[--n]);
}

static double cpu_of(const struct rusage *usage) {
        return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
               (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

/* Runs what stands between the `--` at argv; adds what the producers used to *ret_used. */
static void run_producers(char **argv, struct rusage *ret_used, long *ret_switches) {
        pid_t pids[16];
        size_t n = 0;

        while (*argv && n < ELEMENTSOF(pids)) {
                char **end = ++argv;

                while (*end && strcmp(*end, "--") != 0)
                        end++;
                pids[n] = fork();
                if (pids[n] == 0) {
                        *end = NULL;
                        dup2(STDERR_FILENO, STDOUT_FILENO);
                        execvp(argv[0], argv);
                        _exit(127);
                }
                n++;
                argv = end;
        }
        if (n == 0)
                sleep(5);
        while (n > 0) {
                struct rusage usage;

                wait4(pids[--n], NULL, 0, &usage);
                timeradd(&ret_used->ru_utime, &usage.ru_utime, &ret_used->ru_utime);
                timeradd(&ret_used->ru_stime, &usage.ru_stime, &ret_used->ru_stime);
                *ret_switches += usage.ru_nvcsw;
        }
}

int main(int argc, char **argv) {
        _cleanup_(tracefs_free_cleanup) Tracefs *tracefs = NULL;
        struct rusage producers = {}, children;
        uint64_t events = 0, lost = 0;
        Reason reason = {};
        struct timespec begin, end;
        struct stat st;
        long switches = 0;
        Run run = {};
        int out, r;

        if (argc < 6 || sd_event_default(&event) < 0)
                return 2;
        if (tracefs_open(KT_TRACEFS_DIR, &tracefs, &reason) != 0)
                die(reason.text, -ENOENT);
        out = open(argv[5], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (out < 0)
                die(argv[5], -errno);
        setup_instance(&run, tracefs, (unsigned)atoi(argv[3]), (unsigned)atoi(argv[4]));
        setup_consumer(&run, argv[1], argv[2], (unsigned)atoi(argv[4]), out);
        send_rings(&run);
        /* Idle means that nothing is recorded: the machine's other programs make system calls. */
        r = argc > 6 ? instance_enable_event(run.instance, "raw_syscalls", "sys_enter", true) : 0;
        if (r < 0)
                die("enable", r);
        clock_gettime(CLOCK_MONOTONIC, &begin);
        run_producers(argv + 6, &producers, &switches);
        clock_gettime(CLOCK_MONOTONIC, &end);
        (void)instance_disable_all(run.instance);
        send_message(&run,
                        &(ControlMessage){ .type = CONTROL_FLUSH, .version = CONTROL_VERSION },
                        NULL,
                        0);
        await(&run, CONTROL_FLUSHED);
        for (unsigned cpu = 0; cpu < run.n_cpus; cpu++) {
                CpuStatistics statistics;

                if (instance_read_statistics(run.instance, cpu, &statistics) < 0)
                        continue;
                events += statistics.read;
                lost += statistics.dropped + statistics.overrun;
        }
        send_message(&run,
                        &(ControlMessage){ .type = CONTROL_FINISH,
                                        .version = CONTROL_VERSION,
                                        .finish = { .code = "stopped" } },
                        NULL,
                        0);
        while (!run.closed)
                if (sd_event_run(event, 10000000) <= 0)
                        die("the consumer does not end", -ETIMEDOUT);
        run.consumer = consumer_release(run.consumer);
        while (wait4(-1, NULL, 0, NULL) > 0)
                ;
        run.instance = instance_free(run.instance);
        (void)instance_remove(tracefs, KT_INSTANCE_PREFIX ID);
        getrusage(RUSAGE_CHILDREN, &children);
        fstat(out, &st);
        printf("{\"cpu\":%.6f,\"switches\":%ld,\"seconds\":%.3f,\"events\":%llu,\"lost\":%llu,\"bytes\":%lld}\n",
                        cpu_of(&children) - cpu_of(&producers),
                        children.ru_nvcsw - switches,
                        (double)(end.tv_sec - begin.tv_sec) +
                                        (double)(end.tv_nsec - begin.tv_nsec) / 1e9,
                        (unsigned long long)events,
                        (unsigned long long)lost,
                        (long long)st.st_size);
        return 0;
}
