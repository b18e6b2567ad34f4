/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Policy files: each is taken or refused with its name in the reason, and of a file that denies
 * everything nothing is granted. */

#include <string.h>

#include "fuzz.h"
#include "rule.h"

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
        "4294967295",
        "\\u0000",
        "\"rules\"",
        "\"name\"",
        "\"description\"",
        "\"subjects\"",
        "\"any\"",
        "\"uid\"",
        "\"user\"",
        "\"group\"",
        "\"active\"",
        "\"unit\"",
        "\"scopes\"",
        "\"command\"",
        "\"own\"",
        "\"pids\"",
        "\"system\"",
        "\"events\"",
        "\"deny\"",
        "\"seat\"",
        "\"processes\"",
        "\"class\"",
        "\"others\"",
        "\"zero\"",
        "\"lifetimes\"",
        "\"max-linger-sec\"",
        "\"max-event-rate\"",
        "\"allow-setuid\"",
        "\"keep\"",
        "\"cut\"",
        "\"filter\"",
        "\"limits\"",
        "\"polkit\"",
        "\"addresses\"",
        "\"members\"",
        "\"sched:*\"",
        "\"*\"",
        "{\"rules\":[]}",
        NULL };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_json_ json_object *object = NULL;
        RuleList list = {};
        Reason reason = {};
        int r = json_parse_strict("file.json", (const char *)data, size, &object, &reason);

        if (r == 0)
                r = rule_list_add_json(&list, "file.json", object, &reason);
        fuzz_check(r >= 0);
        if (r != 0)
                fuzz_check(strncmp(reason.text, "file.json", strlen("file.json")) == 0);
        for (size_t i = 0; r == 0 && i < list.n_rules; i++)
                if (list.rules[i].deny)
                        fuzz_check(!rule_find_event(&list.rules[i], "sched", "sched_switch"));
        rule_list_clear(&list);
        return 0;
}
