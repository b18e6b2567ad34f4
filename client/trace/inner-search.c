/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds which pid a container uses for each task of a trace. Called by the export of text and JSON,
 * and by hosts-trace.c, before they read the records. The result belongs to the trace's Decode
 * (inner-pids.c).
 *
 * The statistics of the stream have what the daemon saw in /proc: at some time, the task with this
 * number had that pid in the container. Or a task with this number has joined the session, so that
 * earlier records may be of another one. The rest follows from records:
 *
 * - A life: a task keeps its number from its birth (task_newtask) to its exit (sched_process_exit).
 *   What was seen at a time between them is true for this life, and not for the next task with
 *   the same number.
 * - A child: its parent's next result of clone, fork or vfork is the pid of the child in the pid
 *   namespace of the parent. That is the pid in the container if the parent is in the namespace
 *   of the container itself, and not in one inside of it.
 * - A child is in the namespace of its parent, unless it was made with CLONE_NEWPID or the parent
 *   has chosen another one for its children, with setns or unshare. It may have done so before the
 *   trace began. So if any task was seen in a namespace inside of the container, the namespace of
 *   a child is not derived. If none was seen, the children of such a parent are wrong: only these.
 *
 * Nothing else is guessed. Lost records may include any of these events, so all lives end where a
 * loss may begin, and new ones begin after it. What contradicts itself is not shown.
 *
 * The stream may be hostile: it can only make numbers wrong. */

#include "trace/inner-search.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>

#include "interfaces/array.h"
#include "trace/inner-facts.h"
#include "trace/inner-pids.h"

/* A task, from its birth or the first fact about it to its exit. */
typedef struct Life {
        uint64_t from, until;
        uint64_t moved; /* its children may be elsewhere from then on */
        uint32_t tid, inner;
        bool is_outer; /* it is in the namespace of the container itself */
        bool is_contradictory;
        bool is_elsewhere; /* born into a new namespace */
} Life;

/* A fork with its result. */
typedef struct Pair {
        uint64_t ts;
        uint32_t parent, child, inner;
} Pair;

/* What is concluded from the facts. */
typedef struct Search {
        InnerFacts facts;
        Pair *pairs;
        Life *lives;
        size_t n_pairs, n_lives;
} Search;

static void search_clear(Search *search) {
        inner_facts_clear(&search->facts);
        free(search->pairs);
        free(search->lives);
}

static int search_add_pair(Search *search, const InnerFact *fork, const InnerFact *result) {
        int r;

        if (result->value == 0)
                return 0;
        r = array_grow(&search->pairs, search->n_pairs, sizeof(Pair));
        if (r == 0)
                search->pairs[search->n_pairs++] =
                                (Pair){ fork->ts, fork->tid, fork->value, result->value };
        return r;
}

static int search_add_life(Search *search, Life life) {
        int r = array_grow(&search->lives, search->n_lives, sizeof(Life));

        if (r == 0)
                search->lives[search->n_lives++] = life;
        return r;
}

/* Whether a task with this number begins or ends here. */
static bool is_border(const InnerFact *fact) {
        return fact->kind == FACT_EXIT || fact->kind == FACT_BIRTH || fact->kind == FACT_JOINED;
}

static void life_take_seen(Life *life, const InnerSeen *seen) {
        life->is_contradictory =
                        life->is_contradictory || (life->inner != 0 && life->inner != seen->inner);
        life->inner = seen->inner;
        life->is_outer = seen->depth == 1;
        life->is_elsewhere = life->is_elsewhere || seen->depth > 1;
}

/* Returns the life after this border. */
static Life life_begin(const InnerFact *border) {
        return (Life){ .tid = border->tid,
                .from = border->ts + (border->kind == FACT_EXIT),
                .until = INNER_NEVER,
                .moved = INNER_NEVER,
                .is_elsewhere = border->kind == FACT_BIRTH && border->value };
}

/* Adds the lives of one task number between two losses, and its pairs. All facts lie there. */
static int search_take_task(Search *search,
                const InnerFact *facts,
                size_t n,
                uint64_t from,
                uint64_t to) {
        Life life = { .tid = facts->tid, .from = from, .until = INNER_NEVER, .moved = INNER_NEVER };
        const InnerFact *fork = NULL;
        size_t border = 0;
        int r = 0;

        for (size_t i = 0; r == 0 && i < n; i++) {
                const InnerFact *fact = &facts[i];

                if (is_border(fact)) {
                        life.until = fact->ts - (fact->kind != FACT_EXIT && fact->ts > 0);
                        r = search_add_life(search, life);
                        life = life_begin(fact);
                        fork = NULL;
                        continue;
                }
                while (border <= i || (border < n && !is_border(&facts[border])))
                        border++;
                switch (fact->kind) {
                case FACT_FORK:
                        fork = fact;
                        break;
                case FACT_RESULT:
                        r = fork ? search_add_pair(search, fork, fact) : 0;
                        fork = NULL;
                        break;
                case FACT_MOVED:
                        life.moved = MIN_OF(life.moved, fact->ts);
                        break;
                default: /* FACT_SEEN: at any time until then */
                        if (search->facts.seen[fact->value].until <
                                        (border < n ? facts[border].ts : to))
                                life_take_seen(&life, &search->facts.seen[fact->value]);
                }
        }
        life.until = to;
        return r ?: search_add_life(search, life);
}

/* Divides the facts by task, and each task's facts by losses. A fact inside of a loss is dropped.
 */
static int search_make_lives(Search *search) {
        int r = 0;

        for (size_t i = 0, n; r == 0 && i < search->facts.n_facts; i += n) {
                const InnerFact *first = &search->facts.facts[i];
                const InnerLoss *loss = inner_facts_find_loss(&search->facts, first->ts);
                const InnerLoss *next = loss ? loss : search->facts.losses + search->facts.n_losses;
                uint64_t from = next > search->facts.losses ? next[-1].until + 1 : 0;
                uint64_t to = loss ? loss->from : INNER_NEVER;

                n = 1;
                if (first->ts >= to)
                        continue;
                while (i + n < search->facts.n_facts && first[n].tid == first->tid &&
                                first[n].ts < to)
                        n++;
                r = search_take_task(search, first, n, from, loss ? to - 1 : to);
        }
        return r;
}

/* Returns the life of that task at that time. */
static Life *search_find_life(const Search *search, uint32_t tid, uint64_t ts) {
        size_t low = 0, high = search->n_lives;

        while (low < high) { /* the first one that begins later */
                size_t middle = low + (high - low) / 2;
                const Life *life = &search->lives[middle];

                if (life->tid < tid || (life->tid == tid && life->from <= ts))
                        low = middle + 1;
                else
                        high = middle;
        }
        Life *life = low > 0 ? &search->lives[low - 1] : NULL;
        return life && life->tid == tid && ts <= life->until ? life : NULL;
}

static int compare_pairs(const void *a, const void *b) {
        const Pair *x = a, *y = b;

        return x->ts < y->ts ? -1 : x->ts > y->ts;
}

/* Parents come before their children in the order of time. */
static void search_apply_pairs(Search *search) {
        if (search->n_pairs > 0)
                qsort(search->pairs, search->n_pairs, sizeof(Pair), compare_pairs);
        for (size_t i = 0; i < search->n_pairs; i++) {
                const Pair *pair = &search->pairs[i];
                const Life *parent = search_find_life(search, pair->parent, pair->ts);
                Life *child = search_find_life(search, pair->child, pair->ts);

                if (!parent || !child || !parent->is_outer || parent->is_contradictory)
                        continue;
                child->is_contradictory = child->is_contradictory ||
                                          (child->inner != 0 && child->inner != pair->inner);
                child->inner = pair->inner;
                child->is_outer = child->is_outer ||
                                  (!search->facts.has_nested && !child->is_elsewhere &&
                                                  parent->moved > pair->ts);
        }
}

static int search_finish(const Search *search, InnerPids **ret) {
        InnerLife *lives = calloc(search->n_lives + 1, sizeof(*lives));
        size_t n = 0;

        if (!lives)
                return -ENOMEM;
        for (size_t i = 0; i < search->n_lives; i++) {
                const Life *life = &search->lives[i];

                if (life->inner != 0 && !life->is_contradictory)
                        lives[n++] = (InnerLife){ life->from, life->until, life->tid, life->inner };
        }
        return inner_pids_new(lives, n, ret);
}

static uint64_t get_number(json_object *object, const char *key) {
        return json_object_get_uint64(json_object_object_get(object, key));
}

/* A stream has a mark where the kernel lost records, but none where others are missing. A trace.dat
 * has no mark if the kernel did not report the place. */
static bool is_complete(json_object *statistics, bool is_dat) {
        static const char *const missing[] = {
                "doubtful", "limited", "discarded-bytes", "unparsed", "interference"
        };
        json_object *cpus = json_object_object_get(statistics, "cpus");
        size_t n = json_object_is_type(cpus, json_type_array) ? json_object_array_length(cpus) : 0;

        for (size_t i = 0; i < ELEMENTSOF(missing); i++)
                if (get_number(statistics, missing[i]) > 0)
                        return false;
        for (size_t i = 0; i < n; i++) {
                json_object *cpu = json_object_array_get_idx(cpus, i);

                if (get_number(cpu, "entries") > 0 ||
                                (is_dat && (get_number(cpu, "lost") > 0 ||
                                                           get_number(cpu, "overwritten") > 0)))
                        return false;
        }
        return true;
}

static json_object *inner_search_get_statistics(const Trace *trace) {
        return trace->is_dat ? json_object_object_get(trace->stream.receipt, "statistics")
                             : trace->stream.statistics;
}

/* Returns NULL if the trace has none, or no statistics. */
static json_object *inner_search_get_list(const Trace *trace) {
        json_object *statistics = inner_search_get_statistics(trace);
        json_object *list = json_object_object_get(statistics, "inner-pids");

        return json_object_is_type(list, json_type_array) &&
                                               json_object_array_length(list) <= INNER_SEEN_MAX &&
                                               is_complete(statistics, trace->is_dat)
                               ? list
                               : NULL;
}

static int search_run(Search *search, Trace *trace, json_object *list) {
        int r = inner_facts_read(&search->facts, trace, list);

        r = r ?: search_make_lives(search);
        if (r < 0)
                return r;
        search_apply_pairs(search);
        return search_finish(search, &trace->decode->inner);
}

/* A file that cannot be read fails when its records are printed. */
int inner_search(Trace *trace) {
        json_object *list = inner_search_get_list(trace);
        Search search = {};
        int r;

        /* Other clocks count something else, and a loss does not say in which buffer it is. */
        if (!list || trace->ts_mult > 0 || trace->n_buffers > 1)
                return 0;
        r = search_run(&search, trace, list);
        search_clear(&search);
        trace_rewind(trace);
        return r == -ENOMEM ? r : 0;
}

void inner_search_forget(Trace *trace) {
        json_object *statistics = inner_search_get_statistics(trace);

        if (json_object_is_type(statistics, json_type_object))
                json_object_object_del(statistics, "inner-pids");
}
