/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The metadata that makes a stream readable on another machine: the kernel's record layout, the
 * formats of the granted events only, the clock, and the receipt. trace.c calls it on the worker
 * thread. It never contains kernel symbols.
 *
 * To add a clock: its conversion to the time of day is here and in client/export/wall-clock.c;
 * tests/e2e/clocks.sh. */

#include "trace/metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/describe.h"
#include "base/fd.h"
#include "define/compile-pair.h"
#include "define/show.h"
#include "interfaces/frame.h"
#include "interfaces/spec-trigger.h"
#include "policy/grant-describe.h"
#include "policy/grant-field.h"
#include "trace/receipt.h"
#include "trace/trace-borrow.h"
#include "trace/trace-layout.h"
#include "trace/trace-locate.h"
#include "trace/trace-pairs.h"
#include "trace/trace-statistics.h"

#define NAMES_MAX ((size_t)8 * 1024 * 1024)

static int metadata_add_string(json_object *object, const char *key, const char *value) {
        return describe_put(object, key, json_object_new_string(value));
}

static int metadata_add_number(json_object *object, const char *key, uint64_t value) {
        return describe_put(object, key, json_object_new_uint64(value));
}

bool metadata_get_clock(const char *name, clockid_t *ret) {
        static const struct {
                const char *name;
                clockid_t id;
        } clocks[] = {
                { "mono", CLOCK_MONOTONIC },
                { "mono_raw", CLOCK_MONOTONIC_RAW },
                { "boot", CLOCK_BOOTTIME },
                { "tai", CLOCK_TAI },
        };

        for (size_t i = 0; i < ELEMENTSOF(clocks); i++) {
                if (strcmp(name, clocks[i].name) != 0)
                        continue;
                *ret = clocks[i].id;
                return true;
        }
        return false;
}

static int64_t to_nsec(const struct timespec *t) {
        return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static bool metadata_read_clock(clockid_t clock, int64_t *ret) {
        struct timespec t;

        if (clock_gettime(clock, &t) < 0)
                return false;
        *ret = to_nsec(&t);
        return true;
}

/* Reads the trace's clock. If no system call reads this clock, the kernel reports it with the
 * counters of an instance. For clocks in nanoseconds, that value is cut to microseconds. */
static bool read_trace_clock(const Trace *trace, int64_t *ret, int64_t *ret_error) {
        CpuStatistics s;
        clockid_t clock;

        *ret_error = 0;
        if (metadata_get_clock(trace_get_clock(trace), &clock))
                return metadata_read_clock(clock, ret);
        if (trace_read_ring_statistics(trace, 0, &s) < 0 || s.now_nsec == 0)
                return false;
        *ret = (int64_t)s.now_nsec + 500;
        *ret_error = 500;
        return true;
}

#define CLOCK_READINGS 5 /* takes the best: the daemon may be preempted */

/* Returns another clock minus the trace clock, and the maximum error. Returns false if the trace
 * clock has no fixed relation to it. */
static bool clock_offset(const Trace *trace, clockid_t other, int64_t *ret, int64_t *ret_error) {
        *ret_error = INT64_MAX;
        for (unsigned i = 0; i < CLOCK_READINGS; i++) {
                int64_t before, now, after, error;

                if (!metadata_read_clock(other, &before) ||
                                !read_trace_clock(trace, &now, &error) ||
                                !metadata_read_clock(other, &after))
                        return false;
                error += (after - before) / 2 + 1;
                if (after < before || error >= *ret_error)
                        continue;
                *ret = before + (after - before) / 2 - now;
                *ret_error = error;
        }
        return *ret_error < INT64_MAX;
}

/* The two other clocks go on while the machine is suspended, and "mono" does not. */
static int add_offsets(json_object *object, const Trace *trace) {
        int64_t offset, error;

        if (!clock_offset(trace, CLOCK_REALTIME, &offset, &error))
                return 0;
        int r = describe_put(object, "realtime-offset-nsec", json_object_new_int64(offset));
        r = r ?: describe_put(object, "realtime-error-nsec", json_object_new_int64(error));
        if (r != 0)
                return r;
        if (strcmp(trace_get_clock(trace), "boot") == 0)
                offset = 0;
        else if (!clock_offset(trace, CLOCK_BOOTTIME, &offset, &error))
                return 0;
        return describe_put(object, "boot-offset-nsec", json_object_new_int64(offset));
}

/* A reader compares it to learn whether the addresses of the running kernel match the stream. */
static int add_boot_id(json_object *object) {
        char text[64] = "";

        _cleanup_close_ int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
        if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
                return 0; /* symbol names are optional */
        text[strcspn(text, "\n")] = '\0';
        return metadata_add_string(object, "boot-id", text);
}

static int add_machine(json_object *object, const Trace *trace) {
        struct utsname u;

        if (uname(&u) < 0)
                return -errno;
        int r = metadata_add_number(object, "version", STREAM_VERSION);
        r = r ?: metadata_add_string(object, "machine", u.nodename);
        r = r ?: metadata_add_string(object, "kernel", u.release);
        r = r ?: metadata_add_string(object, "arch", u.machine);
        r = r ?: add_boot_id(object);
        r = r ?: metadata_add_number(object, "long-size", sizeof(long));
        r = r ?: metadata_add_number(object, "page-size", (uint64_t)sysconf(_SC_PAGESIZE));
        r = r ?: metadata_add_number(object, "subbuf-size", trace->subbuf_size);
        r = r ?: metadata_add_number(object, "cpus", trace->n_cpus);
        r = r ?: metadata_add_string(object, "clock", trace_get_clock(trace));
        return r ?: add_offsets(object, trace);
}

/* Prefers the instance's own file, if the kernel has one: its sub-buffers may differ in size from
 * the top level's. */
static int add_header(json_object *object, const char *key, const Trace *trace, const char *path) {
        _cleanup_free_ char *text = NULL;

        int r = tracefs_read(trace->instance->fd, path, &text, NULL);
        if (r == -ENOENT)
                r = tracefs_read(trace->tracefs->fd, path, &text, NULL);
        return r ?: metadata_add_string(object, key, text);
}

/* The second line of the format contains the id. */
static int format_id(const char *text, uint64_t *ret) {
        const char *line = strstr(text, "\nID: ");

        if (!line)
                return -EBADMSG;
        *ret = strtoull(line + 5, NULL, 10);
        return 0;
}

/* Describes how the consumer changes the records, for it and for the reader: ktrace-stream(5). */
static int add_cuts(json_object *event,
                const Trace *trace,
                const GrantEvent *granted,
                const char *text,
                size_t size) {
        _cleanup_(format_free_cleanup) Format *format = NULL;
        json_object *cuts = json_object_new_array();

        int r = describe_put(event, "cut", cuts);
        r = r ?: format_parse(text, size, &format, NULL);
        const char *also_of = r == 0 ? grant_get_also_of(trace->grant, granted, format) : NULL;
        if (also_of)
                r = metadata_add_string(event, "also-of", also_of);
        return r ?: grant_describe_cuts(trace->grant, granted, format, NULL, cuts);
}

static int show_pair(const Probe *probe, char **text) {
        char *shown;

        int r = probe_pair_show(probe->form, probe->definition->name, *text, &shown);
        if (r < 0)
                return r;
        free(*text);
        *text = shown;
        return 0;
}

/* The kernel does not know a probe's declared types, so the format is rewritten to show its values
 * accordingly. */
static int show_probe(const Trace *trace, const GrantEvent *event, char **text, size_t *size) {
        for (size_t i = 0; i < trace->n_probes; i++) {
                const Probe *probe = trace->probes[i];
                char *shown;

                if (!probe->form || strcmp(probe->group, event->system) != 0 ||
                                strcmp(probe->definition->name, event->name) != 0)
                        continue;
                int r = probe_is_pair(probe) ? show_pair(probe, text) : 0;
                r = r ?: probe_form_show(probe->form, *text, &shown);
                if (r < 0)
                        return r;
                free(*text);
                *text = shown;
                *size = strlen(shown);
        }
        return 0;
}

int metadata_add_event(json_object *events, const Trace *trace, const GrantEvent *event) {
        _cleanup_free_ char *text = NULL;
        const char *system, *name;
        uint64_t id = 0;
        size_t size = 0;

        trace_locate(trace, event, &system, &name);
        int r = event_read_format(trace->tracefs, system, name, &text, &size);
        r = r ?: format_id(text, &id);
        r = r ?: trace_learn_layout(trace, event, text, id);
        r = r ?: show_probe(trace, event, &text, &size);
        if (r < 0)
                return r;
        json_object *object = json_object_new_object();
        r = describe_append(events, object);
        r = r ?: metadata_add_string(object, "system", event->system);
        r = r ?: metadata_add_string(object, "name", event->name);
        r = r ?: metadata_add_number(object, "id", id);
        r = r ?: metadata_add_string(object, "format", text);
        if (r == 0 && event->filter)
                r = metadata_add_string(object, "filter", event->filter);
        if (r == 0 && event->is_of_program)
                r = describe_put(object, "task", json_object_new_boolean(true));
        if (r < 0 || !(trace->grant->fenced || trace->grant->redacted))
                return r;
        return add_cuts(object, trace, event, text, size);
}

/* A mark belongs to its owner. If the session hides addresses, only the address of the kernel code
 * that wrote the mark is zeroed. */
static int add_marks(json_object *events, const Trace *trace) {
        static const char cuts[] = "[{\"field\":\"ip\",\"how\":\"zero\"}]";
        _cleanup_free_ char *text = NULL;
        json_object *object = json_object_new_object();
        uint64_t id = 0;
        size_t size;

        int r = event_read_format(trace->tracefs, "ftrace", "print", &text, &size);
        r = r ?: format_id(text, &id);
        if (r < 0) {
                json_object_put(object);
                return r;
        }
        r = describe_append(events, object);
        r = r ?: metadata_add_string(object, "system", "ftrace");
        r = r ?: metadata_add_string(object, "name", "print");
        r = r ?: metadata_add_number(object, "id", id);
        r = r ?: metadata_add_string(object, "format", text);
        if (r == 0 && (trace->grant->fenced || trace->grant->redacted))
                r = describe_put(object, "cut", json_tokener_parse(cuts));
        return r;
}

/* Adds a record type of the kernel that is not an event. */
static int add_internal(json_object *events, const Trace *trace, const char *name) {
        GrantEvent event = { .system = (char *)"ftrace", .name = (char *)name };
        int r = metadata_add_event(events, trace, &event);

        return r == -ENOENT ? 0 : r; /* this kernel lacks it */
}

/* A trigger can also request stack traces. For a fenced or redacted grant the consumer passes none.
 */
static bool has_stacks(const Trace *trace) {
        bool wants = trace->spec->stacktrace;

        for (size_t i = 0; i < trace->spec->n_triggers; i++)
                wants = wants || trace->spec->triggers[i].action == ACTION_STACKTRACE;
        return wants && !trace->grant->fenced && !trace->grant->redacted;
}

static int add_internals(json_object *events, const Trace *trace) {
        const Spec *spec = trace->spec;
        int r = has_stacks(trace) ? add_internal(events, trace, "kernel_stack") : 0;

        r = r || !spec->tracer ? r : add_internal(events, trace, "function");
        r = r || !spec->tracer ? r : add_internal(events, trace, "funcgraph_entry");
        return r || !spec->tracer ? r : add_internal(events, trace, "funcgraph_exit");
}

static bool is_granted(const Trace *trace, const char *system, const char *name) {
        for (size_t i = 0; i < trace->grant->n_events; i++)
                if (strcmp(trace->grant->events[i].system, system) == 0 &&
                                strcmp(trace->grant->events[i].name, name) == 0)
                        return true;
        return false;
}

/* Adds the events that the maker of a borrowed instance has enabled. A grant that may borrow an
 * instance removes nothing from records. */
static int add_borrowed(json_object *events, const Trace *trace) {
        _cleanup_free_ char *text = NULL;
        char *line, *next;

        int r = trace->borrow ? tracefs_read_list(trace->instance->fd, "set_event", &text) : 0;
        for (line = text; r == 0 && line && *line; line = next) {
                char *end = line + strcspn(line, "\n"), *colon = strchr(line, ':');

                next = *end ? end + 1 : end;
                *end = '\0';
                if (!colon || colon > end)
                        continue;
                *colon = '\0';
                if (!is_granted(trace, line, colon + 1)) {
                        GrantEvent event = { .system = line, .name = colon + 1 };

                        r = metadata_add_event(events, trace, &event);
                        r = r == -ENOENT ? 0 : r;
                }
        }
        return r;
}

static int metadata_add_events(json_object *object, const Trace *trace) {
        json_object *events = json_object_new_array();

        int r = describe_put(object, "events", events);
        r = r ?: add_marks(events, trace);
        r = r ?: add_internals(events, trace);
        r = r ?: add_borrowed(events, trace);
        for (size_t i = 0; r == 0 && i < trace->grant->n_events; i++)
                if (!trace->grant->events[i].is_unrecorded)
                        r = metadata_add_event(events, trace, &trace->grant->events[i]);
        return r;
}

static int add_session(json_object *object, const Trace *trace) {
        json_object *session = json_object_new_object(), *receipt = json_object_new_object();

        int r = describe_put(object, "session", session);
        int r2 = describe_put(object, "receipt", receipt);
        r = r ?: r2;
        r = r ?: metadata_add_string(session, "id", trace->id);
        r = r ?: metadata_add_string(session, "name", trace->spec->name ?: "");
        return r ?: receipt_fill(trace, receipt);
}

int metadata_make(const Trace *trace, int *ret_fd) {
        _cleanup_json_ json_object *object = json_object_new_object();

        if (!object)
                return -ENOMEM;
        int r = add_machine(object, trace);
        r = r ?: add_header(object, "header-page", trace, "events/header_page");
        r = r ?: add_header(object, "header-event", trace, "events/header_event");
        r = r ?: metadata_add_events(object, trace);
        r = r ?: add_session(object, trace);
        if (r < 0)
                return r;
        const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);
        if (!text)
                return -ENOMEM;
        int fd = fd_memfd_sealed("ktrace-metadata", text, strlen(text));
        if (fd < 0)
                return fd;
        *ret_fd = fd;
        return 0;
}

int metadata_make_names(const Trace *trace, int *ret_fd) {
        _cleanup_free_ char *text = NULL;
        size_t size;

        int r = tracefs_read(trace->tracefs->fd, "saved_cmdlines", &text, &size);
        if (r < 0)
                return r;
        int fd = fd_memfd_sealed("ktrace-names", text, MIN_OF(size, NAMES_MAX));
        if (fd < 0)
                return fd;
        *ret_fd = fd;
        return 0;
}
