/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads the names of kernel addresses. A stream never contains them. A caller that may read
 * /proc/kallsyms can add them, but only while the kernel of the recording still runs, because
 * addresses change at each boot. Called by the stream reader and by the exporter of trace.dat,
 * which stores them.
 *
 * The kernel shows only zeros in kallsyms to callers that may not see addresses (kptr_restrict). */

#include "trace/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "interfaces/cleanup.h"
#include "trace/stream.h"

#define SYMBOLS_MAX ((size_t)64 * 1024 * 1024) /* about 15 MB in practice */

static bool has_addresses(const json_object *metadata) {
        static const char *const names[] = {
                "function", "funcgraph_entry", "funcgraph_exit", "kernel_stack"
        };
        json_object *events;

        if (!json_object_object_get_ex(metadata, "events", &events) ||
                        !json_object_is_type(events, json_type_array))
                return false;
        for (size_t i = 0; i < json_object_array_length(events); i++) {
                json_object *event = json_object_array_get_idx(events, i);
                const char *system = stream_string(event, "system"),
                           *name = stream_string(event, "name");

                if (!system || !name || strcmp(system, "ftrace") != 0)
                        continue;
                for (size_t j = 0; j < ELEMENTSOF(names); j++)
                        if (strcmp(name, names[j]) == 0)
                                return true;
        }
        return false;
}

static bool is_this_boot(const Symbols *symbols, const json_object *metadata) {
        const char *boot = stream_string(metadata, "boot-id");

        return boot && symbols->boot_id[0] != '\0' && strcmp(boot, symbols->boot_id) == 0;
}

static bool is_reported(const char *text) {
        static const char zero[] = "\n0000000000000000 ";

        /* A few symbols of x86 have address 0 for all users, so one zero means nothing. */
        for (const char *line = strchr(text, '\n'); line && line[1]; line = strchr(line + 1, '\n'))
                if (strncmp(line, zero, strlen(zero)) != 0)
                        return true;
        return false;
}

static int symbols_read_all(int fd, char **ret) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0, room = 0;

        for (;;) {
                if (size + 1 >= room) {
                        char *grown = room < SYMBOLS_MAX ? realloc(text, room ? room * 2 : 1 << 20)
                                                         : NULL;
                        if (!grown)
                                return -ENOMEM;
                        text = grown;
                        room = room ? room * 2 : 1 << 20;
                }
                ssize_t n = read(fd, text + size, room - size - 1);
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                size += (size_t)n;
        }
        text[size] = '\0';
        *ret = TAKE_PTR(text);
        return 0;
}

void symbols_open(Symbols *ret) {
        _cleanup_close_ int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

        *ret = (Symbols){ .fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC) };
        if (fd < 0 || read(fd, ret->boot_id, sizeof(ret->boot_id) - 1) < 0)
                ret->boot_id[0] = '\0';
        ret->boot_id[strcspn(ret->boot_id, "\n")] = '\0';
}

void symbols_close(Symbols *symbols) {
        close_cleanup(&symbols->fd);
}

int symbols_read(const Symbols *symbols, const json_object *metadata, char **ret) {
        _cleanup_free_ char *text = NULL;

        if (symbols->fd < 0 || !has_addresses(metadata) || !is_this_boot(symbols, metadata))
                return 0;
        if (lseek(symbols->fd, 0, SEEK_SET) < 0)
                return -errno;
        int r = symbols_read_all(symbols->fd, &text);
        if (r == 0 && is_reported(text))
                *ret = TAKE_PTR(text);
        return r;
}
