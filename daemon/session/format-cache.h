/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel/event.h"

/* The parsed formats of events, each read from tracefs once. */
typedef struct FormatCache FormatCache;

int format_cache_new(FormatCache **ret);
FormatCache *format_cache_free(FormatCache *cache);
DEFINE_CLEANUP(FormatCache, format_cache_free);
/* Drops every format if a probe or a module has changed since the last call. Call it before each
 * decision. */
int format_cache_refresh(FormatCache *cache, const Tracefs *tracefs);
/* *ret is borrowed until the next refresh. Fails with -ENOENT if there is no such event. */
int format_cache_get(FormatCache *cache,
                const Tracefs *tracefs,
                const char *system,
                const char *name,
                const Format **ret);
/* Returns the number of formats that were read and parsed so far. */
uint64_t format_cache_get_n_parsed(const FormatCache *cache);
