/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "terminal/options.h"
#include "trace/selection.h"

/* The options that choose a part of a recording, of all verbs that read recordings. */
typedef struct SelectionOptions {
        Selection selection;
        CpuList cpus;
        int error; /* of the first option that is wrong */
        Reason reason;
} SelectionOptions;

enum {
        OPTION_SELECT_FROM = OPTION_VERB + 0x100,
        OPTION_SELECT_UNTIL,
        OPTION_SELECT_LAST,
        OPTION_SELECT_EVENT,
        OPTION_SELECT_PID,
        OPTION_SELECT_CPU,
};

/* clang-format off */
#define SELECTION_OPTIONS                                            \
        { "from",  required_argument, NULL, OPTION_SELECT_FROM },           \
        { "until", required_argument, NULL, OPTION_SELECT_UNTIL },          \
        { "last",  required_argument, NULL, OPTION_SELECT_LAST },           \
        { "event", required_argument, NULL, OPTION_SELECT_EVENT },          \
        { "pid",   required_argument, NULL, OPTION_SELECT_PID },            \
        { "cpu",   required_argument, NULL, OPTION_SELECT_CPU }

#define SELECTION_HELP                                                                        \
        "  --from TIME          only from this time on: 0.5 or 10ms after the start, @100.25\n"\
        "                       of the trace's clock, or 12:34:56.5 of the day (UTC)\n"       \
        "  --until TIME         only before this time\n"                                      \
        "  --last DURATION      only this long before the end, such as 2s\n"                  \
        "  --event PATTERN      only these events, such as sched_switch or 'sched:*'; may be\n"\
        "                       repeated\n"                                                   \
        "  --pid LIST           only these threads, with switches to them and wake-ups\n"     \
        "  --cpu LIST           only these CPUs, such as 0-3,5\n"
/* clang-format on */

/* Takes the option if it is one of the above, and returns whether it is. argument is borrowed. */
bool selection_options_take(SelectionOptions *options, int option, const char *argument);
/* Call it after the last option. Fails with the reason of the first wrong option. */
int selection_options_finish(const SelectionOptions *options, Reason *reason);
