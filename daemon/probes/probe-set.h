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

#define PROBE_GROUP_PREFIX    "ktrace_"
#define PROBE_GROUP_CATALOGUE "ktrace_catalogue"
#define PROBE_SET_MAX         1024 /* of one user, and of the catalogue */
#define PROBE_FILES_MAX       128  /* of one user, in programs: each keeps a descriptor open */
#define PROBE_FILES_ALL_MAX   1024 /* of all users but root: FileDescriptorStoreMax= has as many */

typedef struct ProbeSet ProbeSet;
typedef struct Inspections Inspections;
typedef struct ProbeLook ProbeLook;
typedef struct ProbeWatch ProbeWatch;

/* An event that a probe is made of. */
typedef struct ProbeOrigin {
        char full[DEFINITION_EVENT_MAX + 1]; /* "SYSTEM:EVENT" */
        char system[DEFINITION_EVENT_MAX];
        const char *name;    /* in full */
        struct Probe *probe; /* that makes it; NULL: the kernel's own */
} ProbeOrigin;

#define PROBE_ORIGINS_MAX 2

/* A definition and what became of it. Once a session holds it, nothing of it changes but the number
 * of those who do: the worker thread reads it. */
typedef struct Probe {
        ProbeSet *set;
        Definition *definition;
        bool is_approved; /* polkit has allowed it */
        uint64_t number;  /* in its set; no other probe ever has the same */
        uid_t uid;        /* who defined it; (uid_t)-1: it is of the catalogue */
        char *source;     /* file of the catalogue, else NULL */
        char group[32];   /* in the kernel */
        ProbeKind kind;
        ProbeFile *file; /* of one in a program; NULL: not looked into (yet) */
        char *line;      /* for the kernel; NULL: not resolved (yet) */
        ProbeForm *form;
        ProbeOrigin origins[PROBE_ORIGINS_MAX]; /* once it is resolved; the first, the second */
        size_t n_origins;
        Reason broken; /* why it cannot be resolved; "": it can, or nobody has asked */

        atomic_uint n_users; /* sessions that have or may have had it on */
        atomic_bool stands;  /* it was found in the kernel, or made there; the worker's */
        bool is_awaited;     /* it stood when the watch began to look */
        bool is_malformed;   /* of the catalogue: `broken` for ever */
        bool is_looked;      /* of the catalogue: its file has been asked for */
        Reason look_failed;  /* and nothing can stand there, or not any more: why; else "" */
        bool is_leaving;     /* of a catalogue that was read anew: for those who hold it */
        bool in_plan;
        bool was_removed; /* what the last plan has done */
        Plan plan;
        Request *request; /* whose call the plan answers */
        TAILQ_ENTRY(Probe) probes;
} Probe;

TAILQ_HEAD(ProbeList, Probe);

struct ProbeSet {
        sd_event *event; /* borrowed */
        Worker *worker;
        Turns *turns;             /* borrowed */
        Store *store;             /* borrowed; NULL: nothing outlives this daemon */
        FdStore *fd_store;        /* borrowed; NULL: no file of a program does */
        const char *state_dir;    /* borrowed */
        Probes *kernel;           /* functions and types */
        Inspections *inspections; /* borrowed */
        const Policy *policy;     /* borrowed */
        const Tracefs *tracefs;   /* NULL until it is open */
        /* Opens it. KT_E_NO_TRACING with the reason, or 0. */
        int (*open_tracefs)(const Tracefs **ret, Reason *reason, void *userdata);
        struct ProbeList list;
        ProbeLook *look;   /* into a file of the catalogue's, under way */
        ProbeWatch *watch; /* on what others do to the kernel's lists; NULL: not needed yet */
        uint64_t n_made;   /* probes, so far; the list is sorted by their numbers */
        bool has_defined;  /* something of it may stand in the kernel */
        bool is_closing;
        void (*on_changed)(void *userdata); /* probe_set_is_idle may have a new answer */
        /* Somebody else has removed it: held: sessions that have it cannot go on. Else it is put
         * back, or *why says what is in the way. */
        void (*on_lost)(const Probe *probe, bool is_held, const char *why, void *userdata);
        void *userdata;
};

int probe_set_new(sd_event *event, Worker *worker, ProbeSet **ret);
/* Sessions and worker are gone; what stands in the kernel goes. */
ProbeSet *probe_set_free(ProbeSet *set);
DEFINE_CLEANUP(ProbeSet, probe_set_free);
/* KT_E_NO_TRACING with the reason, or 0. */
int probe_set_get_tracefs(ProbeSet *set, const Tracefs **ret, Reason *reason);
/* Nobody's definition would be lost with the daemon. */
bool probe_set_is_idle(const ProbeSet *set);
/* The guard's is nobody's probe. */
bool probe_is_guard(const char *event, size_t size, void *userdata);
/* Takes the definition. */
int probe_set_add(ProbeSet *set,
                Definition *definition,
                uid_t uid,
                const char *source,
                Probe **ret);
Probe *probe_free(Probe *probe);
/* Do the probes with these numbers still exist? The numbers are sorted. */
bool probe_set_has_all(const ProbeSet *set, const uint64_t *numbers, size_t n);
/* The uid's own of that name, else the catalogue's, or "GROUP:NAME". NULL. */
Probe *probe_set_find(ProbeSet *set, uid_t uid, const char *name);
/* By the names of the kernel. */
Probe *probe_set_find_event(ProbeSet *set, const char *group, const char *name);

/* Made of two events: each session has an event of its own for it, since the kernel hands what one
 * instance makes to all that have the event on. */
bool probe_is_pair(const Probe *probe);
/* Makes its line for the kernel unless that is known. KT_E_* with the reason. */
int probe_resolve(Probe *probe, Reason *reason);
/* The format of its event as the kernel will have it, but for id and offsets: for filters. */
int probe_make_format(const Probe *probe, char **ret);
/* What it takes of the kernel, for policy: bits 1 << ProbeTakes. Once it is resolved. */
unsigned probe_get_takes(const Probe *probe);
void probe_hold(Probe *probe);
/* The last one to let go of a catalogue's takes it out of the kernel. */
void probe_release(Probe *probe);

/* Worker thread: it stands in the kernel. KT_E_BUSY: another one of its name does. */
int probe_ensure(const Tracefs *tracefs, Probe *probe, Reason *reason);
/* Worker thread: it has vanished from the kernel while others have it on, and what is defined now
 * would be another event. KT_E_BUSY. */
int probe_check_lost(const Probe *probe, Reason *reason);
/* Worker thread: its file, if it has one, is as it was when it was looked into. */
int probe_check_file(const Probe *probe, Reason *reason);
/* What stands in the kernel under its name is this one: 0, or KT_E_BUSY. */
int probe_check_same(const Probe *probe, const char *stands, Reason *reason);
/* Makes it stand, or not any more unless somebody holds it, and answers request. */
void probe_submit_define(Probe *probe, Request *request);
/* The same of one that somebody else has removed; on_lost tells. */
void probe_submit_again(Probe *probe);
void probe_submit_remove(Probe *probe, Request *request);
