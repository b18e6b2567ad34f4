/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The hashes of chunks have the values of other programs: `xxhsum -H128` and GLib. */
#include <errno.h>
#include <glib.h>
#include <stdint.h>
#include <string.h>

#include "broker/hash.h"

/* Of the bytes 0, 1, ... 255, 0, ...: XXH3 takes each of these lengths in another way. */
static const struct {
        size_t size;
        const char *xxh3;
} values[] = {
        { 0, "99aa06d3014798d86001c324468d497f" },
        { 3, "e3b55f57945a17cf5f4299fc161c9cbb" },
        { 16, "72950631827607e2842812cc870dcae2" },
        { 100, "da95ef16fd9566f329b20ba5f03ec01e" },
        { 200, "cb0395310643ba0edd97e9af3609d9f5" },
        { 1024, "83885e853bb6640ca870f92984398d22" },
        { 5000, "7a681524919c28221b74bda2c82a8c7a" },
};

static void assert_hash(Hash *hash, const uint8_t *data, size_t size, const char *expected) {
        char digits[HASH_DIGITS_MAX + 1];

        hash_make(hash, data, size, digits);
        g_assert_cmpstr(digits, ==, expected);
        for (size_t i = 0; i < size; i++)
                hash_add(hash, data + i, 1);
        hash_finish(hash, digits);
        g_assert_cmpstr(digits, ==, expected);
}

static void test_values(void) {
        _cleanup_(hash_free_cleanup) Hash *xxh3 = NULL, *sha256 = NULL;
        uint8_t data[5000];

        for (size_t i = 0; i < sizeof(data); i++)
                data[i] = (uint8_t)i;
        g_assert_cmpint(hash_new(HASH_XXH3, &xxh3), ==, 0);
        g_assert_cmpint(hash_new(HASH_SHA256, &sha256), ==, 0);
        for (size_t i = 0; i < G_N_ELEMENTS(values); i++) {
                g_autofree char *expected = g_compute_checksum_for_data(
                                G_CHECKSUM_SHA256, data, values[i].size);

                assert_hash(xxh3, data, values[i].size, values[i].xxh3);
                assert_hash(sha256, data, values[i].size, expected);
        }
}

/* Recordings of older versions have SHA-256. The length says which kind it is. */
static void test_kinds(void) {
        char digits[HASH_DIGITS_MAX + 2];

        for (size_t n = 0; n <= HASH_DIGITS_MAX + 1; n++) {
                int expected = n == 32 ? HASH_XXH3 : n == 64 ? HASH_SHA256 : -EBADMSG;

                memset(digits, 'a', n);
                digits[n] = '\0';
                g_assert_cmpint(hash_find_kind(digits), ==, expected);
        }
        g_assert_cmpint(hash_find_kind("0123456789ABCDEF0123456789abcdef"), ==, -EBADMSG);
        g_assert_cmpint(hash_find_kind("0123456789abcdef0123456789abcde\n"), ==, -EBADMSG);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/hash/values", test_values);
        g_test_add_func("/hash/kinds", test_kinds);
        return g_test_run();
}
