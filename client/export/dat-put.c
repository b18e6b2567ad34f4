/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The contents that both versions of trace.dat have, as trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5)
 * describe them: header pages, event formats, symbols, command names and options. Called by the two
 * writers. A stream has no kernel symbols and no printk formats. symbols.c supplies the symbols if
 * it can; the file has no printk formats. */

#include "export/dat-put.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "export/dat-timeline.h"
#include "interfaces/cleanup.h"
#include "trace/receipt.h"
#include "trace/symbols.h"

#define MISSED_EVENTS (UINT64_C(1) << 31)
#define MISSED_STORED (UINT64_C(1) << 30)
#define COMMIT_MASK   ((UINT64_C(1) << 27) - 1)

#define TYPE_TIME_EXTEND 30
#define DELTA_BITS       27

enum {
        OPTION_DATE = 1,
        OPTION_CPUSTAT = 2,
        OPTION_TRACECLOCK = 4,
        OPTION_UNAME = 5,
        OPTION_VERSION = 9,
};

/* The FILE keeps errors (ferror), so the callers need not check each call. */
void dat_put(FILE *out, const void *data, size_t size) {
        (void)fwrite(data, 1, size, out);
}

/* A FILE with an error retries with each write, so errno is that of the last one. */
int dat_put_result(FILE *out) {
        if (!ferror(out))
                return 0;
        return errno > 0 ? -errno : -EIO;
}

void dat_put_number(FILE *out, uint64_t number, size_t size) {
        number = htole64(number);
        dat_put(out, &number, size);
}

void dat_put_text(FILE *out, const char *text) {
        dat_put_number(out, strlen(text), 8);
        dat_put(out, text, strlen(text));
}

void dat_put_option(FILE *out, unsigned id, const void *data, size_t size) {
        dat_put_number(out, id, 2);
        dat_put_number(out, size, 4);
        dat_put(out, data, size);
}

static void dat_put_text_option(FILE *out, unsigned id, const char *text) {
        dat_put_option(out, id, text, strlen(text) + 1);
}

static int dat_put_header_info(FILE *out, const Trace *trace) {
        const char *page = stream_string(trace->stream.metadata, "header-page");
        const char *event = stream_string(trace->stream.metadata, "header-event");

        dat_put(out, "header_page", 12);
        dat_put_text(out, page ? page : "");
        dat_put(out, "header_event", 13);
        dat_put_text(out, event ? event : "");
        return 0;
}

typedef struct System {
        const char *name;
        uint32_t n_events;
} System;

/* stream.c has checked that both strings exist. */
static const char *dat_event_string(json_object *events, size_t i, const char *key) {
        return stream_string(json_object_array_get_idx(events, i), key);
}

static void dat_put_formats(FILE *out, json_object *events, const System *system) {
        dat_put_number(out, system->n_events, 4);
        for (size_t i = 0; i < json_object_array_length(events); i++)
                if (strcmp(dat_event_string(events, i, "system"), system->name) == 0)
                        dat_put_text(out, dat_event_string(events, i, "format"));
}

static size_t dat_count_systems(json_object *events, System *systems) {
        size_t n = 1;

        systems[0] = (System){ .name = "ftrace" };
        for (size_t i = 0; i < json_object_array_length(events); i++) {
                const char *name = dat_event_string(events, i, "system");
                size_t k = 0;

                while (k < n && strcmp(systems[k].name, name) != 0)
                        k++;
                if (k == n)
                        systems[n++] = (System){ .name = name };
                systems[k].n_events++;
        }
        return n;
}

/* Allocates the list of systems, with ftrace first. */
static int dat_find_systems(const Trace *trace,
                json_object **ret_events,
                System **ret,
                size_t *ret_n) {
        json_object *events;

        if (!json_object_object_get_ex(trace->stream.metadata, "events", &events))
                return -EBADMSG;
        *ret = calloc(json_object_array_length(events) + 1, sizeof(**ret));
        if (!*ret)
                return -ENOMEM;
        *ret_n = dat_count_systems(events, *ret);
        *ret_events = events;
        return 0;
}

static int dat_put_ftrace_events(FILE *out, const Trace *trace) {
        _cleanup_free_ System *systems = NULL;
        json_object *events;
        size_t n;

        int r = dat_find_systems(trace, &events, &systems, &n);
        if (r == 0)
                dat_put_formats(out, events, &systems[0]);
        return r;
}

static int dat_put_event_formats(FILE *out, const Trace *trace) {
        _cleanup_free_ System *systems = NULL;
        json_object *events;
        size_t n;

        int r = dat_find_systems(trace, &events, &systems, &n);
        if (r < 0)
                return r;
        dat_put_number(out, n - 1, 4);
        for (size_t i = 1; i < n; i++) {
                dat_put(out, systems[i].name, strlen(systems[i].name) + 1);
                dat_put_formats(out, events, &systems[i]);
        }
        return 0;
}

/* Writes the symbols that this user may read. Every reader of the file can then see them. */
static int dat_put_symbols(FILE *out, const Trace *trace) {
        _cleanup_free_ char *symbols = NULL;
        int r = symbols_read(&trace->stream.symbols, trace->stream.metadata, &symbols);

        dat_put_number(out, symbols ? strlen(symbols) : 0, 4);
        if (symbols)
                dat_put(out, symbols, strlen(symbols));
        return r == -ENOMEM ? r : 0;
}

static int dat_put_printk(FILE *out, const Trace *trace) {
        dat_put_number(out, 0, 4); /* a stream has none */
        return 0;
}

/* "PID NAME" lines, as in saved_cmdlines. */
static int dat_put_commands(FILE *out, const Trace *trace) {
        char *text = NULL;
        size_t size = 0;
        FILE *lines = open_memstream(&text, &size);

        if (!lines)
                return -errno;
        if (trace->stream.commands) {
                json_object_object_foreach(trace->stream.commands, key, value) {
                        const char *name = json_object_get_string(value);

                        fprintf(lines, "%ld ", strtol(key, NULL, 10));
                        for (; *name; name++)
                                fputc(*name == '\n' ? '?' : *name, lines);
                        fputc('\n', lines);
                }
        }
        if (fclose(lines) != 0) {
                free(text);
                return -ENOMEM;
        }
        dat_put_text(out, text);
        free(text);
        return 0;
}

static uint64_t dat_get_count(const json_object *cpu, const char *key) {
        json_object *value;

        return json_object_object_get_ex(cpu, key, &value) ? json_object_get_uint64(value) : 0;
}

static void dat_put_statistics(FILE *out, const Trace *trace) {
        json_object *cpus;

        if (!trace->stream.statistics ||
                        !json_object_object_get_ex(trace->stream.statistics, "cpus", &cpus) ||
                        !json_object_is_type(cpus, json_type_array))
                return;
        for (size_t i = 0; i < json_object_array_length(cpus); i++) {
                json_object *cpu = json_object_array_get_idx(cpus, i);
                char text[256];

                if (!json_object_is_type(cpu, json_type_object))
                        continue;
                snprintf(text,
                                sizeof(text),
                                "CPU: %" PRIu64 "\nentries: %" PRIu64 "\noverrun: %" PRIu64
                                "\nbytes: %" PRIu64 "\ndropped events: %" PRIu64
                                "\nread events: %" PRIu64 "\n",
                                dat_get_count(cpu, "cpu"),
                                dat_get_count(cpu, "entries"),
                                dat_get_count(cpu, "overwritten"),
                                dat_get_count(cpu, "bytes"),
                                dat_get_count(cpu, "lost"),
                                dat_get_count(cpu, "read"));
                dat_put_text_option(out, OPTION_CPUSTAT, text);
        }
}

/* The only option that may hold any text and that trace-cmd knows. */
static int dat_put_version(FILE *out, const Trace *trace) {
        _cleanup_free_ char *text = NULL;
        json_object *receipt;

        int r = receipt_make(&trace->stream, true, &receipt);
        if (r < 0)
                return r;
        r = asprintf(&text,
                        "ktracectl " KT_VERSION "%s%s",
                        receipt ? RECEIPT_MARK : "",
                        receipt ? json_object_to_json_string_ext(receipt, JSON_C_TO_STRING_PLAIN)
                                : "");
        json_object_put(receipt);
        if (r < 0) {
                text = NULL;
                return -ENOMEM;
        }
        dat_put_text_option(out, OPTION_VERSION, text);
        return 0;
}

/* The offset from the trace's clock to CLOCK_REALTIME, as `trace-cmd record --date` writes it: a
 * number of microseconds, as text. */
static void dat_put_date(FILE *out, const Trace *trace) {
        char text[32];

        snprintf(text,
                        sizeof(text),
                        "0x%" PRIx64,
                        (uint64_t)(trace->decode->wall_offset_ns / 1000));
        dat_put_text_option(out, OPTION_DATE, text);
}

int dat_put_options(FILE *out, const Trace *trace, bool with_date) {
        const char *machine = stream_string(trace->stream.metadata, "machine");
        const char *kernel = stream_string(trace->stream.metadata, "kernel");
        const char *arch = stream_string(trace->stream.metadata, "arch");
        char uname[512], clock[64];

        snprintf(uname,
                        sizeof(uname),
                        "Linux %s %s %s",
                        machine ? machine : "?",
                        kernel ? kernel : "?",
                        arch ? arch : "?");
        snprintf(clock, sizeof(clock), "[%s]", trace->decode->clock);
        dat_put_statistics(out, trace);
        dat_put_text_option(out, OPTION_TRACECLOCK, clock);
        if (with_date)
                dat_put_date(out, trace);
        dat_put_text_option(out, OPTION_UNAME, uname);
        int r = trace->timeline.convert ? dat_put_timeline(out, trace) : 0;
        return r ?: dat_put_version(out, trace);
}

int dat_put_section(FILE *out, const Trace *trace, DatSection section) {
        static int (*const writers[_DAT_SECTION_N])(FILE *, const Trace *) = {
                [DAT_HEADER_INFO] = dat_put_header_info,
                [DAT_FTRACE_EVENTS] = dat_put_ftrace_events,
                [DAT_EVENT_FORMATS] = dat_put_event_formats,
                [DAT_KALLSYMS] = dat_put_symbols,
                [DAT_PRINTK] = dat_put_printk,
                [DAT_CMDLINES] = dat_put_commands,
        };

        return writers[section](out, trace);
}

uint64_t dat_get_time(const uint8_t *subbuf) {
        uint64_t nsec;

        memcpy(&nsec, subbuf, sizeof(nsec));
        return le64toh(nsec);
}

size_t dat_get_committed(const uint8_t *subbuf) {
        uint32_t word;

        memcpy(&word, subbuf + 8, sizeof(word));
        return le32toh(word) & COMMIT_MASK;
}

void dat_set_committed(uint8_t *subbuf, size_t committed) {
        uint32_t word = htole32((uint32_t)committed);

        memcpy(subbuf + 8, &word, sizeof(word));
}

void dat_make_time_extend(uint8_t at[static TIME_EXTEND_SIZE], uint64_t delta) {
        const uint32_t words[] = {
                htole32((uint32_t)(delta << 5) | TYPE_TIME_EXTEND),
                htole32((uint32_t)(delta >> DELTA_BITS)),
        };

        memcpy(at, words, sizeof(words));
}

/* Writes lost into a sub-buffer's commit word, and the number after its records if there is
 * room. */
void dat_mark_lost(const Trace *trace, uint8_t *subbuf, uint64_t lost) {
        size_t header = 8 + (size_t)trace->decode->long_size;
        uint32_t word;
        uint64_t committed, number = htole64(lost);

        memcpy(&word, subbuf + 8, sizeof(word));
        word = le32toh(word);
        committed = word & COMMIT_MASK;
        word |= (uint32_t)MISSED_EVENTS;
        if (committed <= trace->stream.subbuf_size - header - 8) {
                word |= (uint32_t)MISSED_STORED;
                memcpy(subbuf + header + committed, &number, trace->decode->long_size);
        }
        word = htole32(word);
        memcpy(subbuf + 8, &word, sizeof(word));
}

void dat_count_records(const Trace *trace,
                const uint8_t *subbuf,
                size_t size,
                bool is_told,
                DatCounts *counts) {
        const uint8_t *data;
        uint32_t record_size;
        int64_t missed;
        uint64_t ts;
        Subbuf walk;

        subbuf_open(&walk, subbuf, size, trace->decode->long_size, &missed);
        if (missed != 0 && !is_told)
                counts->n_lost += missed > 0 ? (uint64_t)missed : 1;
        while (subbuf_next(&walk, &data, &record_size, &ts))
                counts->n_events++;
        if (walk.is_damaged)
                counts->n_damaged++;
}
