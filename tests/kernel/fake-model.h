/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The model behind fake-kernel.h, shared by the four files that make it up. Everything here is used
 * with the lock held, which begin takes and finish gives back. */

#include <glib.h>
#include <pthread.h>

#include "fake-kernel.h"

#define CPUS_MAX          64
#define BUFFER_KB_DEFAULT 1408
#define SUBBUF_KB_DEFAULT 4

typedef struct FakeEvent {
        char *key; /* "system:name" */
        char *format;
        bool can_be_used; /* enabled and filtered */
} FakeEvent;

typedef struct EventState {
        bool on;
        char *filter;
        GPtrArray *triggers; /* as they are written, NULL: none */
        unsigned n_hits;     /* of its hist */
} EventState;

typedef struct FakeInstance {
        char *name;
        uint64_t buffer_kb;
        uint64_t subbuf_kb;
        char *clock;
        bool tracing;
        GHashTable *options; /* name -> GINT on */
        GArray *pids;        /* sorted, as the kernel prints them */
        GHashTable *events;  /* key -> EventState, those that were ever touched */
        int stats[CPUS_MAX]; /* memfds with the text that a kernel would print, or -1 */
        GPtrArray *touched;  /* paths that were written to since a watch looked last */
        int pipe;            /* an eventfd that each new statistic makes readable, or -1 */
        int feeds[CPUS_MAX]; /* writing ends of the trace_pipe_raw that is open, or -1 */
} FakeInstance;

typedef struct FakeModel {
        pthread_mutex_t lock;
        pthread_cond_t changed;

        unsigned n_cpus;
        GPtrArray *events;     /* FakeEvent */
        GHashTable *instances; /* name -> FakeInstance */
        GHashTable *files;     /* of the top directory: path -> text */
        GHashTable *handles;   /* directory fd -> name of the instance, "-" for the top */
        GPtrArray *journal;
        GPtrArray *probes; /* their definitions; NULL: a kernel without */
        uint64_t pid_max;
        size_t n_format_reads, n_list_reads;
        size_t n_function_reads, n_function_reads_in_loop;
        pthread_t loop;
        void (*on_pid_write)(void);
        void (*on_list_read)(void);

        unsigned fail_in; /* operations until the fault; 0: none */
        bool fail_counts_reads;
        int fail_error;
        bool has_failed;
        unsigned verb_fails[_FAKE_VERB_N];
        int verb_errors[_FAKE_VERB_N];
        unsigned delay_msec[_FAKE_VERB_N];
        FakeVerb held_verb;
        bool is_holding;
        unsigned n_held;
} FakeModel;

extern FakeModel kernel;

/* No event, no instance, no fault. */
void fake_model_reset(void);

FakeInstance *fake_instance_new(const char *name);
/* NULL: gone, or never there. */
FakeInstance *fake_instance_find(const char *name);
FakeEvent *fake_event_find(const char *system, const char *name);
/* Makes the state on first use. */
EventState *fake_event_get_state(FakeInstance *instance, const char *key);
void fake_instance_add_pid(FakeInstance *instance, pid_t pid);
int fake_instance_write_stats(FakeInstance *instance,
                unsigned cpu,
                const CpuStatistics *statistics);
/* False when nobody has the trace_pipe_raw open any more. */
bool fake_instance_has_reader(const FakeInstance *instance, unsigned cpu);
/* "17 4194304" */
char *fake_instance_print_pids(const FakeInstance *instance, const char *separator);
/* Somebody, we too, has written to a file of it. */
void fake_instance_touch(FakeInstance *instance, const char *path);
/* An event's trigger and hist. */
int fake_trigger_write(EventState *state, const char *text);
char *fake_trigger_read(const EventState *state);
char *fake_hist_read(const EventState *state);
/* Triggers that keep it from going. */
bool fake_instance_is_kept(const FakeInstance *instance);
/* Text of a file of the instance, g_free it; NULL: no such file. */
char *fake_instance_read_file(FakeInstance *instance, const char *path);

/* A directory fd that can be reported from all others. */
int fake_handle_new(const char *name);
void fake_handle_close(int fd);

/* Every operation runs between begin and finish, which hold the lock. begin returns the fault that
 * is due, or 0. finish writes the journal and returns r. */
int fake_begin(FakeVerb verb);
int fake_begin_reason(FakeVerb verb, Reason *reason);
int fake_finish(int r, const char *format, ...) _printf_(2, 3);
int fake_finish_read(int r);
const char *fake_on_off(bool on);
