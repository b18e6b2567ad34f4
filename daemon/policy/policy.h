/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <limits.h>

#include "interfaces/format.h"
#include "interfaces/spec.h"
#include "policy/hist.h"
#include "policy/limit.h"

typedef struct Rule Rule;

/* Who asks. */
typedef struct Subject {
        uid_t uid;
        gid_t *gids; /* primary first */
        size_t n_gids;
        bool is_active;   /* has the active session of a seat now (logind); unknown: false */
        char *unit;       /* systemd unit of the calling process; NULL: unknown */
        char command[64]; /* name of that process, which its user chooses: for people. Printable
                             ASCII, other bytes as \\xNN; "": unknown */
} Subject;

int subject_copy(Subject *dest, const Subject *source);
void subject_clear(Subject *subject);

typedef struct Policy Policy;

#define GRANT_MEMBERS_MAX 4 /* tasks of which one record may speak */

/* What the kernel has, so that policy stays pure: sorted "system:name" strings. */
typedef struct PolicyEvents {
        const char *const *names;
        size_t n_names;
        /* The format of one of them, for filters; borrowed until the next call. 0; 1: it was read
         * and parsed for this call; -errno. */
        int (*get_format)(const char *system, const char *name, const Format **ret, void *userdata);
        /* Called with each refusal of an entry, or of `where` on an event. true: go on, to find the
         * next one. NULL: the first refusal ends the decision. */
        bool (*on_refusal)(int result, const Reason *reason, void *userdata);
        void *userdata;
        size_t n_probes; /* so many of the spec's events, the first, are probes that the subject
                            may use: granted whole, whatever the rule's events are */
        const char *const *sources; /* plain names of events that these probes are made of */
        size_t n_sources;
        const bool *of_programs; /* each of those: does it stand in a program? NULL: none does */
        unsigned n_cpus;         /* possible CPUs, where filters take CPUS{…}; else 0 */
        bool has_functions;      /* filters take FIELD.function */
        const Limits *limits;    /* as configured: a rule's own take their place */
} PolicyEvents;

/* What becomes of kernel addresses: fields that hold pointers, and any 8-byte word in the kernel's
 * range. */
typedef enum AddressMode {
        ADDRESS_ZERO,
        ADDRESS_PSEUDONYM, /* keyed hash, a new key each session: equal stays equal */
        ADDRESS_KEEP,
        _ADDRESS_MODE_N,
} AddressMode;

/* Fields that speak of the task whose pid stands in `pid_field`: zeroed unless it is a member of
 * the session. */
typedef struct GrantMember {
        char *pid_field;
        char **fields; /* globs of names; pid_field goes as well when one matches it */
        size_t n_fields;
} GrantMember;

typedef struct GrantEvent {
        char *system;
        char *name;
        char *filter;          /* the caller's own, canonical; NULL: none */
        char *policy_filter;   /* joined to it by &&; told to nobody but root; NULL: none */
        bool speaks_of_others; /* only `keep` and `members` survive */
        bool is_of_program;    /* a probe in a program: no address of the kernel's is in it */
        bool is_unrecorded;    /* granted for triggers alone: never turned on */
        bool is_off;           /* not recorded at first: the last entry that names it says so */
        char **keep;           /* globs of field names */
        size_t n_keep;
        char **cut; /* globs of field names, stronger than keep */
        size_t n_cut;
        GrantMember *members;
        size_t n_members;
} GrantEvent;

/* What becomes of a field on its way to the reader. */
typedef enum FieldVerdict {
        VERDICT_KEEP,
        VERDICT_WORDS, /* kept, but for 8-byte words in the kernel's address range: zeroed */
        VERDICT_WORDS_PSEUDONYM, /* those have a pseudonym */
        VERDICT_PSEUDONYM,       /* all of it has one */
        VERDICT_MEMBER,          /* zeroed unless the task of its pid field is a member */
        VERDICT_ZERO,
        _VERDICT_N,
} FieldVerdict;

/* One entry of spec.events and what became of it. */
typedef struct GrantRequest {
        char *pattern;
        size_t n_matched;
        size_t n_granted;
} GrantRequest;

#define GRANT_NO_TARGET SIZE_MAX

/* One of the spec's triggers, in its order. */
typedef struct GrantTrigger {
        size_t event;  /* of the grant's events */
        size_t target; /* the same; GRANT_NO_TARGET */
        char *filter;  /* the caller's own, canonical; the rule's is the event's; NULL: none */
        HistText hist; /* what a histogram counts; else empty */
} GrantTrigger;

/* The decision: what may be done, by which rule. */
typedef struct Grant {
        char *rule;  /* "50-default.json: own-processes", or "root" */
        bool fenced; /* pid list of the caller's own processes, credentials checked and guarded, no
                        interrupt context, records of non-members cut, clock one of mono, mono_raw,
                        boot, tai */
        bool redacted; /* holes zeroed, fields and addresses cut: every grant but root's and those
                          of rules that keep addresses and all fields */
        AddressMode addresses;
        bool allow_setuid; /* scope command without no_new_privs, where the kernel has the guard */
        const char *polkit_action; /* static; must say yes before the grant counts; NULL: none */
        Limits limits;             /* the rule's where it has them, else the configured */
        uint64_t max_linger_usec;  /* of lifetime linger, also where no time is given; 0: no end */
        GrantEvent *events;        /* sorted, each once */
        size_t n_events;
        GrantEvent *sources; /* events that granted probes are made of: not turned on by themselves
                              */
        size_t n_sources;
        GrantTrigger *triggers;
        size_t n_triggers;
        GrantRequest *requests;
        size_t n_requests;
} Grant;

/* Reads LIB_DIR/policy.d/\*.json overridden by file name in CONFIG_DIR/policy.d (an empty file
 * masks), sorted by name. A file that others than root may write is refused. KT_E_INVALID_SPEC with
 * file and place; missing directories are empty. */
int policy_load(const char *lib_dir, const char *config_dir, Policy **ret, Reason *reason);
/* The same for one file, whoever may write it: a draft. */
int policy_load_file(const char *path, Policy **ret, Reason *reason);
size_t policy_get_n_rules(const Policy *policy);
/* What is allowed and probably a mistake, a line each: users and groups that do not exist. */
void policy_visit_warnings(const Policy *policy,
                void (*visit)(const char *text, void *userdata),
                void *userdata);
/* SHA-256 of what sha256sum says of the files that count, in their order, without directories: 64
 * digits, or "" for a draft. */
const char *policy_get_digest(const Policy *policy);
Policy *policy_free(Policy *policy);
DEFINE_CLEANUP(Policy, policy_free);

/* The same in parts: one request must not delay all others. All that is passed is
 * borrowed until the decision is freed. */
typedef struct Decision Decision;
#define DECISION_AGAIN INT_MAX

/* What a subject may use in any scope without being asked for a password. Borrows from the policy.
 */
typedef struct PolicyView {
        const struct Rule *rules[2 * _SCOPE_N];
        size_t n_rules;
        bool is_root;
} PolicyView;

PolicyView policy_get_view(const Policy *policy, const Subject *subject);
bool policy_view_has(const PolicyView *view, const char *system, const char *name);

/* "did you mean SYSTEM:EVENT or SYSTEM:EVENT? ", for a refusal of the event `wanted`. */
typedef struct Suggestion {
        char text[512]; /* "": nothing that the view has is like it */
} Suggestion;

/* What a definition of a probe takes of the kernel. */
typedef enum ProbeTakes {
        PROBE_TAKES_VALUES,  /* arguments and results, as numbers */
        PROBE_TAKES_MEMBERS, /* what lies behind pointers */
        PROBE_TAKES_STRINGS, /* text behind pointers */
        PROBE_TAKES_RAW,     /* whatever the kernel's own syntax says */
        _PROBE_TAKES_N,
} ProbeTakes;

/* What is asked for; exactly one of the first three. */
typedef struct ProbeRequest {
        const char *entry;    /* an entry of the catalogue, to be used */
        const char *function; /* a definition on this function of the kernel; "": somewhere */
        bool is_derived;      /* a definition on events, which are granted or not by themselves */
        const char *file;     /* a definition in this program; "": not known yet which */
        bool is_own_file;     /* it is the subject's, and others may not write to it */
        unsigned takes;       /* of definitions in the kernel: bits 1 << ProbeTakes */
} ProbeRequest;

/* The first rule for this subject in this scope, or NULL. is_unredacted: of those that cut nothing.
 */
const Rule *policy_find_rule(const Policy *policy,
                const Subject *subject,
                SpecScope scope,
                bool is_unredacted);
