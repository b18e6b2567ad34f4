/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a kernel accepts on its command line, by its version and build configuration, and what is on
 * that of the running one. Called by bootconfig.c and blackbox-persistent.c. Reads /proc/cmdline,
 * and /boot/config-RELEASE or /proc/config.gz if they exist, and nothing else of the machine. */

#include "spec/bootconfig-kernel.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

#include "interfaces/quote.h"
#include "spec/bootconfig.h"

#define CONFIG_MAX ((size_t)1024 * 1024)
/* The kernel's COMMAND_LINE_SIZE on x86 and arm64, with the NUL. */
#define LINE_MAX_BYTES 2048

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

bool boot_is_size(const char *text) {
        size_t digits = strspn(text, "0123456789");

        return digits > 0 && digits < 10 && text[digits] && strchr("KMG", text[digits]) &&
               !text[digits + 1];
}

static void boot_read_line(char *text, size_t size) {
        _cleanup_close_ int fd = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);

        text[MAX_OF(n, (ssize_t)0)] = '\0';
}

/* The size of the words on the running kernel's command line that are not about tracing. They
 * stay there. */
static size_t count_other_words(void) {
        char text[2 * LINE_MAX_BYTES + 1], *rest = text;
        size_t size = 0;

        boot_read_line(text, sizeof(text));
        for (char *word; (word = boot_next_word(&rest));)
                if (!boot_word_traces(word) && !boot_get_value(word, BOOT_MARK))
                        size += strlen(word) + 1;
        return size;
}

int boot_check_size(const char *text, const BootKernel *kernel, Reason *reason) {
        size_t size = strlen(text), other = kernel->is_running ? count_other_words() : 0;

        if (size + other <= LINE_MAX_BYTES)
                return 0;
        return reason_set(reason,
                        KT_E_LIMIT_REACHED,
                        "a command line of the kernel has at most %d bytes: these are %zu, and "
                        "it already has %zu; use fewer events, or 'SYSTEM:*'",
                        LINE_MAX_BYTES - 1,
                        size,
                        other);
}

bool boot_has_mark(const char *mark) {
        char text[2 * LINE_MAX_BYTES + 1], *rest = text;
        size_t length = strlen(mark);

        boot_read_line(text, sizeof(text));
        for (char *word; (word = boot_next_word(&rest));) {
                const char *value = boot_get_value(word, BOOT_MARK);

                if (value && strncmp(value, mark, length) == 0 &&
                                (value[length] == '\0' || value[length] == ':'))
                        return true;
        }
        return false;
}
