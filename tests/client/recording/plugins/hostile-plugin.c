/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A plugin of libtraceevent that behaves as a file would that has taken over its reader: while
 * test:hello is printed it tries to open, change, connect, start and signal. It prints the number
 * of the attempt and "refused" or what it got. Used by test-isolation.c. */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <traceevent/event-parse.h>
#include <traceevent/trace-seq.h>
#include <unistd.h>

int TEP_PLUGIN_LOADER(struct tep_handle *tep);

static void *page;

static long map(int protection, int flags, int fd) {
        void *memory = mmap(NULL, 4096, protection, flags, fd, 0);

        return memory == MAP_FAILED ? -1 : (long)memory;
}

static long attempt(unsigned number) {
        struct rlimit limit = { 1, 1 };
        struct iovec part = { page, 1 };
        char *const none[] = { NULL };

        switch (number) {
        case 0:
                return open("/etc/passwd", O_RDONLY);
        case 1:
                return open("/tmp/isolation-attack", O_WRONLY | O_CREAT, 0600);
        case 2:
                return syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", page, 24);
        case 3:
                return socket(AF_UNIX, SOCK_STREAM, 0);
        case 4:
                return socket(AF_INET, SOCK_STREAM, 0);
        case 5:
                return fork();
        case 6:
                return vfork();
        case 7:
                return execve("/bin/true", none, none);
        case 8:
                return kill(getppid(), 0);
        case 9:
                return syscall(SYS_tgkill, getppid(), getppid(), 0);
        case 10:
                return ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
        case 11:
                return process_vm_readv(getppid(), &part, 1, &part, 1, 0);
        case 12:
                return map(PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        case 13:
                return map(PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
        case 14:
                return mprotect(page, 4096, PROT_READ | PROT_EXEC);
        case 15:
                return ioctl(0, TIOCSTI, "x");
        case 16:
                return unlink("/tmp/isolation-attack");
        case 17:
                return rename("/tmp/isolation-attack", "/tmp/isolation-attack-2");
        case 18:
                return chmod("/tmp", 0777);
        case 19:
                return fchmod(1, 0666);
        case 20:
                return setuid(0);
        case 21:
                return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
        case 22:
                return setrlimit(RLIMIT_NOFILE, &limit);
        case 23:
                return mount("none", "/tmp", "tmpfs", 0, NULL);
        case 24:
                return syscall(SYS_io_uring_setup, 1, page);
        case 25:
                return syscall(SYS_bpf, 0, page, 64);
        case 26:
                return syscall(SYS_pidfd_open, getppid(), 0);
        case 27:
                return dup2(1, 7);
        case 28:
                return memfd_create("code", 0);
        case 29:
                return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        case 30:
                return syscall(SYS_clone3, page, 64);
        case 31: /* a thread in a namespace of mounts, which root may make */
                return syscall(SYS_clone,
                                CLONE_THREAD | CLONE_VM | CLONE_SIGHAND | CLONE_VFORK | CLONE_NEWNS,
                                0,
                                0,
                                0,
                                0);
        case 32:
                return prlimit(getppid(), RLIMIT_CPU, &limit, NULL);
        case 33:
                return socketpair(AF_UNIX, SOCK_DGRAM, 0, page);
        default:
                return -2;
        }
}

static int print(struct trace_seq *s,
                struct tep_record *record,
                struct tep_event *event,
                void *context) {
        int number;

        memcpy(&number, (char *)record->data + 8, sizeof(number));
        if (number == 1000) {
                raise(SIGSEGV); /* the filter also refuses this */
                *(volatile int *)context = 1;
        }
        for (unsigned i = 0;; i++) {
                long result = attempt(i);

                if (result == -2)
                        break;
                if (result == 0 && (i == 5 || i == 6 || i == 29 || i == 30))
                        _exit(0); /* a child */
                if (result == 0 && i == 31)
                        (void)syscall(SYS_exit, 0); /* a thread */
                trace_seq_printf(s,
                                "%u:%s ",
                                i,
                                result == -1 && (errno == EPERM || errno == ENOSYS) ? "refused"
                                                                                    : "ALLOWED");
        }
        return 0;
}

int TEP_PLUGIN_LOADER(struct tep_handle *tep) {
        page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        tep_register_event_handler(tep, -1, "test", "hello", print, NULL);
        return 0;
}
