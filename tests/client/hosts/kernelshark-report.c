/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* kernelshark-report FILE...: the events of these trace.dat files as KernelShark shows them,
 * together on one time line. A line is like one of trace-cmd report -t. */

#include <inttypes.h>
#include <stdio.h>

#include <libkshark.h>

int main(int argc, char **argv) {
        struct kshark_context *context = NULL;
        struct kshark_entry **rows = NULL;

        if (!kshark_instance(&context))
                return 1;
        for (int i = 1; i < argc; i++)
                if (kshark_open(context, argv[i]) < 0) {
                        (void)fprintf(stderr, "%s: KernelShark cannot open it\n", argv[i]);
                        return 1;
                }
        ssize_t n = kshark_load_all_entries(context, &rows);
        for (ssize_t i = 0; i < n; i++)
                printf("%s: [%03d] %" PRId64 ": %s: %s\n",
                                argv[rows[i]->stream_id + 1],
                                rows[i]->cpu,
                                rows[i]->ts,
                                kshark_get_event_name(rows[i]),
                                kshark_get_info(rows[i]));
        return n < 0;
}
