/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "interfaces/control.h"
#include "interfaces/error.h"

/* How to start consumers. */
typedef struct ConsumerLauncher {
        sd_event *event;
        const char *binary;      /* path of ktrace-consumer, for the fork */
        const char *user;        /* the user of a forked process; never root */
        const char *socket_path; /* of ktrace-consumer.socket; NULL or absent: fork */
} ConsumerLauncher;

/* The daemon's end of one running consumer. */
typedef struct Consumer Consumer;

/* The owner's callbacks, called from the event loop. on_closed is called once, as the last
 * callback, when the process has closed its socket. The owner frees the Consumer in it or later. */
typedef struct ConsumerHandlers {
        void (*on_message)(Consumer *consumer, const ControlMessage *message, void *userdata);
        void (*on_closed)(Consumer *consumer, void *userdata);
} ConsumerHandlers;

/* Starts a process or an instance of the systemd unit. Never blocks. Fails with KT_E_NO_CONSUMER
 * (no such user, user is root, no binary) and the reason. */
int consumer_spawn(const ConsumerLauncher *launcher,
                const ConsumerHandlers *handlers,
                void *userdata,
                Consumer **ret,
                Reason *reason);
/* Takes over a consumer that an earlier daemon has started. fd: its control socket; consumed on
 * 0. */
int consumer_adopt(sd_event *event,
                int fd,
                const ConsumerHandlers *handlers,
                void *userdata,
                Consumer **ret);
/* Returns the control socket; borrowed. */
int consumer_get_fd(const Consumer *consumer);
/* Sends without a queue. Fails with -EAGAIN if the socket is full; a healthy consumer never lets it
 * fill up. The caller keeps fds. */
int consumer_send(Consumer *consumer, const ControlMessage *message, const int *fds, size_t n_fds);
/* The same, but while the socket is full the message waits in the event loop, with copies of the
 * fds. Fails with -EAGAIN if CONSUMER_WAITING_MAX messages wait. */
#define CONSUMER_WAITING_MAX 1024
int consumer_send_later(Consumer *consumer,
                const ControlMessage *message,
                const int *fds,
                size_t n_fds);
/* Prepares the message with the rings of the next CPUs, starting with first_cpu. Its descriptors
 * are those of these CPUs, two for each; those of CPU 0 follow the one of buffer_percent. Returns
 * how many they are, and 0 after the last CPU. */
size_t consumer_prepare_rings(unsigned first_cpu, unsigned n_cpus, ControlMessage *ret);
/* Allows one later message to contain a descriptor. on_message may take it (-1: there was no
 * descriptor). A descriptor that is not taken is closed with the Consumer, so it may be expected
 * only if its close(2) cannot block. Descriptors in other messages never reach the daemon. */
void consumer_expect_fd(Consumer *consumer);
int consumer_take_fd(Consumer *consumer);
/* Ends the process: a child by SIGKILL, another one by shutting down its control socket. on_closed
 * follows when the process has ended. It is never called for a process that hangs in the kernel. */
void consumer_kill(Consumer *consumer);
/* For on_closed: returns whether the process has closed its socket. Otherwise it has sent a message
 * of another size or version. A sandboxed consumer closes its socket only by its end. */
bool consumer_has_ended(const Consumer *consumer);
/* Kills the process and frees the Consumer. */
Consumer *consumer_free(Consumer *consumer);
/* Closes the daemon's end without a kill: the process writes its remaining data to its sink and
 * exits by itself within its own time limit. */
Consumer *consumer_release(Consumer *consumer);
DEFINE_CLEANUP(Consumer, consumer_free);
DEFINE_CLEANUP(Consumer, consumer_release);
pid_t consumer_get_pid(const Consumer *consumer);
