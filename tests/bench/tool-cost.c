/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tool-cost [-d PID] READY TOOL... -- [PRODUCER...]: starts TOOL, waits until the file READY begins
 * with 1 (an event's `enable`; "-": one second), runs PRODUCER (none: waits half a second),
 * interrupts TOOL. Prints one JSON object: CPU seconds of TOOL and its children, of the daemon PID
 * and its children as well; voluntary context switches; seconds that PRODUCER ran. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval tv) {
        return (double)tv.tv_sec + (double)tv.tv_usec / 1e6;
}

static double cpu(const struct rusage *usage) {
        return seconds(usage->ru_utime) + seconds(usage->ru_stime);
}

static double now(void) {
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* What the daemon and the consumers that it has reaped have used; in ticks, so runs must be long.
 */
static double daemon_cpu(const char *pid) {
        char path[64], line[1024] = "";
        unsigned long user = 0, system = 0;
        long children_user = 0, children_system = 0;
        const char *p;
        FILE *f;

        if (!pid)
                return 0;
        snprintf(path, sizeof(path), "/proc/%s/stat", pid);
        f = fopen(path, "re");
        if (!f)
                return 0;
        p = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
        fclose(f);
        if (!p || sscanf(p,
                                  ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld",
                                  &user,
                                  &system,
                                  &children_user,
                                  &children_system) != 4)
                return 0;
        return (double)(user + system + (unsigned long)(children_user + children_system)) /
               (double)sysconf(_SC_CLK_TCK);
}

static pid_t start(char **argv) {
        pid_t pid = fork();

        if (pid == 0) {
                int null = open("/dev/null", O_RDWR);

                dup2(null, STDOUT_FILENO);
                execvp(argv[0], argv);
                perror(argv[0]);
                _exit(127);
        }
        return pid;
}

static void wait_ready(const char *path) {
        if (strcmp(path, "-") == 0) {
                sleep(1);
                return;
        }
        for (int i = 0; i < 1000; i++) {
                char c = '0';
                int fd = open(path, O_RDONLY | O_CLOEXEC);

                if (fd >= 0) {
                        if (read(fd, &c, 1) != 1)
                                c = '0';
                        close(fd);
                }
                if (c == '1')
                        break;
                usleep(10000);
        }
        usleep(300000);
}

int main(int argc, char **argv) {
        const char *daemon = NULL, *ready;
        struct rusage tool, producer;
        double cpu_before, begin, wall;
        int at = 1, split, status;
        pid_t pid, child;

        if (argc > 3 && strcmp(argv[1], "-d") == 0) {
                daemon = argv[2];
                at = 3;
        }
        for (split = at + 2; split < argc && strcmp(argv[split], "--") != 0; split++)
                ;
        if (split >= argc)
                return 2;
        argv[split] = NULL;
        ready = argv[at];
        cpu_before = daemon_cpu(daemon);
        pid = start(argv + at + 1);
        wait_ready(ready);
        begin = now();
        if (split + 1 < argc) {
                child = start(argv + split + 1);
                wait4(child, &status, 0, &producer);
        } else
                usleep(500000);
        wall = now() - begin;
        usleep(300000);
        kill(pid, SIGINT);
        wait4(pid, &status, 0, &tool);
        usleep(300000); /* the daemon reaps its consumer */
        printf("{\"cpu\":%.4f,\"switches\":%ld,\"seconds\":%.3f,\"status\":%d}\n",
                        cpu(&tool) + daemon_cpu(daemon) - cpu_before,
                        tool.ru_nvcsw,
                        wall,
                        WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
        return 0;
}
