/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the argument of -H that names several machines. Each name is checked as that of one machine
 * (host.c), so a list or a file from another place cannot give ssh an option.
 *
 * A recording has a file for each machine. Its name is the machine's, with %XX for each byte that
 * is not a letter, a digit, '-', '_', '@' or '.' within the name. So two machines never have the
 * same file, and no name leaves the directory or is hidden. Owns the names. */

#include "hosts/host-list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define HOST_LIST_FILE_BYTES_MAX (1024 * 1024)
#define HOST_LIST_FILE_NAME_MAX  240 /* with its suffix, a name has at most 255 bytes */

HostList *host_list_free(HostList *list) {
        if (!list)
                return NULL;
        for (size_t i = 0; i < list->n; i++) {
                free(list->entries[i].name);
                free(list->entries[i].file);
                host_done(&list->entries[i].host);
        }
        free(list->entries);
        free(list);
        return NULL;
}

static bool host_list_is_plain(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_' || c == '@';
}

char *host_list_make_file(const char *name) {
        char *file = malloc(strlen(name) * 3 + 1), *end = file;

        if (!file)
                return NULL;
        for (const char *p = name; *p; p++)
                if (host_list_is_plain(*p) || (*p == '.' && p > name))
                        *end++ = *p;
                else
                        end += sprintf(end, "%%%02X", (unsigned char)*p);
        *end = '\0';
        return file;
}

static int host_list_check(const HostList *list,
                const struct HostListEntry *entry,
                Reason *reason) {
        if (strlen(entry->file) > HOST_LIST_FILE_NAME_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "-H %s: the name is too long for a file name",
                                entry->name);
        for (size_t i = 0; i < list->n; i++)
                if (strcmp(list->entries[i].file, entry->file) == 0)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "-H: expected each machine once, got \"%s\" twice",
                                        entry->name);
        return 0;
}

static int host_list_add(HostList *list, const char *name, Reason *reason) {
        struct HostListEntry entry = {}, *entries;
        int r;

        if (list->n == HOST_LIST_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "-H: expected at most %d machines",
                                HOST_LIST_MAX);
        entries = reallocarray(list->entries, list->n + 1, sizeof(*entries));
        if (!entries)
                return -ENOMEM;
        list->entries = entries;
        r = host_parse(name, &entry.host, reason);
        if (r != 0)
                return r;
        entry.host.is_one_of_many = true;
        entry.name = strdup(name);
        entry.file = host_list_make_file(name);
        r = entry.name && entry.file ? host_list_check(list, &entry, reason) : -ENOMEM;
        if (r == 0) {
                list->entries[list->n++] = entry;
                return 0;
        }
        free(entry.name);
        free(entry.file);
        host_done(&entry.host);
        return r;
}

static int host_list_read_words(HostList *list, const char *text, Reason *reason) {
        _cleanup_free_ char *copy = strdup(text);
        char *rest = copy, *word;
        int r = copy ? 0 : -ENOMEM;

        while (r == 0 && (word = strsep(&rest, ",")))
                r = host_list_add(list, word, reason);
        return r;
}

/* A line is a name. Blanks around it and what follows a '#' are skipped. */
static int host_list_read_line(HostList *list, char *line, Reason *reason) {
        static const char blanks[] = " \t\r\n";
        size_t size;

        line[strcspn(line, "#")] = '\0';
        line += strspn(line, blanks);
        for (size = strlen(line); size > 0 && strchr(blanks, line[size - 1]); size--)
                line[size - 1] = '\0';
        return *line ? host_list_add(list, line, reason) : 0;
}

static int host_list_read_file(HostList *list, const char *path, Reason *reason) {
        _cleanup_fclose_ FILE *in = fopen(path, "re");
        _cleanup_free_ char *line = NULL;
        size_t allocated = 0, total = 0;
        ssize_t n;
        int r = 0, error;

        if (!in)
                return reason_set(reason,
                                KT_E_FAILED,
                                "-H @%s: cannot be read: %s; expected a file with a host in each line",
                                path,
                                strerror(errno));
        while (r == 0 && (n = getline(&line, &allocated, in)) > 0) {
                total += (size_t)n;
                if (total > HOST_LIST_FILE_BYTES_MAX || memchr(line, '\0', (size_t)n))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "-H @%s: expected a text file of at most 1 MiB",
                                        path);
                r = host_list_read_line(list, line, reason);
        }
        error = errno;
        if (r == 0 && ferror(in))
                r = reason_set(reason,
                                KT_E_FAILED,
                                "-H @%s: cannot be read: %s",
                                path,
                                strerror(error));
        if (r == 0 && list->n == 0)
                r = reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "-H @%s: expected a host, got none",
                                path);
        return r;
}

int host_list_parse(const char *text, HostList **ret, Reason *reason) {
        _cleanup_(host_list_free_cleanup) HostList *list = calloc(1, sizeof(*list));
        int r;

        if (!list)
                return -ENOMEM;
        r = *text == '@' ? host_list_read_file(list, text + 1, reason)
                         : host_list_read_words(list, text, reason);
        if (r == 0)
                *ret = TAKE_PTR(list);
        return r;
}
