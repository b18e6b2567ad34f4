/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Processes that an attack needs and a shell cannot be.
 *
 *   actor reuse UID NR GO       as root: a process of UID, whose number goes into the file `pid`;
 * when the file GO is there it is killed, reaped, and its number given at once to a process of
 * root's, which makes system call NR 2000 times. Ends with 0 when that worked
 *
 *   actor swarm UID NR GO N     as root: the same with N processes, one after the other without
 * pause; their numbers go into the file `pids`. The new owners are called `secret-name` and make
 * system call NR for 30 ms each
 *
 *   actor reborn UID NR GO N    as root: N processes of UID, and one more of UID that forks when it
 * is told to; the numbers go into the file `pids`, that of the one more last. When the file GO is
 * there each number but the last goes to a process of root's, as above, and when that has ended to
 * a child of the one more, which calls getppid
 *
 *   actor doomed UID NR GO N M  as root: N processes of UID, whose numbers go into the file `pids`.
 * When the last of them is on the list of a session, the first M end, one after the other. When the
 * file GO is there too, their numbers are given to processes of root's, as above
 *
 *   actor mother                for `reborn`: forks for each byte of its input, and writes the
 * number
 *
 *   actor chain GO PROGRAM ARG  threads that start one another and end, without pause; when the
 * file GO is there the last of them, never the leader, executes PROGRAM
 *
 *   actor sharers GO            two processes that share memory; the number of the first one goes
 * into the file `pid`. When the file GO is there, the second one asks that it is not dumped, and
 * the first one writes 20 times to standard error
 *
 *   actor id                    prints uid, effective uid and effective gid */

#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PREYS_MAX 1000

static char *const *program;
static const char *go;

static void wait_for(const char *path) {
        while (access(path, F_OK) < 0)
                usleep(10000);
}

/* The number that the next fork takes is the one behind it. */
static int set_last_pid(pid_t pid) {
        char text[16];
        int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
        int n = snprintf(text, sizeof(text), "%d", pid);

        int r = fd < 0 || write(fd, text, (size_t)n) != n ? -1 : 0;
        if (fd >= 0)
                close(fd);
        return r;
}

static void become(uid_t uid) {
        if (setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0 ||
                        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                _exit(1);
}

static pid_t start_prey(uid_t uid) {
        pid_t pid = fork();

        if (pid != 0)
                return pid;
        become(uid);
        execlp("sleep", "sleep", "1000", NULL); /* makes it dumpable again */
        _exit(1);
}

/* Writes the number into the file `pid`, which is there when it is whole. */
static int tell_one(pid_t pid) {
        FILE *f = fopen("pid.new", "we");

        if (!f || fprintf(f, "%d\n", pid) < 0 || fclose(f) != 0)
                return -1;
        return rename("pid.new", "pid");
}

static int reuse(uid_t uid, long nr, const char *file) {
        pid_t prey = start_prey(uid), pid = -1;

        if (tell_one(prey) < 0)
                return 1;
        wait_for(file);
        kill(prey, SIGKILL);
        waitpid(prey, NULL, 0);
        for (int i = 0; i < 20 && pid != prey; i++) {
                if (set_last_pid(prey - 1) < 0)
                        return 1;
                pid = fork();
                if (pid == 0) {
                        for (int k = 0; getpid() == prey && k < 2000; k++)
                                syscall(nr);
                        _exit(0);
                }
                waitpid(pid, NULL, 0);
        }
        return pid != prey;
}

static void call_for(long nr, long msec) {
        struct timespec begin, now;

        clock_gettime(CLOCK_MONOTONIC, &begin);
        do {
                for (int i = 0; i < 20; i++)
                        syscall(nr);
                clock_gettime(CLOCK_MONOTONIC, &now);
        } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 <
                        msec);
}

/* Its number comes again at once, to a process of root's. Nobody is waited for. */
static int hand_on(pid_t prey, long nr) {
        kill(prey, SIGKILL);
        waitpid(prey, NULL, 0);
        if (set_last_pid(prey - 1) < 0)
                return -1;
        pid_t pid = fork();
        if (pid == 0) {
                prctl(PR_SET_NAME, "secret-name", 0, 0, 0);
                if (getpid() == prey)
                        call_for(nr, 30);
                _exit(0);
        }
        return pid == prey;
}

/* Whoever executes a program with a number that is still listed sets off the guard. */
static int leave_numbers(pid_t last) {
        return set_last_pid(last + PREYS_MAX);
}

static int start_preys(uid_t uid, pid_t *preys, int n) {
        for (int i = 0; i < n; i++) {
                preys[i] = start_prey(uid);
                if (preys[i] < 0)
                        return -1;
        }
        return 0;
}

/* The numbers, in the file `pids`. */
static int tell(const pid_t *pids, int n) {
        FILE *f = fopen("pids.new", "we");

        if (!f)
                return -1;
        for (int i = 0; i < n; i++)
                fprintf(f, "%d\n", pids[i]);
        return fclose(f) != 0 ? -1 : rename("pids.new", "pids");
}

static int swarm(uid_t uid, long nr, const char *file, int n) {
        pid_t preys[PREYS_MAX];
        int n_reused = 0;

        if (n < 1 || n > PREYS_MAX || start_preys(uid, preys, n) < 0 || tell(preys, n) < 0)
                return 1;
        wait_for(file);
        for (int i = 0; i < n; i++)
                n_reused += hand_on(preys[i], nr) == 1;
        while (wait(NULL) > 0)
                ;
        printf("%d of %d numbers came again\n", n_reused, n);
        return n_reused == 0;
}

static int mother(void) {
        char byte;

        while (read(STDIN_FILENO, &byte, 1) == 1) {
                pid_t pid = fork();

                if (pid == 0) {
                        syscall(SYS_getppid);
                        _exit(0);
                }
                waitpid(pid, NULL, 0);
                if (write(STDOUT_FILENO, &pid, sizeof(pid)) != (ssize_t)sizeof(pid))
                        return 1;
        }
        return 0;
}

/* fds: to what it reads, from what it writes. */
static pid_t start_mother(uid_t uid, const char *self, int fds[2]) {
        int in[2], out[2];

        if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
                return -1;
        pid_t pid = fork();
        if (pid == 0) {
                if (dup2(in[0], STDIN_FILENO) < 0 || dup2(out[1], STDOUT_FILENO) < 0)
                        _exit(1);
                become(uid);
                execl(self, self, "mother", NULL); /* makes it dumpable again */
                _exit(1);
        }
        close(in[0]);
        close(out[1]);
        fds[0] = in[1];
        fds[1] = out[0];
        return pid;
}

/* Is the number that of the next child now? */
static bool bear(pid_t number, const int fds[2]) {
        pid_t pid = -1;

        for (int i = 0; i < 20 && pid != number; i++)
                if (set_last_pid(number - 1) < 0 || write(fds[0], "x", 1) != 1 ||
                                read(fds[1], &pid, sizeof(pid)) != (ssize_t)sizeof(pid))
                        return false;
        return pid == number;
}

static int reborn(uid_t uid, long nr, const char *file, int n, const char *self) {
        pid_t preys[PREYS_MAX];
        int fds[2], n_reborn = 0;

        if (n < 1 || n >= PREYS_MAX || start_preys(uid, preys, n) < 0)
                return 1;
        preys[n] = start_mother(uid, self, fds);
        if (preys[n] < 0 || tell(preys, n + 1) < 0)
                return 1;
        wait_for(file);
        for (int i = 0; i < n; i++)
                if (hand_on(preys[i], nr) != 1)
                        preys[i] = 0;
        for (int i = 0; i < n; i++)
                if (preys[i] != 0)
                        waitpid(preys[i], NULL, 0);
        for (int i = 0; i < n; i++)
                n_reborn += preys[i] != 0 && bear(preys[i], fds);
        close(fds[0]);
        while (wait(NULL) > 0)
                ;
        if (leave_numbers(preys[n]) < 0)
                return 1;
        printf("%d of %d numbers came again twice\n", n_reborn, n);
        return n_reborn == 0;
}

static bool is_in_list(const char *path, pid_t pid) {
        FILE *f = fopen(path, "re");
        bool is_there = false;
        long number;

        while (f && !is_there && fscanf(f, "%ld", &number) == 1)
                is_there = number == pid;
        if (f)
                fclose(f);
        return is_there;
}

/* Of any session. */
static bool is_listed(pid_t pid) {
        bool is_there = false;
        glob_t found = {};

        if (glob("/sys/kernel/tracing/instances/ktrace-*/set_event_pid", 0, NULL, &found) == 0)
                for (size_t i = 0; i < found.gl_pathc && !is_there; i++)
                        is_there = is_in_list(found.gl_pathv[i], pid);
        globfree(&found);
        return is_there;
}

/* Those that have ended are not waited for: each keeps its number until it is handed on. */
static int doomed(uid_t uid, long nr, const char *file, int n, int n_doomed) {
        pid_t preys[PREYS_MAX];
        int n_reused = 0;

        if (n < 1 || n > PREYS_MAX || n_doomed > n || start_preys(uid, preys, n) < 0 ||
                        tell(preys, n) < 0)
                return 1;
        while (!is_listed(preys[n - 1]))
                usleep(100);
        for (int i = 0; i < n_doomed; i++) {
                kill(preys[i], SIGKILL);
                usleep(20000); /* in all longer than the daemon needs */
        }
        wait_for(file);
        for (int i = 0; i < n_doomed; i++)
                n_reused += hand_on(preys[i], nr) == 1;
        if (leave_numbers(preys[n - 1]) < 0)
                return 1;
        for (int i = n_doomed; i < n; i++)
                kill(preys[i], SIGKILL);
        while (wait(NULL) > 0)
                ;
        printf("%d of %d numbers came again\n", n_reused, n_doomed);
        return n_reused == 0;
}

static void *chain(void *userdata) {
        pthread_attr_t detached;
        pthread_t next;

        if (access(go, F_OK) == 0) {
                execv(program[0], program);
                _exit(1);
        }
        pthread_attr_init(&detached);
        pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
        while (pthread_create(&next, &detached, chain, NULL) != 0)
                usleep(1000);
        return NULL;
}

static volatile bool is_secret;

static int keep_secret(void *file) {
        pid_t first = getppid();

        if (tell_one(first) < 0)
                _exit(1);
        wait_for(file);
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        is_secret = true;
        _exit(0);
}

static int sharers(char *file) {
        static char stack[65536] __attribute__((aligned(16)));
        pid_t pid = clone(keep_secret, stack + sizeof(stack), CLONE_VM | SIGCHLD, file);

        while (pid > 0 && !is_secret)
                usleep(10000);
        for (int i = 0; i < 20; i++)
                if (write(STDERR_FILENO, "secret\n", 7) != 7)
                        return 1;
        return waitpid(pid, NULL, 0) != pid;
}

int main(int argc, char **argv) {
        if (argc == 5 && strcmp(argv[1], "reuse") == 0)
                return reuse((uid_t)atol(argv[2]), atol(argv[3]), argv[4]);
        if (argc == 6 && strcmp(argv[1], "swarm") == 0)
                return swarm((uid_t)atol(argv[2]), atol(argv[3]), argv[4], atoi(argv[5]));
        if (argc == 6 && strcmp(argv[1], "reborn") == 0)
                return reborn((uid_t)atol(argv[2]), atol(argv[3]), argv[4], atoi(argv[5]), argv[0]);
        if (argc == 7 && strcmp(argv[1], "doomed") == 0)
                return doomed((uid_t)atol(argv[2]),
                                atol(argv[3]),
                                argv[4],
                                atoi(argv[5]),
                                atoi(argv[6]));
        if (argc == 2 && strcmp(argv[1], "mother") == 0)
                return mother();
        if (argc >= 4 && strcmp(argv[1], "chain") == 0) {
                go = argv[2];
                program = argv + 3;
                chain(NULL);
                for (;;)
                        pause();
        }
        if (argc == 3 && strcmp(argv[1], "sharers") == 0)
                return sharers(argv[2]);
        if (argc == 2 && strcmp(argv[1], "id") == 0) {
                printf("%u %u %u\n", getuid(), geteuid(), getegid());
                return 0;
        }
        fprintf(stderr, "actor: see the head of actor.c\n");
        return 2;
}
