/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "spec.h"

/* Who asks. */
typedef struct Subject {
        uid_t uid;
        gid_t *gids; /* primary first */
        size_t n_gids;
} Subject;

int subject_copy(Subject *dest, const Subject *source);
void subject_clear(Subject *subject);

typedef struct Policy Policy;

/* What the kernel has, so that policy stays pure: sorted "system:name" strings. */
typedef struct PolicyEvents {
        const char *const *names;
        size_t n_names;
} PolicyEvents;

typedef struct GrantEvent {
        char *system;
        char *name;
        char *filter; /* the caller's own; NULL: none */
} GrantEvent;

/* One entry of spec.events and what became of it. */
typedef struct GrantRequest {
        char *pattern;
        size_t n_matched;
        size_t n_granted;
} GrantRequest;

/* The decision: what may be done, by which rule. */
typedef struct Grant {
        char *rule;         /* "50-default.json: own-processes", or "root" */
        bool fenced;        /* pid list, no interrupt context, holes zeroed, credentials checked */
        GrantEvent *events; /* sorted, each once */
        size_t n_events;
        GrantRequest *requests;
        size_t n_requests;
} Grant;

Grant *grant_free(Grant *grant);
DEFINE_CLEANUP(Grant, grant_free);

/* Reads LIB_DIR/policy.d/\*.json overridden by file name in CONFIG_DIR/policy.d (an empty file
 * masks), sorted by name. A file that others than root may write is refused. KT_E_INVALID_SPEC with
 * file and place; missing directories are empty. */
int policy_load(const char *lib_dir, const char *config_dir, Policy **ret, Reason *reason);
Policy *policy_free(Policy *policy);
DEFINE_CLEANUP(Policy, policy_free);

/* First match, deny by default, root always allowed. 0 and a grant, or KT_E_ACCESS_DENIED,
 * KT_E_NO_SUCH_EVENT, KT_E_INVALID_SPEC (filter of a caller who may not filter) with the reason. A
 * plain name that is not granted is refused; a glob is narrowed, and refused when nothing of it is
 * granted. The same event named twice with two filters keeps both, joined by ||. */
int policy_decide(const Policy *policy,
                const Subject *subject,
                const Spec *spec,
                const PolicyEvents *events,
                Grant **ret,
                Reason *reason);
/* What `ListEvents` shows: may this subject use this event in any scope? */
bool policy_may_see_event(const Policy *policy,
                const Subject *subject,
                const char *system,
                const char *name);
