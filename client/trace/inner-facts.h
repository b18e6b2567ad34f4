/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "trace/trace.h"

#define INNER_NEVER    UINT64_MAX
#define INNER_SEEN_MAX 65536U

typedef enum InnerFactKind {
        FACT_EXIT,
        FACT_BIRTH,  /* of the child; value: CLONE_NEWPID or 0 */
        FACT_JOINED, /* the daemon has found it; before, the number may have been another's */
        FACT_FORK,   /* of the parent; value: the child */
        FACT_RESULT, /* of clone; value: the pid of the child, or 0 for a failure */
        FACT_MOVED,  /* later children may be in another namespace */
        FACT_SEEN,   /* the daemon saw it; value: index in `seen` */
        FACT_NONE,
} InnerFactKind;

typedef struct InnerFact {
        uint64_t ts;
        uint32_t tid, value;
        uint32_t order; /* as they were read */
        InnerFactKind kind;
} InnerFact;

typedef struct InnerSeen {
        uint32_t tid, inner, depth;
        uint64_t from, until;
} InnerSeen;

/* Records may be missing between the two times. */
typedef struct InnerLoss {
        uint64_t from, until;
} InnerLoss;

/* What a trace says about its tasks, sorted by task, then time. All zero: empty. */
typedef struct InnerFacts {
        InnerFact *facts;
        InnerSeen *seen;
        InnerLoss *losses; /* sorted; no two of them overlap */
        size_t n_facts, n_seen, n_losses;
        bool has_nested; /* a task was seen in a namespace inside of the container */
} InnerFacts;

/* Reads the list of the statistics, which has at most INNER_SEEN_MAX entries, and all records.
 * Fails with -ENODATA if no pid can be derived from them, or with -errno. */
int inner_facts_read(InnerFacts *facts, Trace *trace, json_object *list);
void inner_facts_clear(InnerFacts *facts);
/* Returns the first loss that ends at or after that time, or NULL. */
const InnerLoss *inner_facts_find_loss(const InnerFacts *facts, uint64_t ts);
