/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>
#include <stdatomic.h>

#include "interfaces/json.h"
#include "varlink/server.h"

/* A server in a thread of its own, with the interface org.example.test:
 *   Echo(text, number?)  answers the same
 *   Hold()               is answered when somebody calls Release()
 *   Count(n)             wants more: n answers and a last one
 *   Fill(size)           wants more: answers of that size, 4 MiB in all, no last one
 *   Open()               answers the reading end of a pipe, in which lies the word "pipe"
 *   Broken()             answers what is no UTF-8
 *   Absent()             is not implemented */
typedef struct Fixture {
        char *directory, *path;
        GThread *thread;
        int stop; /* eventfd */
        VarlinkServer *server;
        GPtrArray *held; /* calls of Hold */
        atomic_int n_connected, n_disconnected, n_handled;
        atomic_bool is_refusing; /* nobody has any time */
} Fixture;

Fixture *fixture_new(void);
/* The server goes first, what is held is answered after that. */
void fixture_free(Fixture *fixture);
void fixture_wait_for(atomic_int *value, int wanted);

/* A client, whose reads give up after 10 s. */
int fixture_connect(const Fixture *fixture);
void fixture_send(int fd, const char *text); /* with its NUL */
void fixture_send_bytes(int fd, const void *data, size_t size);
/* The next message without its NUL; NULL: the server has closed. */
char *fixture_receive(int fd);
void fixture_expect(int fd, const char *answer);
/* Nothing comes but the end. */
void fixture_expect_end(int fd);
/* A call in time, over a connection of its own: is the server alive, and how long did it take? */
int64_t fixture_measure_call(const Fixture *fixture);

#define CALL(method, rest) "{\"method\":\"org.example.test." method "\"" rest "}"
