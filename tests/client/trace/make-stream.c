/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* make-stream TRACEFS INSTANCE OUT [ROUNDS]: what the ring buffer of an instance holds, as a .kts
 * stream, without daemon and consumer. Used by tests of the client only. Reads whole sub-buffers,
 * as the consumer does; the last one of a CPU is cut behind its committed bytes. ROUNDS: how often
 * it reads, with pauses between, while the instance records. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "interfaces/cleanup.h"
#include "interfaces/frame.h"

static char *read_text(const char *path) {
        FILE *in = fopen(path, "re");
        char *text = calloc(1, 4 * 1024 * 1024);

        if (!in || !text) {
                fprintf(stderr, "make-stream: %s: %s\n", path, strerror(errno));
                exit(1);
        }
        (void)!fread(text, 1, 4 * 1024 * 1024 - 1, in);
        fclose(in);
        return text;
}

static char *path_of(const char *a, const char *b, const char *c) {
        char *path;

        if (asprintf(&path, "%s/%s%s", a, b, c) < 0)
                exit(1);
        return path;
}

static void put_frame(FILE *out, uint32_t type, uint32_t cpu, const void *data, size_t size) {
        FrameHeader header = { .type = type, .cpu = cpu, .size = size };
        uint8_t bytes[sizeof(header)];

        frame_header_encode(bytes, &header);
        fwrite(bytes, 1, sizeof(bytes), out);
        fwrite(data, 1, size, out);
}

static void put_json(FILE *out, uint32_t type, json_object *object) {
        const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);

        put_frame(out, type, 0, text, strlen(text));
        json_object_put(object);
}

static json_object *commands(const char *tracefs) {
        char *text = read_text(path_of(tracefs, "saved_cmdlines", "")), *rest = text, *line;
        json_object *object = json_object_new_object();

        while ((line = strsep(&rest, "\n"))) {
                char *name = strchr(line, ' ');

                if (!name)
                        continue;
                *name++ = '\0';
                json_object_object_add(object, line, json_object_new_string(name));
        }
        free(text);
        return object;
}

static void add_event(json_object *events,
                const char *instance,
                const char *system,
                const char *name) {
        char *path = path_of(instance, "events/", system), *at = path_of(path, name, "/format");
        char *text = read_text(at);
        json_object *event = json_object_new_object();

        json_object_object_add(event, "system", json_object_new_string(system));
        json_object_object_add(event, "name", json_object_new_string(name));
        json_object_object_add(event, "format", json_object_new_string(text));
        json_object_array_add(events, event);
        free(text);
        free(at);
        free(path);
}

static json_object *formats(const char *instance) {
        char *text = read_text(path_of(instance, "set_event", "")), *rest = text, *line;
        json_object *events = json_object_new_array();

        add_event(events, instance, "ftrace", "print");
        add_event(events, instance, "ftrace", "kernel_stack");
        while ((line = strsep(&rest, "\n"))) {
                char *name = strchr(line, ':');

                if (!name)
                        continue;
                *name++ = '\0';
                name[strcspn(name, " ")] = '\0';
                add_event(events, instance, line, name);
        }
        free(text);
        return events;
}

static int64_t offset_of(clockid_t clock) {
        struct timespec real, now;

        clock_gettime(CLOCK_REALTIME, &real);
        clock_gettime(clock, &now);
        return (real.tv_sec - now.tv_sec) * INT64_C(1000000000) + real.tv_nsec - now.tv_nsec;
}

static long subbuf_size_of(const char *instance) {
        char *path = path_of(instance, "buffer_subbuf_size_kb", "");
        long size = 4096;

        if (access(path, R_OK) == 0)
                size = strtol(read_text(path), NULL, 10) * 1024;
        free(path);
        return size;
}

static void put_metadata(FILE *out, const char *tracefs, const char *instance, long subbuf_size) {
        char *clock = strchr(read_text(path_of(instance, "trace_clock", "")), '[') + 1;
        json_object *object = json_object_new_object();

        clock[strcspn(clock, "]")] = '\0';
        json_object_object_add(object, "version", json_object_new_int(1));
        json_object_object_add(object, "machine", json_object_new_string("test"));
        json_object_object_add(object, "kernel", json_object_new_string("test"));
        json_object_object_add(object, "arch", json_object_new_string("x86_64"));
        json_object_object_add(object, "long-size", json_object_new_int(8));
        json_object_object_add(object, "page-size", json_object_new_int(4096));
        json_object_object_add(object, "subbuf-size", json_object_new_int64(subbuf_size));
        json_object_object_add(
                        object, "cpus", json_object_new_int64(sysconf(_SC_NPROCESSORS_CONF)));
        json_object_object_add(object, "clock", json_object_new_string(clock));
        json_object_object_add(object,
                        "realtime-offset-nsec",
                        json_object_new_int64(offset_of(CLOCK_MONOTONIC)));
        json_object_object_add(object,
                        "header-page",
                        json_object_new_string(
                                        read_text(path_of(tracefs, "events/header_page", ""))));
        json_object_object_add(object,
                        "header-event",
                        json_object_new_string(
                                        read_text(path_of(tracefs, "events/header_event", ""))));
        json_object_object_add(object, "events", formats(instance));
        put_json(out, FRAME_METADATA, object);
}

static void put_cpu(FILE *out, const char *instance, uint32_t cpu, size_t subbuf_size) {
        uint8_t *page = malloc(subbuf_size);
        _cleanup_close_ int fd = -1;
        char name[64];
        ssize_t n;

        snprintf(name, sizeof(name), "per_cpu/cpu%u/trace_pipe_raw", cpu);
        fd = open(path_of(instance, name, ""), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
                exit(1);
        while ((n = read(fd, page, subbuf_size)) > 0) {
                size_t committed;

                memcpy(&committed, page + 8, sizeof(committed));
                committed &= (1 << 27) - 1;
                /* The kernel may have put a count of lost events behind them. */
                put_frame(out,
                                FRAME_DATA,
                                cpu,
                                page,
                                MIN_OF(16 + committed + sizeof(uint64_t), (size_t)n));
                /* While this process is traced, its own calls fill the ring. */
                if (committed < subbuf_size / 2)
                        break;
        }
        free(page);
}

int main(int argc, char **argv) {
        uint8_t header[sizeof(StreamHeader)];
        json_object *end = json_object_new_object();
        int n_rounds = argc > 4 ? atoi(argv[4]) : 1;
        long subbuf_size;
        FILE *out;

        if (argc < 4 || argc > 5 || !(out = fopen(argv[3], "we")))
                return 2;
        subbuf_size = subbuf_size_of(argv[2]);
        stream_header_encode(header, STREAM_VERSION);
        fwrite(header, 1, sizeof(header), out);
        put_metadata(out, argv[1], argv[2], subbuf_size);
        for (int i = 0; i < n_rounds; i++) {
                usleep(i > 1 ? 5 * 1000 : i * 200 * 1000);
                for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++)
                        put_cpu(out, argv[2], (uint32_t)cpu, (size_t)subbuf_size);
        }
        put_json(out, FRAME_COMMANDS, commands(argv[1]));
        json_object_object_add(end, "code", json_object_new_string("stopped"));
        json_object_object_add(end, "reason", json_object_new_string("by make-stream"));
        put_json(out, FRAME_END, end);
        return fclose(out) == 0 ? 0 : 1;
}
