/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What definitions of probes cost: probe-cost resolve N | bus N | bare N, as JSON. resolve: in this
 * process, by the running kernel's types. bus, bare: N probes defined and on in an instance, by
 * ktraced and by bare writes to tracefs; needs kprobes. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-bus.h>
#include <time.h>

#include "define/compile.h"
#include "interfaces/names.h"

#define FUNCTION "vfs_read"
#define BARE     KT_TRACEFS_DIR "/instances/ktbench"

static double now_ms(void) {
        struct timespec t;

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void check(int r, const char *what) {
        if (r >= 0)
                return;
        fprintf(stderr, "probe-cost: %s: %s\n", what, strerror(-r));
        exit(1);
}

static void resolve(unsigned n) {
        _cleanup_(definition_free_cleanup) Definition *d = definition_new();
        _cleanup_(tracefs_free_cleanup) Tracefs *tracefs = NULL;
        ProbeKernel *kernel = NULL;
        ProbeForm *form = NULL;
        Reason reason = {};

        definition_set_string(d, "name", "mine", NULL);
        definition_set_string(d, "on", "tcp_sendmsg", NULL);
        definition_add_arg(d, "dport = sk.__sk_common.skc_dport : be16", NULL);
        definition_add_arg(d, "size", NULL);
        definition_add_arg(d, "ino = ((struct socket *)sk.sk_socket).file.f_inode.i_ino", NULL);
        check(-tracefs_open(KT_TRACEFS_DIR, &tracefs, &reason), reason.text);
        double begin = now_ms();
        check(probe_kernel_load(tracefs, &kernel), "load");
        double first = now_ms() - begin;
        begin = now_ms();
        for (unsigned i = 0; i < n; i++) {
                if (probe_compile(kernel, d, &form, &reason) != 0) {
                        fprintf(stderr, "probe-cost: %s\n", reason.text);
                        exit(1);
                }
                form = probe_form_free(form);
        }
        printf("{\"load_ms\": %.3f, \"each_ms\": %.4f}\n", first, (now_ms() - begin) / n);
        probe_kernel_free(kernel);
}

static void write_file(const char *path, const char *text) {
        int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

        if (fd < 0 || write(fd, text, strlen(text)) < 0) {
                check(-errno, path);
        }
        close(fd);
}

static void bare(unsigned n) {
        char text[256];
        double begin = now_ms();

        for (unsigned i = 0; i < n; i++) {
                (void)snprintf(text, sizeof(text), "p:ktbench/b%u " FUNCTION " count=$arg3:u64", i);
                write_file(KT_TRACEFS_DIR "/kprobe_events", text);
        }
        check(mkdir(BARE, 0700) < 0 ? -errno : 0, BARE);
        for (unsigned i = 0; i < n; i++) {
                (void)snprintf(text, sizeof(text), BARE "/events/ktbench/b%u/enable", i);
                write_file(text, "1");
        }
        printf("{\"ms\": %.3f}\n", now_ms() - begin);
        write_file(BARE "/events/enable", "0");
        check(rmdir(BARE) < 0 ? -errno : 0, "rmdir");
        for (unsigned i = 0; i < n; i++) {
                (void)snprintf(text, sizeof(text), "-:ktbench/b%u", i);
                write_file(KT_TRACEFS_DIR "/kprobe_events", text);
        }
}

static sd_bus_message *call(sd_bus *bus, sd_bus_message *m) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *answer = NULL;

        int r = sd_bus_call(bus, m, 0, &error, &answer);
        check(r, error.message ?: "call");
        sd_bus_message_unref(m);
        return answer;
}

static sd_bus_message *make_call(sd_bus *bus,
                const char *path,
                const char *interface,
                const char *member) {
        sd_bus_message *m = NULL;

        check(sd_bus_message_new_method_call(bus, &m, KT_BUS_NAME, path, interface, member),
                        member);
        return m;
}

static void by_bus(unsigned n) {
        sd_bus_message *m, *answer;
        const char *id, *path;
        sd_bus *bus = NULL;
        char name[32];

        check(sd_bus_open_system(&bus), "bus");
        /* The kernel's lists are read once: not what is measured here. */
        m = make_call(bus, KT_OBJECT, KT_MANAGER_INTERFACE, "ResolveFunction");
        check(sd_bus_message_append(m, "s", FUNCTION), "append");
        sd_bus_message_unref(call(bus, m));
        double begin = now_ms();
        m = make_call(bus, KT_OBJECT, KT_MANAGER_INTERFACE, "AddProbes");
        check(sd_bus_message_open_container(m, 'a', "a{sv}"), "open");
        for (unsigned i = 0; i < n; i++) {
                (void)snprintf(name, sizeof(name), "b%u", i);
                check(sd_bus_message_append(m,
                                      "a{sv}",
                                      3,
                                      "name",
                                      "s",
                                      name,
                                      "on",
                                      "s",
                                      FUNCTION,
                                      "args",
                                      "as",
                                      1,
                                      "count"),
                                "append");
        }
        check(sd_bus_message_close_container(m), "close");
        sd_bus_message_unref(call(bus, m));
        fprintf(stderr, "added %.1f\n", now_ms() - begin);
        m = make_call(bus, KT_OBJECT, KT_MANAGER_INTERFACE, "CreateSession");
        check(sd_bus_message_append(m,
                              "a{sv}",
                              2,
                              "scope",
                              "s",
                              "system",
                              "events",
                              "as",
                              1,
                              "ktrace_u0:b*"),
                        "append");
        answer = call(bus, m);
        check(sd_bus_message_read(answer, "so", &id, &path), "read");
        sd_bus_message_unref(call(bus, make_call(bus, path, KT_SESSION_INTERFACE, "Start")));
        printf("{\"ms\": %.3f}\n", now_ms() - begin);
        sd_bus_message_unref(call(bus, make_call(bus, path, KT_SESSION_INTERFACE, "Destroy")));
        for (unsigned i = 0; i < n; i++) {
                (void)snprintf(name, sizeof(name), "b%u", i);
                m = make_call(bus, KT_OBJECT, KT_MANAGER_INTERFACE, "RemoveProbe");
                check(sd_bus_message_append(m, "s", name), "append");
                sd_bus_message_unref(call(bus, m));
        }
        sd_bus_message_unref(answer);
        sd_bus_flush_close_unref(bus);
}

int main(int argc, char **argv) {
        unsigned n = argc == 3 ? (unsigned)atoi(argv[2]) : 0;

        if (n == 0)
                return 2;
        if (strcmp(argv[1], "resolve") == 0)
                resolve(n);
        else if (strcmp(argv[1], "bus") == 0)
                by_bus(n);
        else
                bare(n);
        return 0;
}
