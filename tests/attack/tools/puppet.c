/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A stream worker in an attacker's hands: what code that was smuggled into it could do. As root it
 * is stopped by ptrace(2), and from then on makes system calls of ours only, in its own sandbox and
 * under its own limits.
 *
 *   puppet PID N BYTES   the worker of a recording onto the disk: of each file that it has, and of
 * N that follow, it says that one byte was written, and keeps it open; before that the file is made
 * BYTES long. Prints how many of the spool's files it has in the end, and the length of the
 * longest, and kills it. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interfaces/control.h"

#ifdef __x86_64__

#define CONTROL_FD 3
#define TRIES      500 /* of 10 ms */

/* What is laid into its stack. */
typedef struct Area {
        ControlMessage message;
        struct iovec iov;
        struct msghdr head;
        char control[CMSG_SPACE(sizeof(int))];
} Area;

typedef struct Puppet {
        pid_t pid;
        int memory;
        uint64_t area;
        struct user_regs_struct regs; /* in a system call, as it was found */
} Puppet;

static void fail(const char *what) {
        fprintf(stderr, "puppet: %s: %s\n", what, strerror(errno));
        exit(1);
}

static DIR *open_list(pid_t pid, const char *list) {
        char path[64];

        (void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, list);
        DIR *dir = opendir(path);
        if (!dir)
                fail(path);
        return dir;
}

/* All its threads, or its watchdog does something of its own. */
static void attach(Puppet *puppet) {
        DIR *dir = open_list(puppet->pid, "task");
        struct dirent *entry;

        while ((entry = readdir(dir))) {
                pid_t tid = atoi(entry->d_name);

                if (tid > 0 && (ptrace(PTRACE_ATTACH, tid, NULL, NULL) < 0 ||
                                               waitpid(tid, NULL, __WALL) != tid))
                        fail("PTRACE_ATTACH");
        }
        closedir(dir);
        if (ptrace(PTRACE_GETREGS, puppet->pid, NULL, &puppet->regs) < 0)
                fail("PTRACE_GETREGS");
        if ((long)puppet->regs.orig_rax < 0)
                fail("it is not in a system call");
}

/* The stack's far end, which nobody uses. */
static void find_area(Puppet *puppet) {
        char path[64], line[256];

        (void)snprintf(path, sizeof(path), "/proc/%d/maps", puppet->pid);
        FILE *maps = fopen(path, "re");
        while (maps && fgets(line, sizeof(line), maps))
                if (strstr(line, "[stack]"))
                        puppet->area = (strtoull(line, NULL, 16) + 64) & ~UINT64_C(63);
        if (maps)
                fclose(maps);
        (void)snprintf(path, sizeof(path), "/proc/%d/mem", puppet->pid);
        puppet->memory = open(path, O_RDWR | O_CLOEXEC);
        if (puppet->area == 0 || puppet->memory < 0)
                fail("its memory");
}

/* Where it was stopped there is a syscall instruction behind it. */
static long call(const Puppet *puppet, long number, uint64_t a, uint64_t b, uint64_t c) {
        struct user_regs_struct regs = puppet->regs;
        int status = 0;

        regs.rip -= 2;
        regs.orig_rax = UINT64_MAX;
        regs.rax = (unsigned long)number;
        regs.rdi = a;
        regs.rsi = b;
        regs.rdx = c;
        if (ptrace(PTRACE_SETREGS, puppet->pid, NULL, &regs) < 0)
                fail("PTRACE_SETREGS");
        do { /* a signal, of a limit that is passed, is never delivered */
                if (ptrace(PTRACE_SINGLESTEP, puppet->pid, NULL, NULL) < 0 ||
                                waitpid(puppet->pid, &status, __WALL) != puppet->pid)
                        fail("PTRACE_SINGLESTEP");
                if (!WIFSTOPPED(status))
                        fail("it has died of the call");
        } while (WSTOPSIG(status) != SIGTRAP);
        if (ptrace(PTRACE_GETREGS, puppet->pid, NULL, &regs) < 0)
                fail("PTRACE_GETREGS");
        return (long)regs.rax;
}

static void lay(const Puppet *puppet, Area *area) {
        area->iov = (struct iovec){ (void *)(puppet->area + offsetof(Area, message)),
                sizeof(area->message) };
        area->head.msg_iov = (void *)(puppet->area + offsetof(Area, iov));
        area->head.msg_iovlen = 1;
        if (pwrite(puppet->memory, area, sizeof(*area), (off_t)puppet->area) != sizeof(*area))
                fail("its memory");
}

/* Of the next file; 0: none follows. */
static unsigned receive(const Puppet *puppet) {
        Area area;
        long n = 0;

        for (int i = 0; i < TRIES; i++) {
                area = (Area){};
                area.head.msg_control = (void *)(puppet->area + offsetof(Area, control));
                area.head.msg_controllen = sizeof(area.control);
                lay(puppet, &area);
                n = call(puppet,
                                SYS_recvmsg,
                                CONTROL_FD,
                                puppet->area + offsetof(Area, head),
                                MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
                if (n == -EAGAIN)
                        usleep(10000);
                else if (n <= 0)
                        break;
                else if (pread(puppet->memory, &area, sizeof(area), (off_t)puppet->area) < 0)
                        fail("its memory");
                else if (area.message.type == CONTROL_SPOOL_FILE)
                        return area.message.spool_file.number;
        }
        fprintf(stderr, "puppet: no file follows: %ld\n", n);
        return 0;
}

static void lie(const Puppet *puppet, unsigned number) {
        Area area = {
                .message = {
                        .type = CONTROL_SPOOLED,
                        .version = CONTROL_VERSION,
                        .spooled = { .number = number, .wants_next = 1, .closed_bytes = 1 },
                },
        };

        lay(puppet, &area);
        (void)call(puppet,
                        SYS_sendmsg,
                        CONTROL_FD,
                        puppet->area + offsetof(Area, head),
                        MSG_DONTWAIT | MSG_NOSIGNAL);
}

typedef struct Held {
        unsigned n, last; /* its number */
        off_t longest;
} Held;

/* Files of the spool that it has; bytes > 0: made so long. */
static Held look(const Puppet *puppet, off_t bytes) {
        DIR *dir = open_list(puppet->pid, "fd");
        char path[512];
        struct dirent *entry;
        struct stat status;
        Held held = {};

        while ((entry = readdir(dir))) {
                ssize_t n = readlinkat(dirfd(dir), entry->d_name, path, sizeof(path) - 1);
                const char *name = n > 0 ? memrchr(path, '/', (size_t)n) : NULL;

                path[n > 0 ? n : 0] = '\0';
                if (!name || !strstr(name, ".kts"))
                        continue;
                held.n++;
                if ((unsigned)atoi(name + 1) > held.last)
                        held.last = (unsigned)atoi(name + 1);
                if (fstatat(dirfd(dir), entry->d_name, &status, 0) == 0 && status.st_size < bytes)
                        (void)call(puppet,
                                        SYS_ftruncate,
                                        strtoul(entry->d_name, NULL, 10),
                                        (uint64_t)bytes,
                                        0);
                if (fstatat(dirfd(dir), entry->d_name, &status, 0) == 0 &&
                                status.st_size > held.longest)
                        held.longest = status.st_size;
        }
        closedir(dir);
        return held;
}

int main(int argc, char **argv) {
        Puppet puppet = { .pid = argc == 4 ? atoi(argv[1]) : 0 };

        if (puppet.pid <= 0) {
                fprintf(stderr, "puppet: see the head of puppet.c\n");
                return 2;
        }
        attach(&puppet);
        find_area(&puppet);
        Held held = look(&puppet, atol(argv[3]));
        unsigned number = held.last;
        for (int i = atoi(argv[2]); i > 0 && number > 0; i--) {
                lie(&puppet, number);
                number = receive(&puppet);
                held = look(&puppet, atol(argv[3]));
        }
        printf("%u %ld\n", held.n, (long)held.longest);
        return kill(puppet.pid, SIGKILL) < 0;
}
#else
int main(void) {
        fprintf(stderr, "puppet: knows the registers of x86-64 only\n");
        return 1;
}
#endif
