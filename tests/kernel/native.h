/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The real tracefs for tests: a mount of its own in a private mount namespace, instances named
 * ktrace-test-PID-N, and a process that makes events on command. */

#include <glib.h>

#include "kernel/instance.h"

extern const Tracefs *native_tracefs;

/* main of a native test: mounts, runs what add_tests added in a child, and removes every instance
 * of it whatever became of it. Where there is no tracefs or we are not root every test is skipped
 * with the reason. */
int native_main(int argc, char **argv, void (*add_tests)(void));
/* A test with a new instance; it is removed afterwards. */
void native_add_test(const char *path, void (*run)(Instance *instance));
/* The id of another instance, for instance_create; valid until the next call. */
const char *native_id(void);

#define WORKER_CALLS 10

/* A process with a sleeping second thread. */
typedef struct Worker {
        pid_t pid;
        pid_t tid; /* of the second thread, which is there before anyone lists the process */
        int socket;
} Worker;

void worker_start(Worker *worker);
/* Ends and reaps it. */
void worker_stop(Worker *worker);
/* getppid() WORKER_CALLS times in the first thread, in the second thread, in a thread or a process
 * made for it. Returns the thread id of who called. */
pid_t worker_call(Worker *worker);
pid_t worker_call_in_thread(Worker *worker);
pid_t worker_call_in_new_thread(Worker *worker);
pid_t worker_call_in_child(Worker *worker);
/* Calls without a pause until worker_stop. */
void worker_spin(Worker *worker);

/* Only getppid's raw_syscalls:sys_enter, of whom the pid list admits. */
void native_enable_calls(const Instance *instance);
/* Records of that thread in the ring; 0: of anybody. */
size_t native_count(const Instance *instance, pid_t tid);
/* All that was to be recorded, also what is lost or read. */
uint64_t native_sum_offered(const Instance *instance);
void native_assert_pids(const Instance *instance, const pid_t *pids, size_t n_pids);
/* Until the list no longer has it; false after five seconds. */
bool native_wait_unlisted(const Instance *instance, pid_t tid);
