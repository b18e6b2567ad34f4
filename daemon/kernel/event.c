/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The list of the kernel's events and the format of each. Called by session to make decisions and
 * to write a stream's metadata; keeps no state between calls.
 *
 * It relies on these behaviours of the kernel: available_events has one "system:name" per line;
 * each of these events has a file events/SYSTEM/NAME/enable; an open `format` file never prevents
 * the removal of an instance; the formats of the top directory apply to every instance.
 *
 * The kernel writes a page of available_events at a time and then continues by position. When an
 * event before that is removed during the read, with its probe, another event is missing in the
 * text: with probes that come and go all the time, in nearly each text (measured with
 * Linux 6.18). The directories below events/ are not read instead. Reading one while something in
 * it is removed can end the process in the kernel, with a lock held (seen with Linux 6.18:
 * eventfs_iterate() follows a list whose entries are not protected).
 *
 * It does not parse formats (interfaces/format.h does) and does not check who may see an event. */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/event.h"
#include "kernel/path.h"

#define READS_MAX   8
#define MODULES_MAX ((size_t)4 * 1024 * 1024)

EventList *event_list_free(EventList *list) {
        if (!list)
                return NULL;
        free(list->names);
        free(list->text);
        free(list);
        return NULL;
}

static int event_compare_names(const void *a, const void *b) {
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A probe that a tool added twice to one group is listed twice. */
static void remove_duplicates(EventList *list) {
        size_t n = 0;

        for (size_t i = 0; i < list->n_names; i++)
                if (n == 0 || strcmp(list->names[n - 1], list->names[i]) != 0)
                        list->names[n++] = list->names[i];
        list->n_names = n;
}

static bool event_is_name(const char *line) {
        size_t system = strcspn(line, ":");

        return system > 0 && line[system] == ':' && line[system + 1] != '\0';
}

static size_t event_count_lines(const char *text) {
        size_t n = 1;
        for (; *text; text++)
                n += *text == '\n';
        return n;
}

/* Splits the text into lines. */
static int find_names(EventList *list) {
        for (char *line = list->text, *next; *line; line = next) {
                size_t size = strcspn(line, "\n");

                next = line + size + (line[size] == '\n');
                line[size] = '\0';
                if (size == 0)
                        continue;
                if (!event_is_name(line))
                        return -EBADMSG;
                list->names[list->n_names++] = line;
        }
        return 0;
}

/* Consumes text. */
static int event_list_parse(char *text, EventList **ret) {
        _cleanup_(event_list_free_cleanup) EventList *list = calloc(1, sizeof(*list));

        if (!list) {
                free(text);
                return -ENOMEM;
        }
        list->text = text;
        list->names = calloc(event_count_lines(text), sizeof(*list->names));
        if (!list->names)
                return -ENOMEM;
        int r = find_names(list);
        if (r < 0)
                return r;
        qsort(list->names, list->n_names, sizeof(*list->names), event_compare_names);
        remove_duplicates(list);
        *ret = TAKE_PTR(list);
        return 0;
}

bool event_list_has(const EventList *list, const char *name) {
        return list->n_names > 0 && bsearch(&name,
                                                    list->names,
                                                    list->n_names,
                                                    sizeof(*list->names),
                                                    event_compare_names);
}

static bool event_exists(const Tracefs *tracefs, const char *name) {
        char path[PATH_MAX];
        int system = (int)strcspn(name, ":");

        (void)snprintf(path,
                        sizeof(path),
                        "events/%.*s/%s/enable",
                        system,
                        name,
                        name + system + 1);
        return faccessat(tracefs->fd, path, F_OK, 0) == 0;
}

/* Adds the events of other lists that the kernel still has. */
static int add_existing(EventList **list,
                const Tracefs *tracefs,
                const EventList *const others[2]) {
        EventList *more = NULL;
        char *text = NULL;
        size_t size, n = 0;

        FILE *out = open_memstream(&text, &size);
        if (!out)
                return -ENOMEM;
        for (size_t i = 0; i < 2; i++)
                for (size_t j = 0; others[i] && j < others[i]->n_names; j++) {
                        const char *name = others[i]->names[j];

                        if (!event_list_has(*list, name) && event_exists(tracefs, name))
                                n += fprintf(out, "%s\n", name) > 0;
                }
        for (size_t i = 0; n > 0 && i < (*list)->n_names; i++)
                fprintf(out, "%s\n", (*list)->names[i]);
        if (fclose(out) != 0 || n == 0) {
                free(text);
                return n == 0 ? 0 : -ENOMEM;
        }
        int r = event_list_parse(text, &more);
        if (r == 0) {
                event_list_free(*list);
                *list = more;
        }
        return r;
}

/* Reads the list until two texts are the same. Returns the last in ret, those before in ret_others.
 */
static int read_lists(const Tracefs *tracefs, EventList **ret, EventList **ret_others) {
        _cleanup_free_ char *last = NULL, *others = NULL;
        bool is_same = false;
        size_t size;
        int r = 0;

        FILE *out = open_memstream(&others, &size);
        if (!out)
                return -ENOMEM;
        for (int i = 0; r == 0 && !is_same && i < READS_MAX; i++) {
                _cleanup_free_ char *text = NULL;

                r = tracefs_read(tracefs->fd, "available_events", &text, NULL);
                is_same = r == 0 && last && strcmp(text, last) == 0;
                if (last && !is_same)
                        fputs(last, out);
                free(last);
                last = TAKE_PTR(text);
        }
        if (fclose(out) != 0)
                return -ENOMEM;
        r = r ?: event_list_parse(TAKE_PTR(others), ret_others);
        return r ?: event_list_parse(TAKE_PTR(last), ret);
}

int event_list_load(const Tracefs *tracefs, const EventList *earlier, EventList **ret) {
        _cleanup_(event_list_free_cleanup) EventList *list = NULL, *others = NULL;

        int r = read_lists(tracefs, &list, &others);
        r = r ?: add_existing(&list, tracefs, (const EventList *const[]){ others, earlier });
        if (r == 0)
                *ret = TAKE_PTR(list);
        return r;
}

/* "p:GROUP/NAME …", "r64:GROUP/NAME …", "s:synthetic/NAME<tab>…", and "u:NAME …" for user_events.
 */
static void print_dynamic(FILE *out, const char *line) {
        const char *name = line + strcspn(line, ":");
        size_t size = strcspn(name, " \t");
        const char *slash = memchr(name, '/', size);

        if (*name == '\0')
                return;
        name++;
        size--;
        if (slash && slash > name && slash + 1 < name + size)
                fprintf(out,
                                "%.*s:%.*s\n",
                                (int)(slash - name),
                                name,
                                (int)(name + size - slash - 1),
                                slash + 1);
        else if (*line == 'u' && !slash && size > 0)
                fprintf(out, "user_events:%.*s\n", (int)size, name);
}

int event_list_load_dynamic(const Tracefs *tracefs, EventList **ret) {
        _cleanup_free_ char *text = NULL;
        char *names = NULL, *rest, *line;
        size_t size;

        int r = tracefs_read_list(tracefs->fd, "dynamic_events", &text);
        if (r < 0 && r != -ENOENT) /* a kernel without probes and synthetic events */
                return r;
        FILE *out = open_memstream(&names, &size);
        if (!out)
                return -ENOMEM;
        for (rest = text; (line = strsep(&rest, "\n"));)
                print_dynamic(out, line);
        if (fclose(out) != 0) {
                free(names);
                return -ENOMEM;
        }
        return event_list_parse(names, ret);
}

/* Prints a line of /proc/modules without the users of the module, which change often. The state
 * belongs to it: a module is listed before its events exist. */
static void print_module(FILE *out, char *line) {
        enum { NAME, SIZE, STATE = 4, ADDRESS };

        char *rest = line, *word;

        for (int i = 0; i <= ADDRESS && (word = strsep(&rest, " \n")); i++)
                if (i == NAME || i == SIZE || i >= STATE)
                        fprintf(out, "%s ", word);
        fputc('\n', out);
}

static int print_modules(FILE *out) {
        _cleanup_free_ char *text = NULL;
        char *rest, *line;

        int r = fd_read_file_at(AT_FDCWD, "/proc/modules", MODULES_MAX, &text, NULL);
        if (r == -ENOENT) /* a kernel without modules */
                return 0;
        if (r < 0)
                return r;
        for (rest = text; (line = strsep(&rest, "\n"));)
                print_module(out, line);
        return 0;
}

int event_read_origins(const Tracefs *tracefs, char **ret) {
        _cleanup_free_ char *dynamic = NULL, *text = NULL;
        size_t size;

        int r = tracefs_read_list(tracefs->fd, "dynamic_events", &dynamic);
        if (r < 0 && r != -ENOENT) /* a kernel without probes and synthetic events */
                return r;
        FILE *out = open_memstream(&text, &size);
        if (!out)
                return -ENOMEM;
        fputs(dynamic ?: "", out);
        r = print_modules(out);
        if (fclose(out) != 0)
                return -ENOMEM;
        if (r == 0)
                *ret = TAKE_PTR(text);
        return r;
}

int event_read_format(const Tracefs *tracefs,
                const char *system,
                const char *name,
                char **ret,
                size_t *ret_size) {
        TracefsPath path;

        if (path_format(&path, "events", system, name, "format", NULL) < 0)
                return -ENOENT;
        return tracefs_read(tracefs->fd, path.text, ret, ret_size);
}
