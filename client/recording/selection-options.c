/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The options with which a user chooses a part of a recording. Called by the verbs that read
 * recordings. Each option is parsed when it is taken. Whether the recording has such a part is
 * judged later, when it is open. */

#include "recording/selection-options.h"

bool selection_options_take(SelectionOptions *options, int option, const char *argument) {
        Selection *selection = &options->selection;
        Reason reason = {};
        int r;

        switch (option) {
        case OPTION_SELECT_FROM:
                r = selection_time_parse("--from", argument, &selection->from, &reason);
                break;
        case OPTION_SELECT_UNTIL:
                r = selection_time_parse("--until", argument, &selection->until, &reason);
                break;
        case OPTION_SELECT_LAST:
                r = selection_time_parse_duration("--last", argument, &selection->last_ns, &reason);
                break;
        case OPTION_SELECT_EVENT:
                r = selection_add_event(selection, "--event", argument, &reason);
                break;
        case OPTION_SELECT_PID:
                r = selection_add_pids(selection, "--pid", argument, &reason);
                break;
        case OPTION_SELECT_CPU:
                r = cpu_list_parse("--cpu", argument, &options->cpus, &reason);
                selection->cpus = &options->cpus;
                break;
        default:
                return false;
        }
        if (r != 0 && options->error == 0) {
                options->error = r;
                options->reason = reason;
        }
        return true;
}

int selection_options_finish(const SelectionOptions *options, Reason *reason) {
        const Selection *selection = &options->selection;

        if (options->error != 0) {
                *reason = options->reason;
                return options->error;
        }
        if (selection->last_ns > 0 && (selection->from.kind || selection->until.kind))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "--last cannot be used with --from or --until: expected one of them");
        return 0;
}
