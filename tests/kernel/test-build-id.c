/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernel's identity out of ELF notes, whatever else is among them. */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "kernel/build-id.h"

static void add_note(GByteArray *notes, const char *name, guint32 n_data, guint32 type) {
        guint32 head[3] = { (guint32)strlen(name) + 1, n_data, type };
        guint8 padded[64] = {};

        g_byte_array_append(notes, (const guint8 *)head, sizeof(head));
        memcpy(padded, name, strlen(name));
        g_byte_array_append(notes, padded, (head[0] + 3) & ~3U);
        memset(padded, 0xab, sizeof(padded));
        g_byte_array_append(notes, padded, (n_data + 3) & ~3U);
}

static void test_found(void) {
        g_autoptr(GByteArray) notes = g_byte_array_new();
        char id[BUILD_ID_DIGITS_MAX + 1];

        add_note(notes, "Xen", 5, 3);
        add_note(notes, "GNU", 4, 1);
        g_assert_cmpint(build_id_find(notes->data, notes->len, id), ==, -ENODATA);
        add_note(notes, "GNU", 3, 3);
        add_note(notes, "Linux", 4, 0x100);
        g_assert_cmpint(build_id_find(notes->data, notes->len, id), ==, 0);
        g_assert_cmpstr(id, ==, "ababab");
}

static void test_damaged(void) {
        const guint32 sizes[] = { 0, BUILD_ID_BYTES_MAX + 1, 0x7fffffff, 0xffffffff };
        char id[BUILD_ID_DIGITS_MAX + 1];

        g_assert_cmpint(build_id_find("", 0, id), ==, -ENODATA);
        for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
                guint8 notes[256] = {};
                guint32 head[3] = { 4, sizes[i], 3 };

                memcpy(notes, head, sizeof(head));
                memcpy(notes + sizeof(head), "GNU", 4);
                g_assert_cmpint(build_id_find(notes, sizeof(notes), id), ==, -EBADMSG);
                head[0] = sizes[i];
                head[1] = 4;
                memcpy(notes, head, sizeof(head));
                if (i >= 2)
                        g_assert_cmpint(build_id_find(notes, sizeof(notes), id), ==, -EBADMSG);
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/build-id/found", test_found);
        g_test_add_func("/build-id/damaged", test_damaged);
        return g_test_run();
}
