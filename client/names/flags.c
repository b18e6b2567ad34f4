/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The names of constants of system calls, from the installed headers. Called for their arguments. A
 * build knows the values of its own architecture only. */

#include "names/flags.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "interfaces/cleanup.h"

/* The C library has 0 for it, because it never needs it. Other programs set it. */
#ifdef __aarch64__
#define KERNEL_O_LARGEFILE 0400000
#else
#define KERNEL_O_LARGEFILE 0100000
#endif

/* Headers of before Linux 5.10 lack it. */
#ifndef PIDFD_NONBLOCK
#define PIDFD_NONBLOCK O_NONBLOCK
#endif

typedef struct FlagName {
        uint64_t mask, value; /* the name is printed where the masked number is the value */
        const char *name;
} FlagName;

#define FLAG(name) \
        { (uint64_t)(name), (uint64_t)(name), #name }
#define PART(mask, name) \
        { (uint64_t)(mask), (uint64_t)(name), #name }
#define CHOICE(name) \
        { UINT64_MAX, (uint64_t)(name), #name }
#define NAMES(...)             \
        (const FlagName[]) {   \
                __VA_ARGS__, { \
                }              \
        }

static const struct {
        bool is_choice;
        const FlagName *names; /* where bits overlap, the larger value comes first */
} sets[_FLAG_SET_N] = {
        [FLAG_SET_ACCESS] = { false, NAMES(CHOICE(F_OK), FLAG(R_OK), FLAG(W_OK), FLAG(X_OK)) },
        [FLAG_SET_AT] = { false,
                        NAMES(FLAG(AT_SYMLINK_NOFOLLOW),
                                        FLAG(AT_SYMLINK_FOLLOW),
                                        FLAG(AT_NO_AUTOMOUNT),
                                        FLAG(AT_EMPTY_PATH),
                                        FLAG(AT_STATX_FORCE_SYNC),
                                        FLAG(AT_STATX_DONT_SYNC),
                                        FLAG(AT_RECURSIVE)) },
        [FLAG_SET_AT_ACCESS] = { false,
                        NAMES(FLAG(AT_SYMLINK_NOFOLLOW), FLAG(AT_EACCESS), FLAG(AT_EMPTY_PATH)) },
        [FLAG_SET_CLOCK] = { true,
                        NAMES(CHOICE(CLOCK_REALTIME),
                                        CHOICE(CLOCK_MONOTONIC),
                                        CHOICE(CLOCK_PROCESS_CPUTIME_ID),
                                        CHOICE(CLOCK_THREAD_CPUTIME_ID),
                                        CHOICE(CLOCK_MONOTONIC_RAW),
                                        CHOICE(CLOCK_REALTIME_COARSE),
                                        CHOICE(CLOCK_MONOTONIC_COARSE),
                                        CHOICE(CLOCK_BOOTTIME),
                                        CHOICE(CLOCK_REALTIME_ALARM),
                                        CHOICE(CLOCK_BOOTTIME_ALARM),
                                        CHOICE(CLOCK_TAI)) },
        [FLAG_SET_CLONE] = { false,
                        NAMES(FLAG(CLONE_VM),
                                        FLAG(CLONE_FS),
                                        FLAG(CLONE_FILES),
                                        FLAG(CLONE_SIGHAND),
                                        FLAG(CLONE_PIDFD),
                                        FLAG(CLONE_PTRACE),
                                        FLAG(CLONE_VFORK),
                                        FLAG(CLONE_PARENT),
                                        FLAG(CLONE_THREAD),
                                        FLAG(CLONE_NEWNS),
                                        FLAG(CLONE_SYSVSEM),
                                        FLAG(CLONE_SETTLS),
                                        FLAG(CLONE_PARENT_SETTID),
                                        FLAG(CLONE_CHILD_CLEARTID),
                                        FLAG(CLONE_DETACHED),
                                        FLAG(CLONE_UNTRACED),
                                        FLAG(CLONE_CHILD_SETTID),
                                        FLAG(CLONE_NEWCGROUP),
                                        FLAG(CLONE_NEWUTS),
                                        FLAG(CLONE_NEWIPC),
                                        FLAG(CLONE_NEWUSER),
                                        FLAG(CLONE_NEWPID),
                                        FLAG(CLONE_NEWNET),
                                        FLAG(CLONE_IO),
                                        PART(CSIGNAL, SIGCHLD)) },
        [FLAG_SET_DIRECTORY] = { true, NAMES(CHOICE(AT_FDCWD)) },
        [FLAG_SET_EPOLL] = { true,
                        NAMES(CHOICE(EPOLL_CTL_ADD),
                                        CHOICE(EPOLL_CTL_DEL),
                                        CHOICE(EPOLL_CTL_MOD)) },
        [FLAG_SET_EPOLL_CREATE] = { false, NAMES(FLAG(EPOLL_CLOEXEC)) },
        [FLAG_SET_EVENTFD] = { false,
                        NAMES(FLAG(EFD_SEMAPHORE), FLAG(EFD_CLOEXEC), FLAG(EFD_NONBLOCK)) },
        [FLAG_SET_FADVISE] = { true,
                        NAMES(CHOICE(POSIX_FADV_NORMAL),
                                        CHOICE(POSIX_FADV_RANDOM),
                                        CHOICE(POSIX_FADV_SEQUENTIAL),
                                        CHOICE(POSIX_FADV_WILLNEED),
                                        CHOICE(POSIX_FADV_DONTNEED),
                                        CHOICE(POSIX_FADV_NOREUSE)) },
        [FLAG_SET_FALLOCATE] = { false,
                        NAMES(FLAG(FALLOC_FL_KEEP_SIZE),
                                        FLAG(FALLOC_FL_PUNCH_HOLE),
                                        FLAG(FALLOC_FL_COLLAPSE_RANGE),
                                        FLAG(FALLOC_FL_ZERO_RANGE),
                                        FLAG(FALLOC_FL_INSERT_RANGE),
                                        FLAG(FALLOC_FL_UNSHARE_RANGE)) },
        [FLAG_SET_FAMILY] = { true,
                        NAMES(CHOICE(AF_UNSPEC),
                                        CHOICE(AF_UNIX),
                                        CHOICE(AF_INET),
                                        CHOICE(AF_INET6),
                                        CHOICE(AF_NETLINK),
                                        CHOICE(AF_PACKET),
                                        CHOICE(AF_ALG),
                                        CHOICE(AF_BLUETOOTH),
                                        CHOICE(AF_CAN),
                                        CHOICE(AF_KEY),
                                        CHOICE(AF_TIPC),
                                        CHOICE(AF_VSOCK),
                                        CHOICE(AF_XDP)) },
        [FLAG_SET_FCNTL] = { true,
                        NAMES(CHOICE(F_DUPFD),
                                        CHOICE(F_GETFD),
                                        CHOICE(F_SETFD),
                                        CHOICE(F_GETFL),
                                        CHOICE(F_SETFL),
                                        CHOICE(F_GETLK),
                                        CHOICE(F_SETLK),
                                        CHOICE(F_SETLKW),
                                        CHOICE(F_SETOWN),
                                        CHOICE(F_GETOWN),
                                        CHOICE(F_SETSIG),
                                        CHOICE(F_GETSIG),
                                        CHOICE(F_SETOWN_EX),
                                        CHOICE(F_GETOWN_EX),
                                        CHOICE(F_OFD_GETLK),
                                        CHOICE(F_OFD_SETLK),
                                        CHOICE(F_OFD_SETLKW),
                                        CHOICE(F_SETLEASE),
                                        CHOICE(F_GETLEASE),
                                        CHOICE(F_NOTIFY),
                                        CHOICE(F_DUPFD_CLOEXEC),
                                        CHOICE(F_SETPIPE_SZ),
                                        CHOICE(F_GETPIPE_SZ),
                                        CHOICE(F_ADD_SEALS),
                                        CHOICE(F_GET_SEALS)) },
        [FLAG_SET_FLOCK] = { false,
                        NAMES(FLAG(LOCK_SH), FLAG(LOCK_EX), FLAG(LOCK_NB), FLAG(LOCK_UN)) },
        [FLAG_SET_FUTEX] = { false,
                        NAMES(PART(FUTEX_CMD_MASK, FUTEX_WAIT),
                                        PART(FUTEX_CMD_MASK, FUTEX_WAKE),
                                        PART(FUTEX_CMD_MASK, FUTEX_FD),
                                        PART(FUTEX_CMD_MASK, FUTEX_REQUEUE),
                                        PART(FUTEX_CMD_MASK, FUTEX_CMP_REQUEUE),
                                        PART(FUTEX_CMD_MASK, FUTEX_WAKE_OP),
                                        PART(FUTEX_CMD_MASK, FUTEX_LOCK_PI),
                                        PART(FUTEX_CMD_MASK, FUTEX_UNLOCK_PI),
                                        PART(FUTEX_CMD_MASK, FUTEX_TRYLOCK_PI),
                                        PART(FUTEX_CMD_MASK, FUTEX_WAIT_BITSET),
                                        PART(FUTEX_CMD_MASK, FUTEX_WAKE_BITSET),
                                        PART(FUTEX_CMD_MASK, FUTEX_WAIT_REQUEUE_PI),
                                        PART(FUTEX_CMD_MASK, FUTEX_CMP_REQUEUE_PI),
                                        PART(FUTEX_CMD_MASK, FUTEX_LOCK_PI2),
                                        FLAG(FUTEX_PRIVATE_FLAG),
                                        FLAG(FUTEX_CLOCK_REALTIME)) },
        [FLAG_SET_GETRANDOM] = { false,
                        NAMES(FLAG(GRND_NONBLOCK), FLAG(GRND_RANDOM), FLAG(GRND_INSECURE)) },
        [FLAG_SET_INOTIFY] = { false, NAMES(FLAG(IN_CLOEXEC), FLAG(IN_NONBLOCK)) },
        [FLAG_SET_MADVISE] = { true,
                        NAMES(CHOICE(MADV_NORMAL),
                                        CHOICE(MADV_RANDOM),
                                        CHOICE(MADV_SEQUENTIAL),
                                        CHOICE(MADV_WILLNEED),
                                        CHOICE(MADV_DONTNEED),
                                        CHOICE(MADV_FREE),
                                        CHOICE(MADV_REMOVE),
                                        CHOICE(MADV_DONTFORK),
                                        CHOICE(MADV_DOFORK),
                                        CHOICE(MADV_MERGEABLE),
                                        CHOICE(MADV_UNMERGEABLE),
                                        CHOICE(MADV_HUGEPAGE),
                                        CHOICE(MADV_NOHUGEPAGE),
                                        CHOICE(MADV_DONTDUMP),
                                        CHOICE(MADV_DODUMP),
                                        CHOICE(MADV_WIPEONFORK),
                                        CHOICE(MADV_KEEPONFORK),
                                        CHOICE(MADV_COLD),
                                        CHOICE(MADV_PAGEOUT),
                                        CHOICE(MADV_POPULATE_READ),
                                        CHOICE(MADV_POPULATE_WRITE),
                                        CHOICE(MADV_DONTNEED_LOCKED),
                                        CHOICE(MADV_HWPOISON)) },
        [FLAG_SET_MAP] = { false,
                        NAMES(PART(MAP_TYPE, MAP_SHARED),
                                        PART(MAP_TYPE, MAP_PRIVATE),
                                        PART(MAP_TYPE, MAP_SHARED_VALIDATE),
                                        FLAG(MAP_FIXED),
                                        FLAG(MAP_ANONYMOUS),
                                        FLAG(MAP_GROWSDOWN),
                                        FLAG(MAP_DENYWRITE),
                                        FLAG(MAP_EXECUTABLE),
                                        FLAG(MAP_LOCKED),
                                        FLAG(MAP_NORESERVE),
                                        FLAG(MAP_POPULATE),
                                        FLAG(MAP_NONBLOCK),
                                        FLAG(MAP_STACK),
                                        FLAG(MAP_HUGETLB),
                                        FLAG(MAP_SYNC),
                                        FLAG(MAP_FIXED_NOREPLACE)) },
        [FLAG_SET_MEMFD] = { false,
                        NAMES(FLAG(MFD_CLOEXEC), FLAG(MFD_ALLOW_SEALING), FLAG(MFD_HUGETLB)) },
        [FLAG_SET_MLOCKALL] = { false,
                        NAMES(FLAG(MCL_CURRENT), FLAG(MCL_FUTURE), FLAG(MCL_ONFAULT)) },
        [FLAG_SET_MREMAP] = { false,
                        NAMES(FLAG(MREMAP_MAYMOVE), FLAG(MREMAP_FIXED), FLAG(MREMAP_DONTUNMAP)) },
        [FLAG_SET_MSG] = { false,
                        NAMES(FLAG(MSG_OOB),
                                        FLAG(MSG_PEEK),
                                        FLAG(MSG_DONTROUTE),
                                        FLAG(MSG_CTRUNC),
                                        FLAG(MSG_TRUNC),
                                        FLAG(MSG_DONTWAIT),
                                        FLAG(MSG_EOR),
                                        FLAG(MSG_WAITALL),
                                        FLAG(MSG_CONFIRM),
                                        FLAG(MSG_ERRQUEUE),
                                        FLAG(MSG_NOSIGNAL),
                                        FLAG(MSG_MORE),
                                        FLAG(MSG_WAITFORONE),
                                        FLAG(MSG_ZEROCOPY),
                                        FLAG(MSG_FASTOPEN),
                                        FLAG(MSG_CMSG_CLOEXEC)) },
        [FLAG_SET_MSYNC] = { false, NAMES(FLAG(MS_ASYNC), FLAG(MS_INVALIDATE), FLAG(MS_SYNC)) },
        [FLAG_SET_OPEN] = { false,
                        NAMES(PART(O_ACCMODE, O_RDONLY),
                                        PART(O_ACCMODE, O_WRONLY),
                                        PART(O_ACCMODE, O_RDWR),
                                        FLAG(O_CREAT),
                                        FLAG(O_EXCL),
                                        FLAG(O_NOCTTY),
                                        FLAG(O_TRUNC),
                                        FLAG(O_APPEND),
                                        FLAG(O_NONBLOCK),
                                        FLAG(O_SYNC),
                                        FLAG(O_DSYNC),
                                        FLAG(O_ASYNC),
                                        FLAG(O_DIRECT),
                                        { KERNEL_O_LARGEFILE, KERNEL_O_LARGEFILE, "O_LARGEFILE" },
                                        FLAG(O_TMPFILE),
                                        FLAG(O_DIRECTORY),
                                        FLAG(O_NOFOLLOW),
                                        FLAG(O_NOATIME),
                                        FLAG(O_CLOEXEC),
                                        FLAG(O_PATH)) },
        [FLAG_SET_PIDFD] = { false, NAMES(FLAG(PIDFD_NONBLOCK)) },
        [FLAG_SET_PIPE] = { false, NAMES(FLAG(O_NONBLOCK), FLAG(O_DIRECT), FLAG(O_CLOEXEC)) },
        [FLAG_SET_PRCTL] = { true,
                        NAMES(CHOICE(PR_SET_PDEATHSIG),
                                        CHOICE(PR_GET_PDEATHSIG),
                                        CHOICE(PR_GET_DUMPABLE),
                                        CHOICE(PR_SET_DUMPABLE),
                                        CHOICE(PR_GET_KEEPCAPS),
                                        CHOICE(PR_SET_KEEPCAPS),
                                        CHOICE(PR_SET_NAME),
                                        CHOICE(PR_GET_NAME),
                                        CHOICE(PR_GET_SECCOMP),
                                        CHOICE(PR_SET_SECCOMP),
                                        CHOICE(PR_CAPBSET_READ),
                                        CHOICE(PR_CAPBSET_DROP),
                                        CHOICE(PR_GET_SECUREBITS),
                                        CHOICE(PR_SET_SECUREBITS),
                                        CHOICE(PR_SET_TIMERSLACK),
                                        CHOICE(PR_GET_TIMERSLACK),
                                        CHOICE(PR_SET_MM),
                                        CHOICE(PR_SET_CHILD_SUBREAPER),
                                        CHOICE(PR_GET_CHILD_SUBREAPER),
                                        CHOICE(PR_SET_NO_NEW_PRIVS),
                                        CHOICE(PR_GET_NO_NEW_PRIVS),
                                        CHOICE(PR_SET_THP_DISABLE),
                                        CHOICE(PR_GET_THP_DISABLE),
                                        CHOICE(PR_CAP_AMBIENT),
                                        CHOICE(PR_SET_SPECULATION_CTRL),
                                        CHOICE(PR_SET_PTRACER),
                                        CHOICE(PR_SET_VMA)) },
        [FLAG_SET_PRIORITY] = { true,
                        NAMES(CHOICE(PRIO_PROCESS), CHOICE(PRIO_PGRP), CHOICE(PRIO_USER)) },
        [FLAG_SET_PROT] = { false,
                        NAMES(CHOICE(PROT_NONE),
                                        FLAG(PROT_READ),
                                        FLAG(PROT_WRITE),
                                        FLAG(PROT_EXEC),
                                        FLAG(PROT_GROWSDOWN),
                                        FLAG(PROT_GROWSUP)) },
        [FLAG_SET_PTRACE] = { true,
                        NAMES(CHOICE(PTRACE_TRACEME),
                                        CHOICE(PTRACE_PEEKTEXT),
                                        CHOICE(PTRACE_PEEKDATA),
                                        CHOICE(PTRACE_PEEKUSER),
                                        CHOICE(PTRACE_POKETEXT),
                                        CHOICE(PTRACE_POKEDATA),
                                        CHOICE(PTRACE_POKEUSER),
                                        CHOICE(PTRACE_CONT),
                                        CHOICE(PTRACE_KILL),
                                        CHOICE(PTRACE_SINGLESTEP),
                                        CHOICE(PTRACE_ATTACH),
                                        CHOICE(PTRACE_DETACH),
                                        CHOICE(PTRACE_SYSCALL),
                                        CHOICE(PTRACE_SETOPTIONS),
                                        CHOICE(PTRACE_GETEVENTMSG),
                                        CHOICE(PTRACE_GETSIGINFO),
                                        CHOICE(PTRACE_SETSIGINFO),
                                        CHOICE(PTRACE_GETREGSET),
                                        CHOICE(PTRACE_SETREGSET),
                                        CHOICE(PTRACE_SEIZE),
                                        CHOICE(PTRACE_INTERRUPT),
                                        CHOICE(PTRACE_LISTEN)) },
        [FLAG_SET_RENAME] = { false,
                        NAMES(FLAG(RENAME_NOREPLACE),
                                        FLAG(RENAME_EXCHANGE),
                                        FLAG(RENAME_WHITEOUT)) },
        [FLAG_SET_RESOURCE] = { true,
                        NAMES(CHOICE(RLIMIT_CPU),
                                        CHOICE(RLIMIT_FSIZE),
                                        CHOICE(RLIMIT_DATA),
                                        CHOICE(RLIMIT_STACK),
                                        CHOICE(RLIMIT_CORE),
                                        CHOICE(RLIMIT_RSS),
                                        CHOICE(RLIMIT_NPROC),
                                        CHOICE(RLIMIT_NOFILE),
                                        CHOICE(RLIMIT_MEMLOCK),
                                        CHOICE(RLIMIT_AS),
                                        CHOICE(RLIMIT_LOCKS),
                                        CHOICE(RLIMIT_SIGPENDING),
                                        CHOICE(RLIMIT_MSGQUEUE),
                                        CHOICE(RLIMIT_NICE),
                                        CHOICE(RLIMIT_RTPRIO),
                                        CHOICE(RLIMIT_RTTIME)) },
        [FLAG_SET_RUSAGE] = { true,
                        NAMES(CHOICE(RUSAGE_SELF),
                                        CHOICE(RUSAGE_CHILDREN),
                                        CHOICE(RUSAGE_THREAD)) },
        [FLAG_SET_RWF] = { false,
                        NAMES(FLAG(RWF_HIPRI),
                                        FLAG(RWF_DSYNC),
                                        FLAG(RWF_SYNC),
                                        FLAG(RWF_NOWAIT),
                                        FLAG(RWF_APPEND)) },
        [FLAG_SET_SCHEDULER] = { false,
                        NAMES(PART(0xff, SCHED_OTHER),
                                        PART(0xff, SCHED_FIFO),
                                        PART(0xff, SCHED_RR),
                                        PART(0xff, SCHED_BATCH),
                                        PART(0xff, SCHED_IDLE),
                                        PART(0xff, SCHED_DEADLINE),
                                        FLAG(SCHED_RESET_ON_FORK)) },
        [FLAG_SET_SEEK] = { true,
                        NAMES(CHOICE(SEEK_SET),
                                        CHOICE(SEEK_CUR),
                                        CHOICE(SEEK_END),
                                        CHOICE(SEEK_DATA),
                                        CHOICE(SEEK_HOLE)) },
        [FLAG_SET_SHUTDOWN] = { true, NAMES(CHOICE(SHUT_RD), CHOICE(SHUT_WR), CHOICE(SHUT_RDWR)) },
        [FLAG_SET_SIGPROCMASK] = { true,
                        NAMES(CHOICE(SIG_BLOCK), CHOICE(SIG_UNBLOCK), CHOICE(SIG_SETMASK)) },
        [FLAG_SET_SIGNAL] = { true, NAMES({}) }, /* flags_print_signal() */
        [FLAG_SET_SIGNALFD] = { false, NAMES(FLAG(SFD_CLOEXEC), FLAG(SFD_NONBLOCK)) },
        [FLAG_SET_SOCKET_LEVEL] = { true,
                        NAMES({ UINT64_MAX, 0, "IPPROTO_IP" },
                                        CHOICE(SOL_SOCKET),
                                        { UINT64_MAX, 6, "IPPROTO_TCP" },
                                        { UINT64_MAX, 17, "IPPROTO_UDP" },
                                        { UINT64_MAX, 41, "IPPROTO_IPV6" },
                                        CHOICE(SOL_NETLINK)) },
        [FLAG_SET_SOCKET_TYPE] = { false,
                        NAMES(PART(0xf, SOCK_STREAM),
                                        PART(0xf, SOCK_DGRAM),
                                        PART(0xf, SOCK_RAW),
                                        PART(0xf, SOCK_RDM),
                                        PART(0xf, SOCK_SEQPACKET),
                                        PART(0xf, SOCK_PACKET),
                                        FLAG(SOCK_CLOEXEC),
                                        FLAG(SOCK_NONBLOCK)) },
        [FLAG_SET_SPLICE] = { false,
                        NAMES(FLAG(SPLICE_F_MOVE),
                                        FLAG(SPLICE_F_NONBLOCK),
                                        FLAG(SPLICE_F_MORE),
                                        FLAG(SPLICE_F_GIFT)) },
        [FLAG_SET_TIMER] = { false, NAMES(FLAG(TIMER_ABSTIME)) },
        [FLAG_SET_TIMERFD] = { false, NAMES(FLAG(TFD_CLOEXEC), FLAG(TFD_NONBLOCK)) },
        [FLAG_SET_TIMERFD_TIME] = { false,
                        NAMES(FLAG(TFD_TIMER_ABSTIME), FLAG(TFD_TIMER_CANCEL_ON_SET)) },
        [FLAG_SET_UMOUNT] = { false,
                        NAMES(FLAG(MNT_FORCE),
                                        FLAG(MNT_DETACH),
                                        FLAG(MNT_EXPIRE),
                                        FLAG(UMOUNT_NOFOLLOW)) },
        [FLAG_SET_UNLINK] = { false, NAMES(FLAG(AT_REMOVEDIR)) },
        [FLAG_SET_UNSHARE] = { false,
                        NAMES(FLAG(CLONE_FS),
                                        FLAG(CLONE_FILES),
                                        FLAG(CLONE_NEWTIME),
                                        FLAG(CLONE_NEWNS),
                                        FLAG(CLONE_SYSVSEM),
                                        FLAG(CLONE_NEWCGROUP),
                                        FLAG(CLONE_NEWUTS),
                                        FLAG(CLONE_NEWIPC),
                                        FLAG(CLONE_NEWUSER),
                                        FLAG(CLONE_NEWPID),
                                        FLAG(CLONE_NEWNET)) },
        [FLAG_SET_WAIT] = { false,
                        NAMES(FLAG(WNOHANG),
                                        FLAG(WUNTRACED),
                                        FLAG(WEXITED),
                                        FLAG(WCONTINUED),
                                        FLAG(WNOWAIT),
                                        FLAG(__WNOTHREAD),
                                        FLAG(__WALL),
                                        FLAG(__WCLONE)) },
        [FLAG_SET_WAITID] = { true,
                        NAMES(CHOICE(P_ALL), CHOICE(P_PID), CHOICE(P_PGID), CHOICE(P_PIDFD)) },
};

bool flags_is_choice(FlagSet set) {
        return sets[set].is_choice;
}

/* Signals have their names from the C library. */
static void flags_print_signal(uint64_t value, char *text, size_t size) {
        const char *name = value > 0 && value < 32 ? sigabbrev_np((int)value) : NULL;

        if (name)
                snprintf(text, size, "SIG%s", name);
        else
                snprintf(text, size, "%" PRId64, (int64_t)value);
}

void flags_print(FlagSet set, uint64_t value, char *text, size_t size) {
        uint64_t rest = value;
        size_t used = 0;

        if (set == FLAG_SET_SIGNAL) {
                flags_print_signal(value, text, size);
                return;
        }
        text[0] = '\0';
        for (const FlagName *name = sets[set].names; name->name && used < size; name++) {
                if ((rest & name->mask) != name->value ||
                                (name->mask == UINT64_MAX && name->value != value))
                        continue;
                used += (size_t)snprintf(
                                text + used, size - used, "%s%s", used > 0 ? "|" : "", name->name);
                rest &= ~name->mask;
        }
        if (used >= size || (used > 0 && rest == 0))
                return;
        if (used == 0 && rest == 0)
                snprintf(text, size, "0");
        else if (sets[set].is_choice)
                snprintf(text + used, size - used, "%" PRId64, (int64_t)rest);
        else
                snprintf(text + used, size - used, "%s0x%" PRIx64, used > 0 ? "|" : "", rest);
}
