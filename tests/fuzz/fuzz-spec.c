/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Session specs as JSON: what is taken survives the way out and in again unchanged. */

#include <string.h>

#include "fuzz.h"
#include "interfaces/spec-json.h"
#include "interfaces/spec.h"

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
        "18446744073709551615",
        "\\u0000",
        "\\ud800",
        "\xc3\xa4",
        "\"name\"",
        "\"mode\"",
        "\"scope\"",
        "\"events\"",
        "\"where\"",
        "\"filter\"",
        "\"buffer-kb\"",
        "\"clock\"",
        "\"lifetime\"",
        "\"system\"",
        "\"own\"",
        "command:",
        "pids:1,2",
        "pids:",
        "linger:5min",
        "sched:*",
        "a:b",
        NULL };

static bool is_same(const char *a, const char *b) {
        return a && b ? strcmp(a, b) == 0 : a == b;
}

static void check_spec(const Spec *spec) {
        _cleanup_json_ json_object *object = NULL, *other = NULL;
        _cleanup_spec_ Spec *again = spec_new();
        Reason reason = {};

        fuzz_check(spec_to_json(spec, &object) == 0);
        fuzz_check(spec_from_json(again, object, &reason) == 0);
        fuzz_check(spec_complete(again, &reason) == 0);
        fuzz_check(spec_to_json(again, &other) == 0);
        fuzz_check(json_object_equal(object, other));
        fuzz_check(spec->set_keys == (again->set_keys & spec->set_keys));
        fuzz_check(is_same(spec->name, again->name) && is_same(spec->where, again->where));
        fuzz_check(spec->n_events == again->n_events && spec->n_pids == again->n_pids);
        for (size_t i = 0; i < spec->n_events; i++)
                fuzz_check(is_same(spec->events[i].filter, again->events[i].filter));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_json_ json_object *object = NULL;
        _cleanup_spec_ Spec *spec = spec_new();
        Reason reason = {};
        int r = json_parse_strict("spec", (const char *)data, size, &object, &reason);

        if (r == 0)
                r = spec_from_json(spec, object, &reason);
        if (r == 0)
                r = spec_complete(spec, &reason);
        fuzz_check(r >= 0);
        if (r == 0)
                check_spec(spec);
        else
                fuzz_check(reason.text[0] != '\0' && !strchr(reason.text, '\n'));
        return 0;
}
