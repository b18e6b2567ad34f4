/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes trace.dat version 6 (trace-cmd.dat.v6(5)), which every trace-cmd and KernelShark can
 * read. Called by export. Sub-buffers are written as the kernel wrote them. A cut one is filled
 * up with a hole. Lost events that only the stream's frames report are written where trace-cmd
 * expects them, in the commit word of the next sub-buffer. A stream has no kernel symbols and no
 * printk formats. symbols.c supplies the symbols if it can; the file has no printk formats. */

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "interfaces/cleanup.h"
#include "trace/export-dat.h"
#include "trace/receipt.h"
#include "trace/symbols.h"

#define MISSED_EVENTS (UINT64_C(1) << 31)
#define MISSED_STORED (UINT64_C(1) << 30)
#define COMMIT_MASK   ((UINT64_C(1) << 27) - 1)

enum {
        OPTION_DATE = 1,
        OPTION_CPUSTAT = 2,
        OPTION_TRACECLOCK = 4,
        OPTION_UNAME = 5,
        OPTION_VERSION = 9,
};

/* The FILE keeps errors (ferror), so the callers need not check each call. */
static void export_dat_put(FILE *out, const void *data, size_t size) {
        (void)fwrite(data, 1, size, out);
}

/* A FILE with an error retries with each write, so errno is that of the last one. */
static int put_result(FILE *out) {
        if (!ferror(out))
                return 0;
        return errno > 0 ? -errno : -EIO;
}

static void export_dat_put_number(FILE *out, uint64_t number, size_t size) {
        number = htole64(number);
        export_dat_put(out, &number, size);
}

static void export_dat_put_text(FILE *out, const char *text) {
        export_dat_put_number(out, strlen(text), 8);
        export_dat_put(out, text, strlen(text));
}

static void put_option(FILE *out, unsigned id, const char *text) {
        export_dat_put_number(out, id, 2);
        export_dat_put_number(out, strlen(text) + 1, 4);
        export_dat_put(out, text, strlen(text) + 1);
}

static void export_dat_put_head(FILE *out, const Trace *trace) {
        static const uint8_t magic[] = "\x17\x08\x44tracing6";
        const char *page = stream_string(trace->stream.metadata, "header-page");
        const char *event = stream_string(trace->stream.metadata, "header-event");

        export_dat_put(out, magic, sizeof(magic));
        export_dat_put_number(out, 0, 1); /* little-endian */
        export_dat_put_number(out, trace->decode->long_size, 1);
        export_dat_put_number(out, trace->stream.subbuf_size, 4);
        export_dat_put(out, "header_page", 12);
        export_dat_put_text(out, page ? page : "");
        export_dat_put(out, "header_event", 13);
        export_dat_put_text(out, event ? event : "");
}

typedef struct System {
        const char *name;
        uint32_t n_events;
} System;

/* stream.c has checked that both strings exist. */
static const char *event_string(json_object *events, size_t i, const char *key) {
        return stream_string(json_object_array_get_idx(events, i), key);
}

static void put_formats(FILE *out, json_object *events, const System *system) {
        export_dat_put_number(out, system->n_events, 4);
        for (size_t i = 0; i < json_object_array_length(events); i++)
                if (strcmp(event_string(events, i, "system"), system->name) == 0)
                        export_dat_put_text(out, event_string(events, i, "format"));
}

static size_t count_systems(json_object *events, System *systems) {
        size_t n = 1;

        systems[0] = (System){ .name = "ftrace" };
        for (size_t i = 0; i < json_object_array_length(events); i++) {
                const char *name = event_string(events, i, "system");
                size_t k = 0;

                while (k < n && strcmp(systems[k].name, name) != 0)
                        k++;
                if (k == n)
                        systems[n++] = (System){ .name = name };
                systems[k].n_events++;
        }
        return n;
}

static int export_dat_put_events(FILE *out, const Trace *trace) {
        _cleanup_free_ System *systems = NULL;
        json_object *events;
        size_t n;

        if (!json_object_object_get_ex(trace->stream.metadata, "events", &events))
                return -EBADMSG;
        systems = calloc(json_object_array_length(events) + 1, sizeof(*systems));
        if (!systems)
                return -ENOMEM;
        n = count_systems(events, systems);
        put_formats(out, events, &systems[0]);
        export_dat_put_number(out, n - 1, 4);
        for (size_t i = 1; i < n; i++) {
                export_dat_put(out, systems[i].name, strlen(systems[i].name) + 1);
                put_formats(out, events, &systems[i]);
        }
        return 0;
}

/* "PID NAME" lines, as in saved_cmdlines. */
static int put_commands(FILE *out, const Trace *trace) {
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
        export_dat_put_text(out, text);
        free(text);
        return 0;
}

static uint64_t get_count(const json_object *cpu, const char *key) {
        json_object *value;

        return json_object_object_get_ex(cpu, key, &value) ? json_object_get_uint64(value) : 0;
}

static void export_dat_put_statistics(FILE *out, const Trace *trace) {
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
                                get_count(cpu, "cpu"),
                                get_count(cpu, "entries"),
                                get_count(cpu, "overwritten"),
                                get_count(cpu, "bytes"),
                                get_count(cpu, "lost"),
                                get_count(cpu, "read"));
                put_option(out, OPTION_CPUSTAT, text);
        }
}

/* The only option that may hold any text and that trace-cmd knows. */
static int put_version(FILE *out, const Trace *trace) {
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
        put_option(out, OPTION_VERSION, text);
        return 0;
}

/* The offset from the trace's clock to CLOCK_REALTIME, as `trace-cmd record --date` writes it: a
 * number of microseconds, as text. */
static void put_date(FILE *out, const Trace *trace) {
        char text[32];

        snprintf(text,
                        sizeof(text),
                        "0x%" PRIx64,
                        (uint64_t)(trace->decode->wall_offset_ns / 1000));
        put_option(out, OPTION_DATE, text);
}

static int put_options(FILE *out, const Trace *trace, bool with_date) {
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
        export_dat_put(out, "options  ", 10);
        export_dat_put_statistics(out, trace);
        put_option(out, OPTION_TRACECLOCK, clock);
        if (with_date)
                put_date(out, trace);
        put_option(out, OPTION_UNAME, uname);
        int r = put_version(out, trace);
        export_dat_put_number(out, 0, 2);
        return r;
}

/* The size of a chunk if its last sub-buffer were complete. */
static uint64_t full_size(const Trace *trace, const TraceChunk *chunk) {
        uint64_t unit = trace->stream.subbuf_size;

        return (chunk->size + unit - 1) / unit * unit;
}

static uint64_t lane_size(const Trace *trace, const TraceLane *lane) {
        uint64_t size = 0;

        for (size_t i = 0; i < lane->n_chunks; i++)
                size += full_size(trace, &lane->chunks[i]);
        return size;
}

static uint64_t align(const Trace *trace, uint64_t offset) {
        /* At least the largest page size, even with smaller sub-buffers: trace-cmd maps them. */
        uint64_t unit = MAX_OF(trace->stream.subbuf_size, (size_t)65536);

        return (offset + unit - 1) / unit * unit;
}

/* lanes: by CPU, NULL for a CPU without data. Returns the file's end offset. */
static uint64_t export_dat_put_table(FILE *out,
                const Trace *trace,
                TraceLane *const *lanes,
                unsigned n_cpus,
                uint64_t offset) {
        for (unsigned cpu = 0; cpu < n_cpus; cpu++) {
                uint64_t size = lanes[cpu] ? lane_size(trace, lanes[cpu]) : 0;

                export_dat_put_number(out, offset, 8);
                export_dat_put_number(out, size, 8);
                offset = align(trace, offset + size);
        }
        return offset;
}

/* Writes lost into a sub-buffer's commit word, and the number after its records if there is
 * room. */
static void mark_lost(const Trace *trace, uint8_t *subbuf, uint64_t lost) {
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

static int put_chunk(FILE *out,
                const Trace *trace,
                const TraceChunk *chunk,
                uint8_t *buffer,
                uint64_t lost) {
        size_t unit = trace->stream.subbuf_size;

        for (uint64_t place = 0; place < chunk->size; place += unit) {
                size_t n = (size_t)MIN_OF(chunk->size - place, (uint64_t)unit);
                int r = trace_read(trace, chunk->offset + place, buffer, n);

                if (r <= 0)
                        return r < 0 ? r : -EIO;
                memset(buffer + n, 0, unit - n);
                if (place == 0 && lost > 0)
                        mark_lost(trace, buffer, lost);
                /* Only zeros follow the number that mark_lost() may have added. */
                n = MIN_OF(n + 16, unit);
                export_dat_put(out, buffer, n);
                if (n < unit && fseeko(out, (off_t)(unit - n), SEEK_CUR) < 0)
                        return -errno;
        }
        return put_result(out);
}

static int put_lane(FILE *out, const Trace *trace, const TraceLane *lane, uint8_t *buffer) {
        uint64_t lost = 0;

        for (size_t i = 0; i < lane->n_chunks; i++) {
                int r;

                lost += lane->chunks[i].lost;
                if (lane->chunks[i].size == 0)
                        continue;
                r = put_chunk(out, trace, &lane->chunks[i], buffer, lost);
                if (r < 0)
                        return r;
                lost = 0;
        }
        return 0;
}

static int export_dat_put_data(FILE *out,
                const Trace *trace,
                TraceLane *const *lanes,
                unsigned n_cpus,
                uint64_t offset) {
        _cleanup_free_ uint8_t *buffer = malloc(trace->stream.subbuf_size);

        if (!buffer)
                return -ENOMEM;
        for (unsigned cpu = 0; cpu < n_cpus; cpu++) {
                int r;

                if (!lanes[cpu])
                        continue;
                if (fseeko(out, (off_t)offset, SEEK_SET) < 0)
                        return -errno;
                r = put_lane(out, trace, lanes[cpu], buffer);
                if (r < 0)
                        return r;
                offset = align(trace, offset + lane_size(trace, lanes[cpu]));
        }
        return 0;
}

/* Writes the symbols that this user may read. Every reader of the file can then see them. */
static int put_symbols(FILE *out, const Trace *trace) {
        _cleanup_free_ char *symbols = NULL;
        int r = symbols_read(trace->stream.metadata, &symbols);

        export_dat_put_number(out, symbols ? strlen(symbols) : 0, 4);
        if (symbols)
                export_dat_put(out, symbols, strlen(symbols));
        return r == -ENOMEM ? r : 0;
}

static int export_dat_put_file(FILE *out,
                const Trace *trace,
                TraceLane *const *lanes,
                unsigned n_cpus,
                bool with_date) {
        char clock[64];
        uint64_t start, end;
        int r;

        export_dat_put_head(out, trace);
        r = export_dat_put_events(out, trace);
        if (r < 0)
                return r;
        r = put_symbols(out, trace);
        if (r < 0)
                return r;
        export_dat_put_number(out, 0, 4); /* printk formats */
        r = put_commands(out, trace);
        if (r < 0)
                return r;
        export_dat_put_number(out, n_cpus, 4);
        r = put_options(out, trace, with_date);
        if (r < 0)
                return r;
        export_dat_put(out, "flyrecord", 10);

        snprintf(clock, sizeof(clock), "[%s]\n", trace->decode->clock);
        start = align(trace, (uint64_t)ftello(out) + (uint64_t)n_cpus * 16 + 8 + strlen(clock));
        end = export_dat_put_table(out, trace, lanes, n_cpus, start);
        export_dat_put_text(out, clock);
        r = export_dat_put_data(out, trace, lanes, n_cpus, start);
        if (r < 0)
                return r;
        if (fflush(out) != 0 || ftruncate(fileno(out), (off_t)end) < 0)
                return -errno;
        return put_result(out);
}

int dat_write(Trace *trace, FILE *out, bool with_date, Reason *reason) {
        _cleanup_free_ TraceLane **lanes = NULL;
        unsigned n_cpus = trace->decode->n_cpus;
        struct stat st;

        if (fstat(fileno(out), &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) || fseeko(out, 0, SEEK_SET) < 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "a trace.dat must be written to a regular file: use -o FILE");
        if (trace->n_lanes > 0)
                n_cpus = MAX_OF(n_cpus, trace->lanes[trace->n_lanes - 1]->cpu + 1);
        lanes = calloc(n_cpus, sizeof(*lanes));
        if (!lanes)
                return -ENOMEM;
        for (size_t i = 0; i < trace->n_lanes; i++)
                lanes[trace->lanes[i]->cpu] = trace->lanes[i];
        return export_dat_put_file(out, trace, lanes, n_cpus, with_date);
}
