/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel/event.h"

/* The kernel's events at one moment. Whoever holds a reference can use the list, also after the
 * cache has a newer one. */
typedef struct KnownEvents {
        unsigned n_refs;
        EventList *list;
        EventList *dynamic; /* those that were made at run time, without modules */
        Format **formats;   /* as many as names; NULL: not read yet */
        size_t last;        /* index of the last format that was asked for */
} KnownEvents;

KnownEvents *known_events_ref(KnownEvents *known);
KnownEvents *known_events_unref(KnownEvents *known);

/* The list of the kernel's events and their parsed formats. Each is read from tracefs once. */
typedef struct EventCache EventCache;

int event_cache_new(EventCache **ret);
EventCache *event_cache_free(EventCache *cache);
DEFINE_CLEANUP(EventCache, event_cache_free);
/* Reads the list again, and drops every format, if a probe or a module has changed since the last
 * call. Call it before each decision. *ret is borrowed until the next call. */
int event_cache_refresh(EventCache *cache, const Tracefs *tracefs, KnownEvents **ret);
/* *ret is borrowed until the next refresh. Fails with -ENOENT if there is no such event. */
int event_cache_get_format(EventCache *cache,
                const Tracefs *tracefs,
                const char *system,
                const char *name,
                const Format **ret);
/* Returns whether the event was made at run time: a probe, a synthetic event or a user event. */
bool event_cache_is_dynamic(const EventCache *cache, const char *system, const char *name);
/* Returns the number of formats that were read and parsed so far. */
uint64_t event_cache_get_n_parsed(const EventCache *cache);
