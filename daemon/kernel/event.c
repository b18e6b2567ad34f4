/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the kernel can tell: the list of its events and the format of each. Called by session (to
 * decide and to write a stream's metadata); holds nothing between calls.
 *
 * It relies on available_events having one "system:name" a line, on an open `format` file never
 * keeping an instance from being removed, and on formats of the top directory being those of every
 * instance.
 *
 * It does not parse formats (interfaces/format.h does) and does not ask who may see an event. */

#include <errno.h>
#include <string.h>

#include "event.h"
#include "path.h"

EventList *event_list_free(EventList *list) {
        if (!list)
                return NULL;
        for (size_t i = 0; i < list->n_events; i++) {
                free(list->events[i].system);
                free(list->events[i].name);
        }
        free(list->events);
        free(list);
        return NULL;
}

static int compare_events(const void *a, const void *b) {
        const EventName *x = a, *y = b;
        int r = strcmp(x->system, y->system);
        return r != 0 ? r : strcmp(x->name, y->name);
}

/* A probe that a broken tool put twice into one group is listed twice. */
static void remove_duplicates(EventList *list) {
        size_t n = 0;

        for (size_t i = 0; i < list->n_events; i++) {
                EventName *event = &list->events[i];
                if (n > 0 && compare_events(&list->events[n - 1], event) == 0) {
                        free(event->system);
                        free(event->name);
                        continue;
                }
                list->events[n++] = *event;
        }
        list->n_events = n;
}

static int add_line(EventList *list, const char *line, size_t size) {
        const char *colon = memchr(line, ':', size);
        if (!colon || colon == line || colon + 1 == line + size)
                return -EBADMSG;

        size_t system_size = (size_t)(colon - line);
        EventName *event = &list->events[list->n_events];
        event->system = strndup(line, system_size);
        event->name = strndup(colon + 1, size - system_size - 1);
        list->n_events++;
        return event->system && event->name ? 0 : -ENOMEM;
}

static size_t count_lines(const char *text) {
        size_t n = 1;
        for (; *text; text++)
                n += *text == '\n';
        return n;
}

int event_list_load(const Tracefs *tracefs, EventList **ret) {
        _cleanup_free_ char *text = NULL;
        int r = tracefs_read(tracefs->fd, "available_events", &text, NULL);
        if (r < 0)
                return r;

        _cleanup_(event_list_free_cleanup) EventList *list = calloc(1, sizeof(*list));
        if (!list)
                return -ENOMEM;
        list->events = calloc(count_lines(text), sizeof(*list->events));
        if (!list->events)
                return -ENOMEM;

        for (const char *line = text; *line;) {
                size_t size = strcspn(line, "\n");
                if (size > 0) {
                        r = add_line(list, line, size);
                        if (r < 0)
                                return r;
                }
                line += size + (line[size] == '\n');
        }

        qsort(list->events, list->n_events, sizeof(*list->events), compare_events);
        remove_duplicates(list);
        *ret = TAKE_PTR(list);
        return 0;
}

ssize_t event_list_find(const EventList *list, const char *system, const char *name) {
        if (list->n_events == 0)
                return -1;

        EventName key = { .system = (char *)system, .name = (char *)name };
        const EventName *found = bsearch(
                        &key, list->events, list->n_events, sizeof(*list->events), compare_events);
        return found ? found - list->events : -1;
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
