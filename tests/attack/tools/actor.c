/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Processes that an attack needs and a shell cannot be.
 *
 *   actor reuse UID NR GO       as root: a process of UID, whose number goes into the file `pid`;
 * when the file GO is there it is killed, reaped, and its number given at once to a process of
 * root's, which makes system call NR 2000 times. Ends with 0 when that worked actor chain GO
 * PROGRAM ARG  threads that start one another and end, without pause; when the file GO is there the
 * last of them, never the leader, executes PROGRAM actor id                    prints uid,
 * effective uid and effective gid */

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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

static pid_t start_prey(uid_t uid) {
        pid_t pid = fork();

        if (pid != 0)
                return pid;
        if (setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0 ||
                        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                _exit(1);
        execlp("sleep", "sleep", "1000", NULL); /* makes it dumpable again */
        _exit(1);
}

static int reuse(uid_t uid, long nr, const char *file) {
        pid_t prey = start_prey(uid), pid = -1;
        FILE *f = fopen("pid.new", "we");

        if (!f || fprintf(f, "%d\n", prey) < 0 || fclose(f) != 0 || rename("pid.new", "pid") < 0)
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

int main(int argc, char **argv) {
        if (argc == 5 && strcmp(argv[1], "reuse") == 0)
                return reuse((uid_t)atol(argv[2]), atol(argv[3]), argv[4]);
        if (argc >= 4 && strcmp(argv[1], "chain") == 0) {
                go = argv[2];
                program = argv + 3;
                chain(NULL);
                for (;;)
                        pause();
        }
        if (argc == 2 && strcmp(argv[1], "id") == 0) {
                printf("%u %u %u\n", getuid(), geteuid(), getegid());
                return 0;
        }
        fprintf(stderr, "actor: see the head of actor.c\n");
        return 2;
}
