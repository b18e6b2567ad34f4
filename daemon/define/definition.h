/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>

#include "interfaces/error.h"

#define DEFINITION_NAME_MAX  63 /* bytes; of an event, in the kernel */
#define DEFINITION_ON_MAX    1023
#define DEFINITION_EVENT_MAX 128
#define DEFINITION_ARGS_MAX  128
#define DEFINITION_KEYS_MAX  3   /* at most, for a pair in the kernel */
#define DEFINITION_ARG_MAX   256 /* bytes of one argument */
#define DEFINITION_RAW_MAX   2048
#define DEFINITION_ABOUT_MAX 256

/* A definition in the user's words: on a function, or raw, or of an event, or of two events that
 * belong together. */
typedef struct Definition {
        char *name;
        char *on;      /* "[MODULE:]FUNCTION[+OFFSET]", "/FILE:0xOFFSET" (in the file),
                          "/FILE:PROVIDER:MARKER"; NULL: none */
        uint32_t file; /* a user's file, by the number of its ticket; 0: none */
        bool is_return;
        char *event; /* "SYSTEM:EVENT" with the fields; NULL: none */
        char *from;  /* "SYSTEM:EVENT" or a probe; the first event */
        char *to;
        char *keys[DEFINITION_KEYS_MAX]; /* "FIELD [= FIELD]": the same in both */
        size_t n_keys;
        char **args; /* "[NAME =] EXPRESSION [: TYPE]" */
        size_t n_args;
        char *raw;   /* "p:NAME …" in the kernel's syntax; NULL: none */
        char *about; /* one line of description; NULL: none */
} Definition;

Definition *definition_new(void);
Definition *definition_free(Definition *definition);
DEFINE_CLEANUP(Definition, definition_free);
#define DEFINITIONS_MAX 256 /* in one call */
/* Frees a list and its members. */
void definitions_free(Definition **definitions, size_t n);
/* Returns whether the definition is on a file, not on the kernel. */
bool definition_is_user(const Definition *definition);
bool definition_is_same(const Definition *a, const Definition *b);

/* The setters fail with KT_E_INVALID_SPEC, KT_E_UNKNOWN_KEY and the reason, or with -ENOMEM. They
 * refuse a key that is set already. */
int definition_set_string(Definition *d, const char *key, const char *value, Reason *reason);
int definition_set_boolean(Definition *d, const char *key, bool value, Reason *reason);
int definition_set_number(Definition *d, const char *key, uint32_t value, Reason *reason);
/* Replaces the path of a definition on a file; the place stays. */
int definition_set_path(Definition *d, const char *path, Reason *reason);
/* Adds the next entry of the list "args". */
int definition_add_arg(Definition *d, const char *value, Reason *reason);
/* Adds the next entry of the list "key". */
int definition_add_key(Definition *d, const char *value, Reason *reason);
/* The last check: all keys that belong together are set. */
int definition_complete(const Definition *d, Reason *reason);
/* Reads a definition from an object of a catalogue file. */
int definition_from_json(json_object *object, Definition **ret, Reason *reason);
/* Writes the definition as such an object. */
int definition_to_json(const Definition *d, json_object **ret);
/* Writes the definition as one line for people: "p:NAME on FUNCTION …". */
int definition_to_text(const Definition *d, char **ret);
