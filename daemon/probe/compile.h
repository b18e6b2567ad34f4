/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "definition.h"
#include "format.h"
#include "function.h"
#include "user-place.h"
#include "user-spot.h"

#define PROBE_FIELD_NAME_MAX 31 /* bytes; the kernel's MAX_ARG_NAME_LEN */
#define PROBE_FETCH_MAX      63 /* bytes of one argument behind its "="; the kernel's MAX_ARGSTR_LEN */
#define PROBE_LINE_MAX       4094

typedef enum FieldShow {
        SHOW_PLAIN,
        SHOW_SWAPPED, /* big-endian, on a machine that is not */
        SHOW_ADDRESS, /* IPv4 */
        SHOW_NAMES,   /* of an enum */
} FieldShow;

/* A field of the event that the kernel makes. */
typedef struct ProbeField {
        char name[PROBE_FIELD_NAME_MAX + 1];
        char fetch[PROBE_FETCH_MAX + 1]; /* "+12(+24($arg1)):u16" */
        char type[16];                   /* "u16", "string", "u8[6]" */
        FieldShow show;
        bool is_free; /* a cast, a register, a number as an address: leads wherever a caller likes
                       */
        char *source; /* the field of an event that it has its value of; NULL: none */
        char *names;  /* SHOW_NAMES: "{ 0, \"RED\" }, …" */
        char *c_type; /* as the kernel's source has it; NULL: unknown */
} ProbeField;

/* What became of a definition. */
typedef struct ProbeForm {
        char *place; /* "tcp_sendmsg", "mod:function+16"; "SYSTEM.EVENT";
                        "/proc/self/fd/7:0x00…16(0x4010)" */
        bool is_event;
        bool is_return;
        bool takes_entry; /* arguments of the function, at its return */
        ProbeField *fields;
        size_t n_fields;
        struct ProbeForm *next; /* the same fields at another place; NULL: there is none */
} ProbeForm;

/* One of the first three. */
typedef struct CompileContext {
        const ProbeFunction *function;
        const Format *format;   /* of an event */
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
/* The same for a definition on a file: which the kernel finds as `file`, with the places in it. */
int probe_compile_user(const Definition *definition,
                const char *file,
                const UserPlace *places,
                size_t n_places,
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
/* A format's text with the last line written so that values are shown as their types want it. */
int probe_form_show(const ProbeForm *form, const char *format, char **ret);
