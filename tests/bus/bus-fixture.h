/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

#include "interfaces/names.h"

/* A bus of our own with the shipped bus policy, the real daemon with the shipped rules, and tracefs
 * in a mount namespace of our own where the kernel has one. Started once per test program. */

/* Users that every Debian has and nothing runs as. */
enum {
        UID_OWNER = 1,
        UID_STRANGER = 2,
};

/* Returns false and the reason for g_test_skip when this machine cannot. */
gboolean bus_fixture_start(const char **ret_reason);
void bus_fixture_stop(void);
/* NULL, or why sessions cannot be made here. */
const char *bus_fixture_get_untraceable(void);
/* Where tracefs is mounted. */
const char *bus_fixture_get_tracefs(void);
/* RUNTIME_DIR/NAME. */
char *bus_fixture_make_runtime_path(const char *name);
GPid bus_fixture_get_daemon(void);
/* Ends the daemon with SIGTERM, expects status 0. */
void bus_fixture_end_daemon(void);
void bus_fixture_start_daemon(void);
/* Starts a daemon and ends it after that time, with SIGTERM: expects status 0, or that it had not
 * yet seen to signals. */
void bus_fixture_start_daemon_and_end(gulong usec);
/* Ends the bus. */
void bus_fixture_lose_bus(void);
/* … and starts it anew, for the same daemon. */
void bus_fixture_start_bus(void);
/* … and starts both anew, the bus some time after the daemon. */
void bus_fixture_start_daemon_first(void);
/* CONFIG_DIR/policy.d/NAME; read when the daemon starts. */
void bus_fixture_write_rules(const char *name, const char *text);
/* Runs a second daemon with CONFIG_DIR/ktraced.json of this text (NULL: none) to its end. Returns
 * its exit status, and what it said. */
int bus_fixture_run_second(const char *config, unsigned mode, char **ret_text);

/* A connection of its own with this uid's credentials. */
GDBusConnection *bus_connect(uid_t uid);
/* Returns the answer, or NULL and the error's name in ret_name and text in ret_text. */
GVariant *bus_call(GDBusConnection *bus,
                const char *path,
                const char *interface,
                const char *member,
                GVariant *arguments,
                char **ret_name,
                char **ret_text);
/* The same for the manager, expecting success. */
GVariant *bus_call_manager(GDBusConnection *bus, const char *member, GVariant *arguments);
/* Calls and expects this error; `text`, when given, has to be in its text. */
void bus_expect_error(GDBusConnection *bus,
                const char *path,
                const char *interface,
                const char *member,
                GVariant *arguments,
                const char *name,
                const char *text);
/* Makes a session of one event in scope own. Returns its path. */
char *bus_create_session(GDBusConnection *bus, const char *lifetime);
/* Runs the main loop until *flag or the time is over; returns *flag. */
gboolean bus_wait(const gboolean *flag, unsigned msec);
/* How many of the sessions that bus_create_session made have an instance in tracefs. */
unsigned bus_count_instances(void);
/* Destroy is answered before the instance is removed. At most five seconds. */
void bus_wait_for_instances(unsigned n);

/* The main of each test program here: starts the fixture, runs the tests, stops it. */
int bus_test_main(int argc, char **argv, void (*add_tests)(void));
/* g_test_add_func for a test that needs the fixture, with tracefs if so. */
void bus_test_add(const char *path, gboolean needs_tracefs, void (*test)(void));
