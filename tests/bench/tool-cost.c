/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tool-cost GROUP READY TOOL... -- [PRODUCER...]: starts TOOL in the control group GROUP, waits
 * until a file that the pattern READY names begins with 1 (an event's `enable`; "-": one second),
 * runs PRODUCER outside the group (none: waits half a second), interrupts TOOL. READY "end": TOOL
 * ends by itself, and runs what is traced. Prints one JSON object: CPU seconds of all processes of
 * the group, which also holds the daemon and the bus; TOOL's voluntary context switches; seconds
 * that PRODUCER, or else TOOL, ran; TOOL's exit status.
 *
 * Version 2 of control groups counts run time in nanoseconds, also that of processes which have
 * ended. */
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static _Noreturn void die(const char *what) {
        perror(what);
        exit(1);
}

/* Seconds that the processes of the group have used so far. */
static double group_cpu(const char *group) {
        unsigned long long usec = 0;
        char path[4096];
        FILE *f;

        snprintf(path, sizeof(path), "%s/cpu.stat", group);
        f = fopen(path, "re");
        if (!f || fscanf(f, "usage_usec %llu", &usec) != 1)
                die(path);
        fclose(f);
        return (double)usec / 1e6;
}

static void enter(const char *group) {
        char path[4096];
        int fd;

        snprintf(path, sizeof(path), "%s/cgroup.procs", group);
        fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, "0", 1) != 1)
                die(path);
        close(fd);
}

/* Starts a program in the group, or without one where this process is. */
static pid_t start(char **argv, const char *group) {
        pid_t pid = fork();

        if (pid == 0) {
                int null = open("/dev/null", O_RDWR);

                if (group)
                        enter(group);
                dup2(null, STDOUT_FILENO);
                execvp(argv[0], argv);
                perror(argv[0]);
                _exit(127);
        }
        return pid;
}

static bool is_on(const char *pattern) {
        glob_t found = {};
        bool is = false;

        if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
                for (size_t i = 0; i < found.gl_pathc && !is; i++) {
                        int fd = open(found.gl_pathv[i], O_RDONLY | O_CLOEXEC);
                        char c;

                        is = fd >= 0 && read(fd, &c, 1) == 1 && c == '1';
                        if (fd >= 0)
                                close(fd);
                }
        globfree(&found);
        return is;
}

static void wait_ready(const char *ready, pid_t tool) {
        if (strcmp(ready, "-") == 0) {
                sleep(1);
                return;
        }
        for (int i = 0; i < 1000 && !is_on(ready); i++) {
                siginfo_t info = {};

                if (waitid(P_PID, (id_t)tool, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                                info.si_pid == tool)
                        return;
                usleep(10000);
        }
        usleep(100000); /* other processors may not have the event yet */
}

static void run_producer(char **argv) {
        pid_t pid;

        if (!*argv) {
                usleep(500000);
                return;
        }
        pid = start(argv, NULL);
        waitpid(pid, NULL, 0);
}

int main(int argc, char **argv) {
        const char *group, *ready;
        struct rusage tool;
        double before, begin, wall;
        int split, status;
        bool ends;
        pid_t pid;

        /* The last one: TOOL may have one of its own. */
        for (split = argc - 1; split > 3 && strcmp(argv[split], "--") != 0; split--)
                ;
        if (split <= 3)
                return 2;
        argv[split] = NULL;
        group = argv[1];
        ready = argv[2];
        ends = strcmp(ready, "end") == 0;
        before = group_cpu(group);
        begin = now();
        pid = start(argv + 3, group);
        if (!ends) {
                wait_ready(ready, pid);
                begin = now();
                run_producer(argv + split + 1);
                wall = now() - begin;
                kill(pid, SIGINT);
        }
        wait4(pid, &status, 0, &tool);
        if (ends)
                wall = now() - begin;
        usleep(300000); /* the daemon removes the instance, and its consumer ends */
        printf("{\"cpu\":%.6f,\"switches\":%ld,\"seconds\":%.3f,\"status\":%d}\n",
                        group_cpu(group) - before,
                        tool.ru_nvcsw,
                        wall,
                        WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
        return 0;
}
