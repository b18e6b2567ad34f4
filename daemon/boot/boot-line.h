/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/boot-mark.h"
#include "interfaces/error.h"

/* What our words on the kernel's command line request. */
typedef struct BootLine {
        BootMark mark;
        char *text;          /* the words, separated by blanks; "": they are in a bootconfig */
        const char **events; /* "SYSTEM:EVENT", "SYSTEM:*", "*:EVENT" */
        size_t n_events;
        char *names; /* holds the text of `events` */
        bool has_probes;
        bool is_instance;              /* instances/NAME, not the top buffer */
        bool is_persistent;            /* its memory may hold the recording of the previous boot */
        bool keeps_oldest, has_stacks; /* trace_options= */
} BootLine;

/* Returns 0 and NULL if there is no mark. Fails with KT_E_FAILED if the mark was made for other
 * words. */
int boot_line_parse(const char *command_line, BootLine **ret, Reason *reason);
BootLine *boot_line_free(BootLine *line);
DEFINE_CLEANUP(BootLine, boot_line_free);
/* Returns whether the words have enabled this event ("SYSTEM:EVENT"). */
bool boot_line_has(const BootLine *line, const char *event);
