/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "define/definition.h"
#include "define/function.h"
#include "define/user-spot.h"
#include "interfaces/format.h"
#include "interfaces/user-place.h"

typedef struct ProbeTree ProbeTree;

#define PROBE_FIELD_NAME_MAX 31 /* bytes; the kernel's MAX_ARG_NAME_LEN */
#define PROBE_FETCH_MAX      63 /* bytes of one argument behind its "="; the kernel's MAX_ARGSTR_LEN */
#define PROBE_LINE_MAX       4094

typedef enum FieldShow {
        SHOW_PLAIN,
        SHOW_SWAPPED, /* big-endian, on a machine that is not */
        SHOW_ADDRESS, /* IPv4 */
        SHOW_NAMES,   /* of an enum */
} FieldShow;

/* Whose field it is. */
typedef enum FieldSide {
        SIDE_FROM,
        SIDE_TO,
        SIDE_LATENCY, /* of both: the time between them */
} FieldSide;

/* A field of the event that the kernel makes. */
typedef struct ProbeField {
        char name[PROBE_FIELD_NAME_MAX + 1];
        char fetch[PROBE_FETCH_MAX + 1]; /* "+12(+24($arg1)):u16" */
        char type[16];                   /* "u16", "string", "u8[6]" */
        FieldShow show;
        bool is_free;   /* a cast, a register, a number as an address: leads wherever a caller likes
                         */
        char *source;   /* the field of an event that it has its value of; NULL: none */
        FieldSide side; /* of one on two events */
        char *names;    /* SHOW_NAMES: "{ 0, \"RED\" }, …" */
        char *c_type;   /* as the kernel's source has it; NULL: unknown */
} ProbeField;

/* A field that tells which of two events belong together: whole numbers alike. */
typedef struct ProbeKey {
        char *from;
        char *to;
} ProbeKey;

/* What became of a definition. */
typedef struct ProbeForm {
        char *place; /* "tcp_sendmsg", "mod:function+16"; "SYSTEM.EVENT";
                        "STATE-DIR/fe01-131:0x00…16(0x4010)" */
        bool is_event;
        bool is_pair;
        bool in_usec; /* the time between the two events */
        ProbeKey keys[DEFINITION_KEYS_MAX];
        size_t n_keys;
        bool is_return;
        bool takes_entry; /* arguments of the function, at its return */
        ProbeField *fields;
        size_t n_fields;
        struct ProbeForm *next; /* the same fields at another place; NULL: there is none */
} ProbeForm;

/* One of the first three. */
typedef struct CompileContext {
        const ProbeFunction *function;
        const Format *format;   /* of an event, */
        const Format *to;       /* the first of two: of the second */
        const UserPlace *place; /* in a program */
        bool is_marker;         /* the place's */
        bool is_return;
} CompileContext;

/* The definition, which is complete and not raw, by the kernel's types. KT_E_INVALID_SPEC with
 * "args[N] column M: …", KT_E_NO_SUCH_FUNCTION. */
int probe_compile(ProbeKernel *kernel,
                const Definition *definition,
                ProbeForm **ret,
                Reason *reason);
/* The same of one on an event, by that event's format. */
int probe_compile_event(const Definition *definition,
                const Format *format,
                ProbeForm **ret,
                Reason *reason);
ProbeForm *probe_form_free(ProbeForm *form);
DEFINE_CLEANUP(ProbeForm, probe_form_free);
/* "p:GROUP/NAME PLACE NAME=FETCH …", a line for each place. */
int probe_form_to_line(const ProbeForm *form,
                const char *group,
                const char *name,
                char **ret,
                Reason *reason);

/* The two triggers that make its records: each begins with "hist:". `token` makes the names of
 * their variables, `event` is the name in the kernel; conditions: NULL or what each
 * side is asked. */
typedef struct PairPlace {
        const char *from; /* "SYSTEM.EVENT" */
        const char *token, *event, *clock, *conditions[2];
        unsigned entries;
        bool tells_start; /* each record says when the first event was: pair-start.h */
} PairPlace;

/* All of a definition's arguments, into a form that has none yet. */
int probe_compile_args(ProbeForm *form,
                const CompileContext *context,
                const Definition *definition,
                Reason *reason);
/* KT_E_INVALID_SPEC with "args[N] column M: ..." */
int probe_refuse(const ProbeTree *tree, const char *at, const char *format, ...) _printf_(3, 4);
