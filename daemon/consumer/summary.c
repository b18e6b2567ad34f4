/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes the last frames of a stream: the names of its tasks, the kernel's counters, and why it
 * ended. The consumer calls it after it has read the rings. It owns nothing.
 *
 * The names that the daemon hands over include every task of the machine. With a tally of pids,
 * only tasks whose records are in this stream are named. The daemon's list goes by number, so a
 * judged stream has its own list of names (task-names.c). A list that cannot be read is left out,
 * because a reader needs the end of a stream but not the names. */

#include "consumer/summary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/defence.h"
#include "interfaces/utf8.h"

#define NAME_BYTES  16    /* per task, besides its name: the pid and the punctuation */
#define N_NAMES_MAX 65536 /* a reader's limit */

static int put_json(Queue *queue, FrameType type, json_object *object) {
        const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);

        if (!text)
                return -ENOMEM;
        FrameHeader header = { .type = type, .size = strlen(text) };
        return queue_put(queue, &header, text, header.size);
}

static void summary_add_number(json_object *object, const char *key, uint64_t value) {
        json_object_object_add(object, key, json_object_new_uint64(value));
}

static int add_cpu(json_object *cpus, const Ring *ring) {
        const RingStatistics *s = &ring->last;
        json_object *cpu = json_object_new_object();

        if (!cpu)
                return -ENOMEM;
        summary_add_number(cpu, "cpu", ring->cpu);
        summary_add_number(cpu, "recorded", s->read + s->entries + s->overrun);
        summary_add_number(cpu, "read", s->read);
        summary_add_number(cpu, "lost", s->dropped + s->commit_overrun);
        summary_add_number(cpu, "overwritten", s->overrun);
        summary_add_number(cpu, "bytes", s->bytes);
        summary_add_number(cpu, "entries", s->entries);
        return json_object_array_add(cpus, cpu) < 0 ? -ENOMEM : 0;
}

static int summary_add_inner_pid(json_object *list, const ControlInnerPid *pid) {
        const uint64_t numbers[] = {
                pid->tid, pid->inner, pid->depth, pid->from_nsec, pid->until_nsec
        };
        json_object *entry = json_object_new_array();

        if (!entry)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTSOF(numbers); i++)
                if (json_object_array_add(entry, json_object_new_uint64(numbers[i])) < 0) {
                        json_object_put(entry);
                        return -ENOMEM;
                }
        return json_object_array_add(list, entry) < 0 ? -ENOMEM : 0;
}

static int summary_add_inner_pids(json_object *object, const InnerList *inner) {
        json_object *list = json_object_new_array();
        int r = 0;

        if (!list)
                return -ENOMEM;
        json_object_object_add(object, "inner-pids", list);
        for (size_t i = 0; r == 0 && i < inner->n; i++)
                r = summary_add_inner_pid(list, &inner->pids[i]);
        return r;
}

static int summary_put_statistics(Queue *queue, const Summary *summary) {
        _cleanup_json_ json_object *object = json_object_new_object();
        json_object *cpus = json_object_new_array();

        if (!object || !cpus)
                return -ENOMEM;
        json_object_object_add(object, "cpus", cpus);
        for (unsigned i = 0; i < summary->n_rings; i++) {
                int r = add_cpu(cpus, &summary->rings[i]);
                if (r < 0)
                        return r;
        }
        summary_add_number(object, "discarded-bytes", summary->discarded_bytes);
        summary_add_number(object, "unknown-records", summary->tally->n_unknown);
        summary_add_number(object, "unparsed", summary->tally->n_unparsed);
        if (summary->is_judged) {
                summary_add_number(object, "foreign", summary->tally->n_foreign);
                summary_add_number(object, "doubtful", summary->tally->n_doubtful);
        }
        if (summary->is_limited)
                summary_add_number(object, "limited", summary->tally->n_limited);
        if (summary->n_interferences > 0) {
                summary_add_number(object, "interference", summary->n_interferences);
                summary_add_number(object, "interference-nsec", summary->interference_nsec);
        }
        int r = summary->inner ? summary_add_inner_pids(object, summary->inner) : 0;
        return r ?: put_json(queue, FRAME_STATISTICS, object);
}

static bool was_seen(const PageTally *tally, unsigned long pid) {
        if (pid >= PAGE_PIDS_MAX)
                return false;
        return !tally->pids || (tally->pids[pid / 8] & (1U << (pid % 8)));
}

/* A process can use any bytes in its name, but JSON must be UTF-8. */
static void summary_make_text(char *name) {
        for (size_t n; *name; name += n) {
                n = utf8_length(name, strnlen(name, 4));
                if (n > 1 || (n == 1 && (unsigned char)*name >= ' ' && *name != 0x7f))
                        continue;
                *name = '?';
                n = 1;
        }
}

typedef struct Names {
        char *json; /* has room for all lines with each byte escaped */
        size_t used, n, max;
        /* A bit set of pids. The kernel's list may contain a pid twice, but a JSON object may
         * not. */
        uint8_t *listed;
} Names;

/* Writes JSON without json-c: for a list of some thousand names, json-c takes as long as the rest
 * of an empty snapshot. */
static void add_name(Names *names, unsigned long pid, const char *name) {
        if (names->listed[pid / 8] & (1U << (pid % 8)))
                return;
        names->listed[pid / 8] |= (uint8_t)(1U << (pid % 8));
        if (names->used + 2 * strlen(name) + NAME_BYTES > names->max)
                return;
        names->used += (size_t)sprintf(
                        names->json + names->used, "%s\"%lu\":\"", names->n > 0 ? "," : "", pid);
        for (; *name; name++) {
                if (*name == '"' || *name == '\\')
                        names->json[names->used++] = '\\';
                names->json[names->used++] = *name;
        }
        names->json[names->used++] = '"';
        names->n++;
}

static void summary_add_names(Names *names, char *text, const PageTally *tally) {
        char *rest;

        for (char *line = strtok_r(text, "\n", &rest); line && names->n < N_NAMES_MAX;
                        line = strtok_r(NULL, "\n", &rest)) {
                char *name;
                unsigned long pid = strtoul(line, &name, 10);

                if (name == line || *name != ' ' || pid >= PAGE_PIDS_MAX ||
                                (defence_is_on("metadata") && !was_seen(tally, pid)))
                        continue;
                summary_make_text(++name);
                add_name(names, pid, name);
        }
}

static void add_task_names(Names *names, const TaskNames *own, const PageTally *tally) {
        const TaskName *tasks;
        size_t n = task_names_get(own, &tasks);

        for (size_t i = 0; i < n && names->n < N_NAMES_MAX; i++) {
                TaskName task = tasks[i];

                if (task.tid >= PAGE_PIDS_MAX || !was_seen(tally, task.tid))
                        continue;
                summary_make_text(task.text);
                add_name(names, task.tid, task.text);
        }
}

static int summary_put_names(Queue *queue, const Summary *summary) {
        _cleanup_free_ char *text = NULL, *json = NULL;
        _cleanup_free_ uint8_t *listed = NULL;
        bool has_own = summary->task_names && defence_is_on("names") && defence_is_on("metadata");
        const TaskName *tasks;
        size_t size = 0;

        if ((!has_own && !summary->names) || summary->names_max < sizeof(FrameHeader) + 2)
                return 0;
        if (has_own)
                size = task_names_get(summary->task_names, &tasks) * sizeof(TaskName);
        else {
                text = strdup(summary->names);
                if (!text)
                        return -ENOMEM;
                size = strlen(text);
        }
        /* The line "1 a" with its line end becomes ,"1":"a" and a byte becomes at most two. */
        json = malloc(3 * size + 16);
        listed = calloc(PAGE_PIDS_MAX / 8, 1);
        if (!json || !listed)
                return -ENOMEM;
        Names names = {
                .json = json,
                .used = 1,
                .max = summary->names_max - sizeof(FrameHeader),
                .listed = listed,
        };
        json[0] = '{';
        if (has_own)
                add_task_names(&names, summary->task_names, summary->tally);
        else
                summary_add_names(&names, text, summary->tally);
        json[names.used++] = '}';
        FrameHeader header = { .type = FRAME_COMMANDS, .size = names.used };
        return queue_put(queue, &header, json, names.used);
}

static int summary_put_end(Queue *queue, const Summary *summary) {
        _cleanup_json_ json_object *object = json_object_new_object();

        if (!object)
                return -ENOMEM;
        json_object_object_add(object, "code", json_object_new_string(summary->code));
        json_object_object_add(object, "reason", json_object_new_string(summary->reason));
        return put_json(queue, FRAME_END, object);
}

int summary_put(Queue *queue, const Summary *summary) {
        int r = summary_put_names(queue, summary);
        r = r ?: summary_put_statistics(queue, summary);
        return r ?: summary_put_end(queue, summary);
}
