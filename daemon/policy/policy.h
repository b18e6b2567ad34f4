/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <limits.h>

#include "interfaces/format.h"
#include "interfaces/spec.h"
#include "policy/hist.h"
#include "policy/limit.h"

typedef struct Rule Rule;

/* uids that stand for containers, so that sessions, limits and time are counted for each of them
 * as for a user. systemd's UIDS-GIDS document gives this range to no user, and auth refuses users
 * that have such a uid. */
#define CONTAINER_UID_FIRST ((uid_t)0xFFFF0000)
#define CONTAINERS_MAX      256

bool container_has_uid(uid_t uid);

/* The user that makes a request, or a container with a socket of its own: all users of the
 * container together, also its root. */
typedef struct Subject {
        uid_t uid;
        gid_t *gids; /* primary first */
        size_t n_gids;
        bool is_active;   /* has the active session of a seat now (logind); unknown: false */
        char *unit;       /* systemd unit of the calling process; NULL: unknown */
        char *container;  /* its name, which rules use; NULL: a user */
        char *cgroup;     /* of the container: it may trace the processes in it, and no others */
        char command[64]; /* name of that process, chosen by its user: only for display. Printable
                             ASCII, other bytes as \\xNN; "": unknown */
} Subject;

int subject_copy(Subject *dest, const Subject *source);
void subject_clear(Subject *subject);

typedef struct Policy Policy;

#define GRANT_MEMBERS_MAX 4 /* tasks that one record may be about */

/* Where the data of a session's events may go. */
typedef enum GrantSink {
        GRANT_SINK_RECORDS,   /* records leave the session, in any form that shows a single one */
        GRANT_SINK_HISTOGRAM, /* the kernel counts */
        GRANT_SINK_COUNT,     /* the stream worker counts */
        _GRANT_SINK_N,
} GrantSink;

#define GRANT_SINKS_ALL ((1U << _GRANT_SINK_N) - 1)

/* One of a spec's probes. */
typedef struct PolicyProbe {
        bool is_of_program;   /* it is in a program */
        bool is_of_catalogue; /* the name after the colon of its event is that of the entry */
        bool is_derived;      /* it is made of events, whose own rights count */
} PolicyProbe;

/* The kernel's events as sorted "system:name" strings, passed in so that policy stays pure. */
typedef struct PolicyEvents {
        const char *const *names;
        size_t n_names;
        /* Returns the format of an event, for filters; borrowed until the next call. Returns 0; 1
         * if it was read and parsed for this call; -errno. */
        int (*get_format)(const char *system, const char *name, const Format **ret, void *userdata);
        /* Called for each refusal of an entry, or of `where` on an event. true: continue, to find
         * the next one. NULL: the first refusal ends the decision. */
        bool (*on_refusal)(int result, const Reason *reason, void *userdata);
        void *userdata;
        size_t n_probes; /* the first n_probes of the spec's events are probes that the subject may
                            use: granted completely, whatever events the rule grants */
        const char *const *sources; /* plain names of the source events of these probes */
        size_t n_sources;
        const PolicyProbe *probes; /* one for each probe; NULL: all are zero */
        unsigned n_cpus;           /* possible CPUs, if filters accept CPUS{…}; else 0 */
        bool has_functions;        /* filters accept FIELD.function */
        const Limits *limits;      /* as configured; a rule's own limits replace them */
} PolicyEvents;

/* The treatment of kernel addresses: fields that contain pointers, and any 8-byte word in the
 * kernel's range. */
typedef enum AddressMode {
        ADDRESS_ZERO,
        ADDRESS_PSEUDONYM, /* keyed hash, new key per session: equal addresses stay equal */
        ADDRESS_KEEP,
        _ADDRESS_MODE_N,
} AddressMode;

/* Fields about the task whose pid is in `pid_field`: zeroed unless that task is a member of the
 * session. */
typedef struct GrantMember {
        char *pid_field;
        char **fields; /* globs of names; pid_field is also zeroed if one matches it */
        size_t n_fields;
} GrantMember;

typedef struct GrantEvent {
        char *system;
        char *name;
        char *filter;          /* the caller's own, canonical; NULL: none */
        char *policy_filter;   /* joined to it by &&; shown only to root; NULL: none */
        bool needs_kernel;     /* only the kernel can evaluate its filters (grant-share.h) */
        bool speaks_of_others; /* only `keep` and `members` survive */
        bool is_of_program;    /* a probe in a program: contains no kernel addresses */
        bool is_unrecorded;    /* granted only for triggers: never turned on */
        bool is_off;           /* initially not recorded: set by the last entry that names it */
        char **keep;           /* globs of field names */
        size_t n_keep;
        char **cut; /* globs of field names; take precedence over keep */
        size_t n_cut;
        GrantMember *members;
        size_t n_members;
        char *also_of; /* pid_field of one of them: a record is also of this task; NULL: none */
        char **keys;   /* globs of the fields that histograms may count by, in a grant without
                          records (grant-sink.h) */
        size_t n_keys;
} GrantEvent;

/* The form in which a field reaches the reader. */
typedef enum FieldVerdict {
        VERDICT_KEEP,
        VERDICT_WORDS, /* kept, except 8-byte words in the kernel's address range: zeroed */
        VERDICT_WORDS_PSEUDONYM, /* those words are replaced by pseudonyms */
        VERDICT_PSEUDONYM,       /* the whole field is replaced by a pseudonym */
        VERDICT_MEMBER,          /* zeroed unless the task of its pid field is a member */
        VERDICT_ZERO,
        _VERDICT_N,
} FieldVerdict;

/* One entry of spec.events and its result. */
typedef struct GrantRequest {
        char *pattern;
        size_t n_matched;
        size_t n_granted;
} GrantRequest;

#define GRANT_NO_TARGET SIZE_MAX

/* One of the spec's triggers, in its order. */
typedef struct GrantTrigger {
        size_t event;  /* index in the grant's events */
        size_t target; /* the same, or GRANT_NO_TARGET */
        char *filter; /* the caller's own, canonical; the event has the rule's filter; NULL: none */
        HistText hist; /* of a histogram; else empty */
} GrantTrigger;

/* The decision: what is allowed, and by which rule. */
typedef struct Grant {
        char *rule;  /* "50-default.json: own-processes", or "root" */
        bool fenced; /* pid list of the caller's own processes, credentials checked and guarded, no
                        interrupt context, records of non-members cut, clock one of mono, mono_raw,
                        boot, tai */
        bool redacted; /* holes zeroed, fields and addresses cut: every grant except root's and
                          those of rules that keep addresses and all fields */
        AddressMode addresses;
        unsigned sinks; /* bits 1 << GrantSink */
        bool denies_black_box;
        bool allow_setuid; /* scope command without no_new_privs, if the kernel supports the guard
                            */
        const char *polkit_action; /* static; polkit must allow this action before the grant
                                      applies; NULL: none */
        Limits limits;             /* the rule's limits if set, else the configured ones */
        uint64_t max_linger_usec; /* of lifetime linger, also if the spec gives no time; 0: no limit
                                   */
        GrantEvent *events;       /* sorted, each once */
        size_t n_events;
        GrantEvent *sources; /* source events of granted probes: not turned on by themselves */
        size_t n_sources;
        GrantTrigger *triggers;
        size_t n_triggers;
        GrantRequest *requests;
        size_t n_requests;
} Grant;

/* Reads LIB_DIR/policy.d/\*.json overridden by file name in CONFIG_DIR/policy.d (an empty file
 * masks), sorted by name. Refuses a file that a user other than root may write to. Fails with
 * KT_E_INVALID_SPEC and a reason with file and place; missing directories count as empty. */
int policy_load(const char *lib_dir, const char *config_dir, Policy **ret, Reason *reason);
/* The same for one file, a draft, which any user may write. */
int policy_load_file(const char *path, Policy **ret, Reason *reason);
size_t policy_get_n_rules(const Policy *policy);
/* Reports probable mistakes that are allowed, one line each: users and groups that do not exist. */
void policy_visit_warnings(const Policy *policy,
                void (*visit)(const char *text, void *userdata),
                void *userdata);
/* SHA-256 of the output of sha256sum for the files that apply, in their order, without directories:
 * 64 digits, or "" for a draft. */
const char *policy_get_digest(const Policy *policy);
Policy *policy_free(Policy *policy);
DEFINE_CLEANUP(Policy, policy_free);

/* policy_decide() in parts, because one request must not delay all others. All parameters are
 * borrowed until the decision is freed. */
typedef struct Decision Decision;
#define DECISION_AGAIN INT_MAX

/* The events that a subject may use in any scope without a password. Borrows from the policy. */
typedef struct PolicyView {
        const struct Rule *rules[2 * _SCOPE_N];
        size_t n_rules;
        bool is_root;
} PolicyView;

/* True for root, and for a user who may trace all processes without asking polkit. */
bool policy_may_trace_all(const Policy *policy, const Subject *subject);
/* The same, or may count them, without records. */
bool policy_may_count_all(const Policy *policy, const Subject *subject);
/* Whether a rule lets the subject ship recordings that `label` granted (Grant.rule). Root is no
 * exception: to ship is the task of a service. */
bool policy_may_ship(const Policy *policy, const Subject *subject, const char *label);
/* Whether a rule lets any subject do so. */
bool policy_is_shipped(const Policy *policy, const char *label);
PolicyView policy_get_view(const Policy *policy, const Subject *subject);
bool policy_view_has(const PolicyView *view, const char *system, const char *name);

/* "did you mean SYSTEM:EVENT or SYSTEM:EVENT? ", for the refusal of the event `wanted`. */
typedef struct Suggestion {
        char text[512]; /* "": no event of the view is similar */
} Suggestion;

/* The data that a probe definition reads from the kernel. */
typedef enum ProbeTakes {
        PROBE_TAKES_VALUES,  /* arguments and results, as numbers */
        PROBE_TAKES_MEMBERS, /* values that pointers refer to */
        PROBE_TAKES_STRINGS, /* text that pointers refer to */
        PROBE_TAKES_RAW,     /* anything that the kernel's own syntax allows */
        _PROBE_TAKES_N,
} ProbeTakes;

/* The request; exactly one of the first three is set. */
typedef struct ProbeRequest {
        const char *entry;    /* an entry of the catalogue to use */
        const char *function; /* a definition on this kernel function; "": at any address */
        bool is_derived;      /* a definition on events, which need their own grants */
        const char *file;     /* a definition in this program; "": program not known yet */
        bool is_own_file;     /* the subject owns it, and others may not write to it */
        unsigned takes;       /* of definitions in the kernel: bits 1 << ProbeTakes */
} ProbeRequest;

/* Returns the first rule for this subject in this scope, or NULL. is_unredacted: only rules that
 * cut nothing. */
const Rule *policy_find_rule(const Policy *policy,
                const Subject *subject,
                SpecScope scope,
                bool is_unredacted);
