/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "interfaces/control.h"
#include "interfaces/error.h"

/* How consumers come to be. */
typedef struct ConsumerLauncher {
        sd_event *event;
        const char *binary;      /* path of ktrace-consumer, for the fork */
        const char *user;        /* what the forked one changes to; never root */
        const char *socket_path; /* of ktrace-consumer.socket; NULL or absent: fork */
} ConsumerLauncher;

/* The daemon's end of one running consumer. */
typedef struct Consumer Consumer;

/* The owner's callbacks, from the event loop. on_closed comes once and last: the process has closed
 * its socket; the owner frees the Consumer in it or later. */
typedef struct ConsumerHandlers {
        void (*on_message)(Consumer *consumer, const ControlMessage *message, void *userdata);
        void (*on_closed)(Consumer *consumer, void *userdata);
} ConsumerHandlers;

/* Starts a process or an instance of the systemd unit. Never blocks. KT_E_NO_CONSUMER (no such
 * user, user is root, no binary) with the reason. */
int consumer_spawn(const ConsumerLauncher *launcher,
                const ConsumerHandlers *handlers,
                void *userdata,
                Consumer **ret,
                Reason *reason);
/* One that a daemon before this one has spawned. fd: its control socket; consumed on 0. */
int consumer_adopt(sd_event *event,
                int fd,
                const ConsumerHandlers *handlers,
                void *userdata,
                Consumer **ret);
/* The control socket; borrowed. */
int consumer_get_fd(const Consumer *consumer);
/* Queues nothing: -EAGAIN when the socket is full, which a healthy consumer never lets happen. fds
 * stay the caller's. */
int consumer_send(Consumer *consumer, const ControlMessage *message, const int *fds, size_t n_fds);
/* One message of those to come may bring a descriptor, which on_message may take (-1: it brought
 * none); what is not taken is closed with the Consumer, so only one whose close(2) waits for nobody
 * may be expected. What others bring never reaches us. */
void consumer_expect_fd(Consumer *consumer);
int consumer_take_fd(Consumer *consumer);
/* Ends it: SIGKILL where it is a child, the end of its control socket elsewhere. on_closed follows
 * when the process is gone; one that hangs in the kernel never comes to that. */
void consumer_kill(Consumer *consumer);
/* Kills it and forgets about it. */
Consumer *consumer_free(Consumer *consumer);
/* Closes the daemon's end in peace: the process drains what it has to its sink and exits by itself
 * within its own time limit. */
Consumer *consumer_release(Consumer *consumer);
DEFINE_CLEANUP(Consumer, consumer_free);
DEFINE_CLEANUP(Consumer, consumer_release);
pid_t consumer_get_pid(const Consumer *consumer);
