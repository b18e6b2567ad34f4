/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy/digest.h"
#include "policy/place.h"
#include "policy/policy.h"

#define RULES_MAX        1024 /* in all files */
#define RULE_ENTRIES_MAX 4096 /* subjects or events of one rule */
#define RULE_FIELDS_MAX  64   /* globs of fields of one entry of events, in each list */

/* Who: all that is given must hold. Nothing given: anybody. */
typedef struct RuleSubject {
        char *no_user, *no_group; /* names that do not exist: it matches no one; else NULL */
        bool has_uid, has_gid;
        uid_t uid;
        gid_t gid;
        bool needs_seat; /* has the active session of a seat */
        char *unit;      /* glob of the caller's systemd unit; only with has_uid; NULL: any */
} RuleSubject;

/* Which events, and what of them. */
typedef struct RuleEvent {
        char *pattern;    /* glob of "system:event" */
        GrantEvent gives; /* without names and the caller's filter; its policy_filter is as written
                           */
} RuleEvent;

/* Which probes. Nothing given: none. */
typedef struct RuleProbes {
        PlaceStrings uses;      /* globs of the catalogue's entries */
        PlaceStrings functions; /* globs of the kernel's functions to define on */
        PlaceStrings except;    /* of those, not these */
        unsigned takes;         /* bits 1 << ProbeTakes */
        bool asks_polkit;       /* for definitions */
        bool derives;           /* definitions on events that are granted */
        bool own_files;         /* definitions in programs that are the subject's */
        PlaceStrings files;     /* globs of paths of other programs; polkit is always asked */
} RuleProbes;

typedef struct RuleLimit {
        const LimitField *field;
        uint64_t value;
} RuleLimit;

/* One entry of a rules file. */
typedef struct Rule {
        char *label; /* "50-default.json: own-processes" */
        RuleSubject *subjects;
        size_t n_subjects;
        unsigned scopes;    /* bits 1 << SpecScope */
        bool processes_any; /* not the caller's own only */
        RuleEvent *events;  /* the first that matches counts */
        size_t n_events;
        bool deny; /* grants nothing; has no events */
        AddressMode addresses;
        bool allow_setuid;
        unsigned lifetimes;       /* bits 1 << SpecLifetime */
        uint64_t max_linger_usec; /* 0: no limit */
        RuleLimit *limits;
        size_t n_limits;
        RuleProbes *probes;        /* NULL: the rule says nothing of them */
        const char *polkit_action; /* static; must allow it as well; NULL: the rule is enough */
} Rule;

typedef struct RuleList {
        Rule *rules;
        size_t n_rules;
} RuleList;

void rule_list_clear(RuleList *list);

/* What policy.h hides: the rules of all files in order. */
struct Policy {
        RuleList list;
        char digest[DIGEST_DIGITS + 1]; /* "": of a draft */
};

bool rule_covers_subject(const Rule *rule, const Subject *subject);
/* Systems whose events somebody has defined, out of whatever they wanted to see: what there is is
 * not everybody's business, and rules grant them by the system's name only. */
bool rule_is_of_definers(const char *system);
/* NULL: the rule does not grant it. */
const RuleEvent *rule_find_event(const Rule *rule, const char *system, const char *name);
/* Does it give records as the kernel wrote them? */
bool rule_is_unredacted(const Rule *rule);
