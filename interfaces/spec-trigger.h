/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/spec.h"

typedef enum SpecAction {
        ACTION_START,    /* recording goes on */
        ACTION_STOP,     /* nothing is recorded any more */
        ACTION_SNAPSHOT, /* of a flight recorder: what is in its buffer is kept */
        ACTION_ENABLE,   /* one event */
        ACTION_DISABLE,
        ACTION_STACKTRACE,
        ACTION_HIST,
        ACTION_NOTIFY,
        _ACTION_N,
} SpecAction;

typedef struct SpecWords {
        char **items;
        size_t n;
} SpecWords;

typedef struct SpecHist {
        char *name; /* NULL: none given */
        SpecWords keys, values, sort;
        uint64_t size; /* rows; 0: not given */
} SpecHist;

struct SpecTrigger {
        SpecAction action;
        char *event;    /* "system:event" */
        char *filter;   /* NULL: none */
        char *target;   /* of enable and disable: "system:event"; else NULL */
        uint64_t count; /* 0: without end */
        SpecHist hist;
        uint32_t set_keys; /* bit i: spec_trigger_fields[i] was given */
        size_t entry;      /* in whose list it was given, see SpecTriggerList */
        size_t index;      /* in that list */
};

/* "events[4095].triggers[63]" */
typedef struct SpecTriggerPlace {
        char text[48];
} SpecTriggerPlace;

/* The keys of a trigger; types SPEC_STRING, SPEC_NUMBER and SPEC_WORDS. */
extern const SpecField spec_trigger_fields[];
extern const size_t n_spec_trigger_fields;

#define SPEC_NO_ENTRY SIZE_MAX

/* A list of triggers as a door reads it: the spec's own, or that of an entry of its events. They
 * land in spec->triggers; a spec of which one was refused is of no use any more. */
typedef struct SpecTriggerList {
        Spec *spec;
        size_t entry; /* of events, counted from 0; SPEC_NO_ENTRY: the spec's own list */
        size_t first; /* in spec->triggers */
        /* Of the list, that are in the spec already: told with it in places. 0 but where it is
         * given in parts. */
        size_t n_before;
} SpecTriggerList;

SpecTriggerList spec_triggers_begin(Spec *spec, size_t entry);
/* The next trigger, empty. KT_E_INVALID_SPEC: too many. */
int spec_triggers_add(SpecTriggerList *list, Reason *reason);
/* KT_E_UNKNOWN_KEY: *ret stays. */
int spec_triggers_find_field(const SpecTriggerList *list,
                const char *key,
                const SpecField **ret,
                Reason *reason);
int spec_triggers_refuse_type(const SpecTriggerList *list,
                const SpecField *field,
                const char *got,
                Reason *reason);
/* A key of the trigger that was added last. */
int spec_triggers_set_string(SpecTriggerList *list,
                const SpecField *field,
                const char *value,
                Reason *reason);
int spec_triggers_set_number(SpecTriggerList *list,
                const SpecField *field,
                uint64_t value,
                Reason *reason);
/* Begins a list of words, then each of them. */
int spec_triggers_begin_words(SpecTriggerList *list, const SpecField *field, Reason *reason);
int spec_triggers_add_word(SpecTriggerList *list,
                const SpecField *field,
                const char *word,
                Reason *reason);
/* All of them are read: what belongs together is judged. event: the entry's name; NULL for the
 * spec's own list. */
int spec_triggers_end(SpecTriggerList *list, const char *event, Reason *reason);

const char *spec_action_to_string(SpecAction action);
/* Where it stands in what was given. */
SpecTriggerPlace spec_trigger_place(const SpecTrigger *trigger);
void spec_trigger_clear(SpecTrigger *trigger);
/* Between triggers: one name for one histogram. */
int spec_check_triggers(const Spec *spec, Reason *reason);
