/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a kernel accepts on its command line, by its version and build configuration. Called by
 * bootconfig.c. Reads /boot/config-RELEASE or /proc/config.gz if they exist, and nothing else of
 * the machine. */

#include "spec/bootconfig-kernel.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <zlib.h>

#include "interfaces/quote.h"
#include "spec/bootconfig.h"

#define CONFIG_MAX ((size_t)1024 * 1024)

static bool is_at_least(const BootKernel *kernel, unsigned major, unsigned minor) {
        return kernel->major > major || (kernel->major == major && kernel->minor >= minor);
}

/* Parses a release such as "6.1.0-56-cloud-amd64". */
static int set_version(BootKernel *kernel, const char *release, Reason *reason) {
        char *end = NULL;
        unsigned long major = isdigit((unsigned char)*release) ? strtoul(release, &end, 10) : 0;
        const char *second = end && *end == '.' ? end + 1 : "";
        unsigned long minor = isdigit((unsigned char)*second) ? strtoul(second, &end, 10) : 0;

        if (!isdigit((unsigned char)*second) || major > 255 || minor > 255)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--kernel: %s is neither a file nor a release like 6.1.0",
                                quote(release).text);
        kernel->major = (unsigned)major;
        kernel->minor = (unsigned)minor;
        kernel->has_instances = is_at_least(kernel, 6, 3);
        kernel->has_persistent = is_at_least(kernel, 6, 12);
        return 0;
}

static bool bootconfig_kernel_is_set(const char *config, const char *option) {
        size_t size = strlen(option);

        for (const char *line = config; line; line = strchr(line, '\n'), line += line != NULL)
                if (strncmp(line, option, size) == 0 && strncmp(line + size, "=y", 2) == 0)
                        return true;
        return false;
}

int boot_kernel_parse(const char *config, BootKernel *ret, Reason *reason) {
        const char *head = strstr(config, "# Linux/"),
                   *end = strstr(config, " Kernel Configuration");
        BootKernel kernel = *ret;
        char release[64] = "";

        if (head && end && head < end) {
                const char *blank = strchr(head + 2, ' ');

                (void)snprintf(release,
                                sizeof(release),
                                "%.*s",
                                blank && blank < end ? (int)(end - blank - 1) : 0,
                                blank ? blank + 1 : "");
        }
        if (!release[0])
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: is not a configuration of a kernel: the line \"# Linux/… "
                                "Kernel Configuration\" is missing",
                                kernel.source);
        int r = set_version(&kernel, release, reason);
        if (r != 0)
                return r;
        kernel.has_config = true;
        kernel.has_events = bootconfig_kernel_is_set(config, "CONFIG_EVENT_TRACING");
        kernel.has_kprobes = bootconfig_kernel_is_set(config, "CONFIG_KPROBE_EVENTS");
        kernel.has_bootconfig = bootconfig_kernel_is_set(config, "CONFIG_BOOT_CONFIG") &&
                                bootconfig_kernel_is_set(config, "CONFIG_BOOTTIME_TRACING");
        *ret = kernel;
        return 0;
}

/* Reads a file that may be compressed. -ENOENT, -EACCES, … */
static int read_config(const char *path, char **ret) {
        _cleanup_free_ char *text = malloc(CONFIG_MAX + 1);
        gzFile file;

        if (!text)
                return -ENOMEM;
        file = gzopen(path, "rbe");
        if (!file)
                return errno ? -errno : -ENOMEM;
        int n = gzread(file, text, CONFIG_MAX);
        (void)gzclose(file);
        if (n <= 0)
                return -EBADMSG;
        text[n] = '\0';
        *ret = TAKE_PTR(text);
        return 0;
}

static int parse_file(const char *path, BootKernel *kernel, Reason *reason) {
        _cleanup_free_ char *text = NULL;

        int r = read_config(path, &text);
        if (r < 0)
                return r;
        (void)snprintf(kernel->source, sizeof(kernel->source), "%s", path);
        return boot_kernel_parse(text, kernel, reason);
}

/* Without its configuration, assume the usual features of that version. The kernel itself
 * reports at boot what it lacks ("Unknown kernel command line parameters"). */
static int find_release(const char *release, BootKernel *kernel, Reason *reason) {
        char path[256];

        (void)snprintf(path, sizeof(path), "/boot/config-%s", release);
        int r = strchr(release, '/') ? -ENOENT : parse_file(path, kernel, reason);
        if (r < 0 && kernel->is_running)
                r = parse_file("/proc/config.gz", kernel, reason);
        if (r >= 0)
                return r;
        r = set_version(kernel, release, reason);
        if (r != 0)
                return r;
        kernel->has_events = kernel->has_kprobes = true;
        (void)snprintf(kernel->source,
                        sizeof(kernel->source),
                        "the version %.64s only, because its configuration is not here",
                        release);
        return 0;
}

int boot_kernel_find(const char *which, BootKernel *ret, Reason *reason) {
        BootKernel kernel = {};
        struct utsname u;

        if (!which) {
                if (uname(&u) < 0)
                        return -errno;
                kernel.is_running = true;
        }
        int r = which && strchr(which, '/') ? parse_file(which, &kernel, reason)
                                            : find_release(which ?: u.release, &kernel, reason);
        if (r < 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--kernel: %s cannot be read: %s",
                                quote(which ?: u.release).text,
                                strerror(-r));
        if (r == 0)
                *ret = kernel;
        return r;
}
