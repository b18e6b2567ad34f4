/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Files of metrics.d: each is refused with a message in one line, or makes a spec that a session
 * could have. */

#include <string.h>

#include "fuzz.h"
#include "interfaces/spec-json.h"
#include "interfaces/spec.h"
#include "metrics/set-read.h"
#include "metrics/source.h"

const char *const fuzz_words[] = { "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "null",
        "true",
        "-1",
        "1e9",
        "1e-400",
        "18446744073709551615",
        "\\u0000",
        "\xc3\xa4",
        "\"metrics\"",
        "\"name\"",
        "\"help\"",
        "\"type\"",
        "\"counter\"",
        "\"histogram\"",
        "\"gauge\"",
        "\"event\"",
        "\"probe\"",
        "\"pair\"",
        "\"from\"",
        "\"to\"",
        "\"key\"",
        "\"status\"",
        "\"labels\"",
        "\"field\"",
        "\"decode\"",
        "\"table\"",
        "\"bits\"",
        "\"comm\"",
        "\"value\"",
        "\"buckets\"",
        "\"log2\"",
        "\"linear\"",
        "\"scale\"",
        "\"unit\"",
        "\"max-sets\"",
        "\"0x10\"",
        "\"s:e\"",
        "from.",
        "to.",
        "_total",
        "le",
        NULL };

/* What is accepted can be asked of ktraced. Only the events of a set can be too many for it. */
static void check_set(const Set *set) {
        SourceSession session = { .set = set, .uid = 990 };
        _cleanup_json_ json_object *object = NULL;
        _cleanup_spec_ Spec *spec = spec_new();
        Reason reason = {};

        fuzz_check(set->n_metrics > 0 && set->n_metrics <= SET_METRICS_MAX);
        fuzz_check(source_make_spec(&session, &object) == 0);
        if (source_has_session(set))
                (void)spec_from_json(spec, object, &reason);
        fuzz_check(set_is_same(set, set));
        for (size_t i = 0; i < set->n_metrics; i++) {
                const SetMetric *metric = &set->metrics[i];

                fuzz_check(metric->scale > 0 && metric->max_sets > 0);
                fuzz_check(metric->n_labels + (metric->type == METRIC_HISTOGRAM) <=
                                METRIC_LABELS_MAX);
                fuzz_check(set_metric_count_rows(metric) <= SET_ROWS_MAX);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        SetText text = { "set", "set", (const char *)data, size };
        _cleanup_(set_free_cleanup) Set *set = NULL;
        Reason reason = {};

        int r = set_read(&text, &set, &reason);
        fuzz_check(r >= 0);
        if (r == 0)
                check_set(set);
        else
                fuzz_check(strncmp(reason.text, "set:", 4) == 0 && !strchr(reason.text, '\n'));
        return 0;
}
