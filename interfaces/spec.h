/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "interfaces/error.h"
#include "interfaces/json.h"
#include "interfaces/names.h"

#define SPEC_EVENTS_MAX        4096 /* entries in `events`, each may be a glob */
#define SPEC_PROBES_MAX        256
#define SPEC_PIDS_MAX          1024
#define SPEC_EVENT_NAME_MAX    256
#define SPEC_FILTER_MAX        2048 /* bytes; the kernel accepts 4095 with what the fence adds */
#define SPEC_BUFFER_KB_MIN     8
#define SPEC_BUFFER_KB_MAX     (1024 * 1024)
#define SPEC_BUFFER_KB_DEFAULT 1024
#define SPEC_LINGER_MAX_USEC   (UINT64_C(7) * 86400 * 1000000)
#define SPEC_PID_MAX           4194303 /* one under the kernel's PID_MAX_LIMIT */
#define SPEC_UNIT_MAX          255     /* systemd's UNIT_NAME_MAX */
#define SPEC_CGROUP_MAX        1024
/* Every hit of the event evaluates each of its triggers. */
#define SPEC_TRIGGERS_MAX       64
#define SPEC_EVENT_TRIGGERS_MAX 16
#define SPEC_COUNT_MAX          1000000000
/* Limits of the kernel: TRACING_MAP_KEYS_MAX, VALS_MAX less the hits, SORT_KEYS_MAX, BITS_MIN
 * and BITS_MAX of kernel/trace/tracing_map.h. */
#define SPEC_HIST_KEYS_MAX   3
#define SPEC_HIST_VALUES_MAX 2
#define SPEC_HIST_SORT_MAX   2
#define SPEC_HIST_SIZE_MIN   128
#define SPEC_HIST_SIZE_MAX   131072
#define SPEC_HIST_NAME_MAX   64
#define SPEC_HIST_WORD_MAX   128
#define SPEC_FUNCTIONS_MAX   256
#define SPEC_FUNCTION_MAX    128
#define SPEC_INSTANCE_MAX    255
#define SPEC_ROTATE_MIN      (UINT64_C(256) * 1024)
#define SPEC_ROTATE_MAX      (UINT64_C(4) << 30)
#define SPEC_SPOOL_MAX       (UINT64_C(1) << 50)
/* SpecSpool.sync_sec; other values are seconds. */
#define SPEC_SYNC_NONE    0
#define SPEC_SYNC_ROTATE  UINT32_MAX
#define SPEC_SYNC_MAX_SEC 3600

typedef enum SpecScope {
        SCOPE_COMMAND, /* one single-threaded process that the client holds back until armed */
        SCOPE_OWN,     /* every process of the caller that the caller may trace */
        SCOPE_PIDS,
        SCOPE_UNIT,   /* every process in the cgroup of a systemd unit, and below */
        SCOPE_CGROUP, /* the same, by the cgroup's path */
        SCOPE_SYSTEM,
        _SCOPE_N,
} SpecScope;

typedef enum SpecMode {
        MODE_STREAM, /* a consumer reads continuously */
        MODE_FLIGHT, /* the kernel overwrites the oldest data; snapshots read it */
        _MODE_N,
} SpecMode;

typedef enum SpecLifetime {
        LIFETIME_CLIENT, /* ends when its creator leaves the bus */
        LIFETIME_LINGER, /* until destroyed, or `linger_usec` after the creator left when not 0 */
        LIFETIME_UNIT,   /* as long as a systemd unit has processes */
        _LIFETIME_N,
} SpecLifetime;

typedef enum SpecCompression {
        COMPRESSION_UNSET, /* zstd for a spool, else none */
        COMPRESSION_NONE,
        COMPRESSION_ZSTD,
        _COMPRESSION_N,
} SpecCompression;

typedef struct SpecEvent {
        char *name;   /* "system:event" or a glob of it; "event" alone means "*:event" */
        char *filter; /* NULL: none */
        bool is_off;  /* enabled, but not recorded until a trigger turns it on */
} SpecEvent;

typedef struct SpecTrigger SpecTrigger; /* spec-trigger.h */

/* Recording to disk; 0: policy gives the value. */
typedef struct SpecSpool {
        bool is_on;
        bool keeps_oldest; /* when full: true ends the session, false deletes the oldest files */
        bool ships;        /* marked for ktrace-ship; its files stay until they are acknowledged */
        uint32_t sync_sec; /* how often the data is synced to disk */
        uint64_t max_bytes;
        uint64_t rotate_bytes; /* maximum of one file */
} SpecSpool;

/* A caller's request. Each setter checks its value against the limits. */
typedef struct Spec {
        char *name; /* NULL: none */
        SpecMode mode;
        SpecScope scope;
        pid_t *pids; /* scopes command (one) and pids */
        size_t n_pids;
        char *group; /* scopes unit (its name) and cgroup (its path); else NULL */
        SpecEvent *events;
        size_t n_events;
        SpecEvent *probes; /* names of probes, with their filters */
        size_t n_probes;
        SpecTrigger *triggers; /* includes the triggers of events */
        size_t n_triggers;
        char *where;        /* a filter for all events, in addition to their own; NULL: none */
        uint64_t buffer_kb; /* per CPU */
        char *clock;        /* never NULL after spec_new */
        SpecLifetime lifetime;
        uint64_t linger_usec;
        char *lifetime_unit; /* of LIFETIME_UNIT; else NULL */
        bool has_scope;
        bool allow_setuid; /* scope command: the command may gain privileges, which ends the trace
                            */
        bool stacktrace;   /* the kernel's stack with each event */
        bool locked;       /* after its first start the owner can only end it */
        char *cpus;        /* "0-3,5"; NULL: all */
        char *instance;    /* an existing instance; NULL: our own */
        char *tracer;      /* NULL: none */
        char **functions;  /* globs, for the tracer */
        size_t n_functions;
        bool unredacted; /* nothing is cut, kernel addresses stay: a rule must grant it */
        SpecSpool spool;
        SpecCompression compression; /* of the data in streams */
        bool shares;                 /* may share an instance with other sessions */
        uint32_t set_keys;           /* bit i: spec_fields[i] was given */
} Spec;

typedef enum SpecType {
        SPEC_STRING,
        SPEC_NUMBER,
        SPEC_BOOLEAN,
        SPEC_EVENTS,
        SPEC_TRIGGERS,
        SPEC_WORDS,
        SPEC_SPOOL,
} SpecType;

/* The one table for D-Bus, JSON files, `--help` and the man page. */
typedef struct SpecField {
        const char *name;
        SpecType type;
        uint64_t min, max; /* numbers: value; strings: length in bytes; events: entries */
        const char *unit;  /* NULL: none */
        const char *doc;
} SpecField;

extern const SpecField spec_fields[];
extern const size_t n_spec_fields;

/* NULL for COMPRESSION_UNSET. */
const char *spec_compression_to_string(SpecCompression compression);
/* Whether the session's streams are compressed. */
bool spec_is_compressed(const Spec *spec);

Spec *spec_new(void);
Spec *spec_free(Spec *spec);
DEFINE_CLEANUP(Spec, spec_free);
#define _cleanup_spec_ _cleanup_(spec_free_cleanup)

/* Setters: KT_E_INVALID_SPEC and reason on a bad value, KT_E_UNKNOWN_KEY, -ENOMEM; the spec is
 * unchanged on failure. Setting a key twice is refused. */
int spec_set_string(Spec *spec, const char *key, const char *value, Reason *reason);
int spec_set_number(Spec *spec, const char *key, uint64_t value, Reason *reason);
int spec_set_boolean(Spec *spec, const char *key, bool value, Reason *reason);
/* True if the key was set. A default does not count. */
bool spec_is_given(const Spec *spec, const char *key);
/* Stores the buffer size that the session really has, and marks it as given. */
void spec_settle_buffer(Spec *spec, uint64_t kb);
/* The last check, after all keys are set: scope and events are given, … */
int spec_complete(const Spec *spec, Reason *reason);

const char *spec_mode_to_string(SpecMode mode);

int spec_refuse_twice(const SpecField *field, Reason *reason);
