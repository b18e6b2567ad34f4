/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* print-sample prometheus|openmetrics|json|otlp [SETS]: prints the sample, for the programs that
 * read a format. Also with private families, except for otlp. */

#include <string.h>

#include "exporter/otlp-body.h"
#include "exporter/text-format.h"
#include "sample.h"

static int print_sample(TextBlock *block, const MetricSnapshot *snapshot, const char *format) {
        if (strcmp(format, "otlp") == 0)
                return otlp_body_print(block, snapshot, "host1");
        return text_format_print(block,
                        snapshot,
                        strcmp(format, "json") == 0          ? TEXT_JSON
                        : strcmp(format, "openmetrics") == 0 ? TEXT_OPENMETRICS
                                                             : TEXT_PROMETHEUS,
                        true);
}

int main(int argc, char **argv) {
        _cleanup_(metric_snapshot_unref_cleanup) MetricSnapshot *snapshot = NULL;
        TextBlock block = {};

        if (argc < 2)
                return 2;
        snapshot = sample_make(17, argc > 2 ? strtoul(argv[2], NULL, 10) : 0);
        int r = print_sample(&block, snapshot, argv[1]);
        r = r ?: text_block_write(&block, stdout);
        text_block_clear(&block);
        return r == 0 ? 0 : 1;
}
