/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <glib.h>
#include <stdint.h>
#include <stdlib.h>

#include "interfaces/array.h"

/* Each element is kept, and begins with zeros, although the memory held other bytes. */
static void test_grow(void) {
        uint64_t *numbers = NULL;

        for (size_t n = 0; n < 1000; n++) {
                g_assert_cmpint(array_grow(&numbers, n, sizeof(*numbers)), ==, 0);
                g_assert_cmpuint(numbers[n], ==, 0);
                numbers[n] = UINT64_MAX - n;
        }
        for (size_t n = 0; n < 1000; n++)
                g_assert_cmpuint(numbers[n], ==, UINT64_MAX - n);
        /* An element that was removed leaves its bytes. */
        g_assert_cmpint(array_grow(&numbers, 999, sizeof(*numbers)), ==, 0);
        g_assert_cmpuint(numbers[999], ==, 0);
        free(numbers);
}

/* As without a sanitizer: an allocation that is too large fails. */
const char *__asan_default_options(void);

const char *__asan_default_options(void) {
        return "allocator_may_return_null=1";
}

static void test_too_large(void) {
        void *array = NULL;

        g_assert_cmpint(array_grow(&array, 0, SIZE_MAX), ==, -ENOMEM);
        g_assert_null(array);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/array/grow", test_grow);
        g_test_add_func("/array/too-large", test_too_large);
        return g_test_run();
}
