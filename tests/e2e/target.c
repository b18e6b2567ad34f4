/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A process to trace, whose events are known beforehand.
 *
 *   target calls N NR    makes system call NR without arguments N times
 *   target undumpable    as ssh-agent does: not to be traced by its own user; sleeps
 *   target secretive NR  the same, but makes system call NR a thousand times a second
 *   target threads N     N threads beside the leader; all sleep
 *   target churn N       N threads at most beside the leader, that start and end all the time
 *   target callers N NR  N threads beside the leader that make system call NR every 10 ms
 *   target execs N NR    becomes `target calls N NR` in a second thread, whose number changes by
 * that
 *   target orphan N NR   the same, when the first thread has ended long ago
 *   target paced N USEC  makes getppid N times, one every USEC microseconds; its first argument is
 * the number of the call, from 1
 *   target renames FIRST N  gives itself N names, r and a number, from FIRST on (task:task_rename)
 *   target own PROGRAM ARG...  with its set-uid bit: takes the user's own ids again and executes
 * PROGRAM, as sudo does for the user's own name
 *   target compat N      a 64-bit program that makes 32-bit system call 20 (getpid) N times
 *   target various       makes getppid 7 times, 5 times in each of 2 threads and 3 times in a
 * child; fails twice to open a file; and a signal interrupts a read target until FILE USEC  the
 * same until FILE is there, or its parent is not; prints how often */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *sleeper(void *userdata) {
        pause();
        return NULL;
}

static int threads(int n) {
        for (int i = 0; i < n; i++) {
                pthread_t thread;

                if (pthread_create(&thread, NULL, sleeper, NULL) != 0)
                        return 1;
        }
        pause();
        return 0;
}

static atomic_int n_alive;

static void *short_lived(void *userdata) {
        usleep(1000);
        atomic_fetch_sub(&n_alive, 1);
        return NULL;
}

static int churn(int n) {
        for (;;) {
                pthread_t thread;

                if (atomic_load(&n_alive) >= n) {
                        usleep(100);
                        continue;
                }
                atomic_fetch_add(&n_alive, 1);
                if (pthread_create(&thread, NULL, short_lived, NULL) != 0)
                        return 1;
                pthread_detach(thread);
        }
}

static void *caller(void *userdata) {
        for (;; usleep(10000))
                syscall(*(long *)userdata);
        return NULL;
}

static int callers(int n, long nr) {
        for (int i = 0; i < n; i++) {
                pthread_t thread;

                if (pthread_create(&thread, NULL, caller, &nr) != 0)
                        return 1;
        }
        pause();
        return 0;
}

static void *execer(void *numbers) {
        char **n = numbers;

        usleep(300000); /* the first thread sleeps by then, or has ended */
        execl("/proc/thread-self/exe", "target", "calls", n[0], n[1], (char *)NULL);
        _exit(1);
}

static int exec_in_thread(bool is_orphan, char **numbers) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, execer, numbers) != 0)
                return 1;
        if (is_orphan)
                pthread_exit(NULL);
        pause();
        return 0;
}

static void call_and_rest(long number, useconds_t usec) {
        syscall(SYS_getppid, number); /* the number is for who records it */
        usleep(usec);
}

static int paced(long n, useconds_t usec) {
        for (long i = 0; i < n; i++)
                call_and_rest(i + 1, usec);
        return 0;
}

static int until(const char *file, useconds_t usec) {
        long n = 0;

        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        while (access(file, F_OK) < 0)
                call_and_rest(++n, usec);
        return printf("%ld\n", n) < 0;
}

/* Number 20 is getpid for 32-bit calls and writev for 64-bit ones. */
static int compat(long n) {
#ifdef __x86_64__
        for (; n > 0; n--) {
                long result = 20;

                __asm__ volatile("int $0x80"
                                 : "+a"(result)
                                 : "b"(stdout)
                                 : "memory", "r8", "r9", "r10", "r11");
                if (result != getpid())
                        return 1;
        }
        return 0;
#else
        return n > 0 ? 77 : 0;
#endif
}

static void call_often(int n) {
        while (n-- > 0)
                (void)syscall(SYS_getppid);
}

static void *call_in_thread(void *userdata) {
        call_often(5);
        return NULL;
}

static void on_alarm(int number) {
}

static int various(void) {
        struct sigaction action = { .sa_handler = on_alarm };
        pthread_t threads[2];
        int fds[2];
        pid_t child;
        char byte;

        call_often(7);
        for (int i = 0; i < 2; i++)
                if (pthread_create(&threads[i], NULL, call_in_thread, NULL) != 0)
                        return 1;
        for (int i = 0; i < 2; i++)
                pthread_join(threads[i], NULL);
        child = fork();
        if (child == 0) {
                call_often(3);
                _exit(0);
        }
        if (child < 0 || waitpid(child, NULL, 0) != child || open("/nowhere", O_RDONLY) >= 0 ||
                        open("/nowhere", O_RDONLY) >= 0 || pipe(fds) < 0 ||
                        sigaction(SIGALRM, &action, NULL) < 0)
                return 1;
        ualarm(100000, 0);
        return read(fds[0], &byte, 1) >= 0;
}

static int own(char **program) {
        uid_t uid = getuid();

        if (geteuid() == uid || setresuid(uid, uid, uid) < 0)
                return 1;
        execvp(program[0], program);
        return 127;
}

static int renames(long first, long n) {
        char name[24]; /* the kernel cuts it to 15 characters */

        for (long i = first; i < first + n; i++) {
                (void)snprintf(name, sizeof(name), "r%ld", i);
                prctl(PR_SET_NAME, name, 0, 0, 0);
        }
        return 0;
}

int main(int argc, char **argv) {
        if (argc == 4 && strcmp(argv[1], "calls") == 0) {
                long nr = atol(argv[3]);

                for (long n = atol(argv[2]); n > 0; n--)
                        syscall(nr);
                return 0;
        }
        if (argc == 2 && strcmp(argv[1], "undumpable") == 0) {
                prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
                pause();
                return 0;
        }
        if (argc == 3 && strcmp(argv[1], "secretive") == 0) {
                prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
                for (;; usleep(1000))
                        syscall(atol(argv[2]));
        }
        if (argc == 3 && strcmp(argv[1], "threads") == 0)
                return threads(atoi(argv[2]));
        if (argc == 3 && strcmp(argv[1], "churn") == 0)
                return churn(atoi(argv[2]));
        if (argc == 4 && strcmp(argv[1], "callers") == 0)
                return callers(atoi(argv[2]), atol(argv[3]));
        if (argc == 4 && (strcmp(argv[1], "execs") == 0 || strcmp(argv[1], "orphan") == 0))
                return exec_in_thread(strcmp(argv[1], "orphan") == 0, argv + 2);
        if (argc == 4 && strcmp(argv[1], "paced") == 0)
                return paced(atol(argv[2]), (useconds_t)atol(argv[3]));
        if (argc == 4 && strcmp(argv[1], "renames") == 0)
                return renames(atol(argv[2]), atol(argv[3]));
        if (argc == 3 && strcmp(argv[1], "compat") == 0)
                return compat(atol(argv[2]));
        if (argc >= 3 && strcmp(argv[1], "own") == 0)
                return own(argv + 2);
        if (argc == 2 && strcmp(argv[1], "various") == 0)
                return various();
        if (argc == 4 && strcmp(argv[1], "until") == 0)
                return until(argv[2], (useconds_t)atol(argv[3]));
        fprintf(stderr, "target: see the head of target.c\n");
        return 2;
}
