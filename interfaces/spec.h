/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "error.h"
#include "json.h"
#include "names.h"

#define SPEC_EVENTS_MAX        4096 /* entries in `events`, each may be a glob */
#define SPEC_PROBES_MAX        256
#define SPEC_PIDS_MAX          1024
#define SPEC_EVENT_NAME_MAX    256
#define SPEC_FILTER_MAX        2048 /* bytes; the kernel takes 4095 with what the fence joins */
#define SPEC_BUFFER_KB_MIN     8
#define SPEC_BUFFER_KB_MAX     (1024 * 1024)
#define SPEC_BUFFER_KB_DEFAULT 1024
#define SPEC_LINGER_MAX_USEC   (UINT64_C(7) * 86400 * 1000000)
#define SPEC_PID_MAX           4194303 /* one under the kernel's PID_MAX_LIMIT */
#define SPEC_UNIT_MAX          255     /* systemd's UNIT_NAME_MAX */
#define SPEC_CGROUP_MAX        1024

typedef enum SpecScope {
        SCOPE_COMMAND, /* one process with one thread that the client holds back until armed */
        SCOPE_OWN,     /* every process of the caller that may be listed */
        SCOPE_PIDS,
        SCOPE_UNIT,   /* every process in the cgroup of a systemd unit, and below */
        SCOPE_CGROUP, /* the same, by the cgroup's path */
        SCOPE_SYSTEM,
        _SCOPE_N,
} SpecScope;

typedef enum SpecMode {
        MODE_STREAM, /* a consumer reads all along */
        MODE_FLIGHT, /* the kernel overwrites the oldest; read by snapshots */
        _MODE_N,
} SpecMode;

typedef enum SpecLifetime {
        LIFETIME_CLIENT, /* gone when its creator leaves the bus */
        LIFETIME_LINGER, /* until destroyed, or `linger_usec` after the creator left when not 0 */
        _LIFETIME_N,
} SpecLifetime;

typedef struct SpecEvent {
        char *name;   /* "system:event" or a glob of it; "event" alone means "*:event" */
        char *filter; /* NULL: none */
} SpecEvent;

/* What a caller asks for. All values are checked against their own limits when set. */
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
        char *where;        /* a filter for all events, besides their own; NULL: none */
        uint64_t buffer_kb; /* per CPU */
        char *clock;        /* never NULL after spec_new */
        SpecLifetime lifetime;
        uint64_t linger_usec;
        bool has_scope;
        bool allow_setuid; /* scope command: the command may gain privileges, and ends the trace by
                              it */
        bool unredacted;   /* nothing cut, kernel addresses kept: only by a rule that grants that */
        uint32_t set_keys; /* bit i: spec_fields[i] was given */
} Spec;

typedef enum SpecType {
        SPEC_STRING,
        SPEC_NUMBER,
        SPEC_BOOLEAN,
        SPEC_EVENTS,
} SpecType;

/* The one table behind the bus, JSON files, `--help` and the man page. */
typedef struct SpecField {
        const char *name;
        SpecType type;
        uint64_t min, max; /* numbers: value; strings: length in bytes; events: entries */
        const char *unit;  /* NULL: none */
        const char *doc;
} SpecField;

extern const SpecField spec_fields[];
extern const size_t n_spec_fields;

Spec *spec_new(void);
Spec *spec_free(Spec *spec);
DEFINE_CLEANUP(Spec, spec_free);
#define _cleanup_spec_ _cleanup_(spec_free_cleanup)

/* NULL: no such key. Keys that later versions may bring are unknown like any other. */
const SpecField *spec_field_find(const char *key);
/* KT_E_UNKNOWN_KEY, naming the key and the nearest known one. */
int spec_refuse_key(const char *key, Reason *reason);
/* KT_E_INVALID_SPEC: "buffer-kb: a number is wanted, not a string". `got` is the door's word. */
int spec_refuse_type(const SpecField *field, const char *got, Reason *reason);

/* Setters: KT_E_INVALID_SPEC and reason on a bad value, KT_E_UNKNOWN_KEY, -ENOMEM; the spec is
 * unchanged on failure. Setting a key twice is refused. */
int spec_set_string(Spec *spec, const char *key, const char *value, Reason *reason);
int spec_set_number(Spec *spec, const char *key, uint64_t value, Reason *reason);
int spec_set_boolean(Spec *spec, const char *key, bool value, Reason *reason);
/* Marks `events` or `probes` as given, so that a door that reads a list of them notices a second
 * one. */
int spec_begin_list(Spec *spec, const SpecField *field, Reason *reason);
/* The next entry of that list. filter may be NULL. */
int spec_add_entry(Spec *spec,
                const SpecField *field,
                const char *name,
                const char *filter,
                Reason *reason);
/* filter may be NULL. */
int spec_add_event(Spec *spec, const char *name, const char *filter, Reason *reason);
int spec_add_probe(Spec *spec, const char *name, const char *filter, Reason *reason);
/* The last check, after all keys: scope and events given, … */
int spec_complete(const Spec *spec, Reason *reason);

/* Feeds a JSON object (a --spec file, Varlink) through the setters. `events` takes strings and
 * objects {name, filter}. Does not call spec_complete. */
int spec_from_json(Spec *spec, json_object *object, Reason *reason);
int spec_to_json(const Spec *spec, json_object **ret);

const char *spec_mode_to_string(SpecMode mode);
const char *spec_scope_to_string(SpecScope scope);
/* "command:12", "own", "pids:1,2", "unit:x.service", "cgroup:/x", "system" */
int spec_format_scope(const Spec *spec, char **ret);
