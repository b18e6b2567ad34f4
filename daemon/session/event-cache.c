/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Caches the list of the kernel's events and their parsed formats. The registry owns one cache.
 * Decisions, CheckSession and ListEvents read them through it. Reading the list takes a
 * millisecond, because the kernel prints each name. Reading and parsing a format takes 15 us, and a
 * spec may name 2,000 events many times.
 *
 * The kernel never adds or removes a built-in event, and never changes its format. A probe, a
 * synthetic event or a user event comes and goes, and can be defined again under the same name with
 * other fields. A module brings and takes its events, and can be replaced. All of this changes the
 * text that event_read_origins reads, and then the cache drops everything. The identifier of an
 * event in a cached format is not reliable: a probe that was removed and defined again with the
 * same words has another one. Metadata of streams therefore reads formats itself. */

#include "session/event-cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

struct EventCache {
        KnownEvents *known; /* NULL: not read yet */
        char *origins;      /* of `known`; NULL: the next refresh reads it again */
        uint64_t n_parsed;
};

KnownEvents *known_events_ref(KnownEvents *known) {
        known->n_refs++;
        return known;
}

KnownEvents *known_events_unref(KnownEvents *known) {
        if (!known || --known->n_refs > 0)
                return NULL;
        for (size_t i = 0; known->formats && i < known->list->n_names; i++)
                format_free(known->formats[i]);
        free(known->formats);
        event_list_free(known->list);
        event_list_free(known->dynamic);
        free(known);
        return NULL;
}

static void known_events_cleanup(KnownEvents **known) {
        known_events_unref(*known);
}

static int known_events_load(const Tracefs *tracefs, const EventList *earlier, KnownEvents **ret) {
        _cleanup_(known_events_cleanup) KnownEvents *known = calloc(1, sizeof(*known));

        if (!known)
                return -ENOMEM;
        known->n_refs = 1;
        int r = event_list_load(tracefs, earlier, &known->list);
        r = r ?: event_list_load_dynamic(tracefs, &known->dynamic);
        if (r < 0)
                return r;
        known->formats = calloc(known->list->n_names ?: 1, sizeof(*known->formats));
        if (!known->formats)
                return -ENOMEM;
        *ret = TAKE_PTR(known);
        return 0;
}

int event_cache_new(EventCache **ret) {
        EventCache *cache = calloc(1, sizeof(*cache));

        if (!cache)
                return -ENOMEM;
        *ret = cache;
        return 0;
}

EventCache *event_cache_free(EventCache *cache) {
        if (!cache)
                return NULL;
        known_events_unref(cache->known);
        free(cache->origins);
        free(cache);
        return NULL;
}

/* The list may change while it is read. If the origins are different after it was read, it serves
 * one decision only. Consumes origins. */
static int event_cache_read(EventCache *cache, const Tracefs *tracefs, char *origins) {
        _cleanup_free_ char *before = origins, *after = NULL;
        KnownEvents *known;

        int r = known_events_load(tracefs, cache->known ? cache->known->list : NULL, &known);
        if (r < 0)
                return r;
        known_events_unref(cache->known);
        cache->known = known;
        free(cache->origins);
        cache->origins = NULL;
        r = event_read_origins(tracefs, &after);
        if (r == 0 && strcmp(before, after) == 0)
                cache->origins = TAKE_PTR(before);
        return r;
}

int event_cache_refresh(EventCache *cache, const Tracefs *tracefs, KnownEvents **ret) {
        _cleanup_free_ char *origins = NULL;

        int r = event_read_origins(tracefs, &origins);
        if (r == 0 && (!cache->origins || strcmp(cache->origins, origins) != 0))
                r = event_cache_read(cache, tracefs, TAKE_PTR(origins));
        if (r == 0)
                *ret = cache->known;
        return r;
}

/* Compares SYSTEM:NAME with a name of the list as strcmp does. */
static int compare_name(const char *system, const char *name, const char *full) {
        size_t size = strlen(system);

        return strncmp(system, full, size) ?: ':' - (int)(unsigned char)full[size]
                                           ?: strcmp(name, full + size + 1);
}

/* Returns the index of the event, or n_names. Most callers ask for one event after the other in the
 * order of the list, some twice for the same one. */
static size_t known_events_find(const KnownEvents *known, const char *system, const char *name) {
        const EventList *list = known->list;
        size_t low = 0, high = list->n_names;

        for (size_t i = known->last; i < list->n_names && i < known->last + 2; i++)
                if (compare_name(system, name, list->names[i]) == 0)
                        return i;
        while (low < high) {
                size_t middle = low + (high - low) / 2;
                int order = compare_name(system, name, list->names[middle]);

                if (order == 0)
                        return middle;
                if (order < 0)
                        high = middle;
                else
                        low = middle + 1;
        }
        return list->n_names;
}

static int event_cache_parse(EventCache *cache,
                const Tracefs *tracefs,
                const char *system,
                const char *name,
                Format **ret) {
        _cleanup_free_ char *text = NULL;
        Reason reason = {};
        size_t size = 0;

        int r = event_read_format(tracefs, system, name, &text, &size);
        r = r ?: format_parse(text, size, ret, &reason);
        if (r == -EBADMSG)
                log_warning("the format of %s:%s cannot be read: %s", system, name, reason.text);
        if (r == 0)
                cache->n_parsed++;
        return r;
}

int event_cache_get_format(EventCache *cache,
                const Tracefs *tracefs,
                const char *system,
                const char *name,
                const Format **ret) {
        KnownEvents *known = cache->known;
        size_t i = known ? known_events_find(known, system, name) : 0;
        int r = 0;

        if (!known || i == known->list->n_names)
                return -ENOENT;
        if (!known->formats[i])
                r = event_cache_parse(cache, tracefs, system, name, &known->formats[i]);
        known->last = i;
        if (r == 0)
                *ret = known->formats[i];
        return r;
}

bool event_cache_is_dynamic(const EventCache *cache, const char *system, const char *name) {
        char full[512];

        /* The kernel lists a user event that has several formats under another name. */
        if (!cache->known || strcmp(system, "user_events_multi") == 0)
                return true;
        (void)snprintf(full, sizeof(full), "%s:%s", system, name);
        return event_list_has(cache->known->dynamic, full);
}

uint64_t event_cache_get_n_parsed(const EventCache *cache) {
        return cache->n_parsed;
}
