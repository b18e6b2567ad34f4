/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* See native.h. The tests run in a child, so that an assertion that aborts it leaves nothing
 * behind: the parent removes the instances that bear the child's pid, and the worker dies with it.
 */

#include "native.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kernel/buffer.h"
#include "kernel/filter.h"
#include "kernel/statistics-total.h"

#define LOCK_WAIT_SEC 300

const Tracefs *native_tracefs;

static const char *skip_reason;
static Reason open_reason;
static unsigned n_ids;

static int mount_private(const char *directory) {
        if (geteuid() != 0) {
                skip_reason = "needs root";
                return -EPERM;
        }
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
                skip_reason = "needs a mount namespace of its own";
                return -errno;
        }
        if (mount("tracefs", directory, "tracefs", 0, NULL) < 0) {
                skip_reason = "no tracefs can be mounted";
                return -errno;
        }
        return 0;
}

/* A ktraced that starts takes instances that are not its own for orphans, and test suites start
 * many: one at a time on a machine (tests/native/stage.sh takes the same lock). */
static int lock_machine(void) {
        const char *stage = g_getenv("NATIVE_STAGE");
        if (skip_reason || g_strcmp0(stage, "inside") == 0)
                return -1;
        int fd = open("/run/lock/ktrace-native", O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
        for (int i = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0; i++) {
                g_assert_cmpint(errno, ==, EWOULDBLOCK);
                if (i == LOCK_WAIT_SEC) {
                        skip_reason = "another test has this machine's tracefs";
                        break;
                }
                g_usleep(G_USEC_PER_SEC);
        }
        return fd;
}

static void remove_instances(const char *prefix) {
        char **names = NULL;

        if (instance_list(native_tracefs, &names) != 0)
                return;
        for (char **name = names; *name; name++) {
                if (!g_str_has_prefix(*name, prefix))
                        continue;
                int r = instance_remove(native_tracefs, *name);
                if (r != 0)
                        g_printerr("cannot remove %s: %s\n", *name, g_strerror(-r));
        }
        instance_list_free(names);
}

static int run_in_child(void) {
        int status;

        pid_t pid = fork();
        g_assert_cmpint(pid, >=, 0);
        if (pid == 0)
                exit(g_test_run());
        while (waitpid(pid, &status, 0) < 0)
                g_assert_cmpint(errno, ==, EINTR);
        g_autofree char *prefix = g_strdup_printf(KT_INSTANCE_PREFIX "test-%d-", pid);
        remove_instances(prefix);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int native_main(int argc, char **argv, void (*add_tests)(void)) {
        Tracefs *tracefs = NULL;

        g_test_init(&argc, &argv, NULL);
        g_autofree char *directory = g_dir_make_tmp("ktrace-native-XXXXXX", NULL);
        g_assert_nonnull(directory);
        bool is_mounted = mount_private(directory) == 0;
        if (is_mounted && tracefs_open(directory, &tracefs, &open_reason) != 0)
                skip_reason = open_reason.text;
        native_tracefs = tracefs;
        _cleanup_close_ int lock = lock_machine();

        add_tests();
        int status = run_in_child();
        tracefs_free(tracefs);
        if (is_mounted)
                (void)umount2(directory, MNT_DETACH);
        (void)rmdir(directory);
        return status;
}

const char *native_id(void) {
        static char id[64];
        snprintf(id, sizeof(id), "test-%d-%u", getpid(), ++n_ids);
        return id;
}

static void run_test(gconstpointer data) {
        void (*run)(Instance *) = (void (*)(Instance *))data;
        Instance *instance = NULL;

        if (skip_reason) {
                g_test_skip(skip_reason);
                return;
        }
        g_assert_cmpint(instance_create(native_tracefs, native_id(), &instance), ==, 0);
        g_autofree char *name = g_strdup(instance->name);
        run(instance);
        instance_free(instance);
        g_assert_cmpint(instance_remove(native_tracefs, name), ==, 0);
}

void native_add_test(const char *path, void (*run)(Instance *instance)) {
        g_test_add_data_func(path, (gconstpointer)run, run_test);
}

/* The worker's side */

static sem_t thread_go, thread_done;
static pid_t thread_tid;

static void make_calls(void) {
        for (int i = 0; i < WORKER_CALLS; i++)
                (void)syscall(SYS_getppid);
}

static void *second_thread(void *p _unused_) {
        thread_tid = (pid_t)syscall(SYS_gettid);
        sem_post(&thread_done);
        for (;;) {
                while (sem_wait(&thread_go) < 0)
                        ;
                make_calls();
                sem_post(&thread_done);
        }
        return NULL;
}

static void *new_thread(void *p) {
        *(pid_t *)p = (pid_t)syscall(SYS_gettid);
        make_calls();
        return NULL;
}

static pid_t call_in_new_thread(void) {
        pthread_t thread;
        pid_t tid = -1;

        if (pthread_create(&thread, NULL, new_thread, &tid) == 0)
                pthread_join(thread, NULL);
        return tid;
}

static pid_t call_in_child(void) {
        pid_t pid = fork();
        if (pid == 0) {
                make_calls();
                _exit(0);
        }
        (void)waitpid(pid, NULL, 0);
        return pid;
}

static _Noreturn void worker_run(int socket) {
        pthread_t thread;
        char command;

        /* With a test that was aborted. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
                _exit(1);
        sem_init(&thread_go, 0, 0);
        sem_init(&thread_done, 0, 0);
        if (pthread_create(&thread, NULL, second_thread, NULL) != 0)
                _exit(1);
        sem_wait(&thread_done);
        if (write(socket, &thread_tid, sizeof(thread_tid)) < 0)
                _exit(1);

        while (read(socket, &command, 1) == 1) {
                pid_t who = getpid();
                switch (command) {
                case 'c':
                        make_calls();
                        break;
                case 't':
                        sem_post(&thread_go);
                        sem_wait(&thread_done);
                        who = thread_tid;
                        break;
                case 'n':
                        who = call_in_new_thread();
                        break;
                case 'f':
                        who = call_in_child();
                        break;
                case 's':
                        for (;;)
                                make_calls();
                }
                if (write(socket, &who, sizeof(who)) < 0)
                        break;
        }
        _exit(0);
}

/* The test's side */

void worker_start(Worker *worker) {
        int sockets[2];

        g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), ==, 0);
        worker->pid = fork();
        g_assert_cmpint(worker->pid, >=, 0);
        if (worker->pid == 0) {
                close(sockets[0]);
                worker_run(sockets[1]);
        }
        close(sockets[1]);
        worker->socket = sockets[0];
        g_assert_cmpint(read(worker->socket, &worker->tid, sizeof(worker->tid)),
                        ==,
                        sizeof(worker->tid));
}

void worker_stop(Worker *worker) {
        g_assert_cmpint(kill(worker->pid, SIGKILL), ==, 0);
        g_assert_cmpint(waitpid(worker->pid, NULL, 0), ==, worker->pid);
        close_cleanup(&worker->socket);
}

static pid_t command_worker(Worker *worker, char command) {
        pid_t who = -1;
        g_assert_cmpint(write(worker->socket, &command, 1), ==, 1);
        g_assert_cmpint(read(worker->socket, &who, sizeof(who)), ==, sizeof(who));
        g_assert_cmpint(who, >, 0);
        return who;
}

pid_t worker_call(Worker *worker) {
        return command_worker(worker, 'c');
}

pid_t worker_call_in_thread(Worker *worker) {
        return command_worker(worker, 't');
}

pid_t worker_call_in_new_thread(Worker *worker) {
        return command_worker(worker, 'n');
}

pid_t worker_call_in_child(Worker *worker) {
        return command_worker(worker, 'f');
}

void worker_spin(Worker *worker) {
        g_assert_cmpint(write(worker->socket, "s", 1), ==, 1);
}

void native_enable_calls(const Instance *instance) {
        char filter[64];

        snprintf(filter, sizeof(filter), "id == %d", SYS_getppid);
        g_assert_cmpint(instance_set_filter(instance, "raw_syscalls", "sys_enter", filter, NULL),
                        ==,
                        0);
        g_assert_cmpint(instance_enable_event(instance, "raw_syscalls", "sys_enter", true), ==, 0);
}

size_t native_count(const Instance *instance, pid_t tid) {
        _cleanup_free_ char *text = NULL;
        char who[32];
        size_t n = 0;

        /* "            bash-1234    [001] .....  12.345: sys_enter: NR 110 (...)" */
        snprintf(who, sizeof(who), "-%d ", tid);
        g_assert_cmpint(tracefs_read(instance->fd, "trace", &text, NULL), ==, 0);
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        for (char **line = lines; *line; line++)
                if (**line != '#' && strstr(*line, " sys_enter: "))
                        n += tid == 0 || strstr(*line, who);
        return n;
}

void native_assert_pids(const Instance *instance, const pid_t *pids, size_t n_pids) {
        _cleanup_free_ pid_t *listed = NULL;
        size_t n = 0;

        g_assert_cmpint(instance_read_pids(instance, &listed, &n), ==, 0);
        g_assert_cmpmem(listed, n * sizeof(*listed), pids, n_pids * sizeof(*pids));
}

bool native_wait_unlisted(const Instance *instance, pid_t tid) {
        for (int i = 0; i < 500; i++) {
                bool is_listed = true;
                g_assert_cmpint(instance_has_pid(instance, tid, &is_listed), ==, 0);
                if (!is_listed)
                        return true;
                g_usleep(10 * 1000);
        }
        return false;
}

uint64_t native_sum_offered(const Instance *instance) {
        CpuStatistics total;
        unsigned n_cpus = 0;

        g_assert_cmpint(instance_n_cpus(instance, &n_cpus), ==, 0);
        g_assert_cmpint(statistics_total_read(instance, n_cpus, &total), ==, 0);
        return total.entries + total.overrun + total.dropped + total.read;
}
