/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdatomic.h>

#include "base/fd-store.h"
#include "define/compile.h"
#include "kernel/probe.h"
#include "policy/policy.h"
#include "probes/probe-file.h"
#include "probes/probes.h"
#include "work/plan.h"
#include "work/request.h"
#include "work/store.h"
#include "work/turns.h"
#include "work/worker.h"

#define PROBE_GROUP_PREFIX  "ktrace_"
#define PROBE_SET_MAX       1024 /* for each user, and for the catalogue */
#define PROBE_FILES_MAX     128  /* for each user, in programs: each needs an open fd */
#define PROBE_FILES_ALL_MAX 1024 /* of all users except root; part of FileDescriptorStoreMax= */

typedef struct ProbeSet ProbeSet;
typedef struct Inspections Inspections;
typedef struct ProbeLook ProbeLook;
typedef struct ProbeWatch ProbeWatch;

/* An event that a probe is made of. */
typedef struct ProbeOrigin {
        char full[DEFINITION_EVENT_MAX + 1]; /* "SYSTEM:EVENT" */
        char system[DEFINITION_EVENT_MAX];
        const char *name;    /* in full */
        struct Probe *probe; /* that defines it; NULL: an event of the kernel itself */
} ProbeOrigin;

#define PROBE_ORIGINS_MAX 2

/* A definition and its state. Once a session holds it, only the number of holders may change,
 * because the worker thread reads it. */
typedef struct Probe {
        ProbeSet *set;
        Definition *definition;
        bool is_approved; /* polkit has allowed it */
        uint64_t number;  /* in its set; never used again */
        uid_t uid;        /* who defined it; (uid_t)-1: the catalogue */
        char *source;     /* file of the catalogue, else NULL */
        char group[32];   /* in the kernel */
        ProbeKind kind;
        ProbeFile *file; /* if in a program; NULL: not inspected (yet) */
        char *line;      /* for the kernel; NULL: not resolved (yet) */
        ProbeForm *form;
        ProbeOrigin origins[PROBE_ORIGINS_MAX]; /* set once it is resolved */
        size_t n_origins;
        Reason broken; /* why it cannot be resolved; "": it can, or not tried */
        int broken_code;
        uint64_t broken_by; /* probes_get_number: valid while these lists are; 0: not by lists */

        atomic_uint n_users; /* sessions that may have enabled it */
        atomic_bool stands;  /* found or defined in the kernel; written by the worker */
        bool is_awaited;     /* it existed when the watch began its check */
        bool is_malformed;   /* of the catalogue: `broken` never changes */
        bool is_looked;      /* of the catalogue: the inspection was requested */
        Reason look_failed;  /* why no probe can be in its file, or "" */
        bool is_leaving;     /* not in the current catalogue; kept for its holders */
        bool in_plan;
        bool was_removed; /* the result of the last plan */
        Plan plan;
        Request *request; /* the call that the plan answers */
        TAILQ_ENTRY(Probe) probes;
} Probe;

TAILQ_HEAD(ProbeList, Probe);

struct ProbeSet {
        sd_event *event; /* borrowed */
        Worker *worker;
        Turns *turns;             /* borrowed */
        Store *store;             /* borrowed; NULL: no probe is stored */
        FdStore *fd_store;        /* borrowed; NULL: no file is stored */
        const char *state_dir;    /* borrowed */
        Probes *kernel;           /* functions and types */
        Inspections *inspections; /* borrowed */
        const Policy *policy;     /* borrowed */
        const Tracefs *tracefs;   /* NULL until it is open */
        /* Opens tracefs. Returns 0, or KT_E_NO_TRACING with the reason. */
        int (*open_tracefs)(const Tracefs **ret, Reason *reason, void *userdata);
        struct ProbeList list;
        ProbeLook *look;   /* the current inspection for the catalogue */
        ProbeWatch *watch; /* on changes of the kernel's lists; NULL: not needed yet */
        uint64_t n_made;   /* number of the last probe; the list is sorted by number */
        bool has_defined;  /* the kernel may have probes of this set */
        bool is_closing;
        void (*on_changed)(void *userdata); /* probe_set_is_idle may return a new answer */
        /* Another program has removed the probe. If is_held, the sessions that use it cannot
         * continue. Otherwise it is defined again, or *why gives the reason that it cannot be. */
        void (*on_lost)(const Probe *probe, bool is_held, const char *why, void *userdata);
        void *userdata;
};

int probe_set_new(sd_event *event, Worker *worker, ProbeSet **ret);
/* Requires that the sessions and the worker have ended. Removes the set's probes from the
 * kernel. */
ProbeSet *probe_set_free(ProbeSet *set);
DEFINE_CLEANUP(ProbeSet, probe_set_free);
/* Returns 0, or KT_E_NO_TRACING with the reason. */
int probe_set_get_tracefs(ProbeSet *set, const Tracefs **ret, Reason *reason);
/* Returns whether no definition would be lost if the daemon ended. */
bool probe_set_is_idle(const ProbeSet *set);
/* Returns whether the event is the guard's, which is not a probe of any user. */
bool probe_is_guard(const char *event, size_t size, void *userdata);
/* Consumes the definition. */
int probe_set_add(ProbeSet *set,
                Definition *definition,
                uid_t uid,
                const char *source,
                Probe **ret);
Probe *probe_free(Probe *probe);
/* For a step of a plan in set->turns, called with its result r. If r is PROBES_ABSENT, the kernel's
 * functions and types are read in the worker thread for this user, and the result is PLAN_WAIT: the
 * step is called again when they have been read. The step must have checked the caller's rights
 * before it needed them, and checks them again. Returns any other r unchanged. */
int probe_set_await(ProbeSet *set, uid_t uid, int r);
/* Returns whether the probes with these numbers still exist. The numbers are sorted. */
bool probe_set_has_all(const ProbeSet *set, const uint64_t *numbers, size_t n);
/* Finds the uid's own probe of that name, then one of the catalogue, then one by "GROUP:NAME".
 * Returns NULL if none exists. */
Probe *probe_set_find(ProbeSet *set, uid_t uid, const char *name);
/* Finds a probe by its names in the kernel. */
Probe *probe_set_find_event(ProbeSet *set, const char *group, const char *name);

/* Returns whether the probe is made of two events. Each session has its own event for such a probe,
 * because the kernel delivers a record made in one instance to all instances that have enabled the
 * event. */
bool probe_is_pair(const Probe *probe);
/* Makes the probe's line for the kernel unless it is known. Fails with KT_E_* and the reason, or
 * with PROBES_ABSENT: see probe_set_await. */
int probe_resolve(Probe *probe, Reason *reason);
/* Makes the format of the probe's event as the kernel will have it, except for id and offsets. For
 * filters. */
int probe_make_format(const Probe *probe, char **ret);
/* Returns what the probe reads from the kernel, for policy: bits 1 << ProbeTakes. The probe must be
 * resolved. */
unsigned probe_get_takes(const Probe *probe);
void probe_hold(Probe *probe);
/* The last holder of a catalogue probe removes it from the kernel. */
void probe_release(Probe *probe);

/* Worker thread: makes sure that the probe is in the kernel. KT_E_BUSY: another probe of its name
 * is. */
int probe_ensure(const Tracefs *tracefs, Probe *probe, Reason *reason);
/* Worker thread: fails with KT_E_BUSY if the probe has disappeared from the kernel while other
 * sessions use it. A new definition would be another event. */
int probe_check_lost(const Probe *probe, Reason *reason);
/* Worker thread: checks that the file, if any, has not changed since the inspection. */
int probe_check_file(const Probe *probe, Reason *reason);
/* Returns 0 if the kernel's definition under this name is this probe, otherwise KT_E_BUSY. */
int probe_check_same(const Probe *probe, const char *stands, Reason *reason);
/* Defines the probe in the kernel, or removes it unless a session holds it. Then answers the
 * request. */
void probe_submit_define(Probe *probe, Request *request);
/* Defines a probe again that another program has removed. on_lost reports the result. */
void probe_submit_again(Probe *probe);
void probe_submit_remove(Probe *probe, Request *request);
