/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "define/definition.h"
#include "define/function.h"
#include "define/user-spot.h"
#include "interfaces/format.h"
#include "interfaces/user-place.h"

typedef struct ProbeTree ProbeTree;

#define PROBE_FIELD_NAME_MAX 31 /* bytes; the kernel's MAX_ARG_NAME_LEN */
#define PROBE_FETCH_MAX      63 /* bytes of an argument after "="; the kernel's MAX_ARGSTR_LEN */
#define PROBE_LINE_MAX       4094

typedef enum FieldShow {
        SHOW_PLAIN,
        SHOW_SWAPPED, /* big-endian, on a little-endian machine */
        SHOW_ADDRESS, /* IPv4 */
        SHOW_NAMES,   /* of an enum */
} FieldShow;

/* The event that a field belongs to. */
typedef enum FieldSide {
        SIDE_FROM,
        SIDE_TO,
        SIDE_LATENCY, /* the time between both events */
} FieldSide;

/* A field of the event that the kernel makes for a definition. */
typedef struct ProbeField {
        char name[PROBE_FIELD_NAME_MAX + 1];
        char fetch[PROBE_FETCH_MAX + 1]; /* "+12(+24($arg1)):u16" */
        char type[16];                   /* "u16", "string", "u8[6]" */
        FieldShow show;
        bool is_free;   /* a cast, a register, or a number as an address: a caller can make it point
                           anywhere */
        char *source;   /* the event field with its value; NULL: none */
        FieldSide side; /* for a definition on two events */
        char *names;    /* SHOW_NAMES: "{ 0, \"RED\" }, …" */
        char *c_type;   /* the type in the kernel's source; NULL: unknown */
} ProbeField;

/* A field that shows which of two events belong together: an integer of the same type in both. */
typedef struct ProbeKey {
        char *from;
        char *to;
} ProbeKey;

/* A compiled definition. */
typedef struct ProbeForm {
        char *place; /* "tcp_sendmsg", "mod:function+16"; "SYSTEM.EVENT";
                        "STATE-DIR/fe01-131:0x00…16(0x4010)" */
        bool is_event;
        bool is_pair;
        bool in_usec; /* the time between the two events */
        ProbeKey keys[DEFINITION_KEYS_MAX];
        size_t n_keys;
        bool is_return;
        bool takes_entry; /* takes arguments of the function at its return */
        ProbeField *fields;
        size_t n_fields;
        struct ProbeForm *next; /* the same fields at another place; may be NULL */
} ProbeForm;

/* The place of a definition: function, format or place is set. A definition on two events has both
 * format and to. */
typedef struct CompileContext {
        const ProbeFunction *function;
        const Format *format;   /* of the event, or of the first one */
        const Format *to;       /* of the second one */
        const UserPlace *place; /* in a program */
        bool is_marker;         /* place is a marker */
        bool is_return;
} CompileContext;

/* Compiles a complete definition that is not raw, by the kernel's types. Fails with
 * KT_E_INVALID_SPEC and "args[N] column M: …", or with KT_E_NO_SUCH_FUNCTION. */
int probe_compile(ProbeKernel *kernel,
                const Definition *definition,
                ProbeForm **ret,
                Reason *reason);
/* Compiles a definition on an event, by that event's format. */
int probe_compile_event(const Definition *definition,
                const Format *format,
                ProbeForm **ret,
                Reason *reason);
ProbeForm *probe_form_free(ProbeForm *form);
DEFINE_CLEANUP(ProbeForm, probe_form_free);
/* Makes "p:GROUP/NAME PLACE NAME=FETCH …", one line for each place. */
int probe_form_to_line(const ProbeForm *form,
                const char *group,
                const char *name,
                char **ret,
                Reason *reason);

/* The input for the two triggers that make a pair's records: each trigger begins with "hist:". The
 * names of their variables contain `token`, `event` is the name in the kernel. conditions: the
 * filter of each side, or NULL. */
typedef struct PairPlace {
        const char *from; /* "SYSTEM.EVENT" */
        const char *token, *event, *clock, *conditions[2];
        unsigned entries;
        bool tells_start; /* each record contains the time of the first event: pair-start.h */
} PairPlace;

/* Compiles all of a definition's arguments into a form that has none yet. */
int probe_compile_args(ProbeForm *form,
                const CompileContext *context,
                const Definition *definition,
                Reason *reason);
