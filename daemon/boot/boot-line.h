/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/boot-mark.h"
#include "interfaces/error.h"

/* What our words on the kernel's command line have asked for. */
typedef struct BootLine {
        BootMark mark;
        char *text;          /* the words, by a blank each; "": a bootconfig had them */
        const char **events; /* "SYSTEM:EVENT", "SYSTEM:*", "*:EVENT" */
        size_t n_events;
        char *names; /* what they lie in */
        bool has_probes;
        bool is_instance;   /* instances/NAME, not the top buffer */
        bool is_persistent; /* its memory may hold what the boot before this one has recorded */
        bool keeps_oldest, has_stacks; /* trace_options= */
} BootLine;

/* 0 and NULL: there is no mark. KT_E_FAILED: a mark, and words that are not those it was made for.
 */
int boot_line_parse(const char *command_line, BootLine **ret, Reason *reason);
BootLine *boot_line_free(BootLine *line);
DEFINE_CLEANUP(BootLine, boot_line_free);
/* Is this event ("SYSTEM:EVENT") one that the words have turned on? */
bool boot_line_has(const BootLine *line, const char *event);
