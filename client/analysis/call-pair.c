/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Joins the entry and the exit of each system call, per thread. Called by everything that shows
 * calls instead of events. Owns the open calls with a copy of their entries. Memory grows with the
 * threads, not with the events.
 *
 * Takes syscalls:* and raw_syscalls:*. A trace may have both. Then the kernel reports each entry
 * and each exit twice, in any order of the two, and the second report only adds what the first one
 * lacked. Only syscalls:* prove the name: the kernel leaves 32-bit calls out of them.
 *
 * The kernel reports no exit of exit() and exit_group(), and none of rt_sigreturn() with its
 * number, because that restores the registers of the interrupted code. A program that calls
 * execve() in another thread than its first gets the first thread's number before the exit; only
 * sched:sched_process_exec says so. The first event of a new thread is the exit of the clone()
 * that made it. The kernel uses thread numbers again: an open call of the earlier thread ends
 * unfinished.
 *
 * Lost events: an exit on the CPU of the loss, or of a call that began there, may be the exit of a
 * later call of the same kind. Such calls are marked as doubtful. */

#include "analysis/call-pair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/cleanup.h"
#include "interfaces/names.h"
#include "names/syscall.h"

/* Errors of the kernel: MAX_ERRNO of include/linux/err.h. */
#define ERRNO_MAX 4095
/* Larger entries are not kept. Those with user memory (Linux 6.19) are much smaller. */
#define ENTRY_MAX 4096U
/* All entries together. Limits what a small packed file can allocate. */
#define ENTRIES_MAX ((size_t)256 * 1024 * 1024)
/* What a probe has in place of a text that it cannot read. */
#define FAULT "(fault)"
/* PATH_MAX of the kernel. */
#define PATH_SIZE_MAX 4096U
/* Losses of further CPUs are counted together. */
#define CPUS_MAX 8192U

/* Which events report a call. */
enum {
        FAMILY_NAMED = 1 << 0, /* syscalls:* */
        FAMILY_RAW = 1 << 1,   /* raw_syscalls:* */
};

typedef enum CallEventKind {
        CALL_EVENT_UNSEEN,
        CALL_EVENT_OTHER,
        CALL_EVENT_ENTRY,
        CALL_EVENT_EXIT,
        CALL_EVENT_EXEC,       /* sched:sched_process_exec */
        CALL_EVENT_PATH,       /* the probe file_open of the catalogue */
        CALL_EVENT_THREAD_END, /* sched:sched_process_exit */
} CallEventKind;

/* What is known about an event. */
typedef struct CallEvent {
        CallEventKind kind;
        unsigned family;
        const char *name;               /* of the call, as the event has it */
        const EventLayoutField *number; /* for EXEC: the thread's number before it */
        const EventLayoutField *result;
        const EventLayoutField *path; /* EXEC and PATH: a string, or NULL */
} CallEvent;

typedef struct CallThread {
        Call call; /* the open one, or the last one */
        bool is_open, is_ended;
        unsigned entries, exits; /* families that have reported the call's entry and exit */
        uint64_t n_losses;       /* of the trace, when the call began */
        uint8_t *bytes;          /* of the entry */
        size_t n_allocated;
        char *path; /* of the call; PATH_SIZE_MAX bytes at most */
        size_t path_size;
} CallThread;

struct CallPair {
        const Decode *decode;
        CallHandler handler;
        void *userdata;
        CallEvent *events; /* by event id */
        size_t n_events;
        CallThread **places; /* hashed by thread number; n_places is a power of two */
        size_t n_places, n_used;
        size_t entries_size;
        uint64_t n_losses;
        uint64_t *lost_at; /* by CPU: the number of its last loss */
        size_t n_cpus;
};

bool call_has_failed(const Call *call) {
        return (call->state == CALL_RETURNED || call->state == CALL_RESULT_ONLY) &&
               call->result < 0 && call->result >= -ERRNO_MAX;
}

int call_pair_new(const Decode *decode, CallHandler handler, void *userdata, CallPair **ret) {
        CallPair *pair = calloc(1, sizeof(*pair));

        if (!pair)
                return -ENOMEM;
        pair->decode = decode;
        pair->handler = handler;
        pair->userdata = userdata;
        *ret = pair;
        return 0;
}

static CallThread *call_thread_free(CallPair *pair, CallThread *thread) {
        if (!thread)
                return NULL;
        pair->entries_size -= thread->n_allocated + thread->path_size;
        free(thread->bytes);
        free(thread->path);
        free(thread);
        return NULL;
}

CallPair *call_pair_free(CallPair *pair) {
        if (!pair)
                return NULL;
        for (size_t i = 0; i < pair->n_places; i++)
                call_thread_free(pair, pair->places[i]);
        free(pair->places);
        free(pair->events);
        free(pair->lost_at);
        free(pair);
        return NULL;
}

/* Returns the place of the thread, or the free one where it belongs. */
static CallThread **call_pair_find_place(CallThread **places, size_t n_places, int tid) {
        size_t mask = n_places - 1;
        size_t at = ((uint32_t)tid * UINT32_C(2654435761) >> 7) & mask;

        while (places[at] && places[at]->call.tid != tid)
                at = (at + 1) & mask;
        return &places[at];
}

/* Makes room for one more thread, and removes threads that have ended. */
static int call_pair_grow(CallPair *pair) {
        size_t n_places, n_used = 0;
        CallThread **places;

        if (pair->n_used * 2 < pair->n_places)
                return 0;
        for (size_t i = 0; i < pair->n_places; i++)
                n_used += pair->places[i] && !pair->places[i]->is_ended;
        for (n_places = 256; n_places < n_used * 4;)
                n_places *= 2;
        places = calloc(n_places, sizeof(*places));
        if (!places)
                return -ENOMEM;
        for (size_t i = 0; i < pair->n_places; i++) {
                CallThread *thread = pair->places[i];

                if (thread && thread->is_ended)
                        call_thread_free(pair, thread);
                else if (thread)
                        *call_pair_find_place(places, n_places, thread->call.tid) = thread;
        }
        free(pair->places);
        pair->places = places;
        pair->n_places = n_places;
        pair->n_used = n_used;
        return 0;
}

static CallThread *call_pair_find(const CallPair *pair, int tid) {
        return pair->n_places > 0 ? *call_pair_find_place(pair->places, pair->n_places, tid) : NULL;
}

static int call_pair_get(CallPair *pair, int tid, CallThread **ret) {
        CallThread *thread = call_pair_find(pair, tid);
        int r;

        if (thread) {
                *ret = thread;
                return 0;
        }
        r = call_pair_grow(pair);
        if (r < 0)
                return r;
        thread = calloc(1, sizeof(*thread));
        if (!thread)
                return -ENOMEM;
        thread->call.tid = tid;
        *call_pair_find_place(pair->places, pair->n_places, tid) = thread;
        pair->n_used++;
        *ret = thread;
        return 0;
}

static const EventLayoutField *call_event_find(const EventLayout *layout, const char *name) {
        return event_layout_find_kind(layout, name, EVENT_LAYOUT_NUMBER);
}

static const EventLayoutField *call_event_find_path(const EventLayout *layout) {
        return event_layout_find_kind(layout, "filename", EVENT_LAYOUT_STRING);
}

static void call_event_init_call(CallEvent *event, const EventLayout *layout) {
        const char *name = layout->event->name;
        bool is_exit = strncmp(name, "sys_exit", 8) == 0;

        if (!is_exit && strncmp(name, "sys_enter", 9) != 0)
                return;
        name += is_exit ? 8 : 9;
        event->family = strcmp(layout->event->system, "raw_syscalls") == 0 ? FAMILY_RAW
                                                                           : FAMILY_NAMED;
        if (event->family == FAMILY_NAMED && name[0] == '_')
                event->name = name + 1;
        /* Kernels before 2.6.35 named it "nr". */
        event->number = event->family == FAMILY_RAW ? call_event_find(layout, "id")
                                                    : call_event_find(layout, "__syscall_nr")
                                                    ?: call_event_find(layout, "nr");
        event->result = call_event_find(layout, "ret");
        if (event->number && (!is_exit || event->result))
                event->kind = is_exit ? CALL_EVENT_EXIT : CALL_EVENT_ENTRY;
}

static void call_event_init(CallEvent *event, const EventLayout *layout) {
        const char *system = layout->event->system, *name = layout->event->name;

        *event = (CallEvent){ .kind = CALL_EVENT_OTHER };
        if (strcmp(system, "syscalls") == 0 || strcmp(system, "raw_syscalls") == 0)
                call_event_init_call(event, layout);
        else if (strcmp(system, KT_PROBES_CATALOGUE) == 0 && strcmp(name, "file_open") == 0) {
                event->path = call_event_find_path(layout);
                if (event->path)
                        event->kind = CALL_EVENT_PATH;
        } else if (strcmp(system, "sched") != 0)
                return;
        else if (strcmp(name, "sched_process_exit") == 0)
                event->kind = CALL_EVENT_THREAD_END;
        else if (strcmp(name, "sched_process_exec") == 0) {
                event->number = call_event_find(layout, "old_pid");
                event->path = call_event_find_path(layout);
                if (event->number)
                        event->kind = CALL_EVENT_EXEC;
        }
}

/* Returns NULL if memory is short. */
static const CallEvent *call_pair_get_event(CallPair *pair, const EventLayout *layout) {
        size_t id = (size_t)layout->event->id;

        if (id >= pair->n_events) {
                size_t n = pair->decode->n_layouts;
                CallEvent *events = reallocarray(pair->events, n, sizeof(*events));

                if (!events)
                        return NULL;
                memset(events + pair->n_events, 0, (n - pair->n_events) * sizeof(*events));
                pair->events = events;
                pair->n_events = n;
        }
        if (pair->events[id].kind == CALL_EVENT_UNSEEN)
                call_event_init(&pair->events[id], layout);
        return &pair->events[id];
}

static bool call_is_one_of(const Call *call, const char *const names[], size_t n) {
        const char *name = call->name ?: call->name_if_64bit;

        for (size_t i = 0; name && i < n; i++)
                if (strcmp(name, names[i]) == 0)
                        return true;
        return false;
}

static bool call_never_returns(const Call *call) {
        static const char *const names[] = { "exit", "exit_group", "rt_sigreturn" };

        return call_is_one_of(call, names, ELEMENTSOF(names));
}

static bool call_makes_threads(const Call *call) {
        static const char *const names[] = { "clone", "clone3", "fork", "vfork" };

        return call_is_one_of(call, names, ELEMENTSOF(names));
}

/* A syscalls:* event may have another name than the call: newstat for stat. */
static void call_set_name(Call *call, const CallEvent *event, const Decode *decode) {
        const char *name = syscall_get_name(decode->syscalls, call->number);
        bool is_proven = event->family == FAMILY_NAMED || decode->long_size == 4;

        call->name = is_proven ? name ?: event->name : NULL;
        call->name_if_64bit = is_proven ? NULL : name;
}

static bool call_pair_lost_on(const CallPair *pair, uint32_t cpu, uint64_t since) {
        size_t place = MIN_OF(cpu, CPUS_MAX);

        return place < pair->n_cpus && pair->lost_at[place] > since;
}

/* Hands the thread's call out. */
static int call_pair_emit(CallPair *pair, CallThread *thread, CallState state) {
        Call *call = &thread->call;

        thread->is_open = false;
        call->state = state;
        if (state == CALL_RETURNED)
                call->is_doubtful = call_pair_lost_on(pair, call->start_cpu, thread->n_losses) ||
                                    call_pair_lost_on(pair, call->end_cpu, thread->n_losses);
        else
                call->is_doubtful = state == CALL_UNFINISHED && pair->n_losses > thread->n_losses;
        return pair->handler(call, pair->userdata);
}

/* Hands out an open call that gets no exit. */
static int call_pair_abandon(CallPair *pair, CallThread *thread) {
        if (!thread->is_open)
                return 0;
        return call_pair_emit(pair,
                        thread,
                        call_never_returns(&thread->call) ? CALL_NO_RETURN : CALL_UNFINISHED);
}

/* Copies the entry. Without room for it, the call has no arguments. */
static void call_pair_keep_entry(CallPair *pair,
                CallThread *thread,
                const EventLayout *layout,
                const Record *record) {
        Call *call = &thread->call;

        call->layout = NULL;
        call->entry = (Record){};
        if (record->size > thread->n_allocated) {
                size_t n = (record->size + 63) & ~(size_t)63;
                uint8_t *bytes = NULL;

                if (record->size <= ENTRY_MAX && pair->entries_size <= ENTRIES_MAX)
                        bytes = realloc(thread->bytes, n);
                if (!bytes)
                        return;
                pair->entries_size += n - thread->n_allocated;
                thread->bytes = bytes;
                thread->n_allocated = n;
        }
        memcpy(thread->bytes, record->data, record->size);
        call->layout = layout;
        call->entry = *record;
        call->entry.data = thread->bytes;
}

static int64_t call_event_number(const EventLayoutField *field, const Record *record) {
        return (int64_t)event_layout_number(record->data + field->offset, field->size, true);
}

static int call_pair_enter(CallPair *pair,
                CallThread *thread,
                const CallEvent *event,
                const EventLayout *layout,
                const Record *record) {
        Call *call = &thread->call;
        int64_t number = call_event_number(event->number, record);
        bool is_second = thread->entries != 0 && !(thread->entries & event->family) &&
                         thread->exits == 0 && call->number == number;
        int r;

        if (is_second) {
                thread->entries |= event->family;
                if (!thread->is_open || event->family == FAMILY_RAW)
                        return 0;
        } else {
                r = call_pair_abandon(pair, thread);
                if (r < 0)
                        return r;
                *call = (Call){ .tid = call->tid,
                        .number = number,
                        .start = record->ts,
                        .start_cpu = record->cpu };
                thread->is_open = true;
                thread->is_ended = false;
                thread->entries = event->family;
                thread->exits = 0;
                thread->n_losses = pair->n_losses;
        }
        call_set_name(call, event, pair->decode);
        call_pair_keep_entry(pair, thread, layout, record);
        if (!call->name || !call_never_returns(call))
                return 0;
        thread->is_ended = strcmp(call->name, "rt_sigreturn") != 0;
        return call_pair_emit(pair, thread, CALL_NO_RETURN);
}

/* An exit without entry. */
static int call_pair_add_result(CallPair *pair,
                CallThread *thread,
                const CallEvent *event,
                int64_t number) {
        Call *call = &thread->call;

        *call = (Call){ .tid = call->tid,
                .number = number,
                .end = call->end,
                .end_cpu = call->end_cpu,
                .result = call->result };
        call_set_name(call, event, pair->decode);
        return call_pair_emit(pair,
                        thread,
                        call->result == 0 && call_makes_threads(call) ? CALL_FIRST_RETURN
                                                                      : CALL_RESULT_ONLY);
}

static int call_pair_exit(CallPair *pair,
                CallThread *thread,
                const CallEvent *event,
                const Record *record) {
        Call *call = &thread->call;
        int64_t number = call_event_number(event->number, record);
        /* -1: a call that has replaced the registers, such as rt_sigreturn. */
        bool is_same = number == call->number || number == -1;
        unsigned earlier = thread->exits;
        int r = 0;

        thread->exits |= event->family;
        if (!thread->is_open) {
                if (number == -1 || (is_same && earlier != 0 && !(earlier & event->family)))
                        return 0;
        } else if (!is_same || record->ts < call->start)
                /* Times go back only in damaged recordings. */
                r = call_pair_abandon(pair, thread);
        if (r < 0)
                return r;
        call->end = record->ts;
        call->end_cpu = record->cpu;
        call->result = call_event_number(event->result, record);
        if (thread->is_open)
                return call_pair_emit(pair, thread, CALL_RETURNED);
        thread->entries = 0;
        thread->exits = event->family;
        thread->is_ended = false;
        return call_pair_add_result(pair, thread, event, number);
}

/* Gives the open execve() of a thread to the number that the thread has now. */
static int call_pair_exec(CallPair *pair, CallThread *thread, int64_t old_tid) {
        CallThread *old = old_tid > 0 && old_tid <= TID_MAX && old_tid != thread->call.tid
                                          ? call_pair_find(pair, (int)old_tid)
                                          : NULL;
        CallThread swap;
        int r;

        if (!old || !old->is_open)
                return 0;
        r = call_pair_abandon(pair, thread);
        if (r < 0)
                return r;
        swap = *thread;
        *thread = *old;
        *old = swap;
        old->call.tid = thread->call.tid;
        thread->call.tid = swap.call.tid;
        old->is_ended = true;
        return 0;
}

/* The kernel reads a path once, between entry and exit of its call. */
static void call_pair_keep_path(CallPair *pair,
                CallThread *thread,
                const EventLayoutField *field,
                const Record *record) {
        uint32_t offset, size;

        if (!field || !thread->is_open)
                return;
        event_layout_locate(field, record->data, record->size, &offset, &size);
        const char *text = (const char *)record->data + offset;
        size = (uint32_t)strnlen(text, MIN_OF(size, PATH_SIZE_MAX));
        /* The memory was not there when the probe looked. */
        if (size == strlen(FAULT) && memcmp(text, FAULT, size) == 0)
                return;
        if (size + 1 > thread->path_size) {
                char *path = pair->entries_size <= ENTRIES_MAX ? realloc(thread->path, size + 1)
                                                               : NULL;

                if (!path) /* the call has its address */
                        return;
                pair->entries_size += size + 1 - thread->path_size;
                thread->path = path;
                thread->path_size = size + 1;
        }
        memcpy(thread->path, text, size);
        thread->path[size] = '\0';
        thread->call.path = thread->path;
}

int call_pair_record(CallPair *pair, const Record *record) {
        const EventLayout *layout = decode_find(pair->decode, record);
        int tid = decode_record_pid(record), r;
        const CallEvent *event;
        CallThread *thread;

        if (!layout || tid <= 0 || tid > TID_MAX)
                return 0;
        event = call_pair_get_event(pair, layout);
        if (!event)
                return -ENOMEM;
        if (event->kind == CALL_EVENT_OTHER ||
                        !event_layout_fits(layout, record->data, record->size))
                return 0;
        r = call_pair_get(pair, tid, &thread);
        if (r < 0)
                return r;
        switch (event->kind) {
        case CALL_EVENT_ENTRY:
                return call_pair_enter(pair, thread, event, layout, record);
        case CALL_EVENT_EXIT:
                return call_pair_exit(pair, thread, event, record);
        case CALL_EVENT_EXEC:
                r = call_pair_exec(pair, thread, call_event_number(event->number, record));
                call_pair_keep_path(pair, thread, event->path, record);
                return r;
        case CALL_EVENT_PATH:
                call_pair_keep_path(pair, thread, event->path, record);
                return 0;
        default:
                thread->is_ended = true;
                return call_pair_abandon(pair, thread);
        }
}

int call_pair_loss(CallPair *pair, uint32_t cpu) {
        size_t place = MIN_OF(cpu, CPUS_MAX);

        if (place >= pair->n_cpus) {
                uint64_t *lost_at = reallocarray(pair->lost_at, place + 1, sizeof(*lost_at));

                if (!lost_at)
                        return -ENOMEM;
                memset(lost_at + pair->n_cpus, 0, (place + 1 - pair->n_cpus) * sizeof(*lost_at));
                pair->lost_at = lost_at;
                pair->n_cpus = place + 1;
        }
        pair->lost_at[place] = ++pair->n_losses;
        return 0;
}

static int call_thread_compare(const void *a, const void *b) {
        const Call *first = &(*(CallThread *const *)a)->call,
                   *second = &(*(CallThread *const *)b)->call;

        if (first->start != second->start)
                return first->start < second->start ? -1 : 1;
        return first->tid < second->tid ? -1 : first->tid > second->tid;
}

int call_pair_finish(CallPair *pair) {
        _cleanup_free_ CallThread **threads = calloc(pair->n_used + 1, sizeof(*threads));
        size_t n = 0;
        int r = 0;

        if (!threads)
                return -ENOMEM;
        for (size_t i = 0; i < pair->n_places; i++)
                if (pair->places[i] && pair->places[i]->is_open)
                        threads[n++] = pair->places[i];
        qsort(threads, n, sizeof(*threads), call_thread_compare);
        for (size_t i = 0; i < n && r == 0; i++)
                r = call_pair_abandon(pair, threads[i]);
        return r;
}
