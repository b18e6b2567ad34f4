/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/place.h"
#include "policy/digest.h"
#include "policy/policy.h"

#define RULES_MAX        1024 /* in all files */
#define RULE_ENTRIES_MAX 4096 /* subjects or events of one rule */
#define RULE_FIELDS_MAX  64   /* globs of fields of one entry of events, in each list */

/* The subjects of a rule: all given properties must match. If no property is given, all users
 * match. */
typedef struct RuleSubject {
        char *no_user, *no_group; /* names that do not exist, so the subject matches no user; else
                                     NULL */
        bool has_uid, has_gid;
        uid_t uid;
        gid_t gid;
        bool needs_seat; /* has the active session of a seat */
        char *unit;      /* glob of the caller's systemd unit; only with has_uid; NULL: any */
        char *container; /* a container of this name, and no user; NULL: users */
} RuleSubject;

/* The events that a rule grants, and which of their fields. */
typedef struct RuleEvent {
        char *pattern;    /* glob of "system:event" */
        GrantEvent gives; /* without names and the caller's filter; policy_filter is the rule's
                             original text */
} RuleEvent;

/* The fields that a histogram may count by, of entries of the catalogue. */
typedef struct RuleProbeKeys {
        char *entry; /* glob of their names */
        PlaceStrings fields;
} RuleProbeKeys;

/* The probes that a rule grants. If nothing is given, no probes. */
typedef struct RuleProbes {
        PlaceStrings uses;      /* globs of the catalogue's entries */
        PlaceStrings functions; /* globs of kernel functions on which probes may be defined */
        PlaceStrings except;    /* exceptions from `functions` */
        unsigned takes;         /* bits 1 << ProbeTakes */
        bool asks_polkit;       /* for definitions */
        bool derives;           /* definitions on granted events are allowed */
        bool own_files;         /* definitions in the subject's own programs are allowed */
        PlaceStrings files;     /* globs of paths of other programs; these always need polkit */
        RuleProbeKeys *keys;    /* the first match applies; only in a rule without records */
        size_t n_keys;
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
        bool processes_any; /* not only the caller's own */
        RuleEvent *events;  /* the first match applies */
        size_t n_events;
        bool deny; /* grants nothing; has no events */
        AddressMode addresses;
        unsigned sinks; /* bits 1 << GrantSink */
        bool allow_setuid;
        bool denies_black_box;
        unsigned lifetimes;       /* bits 1 << SpecLifetime */
        uint64_t max_linger_usec; /* 0: no limit */
        RuleLimit *limits;
        size_t n_limits;
        PlaceStrings ships;        /* globs of rules: the subjects may ship recordings that they
                                      granted */
        RuleProbes *probes;        /* NULL: the rule has no key "probes" */
        const char *polkit_action; /* static; polkit must also allow this action; NULL: not needed
                                    */
} Rule;

typedef struct RuleList {
        Rule *rules;
        size_t n_rules;
} RuleList;

void rule_list_clear(RuleList *list);

/* The private part of policy.h: the rules of all files in order. */
struct Policy {
        RuleList list;
        char digest[DIGEST_DIGITS + 1]; /* "" for a draft */
};

bool rule_covers_subject(const Rule *rule, const Subject *subject);
bool rule_is_for_containers(const Rule *rule);
/* Returns whether the events of this system are defined by users. Their names reveal what a user
 * wants to trace, so rules grant them only by the system's name. */
bool rule_is_of_definers(const char *system);
/* Returns NULL if the rule does not grant the event. */
const RuleEvent *rule_find_event(const Rule *rule, const char *system, const char *name);
/* Returns whether records may leave the sessions of the rule. */
bool rule_has_records(const Rule *rule);
/* Returns whether the rule grants records as the kernel wrote them. */
bool rule_is_unredacted(const Rule *rule);
