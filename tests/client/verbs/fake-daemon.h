/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>
#include <stdbool.h>
#include <stdint.h>

/* What a FakeDaemon does differently from one where all goes well. */
typedef struct FakePlan {
        const char *refuse;       /* this method fails */
        const char *refuse_error; /* with this D-Bus error */
        bool refuse_sink;         /* the consumer does not take the file */
        int sink_error;           /* told at the end of the stream */
        uint64_t lost;
        uint64_t cut;            /* of a sink */
        bool narrow;             /* Describe: a glob had 5 of 26 events granted */
        const char *ended_code;  /* the session ends by itself right after Start */
        bool stream_ends;        /* right after Start, and the session goes on */
        bool needs_password;     /* CreateSession is refused when the call may not ask for one */
        bool vanish;             /* the name goes from the bus right after Start */
        const char *replaced_at; /* when this method is first called, which nobody answers */
} FakePlan;

/* org.ktrace1 on a private bus, with one session and no kernel behind it. */
typedef struct FakeDaemon FakeDaemon;

FakeDaemon *fake_daemon_new(const FakePlan *plan);
void fake_daemon_free(FakeDaemon *daemon);
/* Methods called so far, "CreateSession Describe OpenSink Start …". */
const char *fake_daemon_get_calls(const FakeDaemon *daemon);
/* The spec that CreateSession got, printed as GVariant text. */
const char *fake_daemon_get_spec(const FakeDaemon *daemon);
