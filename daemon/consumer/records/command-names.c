/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The command names of tasks, for histograms by common_pid.execname. page.c passes it the records
 * that contain names, or counts.c does, if the stream is not judged. counts.c asks it for the name
 * that a task had when it wrote a record.
 *
 * Each life of a task begins with a name. The daemon sends the names of the tasks that exist: of a
 * judged stream those of the members that it has verified, of another stream all at its start. A
 * record of a fork contains the name of the child. So the newest name before a task's record
 * belongs to this task, even if another process had the number before. The kernel's list
 * `saved_cmdlines` goes only by number, so it is not used.
 *
 * Names are noted in the order in which records are read. This is not the order of time. */

#include "consumer/records/command-names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/records/count-field.h"

#define NO_NAME   UINT32_MAX
#define NAMES_MAX (1U << 18)
#define N_BUCKETS (1U << 12)
#define SOURCES   2

typedef struct Name {
        uint32_t tid;
        uint32_t next; /* next in its bucket */
        uint64_t nsec;
        char comm[COUNT_NAME_SIZE];
} Name;

/* An event whose records contain names. The field `tid` holds the task. */
typedef struct NameSource {
        uint16_t id;
        CountField tid, comm;
} NameSource;

struct CommandNames {
        NameSource sources[SOURCES];
        size_t n_sources;
        Name *names;
        uint32_t n, n_room, n_after_sweep;
        uint64_t full_since; /* a name since this time may be missing; UINT64_MAX: none is */
        uint32_t buckets[N_BUCKETS];
};

static int take_source(CommandNames *names, json_object *entry) {
        _cleanup_(format_free_cleanup) Format *format = NULL;
        NameSource *source = &names->sources[names->n_sources++];
        json_object *text;

        if (!json_object_object_get_ex(entry, "format", &text))
                return -EBADMSG;
        int r = format_parse(json_object_get_string(text),
                        (size_t)json_object_get_string_len(text),
                        &format,
                        NULL);
        if (r < 0)
                return r;
        source->id = (uint16_t)format->id;
        bool is_fork = format_field_find(format, "child_pid") != NULL;
        r = count_field_find(format, is_fork ? "child_pid" : "pid", &source->tid);
        r = r ?: count_field_find(format, is_fork ? "child_comm" : "newcomm", &source->comm);
        return r < 0 ? -EBADMSG : 0;
}

int command_names_new(json_object *list, CommandNames **ret) {
        _cleanup_(command_names_free_cleanup) CommandNames *names = calloc(1, sizeof(*names));
        int r = 0;

        if (!names)
                return -ENOMEM;
        if (!json_object_is_type(list, json_type_array) || json_object_array_length(list) > SOURCES)
                return -EBADMSG;
        for (size_t i = 0; r == 0 && i < json_object_array_length(list); i++)
                r = take_source(names, json_object_array_get_idx(list, i));
        if (r < 0)
                return r;
        memset(names->buckets, 0xff, sizeof(names->buckets));
        names->full_since = UINT64_MAX;
        *ret = TAKE_PTR(names);
        return 0;
}

CommandNames *command_names_free(CommandNames *names) {
        if (!names)
                return NULL;
        free(names->names);
        free(names);
        return NULL;
}

bool command_names_has_event(const CommandNames *names, uint16_t id) {
        for (size_t i = 0; i < names->n_sources; i++)
                if (names->sources[i].id == id)
                        return true;
        return false;
}

static uint32_t get_bucket(uint32_t tid) {
        return (tid * 0x9e3779b1U >> 7) & (N_BUCKETS - 1);
}

/* Returns the newest name of the task up to that time. */
static const Name *command_names_find_name(const CommandNames *names, uint32_t tid, uint64_t nsec) {
        const Name *found = NULL;

        for (uint32_t i = names->buckets[get_bucket(tid)]; i != NO_NAME; i = names->names[i].next) {
                const Name *name = &names->names[i];

                if (name->tid == tid && name->nsec <= nsec && (!found || name->nsec > found->nsec))
                        found = name;
        }
        return found;
}

void command_names_find(const CommandNames *names,
                uint32_t tid,
                uint64_t nsec,
                char ret[static COUNT_NAME_SIZE]) {
        const Name *name = command_names_find_name(names, tid, nsec);

        /* The number may belong to another task by then, whose name did not fit. */
        if (name && nsec >= names->full_since && name->nsec < names->full_since)
                name = NULL;
        (void)snprintf(ret,
                        COUNT_NAME_SIZE,
                        "%s",
                        tid == 0 ? "<idle>"
                        : name   ? name->comm
                                 : "<...>");
}

static int command_names_compare_names(const void *a, const void *b) {
        const Name *x = a, *y = b;

        if (x->tid != y->tid)
                return x->tid < y->tid ? -1 : 1;
        if (x->nsec != y->nsec)
                return x->nsec < y->nsec ? -1 : 1;
        return x->next < y->next ? -1 : x->next > y->next;
}

/* For the names of a task in order of time: returns whether a newer name is valid at that time. */
static bool is_replaced(const CommandNames *names, uint32_t at, uint64_t before) {
        const Name *name = &names->names[at], *next = name + 1;

        return at + 1 < names->n && next->tid == name->tid && next->nsec <= before;
}

/* Removes a name when a newer name is valid at that time. all_old: also every name that is older
 * than that time. */
static void sweep(CommandNames *names, uint64_t before, bool all_old) {
        uint32_t n = 0;

        for (uint32_t i = 0; i < names->n; i++)
                names->names[i].next = i; /* at the same time, the last added name counts */
        if (names->n > 0)
                qsort(names->names, names->n, sizeof(*names->names), command_names_compare_names);
        memset(names->buckets, 0xff, sizeof(names->buckets));
        for (uint32_t i = 0; i < names->n; i++) {
                if (names->names[i].nsec <= before && (all_old || is_replaced(names, i, before)))
                        continue;
                uint32_t *bucket = &names->buckets[get_bucket(names->names[i].tid)];

                names->names[n] = names->names[i];
                names->names[n].next = *bucket;
                *bucket = n++;
        }
        names->n = names->n_after_sweep = n;
}

void command_names_forget(CommandNames *names, uint64_t before) {
        if (names->n > names->n_after_sweep * 2 + 1024)
                sweep(names, before, false);
        if (names->n > NAMES_MAX / 2)
                sweep(names, before, true);
}

int command_names_add(CommandNames *names, uint32_t tid, uint64_t nsec, const char *comm) {
        if (names->n == NAMES_MAX) { /* the task is shown without its name */
                names->full_since = MIN_OF(names->full_since, nsec);
                return 0;
        }
        if (names->n == names->n_room) {
                uint32_t n_room = names->n_room * 2 + 64;
                Name *bigger = reallocarray(names->names, n_room, sizeof(*bigger));

                if (!bigger)
                        return -ENOMEM;
                names->names = bigger;
                names->n_room = n_room;
        }
        uint32_t *bucket = &names->buckets[get_bucket(tid)];
        Name *name = &names->names[names->n];

        *name = (Name){ .tid = tid, .next = *bucket, .nsec = nsec };
        (void)snprintf(name->comm, sizeof(name->comm), "%s", comm);
        *bucket = names->n++;
        return 0;
}

int command_names_note(CommandNames *names, const uint8_t *record, size_t size, uint64_t nsec) {
        uint16_t id;

        memcpy(&id, record, sizeof(id));
        for (size_t i = 0; i < names->n_sources; i++) {
                const NameSource *source = &names->sources[i];
                char comm[COUNT_NAME_SIZE] = "";
                size_t n;

                if (source->id != id)
                        continue;
                const char *text = count_field_read_text(&source->comm, record, size, &n);
                memcpy(comm, text, MIN_OF(n, sizeof(comm) - 1));
                return command_names_add(names,
                                (uint32_t)count_field_read_number(&source->tid, record, size),
                                nsec,
                                comm);
        }
        return 0;
}
