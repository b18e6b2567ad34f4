/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The filter that an error of the daemon speaks of, and the caret below its place. */

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "spec/caret.h"
#include "terminal/message.h"

static const char spec_text[] = "{\"events\":[{\"name\":\"sched:sched_*\",\"filter\":\"nxt == 1\"},"
                                "{\"name\":\"kmalloc\",\"filter\":\"a\"},"
                                "{\"name\":\"kmem:*\",\"filter\":\"b\"},{\"name\":\"x:y\"}],"
                                "\"where\":\"pdi == 1\"}";

static const char *find(const char *text, size_t *ret_column) {
        static json_object *spec;
        Reason reason;

        if (!spec)
                spec = json_tokener_parse(spec_text);
        g_strlcpy(reason.text, text, sizeof(reason.text));
        return caret_find(spec, &reason, ret_column);
}

static void test_find(void) {
        size_t column = 0;

        g_assert_cmpstr(find("sched:sched_switch: filter column 3: no field", &column),
                        ==,
                        "nxt == 1");
        g_assert_cmpuint(column, ==, 2);
        g_assert_cmpstr(find("x:y: where column 1: no field", &column), ==, "pdi == 1");
        g_assert_cmpuint(column, ==, 0);
}

static void test_find_none(void) {
        static const char *const texts[] = {
                "",
                ":",
                "no such event",
                "x:y: filter column 1: this event has none",
                "kmem:kmalloc: filter column 1: two may be meant",
                "sched:sched_switch: filter column 0: none",
                "sched:sched_switch: filter column x: none",
                "sched:sched_switch: comment column 1: none",
                "sched: filter column 1: none",
        };
        size_t column;

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
                g_assert_null(find(texts[i], &column));
}

/* What message_show_place() writes to stderr. */
static char *caret_text(const char *text, size_t column) {
        g_autofree char *path = NULL;
        char *said = NULL;
        int fd = g_file_open_tmp("caret-XXXXXX", &path, NULL), saved = dup(STDERR_FILENO);

        g_assert_cmpint(dup2(fd, STDERR_FILENO), >=, 0);
        message_show_place(text, column);
        g_assert_cmpint(dup2(saved, STDERR_FILENO), >=, 0);
        close(fd);
        close(saved);
        g_assert_true(g_file_get_contents(path, &said, NULL, NULL));
        g_unlink(path);
        return said;
}

static void assert_caret(const char *text, size_t column, const char *wanted) {
        g_autofree char *said = caret_text(text, column);

        g_assert_cmpstr(said, ==, wanted);
}

static void test_place(void) {
        g_autofree char *text = g_strnfill(2000, 'a'), *said = NULL;

        assert_caret("pid = 1", 4, "  pid = 1\n      ^\n");
        assert_caret("pid", 0, "  pid\n  ^\n");
        assert_caret("pid", 3, "  pid\n     ^\n");
        assert_caret("a == \"äö\" = 1", 10, "  a == \"äö\" = 1\n            ^\n");
        assert_caret("a\033[2J = 1", 1, "  a?[2J = 1\n   ^\n");

        /* Of a long one the part around the place. */
        text[1000] = '!';
        said = caret_text(text, 1000);
        g_assert_cmpuint(g_utf8_strlen(said, -1), <, 160);
        g_auto(GStrv) lines = g_strsplit(said, "\n", -1);
        const char *caret = strchr(lines[1], '^');
        g_assert_nonnull(caret);
        g_assert_cmpint(*g_utf8_offset_to_pointer(lines[0], caret - lines[1]), ==, '!');
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/client/caret/find", test_find);
        g_test_add_func("/client/caret/find-none", test_find_none);
        g_test_add_func("/client/caret/place", test_place);
        return g_test_run();
}
