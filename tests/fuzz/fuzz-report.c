/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Calls of Varlink clients to ktrace-metrics: each answer is one JSON object with its NUL, and it
 * has either parameters alone or an error. */

#include <string.h>

#include "exporter/report-answer.h"
#include "fuzz.h"
#include "interfaces/json.h"

const char *const fuzz_words[] = { "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "null",
        "true",
        "false",
        "\\u0000",
        "\\u001b",
        "\xc3\xa4",
        "\"method\"",
        "\"parameters\"",
        "\"more\"",
        "\"oneway\"",
        "\"upgrade\"",
        "\"interface\"",
        "\"io.systemd.Metrics.List\"",
        "\"io.systemd.Metrics.Describe\"",
        "\"org.varlink.service.GetInfo\"",
        "\"org.varlink.service.GetInterfaceDescription\"",
        "\"io.systemd.Metrics\"",
        "\"a.B\"",
        NULL };

static void check_answer(const char *text, size_t size) {
        _cleanup_json_ json_object *answer = NULL;

        fuzz_check(json_parse_strict("answer", text, size, &answer, NULL) == 0);
        fuzz_check(json_object_is_type(answer, json_type_object));
        fuzz_check(json_object_is_type(
                        json_object_object_get(answer, "parameters"), json_type_object));
        fuzz_check(json_object_object_length(answer) == 1 ||
                        (json_object_object_length(answer) == 2 &&
                                        json_object_is_type(json_object_object_get(answer, "error"),
                                                        json_type_string)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        ReportLists lists = {};
        TextBlock block = {};
        int r = report_answer_print(&block, &lists, (const char *)data, size);

        fuzz_check(r == 0 || block.used == 0);
        if (block.used > 0) {
                fuzz_check(memchr(block.data, '\0', block.used) == block.data + block.used - 1);
                check_answer(block.data, block.used - 1);
        }
        text_block_clear(&block);
        report_lists_clear(&lists);
        return 0;
}
