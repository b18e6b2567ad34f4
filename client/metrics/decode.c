/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Makes the values of labels from the numbers that the kernel counts by. Called by totals.c for
 * each new row, and again for rows whose task may have moved. Reads /proc, /sys/dev/block and
 * /sys/fs/cgroup; all other decoders are pure. It relies on these numbers of the kernel: a block
 * device's number has 20 bits for the minor (MKDEV in include/linux/kdev_t.h), and a cgroup's id is
 * the inode number of its directory (kernfs). */

#include "metrics/decode.h"

#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "names/argument.h"
#include "names/syscall.h"

#define CGROUP_ROOT     "/sys/fs/cgroup"
#define CGROUPS_MAX     8192 /* directories to look at for one id */
#define DEV_MINOR_BITS  20
#define CGROUP_LINE_MAX (PATH_MAX + 128)

void decode_path(const char *from, char text[static DECODE_TEXT_MAX]) {
        static const char mark[] = "...";
        size_t size = strlen(from), n_mark = strlen(mark);

        if (size < DECODE_TEXT_MAX) {
                memcpy(text, from, size + 1);
                return;
        }
        size_t kept = DECODE_TEXT_MAX - 1 - n_mark;
        memcpy(text, mark, n_mark);
        memcpy(text + n_mark, from + size - kept, kept + 1);
}

static bool decode_number(const DecodeKey *key, char text[static DECODE_TEXT_MAX]) {
        if (key->is_negative)
                (void)snprintf(text, DECODE_TEXT_MAX, "%" PRId64, (int64_t)key->number);
        else
                (void)snprintf(text, DECODE_TEXT_MAX, "%" PRIu64, key->number);
        return true;
}

static bool decode_syscall(const DecodeKey *key, char text[static DECODE_TEXT_MAX]) {
        const char *name = syscall_get_name(SYSCALL_TABLE_NATIVE, (int64_t)key->number);

        if (!name)
                return decode_number(key, text);
        (void)snprintf(text, DECODE_TEXT_MAX, "%s", name);
        return true;
}

/* "ENOENT" for -2; "none" for a result that is no error. */
static bool decode_errno(const DecodeKey *key, char text[static DECODE_TEXT_MAX]) {
        int64_t result = (int64_t)key->number;

        if (!key->is_negative && key->number <= UINT32_MAX)
                result = (int32_t)key->number; /* a field without a sign */
        const char *name =
                        result < 0 ? argument_get_error(result < -INT32_MAX ? 0 : -result) : "none";
        if (!name)
                return decode_number(key, text);
        (void)snprintf(text, DECODE_TEXT_MAX, "%s", name);
        return true;
}

static bool decode_device(const DecodeKey *key, char text[static DECODE_TEXT_MAX]) {
        uint64_t major = key->number >> DEV_MINOR_BITS,
                 minor = key->number & ((UINT64_C(1) << DEV_MINOR_BITS) - 1);
        char path[96], target[PATH_MAX];

        (void)snprintf(text, DECODE_TEXT_MAX, "%" PRIu64 ":%" PRIu64, major, minor);
        (void)snprintf(path, sizeof(path), "/sys/dev/block/%s", text);
        ssize_t n = readlink(path, target, sizeof(target) - 1);
        if (n <= 0)
                return true;
        target[n] = '\0';
        const char *slash = strrchr(target, '/');
        decode_path(slash ? slash + 1 : target, text);
        return true;
}

/* Cgroups */

/* Reads the path of a process's cgroup: the line "0::/PATH". */
static bool decode_find_task_cgroup(uint64_t pid, char path[static CGROUP_LINE_MAX]) {
        char file[64], line[CGROUP_LINE_MAX];
        bool is_found = false;

        if (pid == 0) { /* the idle task, or an interrupt in it */
                strcpy(path, "/");
                return true;
        }
        (void)snprintf(file, sizeof(file), "/proc/%" PRIu64 "/cgroup", pid);
        _cleanup_fclose_ FILE *in = fopen(file, "re");
        while (in && !is_found && fgets(line, sizeof(line), in))
                if (strncmp(line, "0::", 3) == 0) {
                        line[strcspn(line, "\n")] = '\0';
                        strcpy(path, line + 3);
                        is_found = true;
                }
        return is_found;
}

static bool decode_find_cgroup(uint64_t id, char path[static CGROUP_LINE_MAX]) {
        char *const roots[] = { (char *)CGROUP_ROOT, NULL };
        FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
        bool is_found = false;
        unsigned n = 0;
        FTSENT *entry;

        while (tree && !is_found && n < CGROUPS_MAX && (entry = fts_read(tree))) {
                if (entry->fts_info != FTS_D)
                        continue;
                n++;
                if (entry->fts_statp->st_ino != id)
                        continue;
                const char *inner = entry->fts_path + strlen(CGROUP_ROOT);
                (void)snprintf(path, CGROUP_LINE_MAX, "%s", *inner ? inner : "/");
                is_found = true;
        }
        if (tree)
                (void)fts_close(tree);
        return is_found;
}

static bool has_suffix(const char *name, size_t size, const char *const *suffixes) {
        for (; *suffixes; suffixes++) {
                size_t n = strlen(*suffixes);

                if (size > n && strncmp(name + size - n, *suffixes, n) == 0)
                        return true;
        }
        return false;
}

/* Takes the directory below the slices, as systemd makes them. A unit with the right to make
 * cgroups can give them any name, even the name of another unit. So everything below a unit counts
 * as it. */
void decode_unit(const char *path, char text[static DECODE_TEXT_MAX]) {
        static const char *const units[] = { ".service",
                ".scope",
                ".socket",
                ".mount",
                ".swap",
                NULL },
                                 *const slices[] = { ".slice", NULL };
        bool is_slice = true;

        (void)snprintf(text, DECODE_TEXT_MAX, "-.slice");
        while (is_slice) {
                path += strspn(path, "/");
                size_t size = strcspn(path, "/");

                is_slice = has_suffix(path, size, slices);
                if (is_slice || has_suffix(path, size, units))
                        (void)snprintf(text, DECODE_TEXT_MAX, "%.*s", (int)size, path);
                path += size;
        }
}

static bool decode_cgroup(const SetLabel *label,
                const DecodeKey *key,
                char text[static DECODE_TEXT_MAX]) {
        char path[CGROUP_LINE_MAX];
        bool is_known = set_label_is_task(label) ? decode_find_task_cgroup(key->number, path)
                                                 : decode_find_cgroup(key->number, path);

        if (!is_known)
                (void)snprintf(text, DECODE_TEXT_MAX, DECODE_UNKNOWN);
        else if (label->decoder == DECODER_UNIT)
                decode_unit(path, text);
        else
                decode_path(path, text);
        return is_known;
}

/* Tables */

static bool decode_table(const SetLabel *label,
                const DecodeKey *key,
                char text[static DECODE_TEXT_MAX]) {
        for (size_t i = 0; i < label->n_names; i++)
                if ((uint64_t)label->names[i].number == key->number) {
                        (void)snprintf(text, DECODE_TEXT_MAX, "%s", label->names[i].text);
                        return true;
                }
        return decode_number(key, text);
}

/* "write|user|0x40": the names in their order, then the bits without a name. The entry for 0 is for
 * numbers without any bit. */
static bool decode_bits(const SetLabel *label,
                const DecodeKey *key,
                char text[static DECODE_TEXT_MAX]) {
        uint64_t rest = key->number;
        size_t used = 0;

        if (rest == 0)
                return decode_table(label, key, text);
        text[0] = '\0';
        for (size_t i = 0; i < label->n_names && used < DECODE_TEXT_MAX; i++) {
                uint64_t bits = (uint64_t)label->names[i].number;

                if (bits == 0 || (rest & bits) != bits)
                        continue;
                rest &= ~bits;
                used += (size_t)snprintf(text + used,
                                DECODE_TEXT_MAX - used,
                                "%s%s",
                                used > 0 ? "|" : "",
                                label->names[i].text);
        }
        if (rest != 0 && used < DECODE_TEXT_MAX)
                (void)snprintf(text + used,
                                DECODE_TEXT_MAX - used,
                                "%s0x%" PRIx64,
                                used > 0 ? "|" : "",
                                rest);
        return true;
}

bool decode_is_volatile(const SetLabel *label) {
        return label->decoder == DECODER_CGROUP || label->decoder == DECODER_UNIT;
}

bool decode_label(const SetLabel *label, const DecodeKey *key, char text[static DECODE_TEXT_MAX]) {
        switch (label->decoder) {
        case DECODER_SYSCALL:
                return decode_syscall(key, text);
        case DECODER_ERRNO:
                return decode_errno(key, text);
        case DECODER_DEVICE:
                return decode_device(key, text);
        case DECODER_CGROUP:
        case DECODER_UNIT:
                return decode_cgroup(label, key, text);
        case DECODER_COMM:
                (void)snprintf(text, DECODE_TEXT_MAX, "%s", key->comm ?: DECODE_UNKNOWN);
                return key->comm != NULL;
        case DECODER_TABLE:
                return decode_table(label, key, text);
        case DECODER_BITS:
                return decode_bits(label, key, text);
        case DECODER_NUMBER:
        case DECODER_CPU:
        case _DECODER_N:
                break;
        }
        return decode_number(key, text);
}
