/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/spec.h"

typedef enum SpecAction {
        ACTION_START,    /* resumes recording */
        ACTION_STOP,     /* stops recording */
        ACTION_SNAPSHOT, /* flight recorder: keeps the contents of the buffer */
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
        uint64_t count; /* 0: unlimited */
        SpecHist hist;
        uint32_t set_keys; /* bit i: spec_trigger_fields[i] was given */
        size_t entry;      /* the entry whose list contains it, see SpecTriggerList */
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

/* A list of triggers while it is read: the spec's own list, or the list of an entry of its
 * events. The triggers are added to spec->triggers. After a refused trigger the spec must not be
 * used. */
typedef struct SpecTriggerList {
        Spec *spec;
        size_t entry; /* index in events; SPEC_NO_ENTRY: the spec's own list */
        size_t first; /* in spec->triggers */
        /* The triggers of this list that are already in the spec, counted in error messages. Not
         * 0 only if the list is given in several parts. */
        size_t n_before;
} SpecTriggerList;

SpecTriggerList spec_triggers_begin(Spec *spec, size_t entry);
/* Adds an empty trigger. KT_E_INVALID_SPEC: too many. */
int spec_triggers_add(SpecTriggerList *list, Reason *reason);
/* KT_E_UNKNOWN_KEY: *ret is unchanged. */
int spec_triggers_find_field(const SpecTriggerList *list,
                const char *key,
                const SpecField **ret,
                Reason *reason);
int spec_triggers_refuse_type(const SpecTriggerList *list,
                const SpecField *field,
                const char *got,
                Reason *reason);
/* Sets a key of the trigger that was added last. */
int spec_triggers_set_string(SpecTriggerList *list,
                const SpecField *field,
                const char *value,
                Reason *reason);
int spec_triggers_set_number(SpecTriggerList *list,
                const SpecField *field,
                uint64_t value,
                Reason *reason);
/* Begins a list of words, then adds each word. */
int spec_triggers_begin_words(SpecTriggerList *list, const SpecField *field, Reason *reason);
int spec_triggers_add_word(SpecTriggerList *list,
                const SpecField *field,
                const char *word,
                Reason *reason);
/* Ends the list and checks combinations. event: the entry's name; NULL for the spec's own list. */
int spec_triggers_end(SpecTriggerList *list, const char *event, Reason *reason);

const char *spec_action_to_string(SpecAction action);
/* True for hist and notify, which count hits. */
bool spec_trigger_is_counter(const SpecTrigger *trigger);
/* True for start and stop, which open and close the window. */
bool spec_trigger_is_window(const SpecTrigger *trigger);
/* Its place in the input. */
SpecTriggerPlace spec_trigger_place(const SpecTrigger *trigger);
void spec_trigger_clear(SpecTrigger *trigger);
/* Checks across triggers: a name belongs to one histogram. */
int spec_check_triggers(const Spec *spec, Reason *reason);
