/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Caches the parsed formats of the kernel's events. The registry owns one cache. Decisions and
 * CheckSession read formats through it. Reading and parsing a format takes 15 us, and a spec may
 * name 2,000 events many times.
 *
 * The kernel never changes the format of a built-in event. A probe, a synthetic event or a user
 * event can be removed and defined again under the same name with other fields, and a module can be
 * replaced. Both change the text that event_read_origins reads, and then the cache drops
 * everything. The identifier of an event in a cached format is not reliable: a probe that was
 * removed and defined again with the same words has another one. Metadata of streams therefore
 * reads formats itself. */

#include "session/format-cache.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

typedef struct CachedFormat {
        char *system, *name;
        Format *format;
} CachedFormat;

struct FormatCache {
        void *tree;    /* CachedFormat, tsearch(3) */
        char *origins; /* NULL: not read yet */
        uint64_t n_parsed;
};

static void cached_format_free(void *node) {
        CachedFormat *cached = node;

        if (!cached)
                return;
        free(cached->system);
        free(cached->name);
        format_free(cached->format);
        free(cached);
}

static void cached_format_cleanup(CachedFormat **cached) {
        cached_format_free(*cached);
}

static int cached_format_compare(const void *a, const void *b) {
        const CachedFormat *x = a, *y = b;

        /* Compare the names first: they differ more often than the systems. */
        return strcmp(x->name, y->name) ?: strcmp(x->system, y->system);
}

int format_cache_new(FormatCache **ret) {
        FormatCache *cache = calloc(1, sizeof(*cache));

        if (!cache)
                return -ENOMEM;
        *ret = cache;
        return 0;
}

static void format_cache_drop(FormatCache *cache) {
        tdestroy(cache->tree, cached_format_free);
        cache->tree = NULL;
}

FormatCache *format_cache_free(FormatCache *cache) {
        if (!cache)
                return NULL;
        format_cache_drop(cache);
        free(cache->origins);
        free(cache);
        return NULL;
}

int format_cache_refresh(FormatCache *cache, const Tracefs *tracefs) {
        char *origins;

        int r = event_read_origins(tracefs, &origins);
        if (r < 0)
                return r;
        if (!cache->origins || strcmp(cache->origins, origins) != 0)
                format_cache_drop(cache);
        free(cache->origins);
        cache->origins = origins;
        return 0;
}

/* Reads and parses a format. *ret is owned by the tree. */
static int format_cache_add(FormatCache *cache,
                const Tracefs *tracefs,
                const CachedFormat *key,
                CachedFormat ***ret) {
        _cleanup_(cached_format_cleanup) CachedFormat *cached = calloc(1, sizeof(*cached));
        _cleanup_free_ char *text = NULL;
        size_t size = 0;

        if (!cached)
                return -ENOMEM;
        cached->system = strdup(key->system);
        cached->name = strdup(key->name);
        if (!cached->system || !cached->name)
                return -ENOMEM;
        int r = event_read_format(tracefs, key->system, key->name, &text, &size);
        r = r ?: format_parse(text, size, &cached->format, NULL);
        if (r < 0)
                return r;
        CachedFormat **found = tsearch(cached, &cache->tree, cached_format_compare);
        if (!found)
                return -ENOMEM;
        cached = NULL; /* the tree owns it */
        cache->n_parsed++;
        *ret = found;
        return 0;
}

int format_cache_get(FormatCache *cache,
                const Tracefs *tracefs,
                const char *system,
                const char *name,
                const Format **ret) {
        const CachedFormat key = { .system = (char *)system, .name = (char *)name };
        CachedFormat **found = tfind(&key, &cache->tree, cached_format_compare);
        int r = found ? 0 : format_cache_add(cache, tracefs, &key, &found);

        if (r == 0)
                *ret = (*found)->format;
        return r;
}

uint64_t format_cache_get_n_parsed(const FormatCache *cache) {
        return cache->n_parsed;
}
