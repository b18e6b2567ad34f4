/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is counted, under which key, and what is not. */

#include <glib.h>

#include "interfaces/error.h"
#include "work/counters.h"

static uint64_t get(json_object *object, const char *key) {
        json_object *value;

        g_assert_true(json_object_object_get_ex(object, key, &value));
        return json_object_get_uint64(value);
}

static void test_counts(void) {
        static const char *const codes[] = { "guard", "guard", "client-gone", "snapshot", "" };
        static const int results[] = {
                KT_E_ACCESS_DENIED,
                KT_E_LIMIT_REACHED,
                KT_E_LIMIT_REACHED,
                KT_E_BUSY,
                -5,
                0,
        };
        _cleanup_json_ json_object *object = json_object_new_object();
        Counters counters;

        counters_begin(&counters);
        for (size_t i = 0; i < G_N_ELEMENTS(codes); i++)
                counters_count_end(&counters, codes[i]);
        for (size_t i = 0; i < G_N_ELEMENTS(results); i++)
                counters_count_refusal(&counters, results[i]);
        counters.n_lost = UINT64_C(1) << 40;
        g_assert_cmpint(counters_describe(&counters, object), ==, 0);
        json_object *ended = json_object_object_get(object, "sessions-ended");
        g_assert_cmpint(json_object_object_length(ended), ==, COUNTERS_CODES);
        g_assert_cmpuint(get(ended, "guard"), ==, 2);
        g_assert_cmpuint(get(ended, "client-gone"), ==, 1);
        g_assert_cmpuint(get(ended, "failed"), ==, 0);
        g_assert_cmpuint(get(object, "calls-denied"), ==, 1);
        g_assert_cmpuint(get(object, "calls-limited"), ==, 2);
        g_assert_cmpuint(get(object, "lost"), ==, UINT64_C(1) << 40);
        g_assert_cmpuint(get(object, "since-usec"), <=, (uint64_t)g_get_real_time());
        g_assert_cmpuint(get(object, "since-usec"), >, (uint64_t)g_get_real_time() - 60000000);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/counters/counts", test_counts);
        return g_test_run();
}
