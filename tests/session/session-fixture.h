/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

#include "fake-kernel.h"
#include "session/session.h"

/* A registry on the fake kernel with a policy of its own, and calls that wait for their answer. */
typedef struct Fixture {
        sd_event *event;
        Registry *registry;
        Policy *policy;
        char *dir, *state_dir;
        char *worker_path;  /* where a test may listen for the connections to stream workers */
        GString *reported;  /* "state STATE" and "ended CODE" a line */
        char *baseline;     /* fake_kernel_describe before anything */
        unsigned n_reloads; /* that are not over */
        uint64_t max_prepared_kb; /* of the next registry; at first none */
} Fixture;

/* Of this run alone: other tests make processes at the same time, and scope own sees all of a user.
 */
#define FIXTURE_USER fixture_user()
uid_t fixture_user(void);
/* Whose scope own polkit has a say in. */
#define FIXTURE_ASKED_USER 4242

void fixture_set_up(Fixture *f, gconstpointer userdata);
/* Ends the registry; the kernel must be as it was. */
void fixture_tear_down(Fixture *f, gconstpointer userdata);
/* Is this task a member, by what is kept for the next daemon? ret_nsec: since when. */
bool fixture_find_member(Fixture *f, Session *session, pid_t tid, uint64_t *ret_nsec);
/* This registry leaves its sessions, and the next one takes over what it can. */
#define FIXTURE_BUS "0123"
void fixture_restart(Fixture *f);
/* The same in two halves: between them the sessions are being taken over. */
void fixture_begin_restart(Fixture *f);
void fixture_end_restart(Fixture *f);
/* NULL: the bus is not there yet. */
void fixture_restart_on_bus(Fixture *f, const char *bus_id);
/* A reload, until all sessions are judged. NULL: as they are. */
void fixture_set_rules(Fixture *f, const char *text, const Limits *limits);
/* The first turn of it. */
void fixture_begin_rules(Fixture *f, const char *text, const Limits *limits);
/* Runs the loop until `done` says so, five seconds at most. */
void fixture_run_until(Fixture *f, bool (*done)(void *userdata), void *userdata);

/* An answer on its way. */
typedef struct Call {
        Request *request;
        bool is_answered;
        int result;
        Reason reason;
        Session *session;
} Call;

/* Refused at once: answered with that result. */
void fixture_create(Fixture *f, Call *call, uid_t uid, const char *peer, const char *spec_json);
void fixture_start(Fixture *f, Call *call, Session *session);
void fixture_stop(Fixture *f, Call *call, Session *session);
void fixture_destroy(Fixture *f, Call *call, Session *session);
void fixture_switch(Fixture *f, Call *call, Session *session, const char *pattern, bool on);
void fixture_resize(Fixture *f, Call *call, Session *session, uint64_t kb);
/* Of its only histogram. */
void fixture_change_histogram(Fixture *f, Call *call, Session *session, const char *verb);
/* What its windows are. */
void fixture_look(Fixture *f, Call *call, Session *session);
void fixture_wait(Fixture *f, Call *call);
/* Until all sessions are gone: Destroy is answered before the instance is removed. */
void fixture_wait_removed(Fixture *f);
/* ListProbes of this user. */
json_object *fixture_list_probes(Fixture *f, uid_t uid);
/* Runs the loop until an operation of the kernel is held. */
void fixture_wait_held(Fixture *f);
/* Runs the loop until `told` has this line. */
void fixture_wait_report(Fixture *f, const char *line);
Subject fixture_subject(uid_t uid);
/* A process of FIXTURE_USER that sleeps: by setpriv, so that it is dumpable again after its exec.
 * no_new_privs: "--no-new-privs" or NULL. Needs root. */
pid_t fixture_spawn(const char *no_new_privs);
void fixture_kill(pid_t pid);

#define SPEC_ROOT \
        "{\"scope\":\"system\",\"events\":[\"sched:sched_switch\",\"raw_syscalls:sys_enter\"],\"lifetime\":\"linger\"}"
