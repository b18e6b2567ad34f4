/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/spec.h"

/* Marks `events` or `probes` as given. A second list of the same key is then refused. */
int spec_begin_list(Spec *spec, const SpecField *field, Reason *reason);
/* Adds an entry to that list. filter may be NULL. */
int spec_add_entry(Spec *spec,
                const SpecField *field,
                const char *name,
                const char *filter,
                Reason *reason);
/* The last entry of that list is not recorded from the beginning. */
void spec_turn_off_last(Spec *spec, const SpecField *field);
/* filter may be NULL. */
int spec_add_event(Spec *spec, const char *name, const char *filter, Reason *reason);
int spec_add_probe(Spec *spec, const char *name, const char *filter, Reason *reason);
/* Adds a word to a list of SPEC_WORDS, after spec_begin_list. */
int spec_add_name(Spec *spec, const SpecField *field, const char *name, Reason *reason);
/* key: "where", "events[0].filter" */
int spec_check_filter(const char *key, const char *filter, Reason *reason);
void spec_free_entries(SpecEvent *list, size_t n);
