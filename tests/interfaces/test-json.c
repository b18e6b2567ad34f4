/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The strict loader: what RFC 8259 allows and we can hold is taken, everything else is reported
 * with its line, and with its path where that helps. */

#include <fcntl.h>
#include <glib.h>
#include <locale.h>
#include <string.h>
#include <sys/mman.h>

#include "interfaces/json-file.h"
#include "interfaces/json-place.h"
#include "interfaces/json.h"

static int parse_size(const char *text, size_t size, json_object **ret, Reason *reason) {
        /* A copy that ends with its last byte: reading on is caught by ASan. */
        _cleanup_free_ char *copy = g_malloc(MAX(size, 1));

        memcpy(copy, text, size);
        return json_parse_strict("FILE", copy, size, ret, reason);
}

static void assert_good(const char *text, const char *printed) {
        _cleanup_json_ json_object *value = NULL;
        Reason reason;

        if (parse_size(text, strlen(text), &value, &reason) != 0)
                g_error("%s: %s", text, reason.text);
        g_assert_cmpstr(json_object_to_json_string_ext(value, JSON_C_TO_STRING_NOSLASHESCAPE),
                        ==,
                        printed);
}

static void assert_refused(const char *text, const char *message) {
        json_object *value = (json_object *)&value;
        Reason reason;

        g_assert_cmpint(parse_size(text, strlen(text), &value, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text, ==, message);
        g_assert_true(value == (json_object *)&value);
}

static void test_good(void) {
        assert_good("null", "null");
        assert_good(" [ ] \r\n\t", "[]");
        assert_good("{}", "{}");
        assert_good("[true, false, null]", "[true,false,null]");
        assert_good("[0,-0,-1]", "[0,0,-1]");
        assert_good("[9223372036854775807,-9223372036854775808,18446744073709551615]",
                        "[9223372036854775807,-9223372036854775808,18446744073709551615]");
        assert_good("{\"a\":{\"a\":[{\"a\":1},{\"a\":2}]},\"b\":1}",
                        "{\"a\":{\"a\":[{\"a\":1},{\"a\":2}]},\"b\":1}");
        assert_good("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u20AC\\ud83d\\uDE00€\"",
                        "\"\\\"\\\\/\\b\\f\\n\\r\\t€😀€\"");
        assert_good("[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]", "[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]");
}

static void test_doubles(void) {
        _cleanup_json_ json_object *list = NULL;
        const char *text = "[1.5, -2e3, 1E+2, 0.0]";

        g_assert_cmpint(parse_size(text, strlen(text), &list, NULL), ==, 0);
        g_assert_cmpfloat(json_object_get_double(json_object_array_get_idx(list, 0)), ==, 1.5);
        g_assert_cmpfloat(json_object_get_double(json_object_array_get_idx(list, 1)), ==, -2000);
        g_assert_cmpfloat(json_object_get_double(json_object_array_get_idx(list, 2)), ==, 100);
        g_assert_true(json_object_is_type(json_object_array_get_idx(list, 3), json_type_double));
}

static void test_syntax(void) {
        static const struct {
                const char *text, *message;
        } cases[] = {
                { "", "FILE:1: expected a JSON value, got an empty text" },
                { "\n\n ", "FILE:3: expected a JSON value, got an empty text" },
                { "{\n\"a\": 1,\n}", "FILE:3: expected a key after ',', got '}'" },
                { "[1,\n\n]", "FILE:3: expected a value after ',', got ']'" },
                { "[1 2]", "FILE:1: expected ',' or ']' in a list, got '2'" },
                { "[1", "FILE:1: expected ',' or ']' in a list, got the end" },
                { "[", "FILE:1: expected a JSON value, got the end" },
                { "[,1]", "FILE:1: expected a JSON value, got ','" },
                { "{\"a\":1 \"b\":2}", "FILE:1: expected ',' or '}' in an object, got '\"'" },
                { "{\"a\" 1}", "FILE:1: expected ':' after a key, got '1'" },
                { "{\"a\":", "FILE:1: expected a JSON value, got the end" },
                { "{", "FILE:1: expected a key in double quotes, got the end" },
                { "{a:1}", "FILE:1: expected a key in double quotes, got 'a'" },
                { "{'a':1}", "FILE:1: expected a key in double quotes, got '''" },
                { "{} x", "FILE:1: text after the end of the JSON value" },
                { "1\n{}", "FILE:2: text after the end of the JSON value" },
                { "nul", "FILE:1: expected a JSON value, got 'nul'" },
                { "nullx", "FILE:1: text after the end of the JSON value" },
                { "True", "FILE:1: expected a JSON value, got 'True'" },
                { "NaN", "FILE:1: expected a JSON value, got 'NaN'" },
                { "Infinity", "FILE:1: expected a JSON value, got 'Infinity'" },
                { "-Infinity", "FILE:1: expected a digit after '-', got 'Infinity'" },
                { "+1", "FILE:1: expected a JSON value, got '+'" },
                { "01", "FILE:1: a number that begins with 0" },
                { "-01", "FILE:1: a number that begins with 0" },
                { "1.", "FILE:1: expected a digit after '.', got the end" },
                { ".5", "FILE:1: expected a JSON value, got '.'" },
                { "1e", "FILE:1: expected a digit in the exponent, got the end" },
                { "1e+", "FILE:1: expected a digit in the exponent, got the end" },
                { "0x10", "FILE:1: text after the end of the JSON value" },
                { "// c\n1", "FILE:1: expected a JSON value, got '/'" },
                { "[1 /* c */]", "FILE:1: expected ',' or ']' in a list, got '/'" },
                { "\xef\xbb\xbf{}", "FILE:1: expected a JSON value, got '\xef\xbb\xbf'" },
                { "\n\"abc", "FILE:2: a string without its closing quote" },
                { "\"abc\\", "FILE:1: unknown escape in a string" },
                { "\"\\x41\"", "FILE:1: unknown escape in a string" },
                { "\"a\nb\"", "FILE:1: a control character in a string" },
                { "\"\xff\"", "FILE:1: a string that is not UTF-8" },
                { "\"\xc0\xaf\"", "FILE:1: a string that is not UTF-8" },
                { "\"\xed\xa0\x80\"", "FILE:1: a string that is not UTF-8" },
                { "\"\xf4\x90\x80\x80\"", "FILE:1: a string that is not UTF-8" },
                { "\"\xe2\x82\"", "FILE:1: a string that is not UTF-8" },
                { "\"\\u12\"", "FILE:1: expected four hexadecimal digits after \\u" },
                { "\"\\u12g4\"", "FILE:1: expected four hexadecimal digits after \\u" },
                { "\"\\u0000\"", "FILE:1: a NUL character in a string" },
                { "\"\\ud800\"", "FILE:1: half a surrogate pair in a string" },
                { "\"\\ud800\\u0041\"", "FILE:1: half a surrogate pair in a string" },
                { "\"\\udc00\"", "FILE:1: half a surrogate pair in a string" },
                { "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]",
                                "FILE:1: nested too deep, the maximum is 16 levels" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
                assert_refused(cases[i].text, cases[i].message);
}

static void test_path(void) {
        assert_refused("{\"x\":1,\n\"x\":2}", "FILE:2: key \"x\" twice");
        assert_refused("{\"\\u0078\":1,\"x\":2}", "FILE:1: key \"x\" twice");
        assert_refused("{\"rules\":[{},{},{\"events\":{\"x\":1,\"x\":1}}]}",
                        "FILE:1: rules[2].events: key \"x\" twice");
        assert_refused("{\"a\":null,\"a\":1}", "FILE:1: key \"a\" twice");
        assert_refused("{\"a\":[[],[1,\n18446744073709551616]]}",
                        "FILE:2: a[1][1]: the number \"18446744073709551616\" is out of range");
        assert_refused("[-9223372036854775809]",
                        "FILE:1: [0]: the number \"-9223372036854775809\" is out of range");
        assert_refused("{\"a\":1e400}", "FILE:1: a: the number \"1e400\" is out of range");
        assert_refused("1e-400", "FILE:1: the number \"1e-400\" is out of range");
}

static void test_nul_is_refused(void) {
        json_object *value = NULL;
        Reason reason;

        g_assert_cmpint(parse_size("{}\0", 3, &value, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpint(parse_size("\0{}", 3, &value, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpint(parse_size("\"a\0b\"", 5, &value, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpint(parse_size("\"\\\0\"", 4, &value, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_null(value);
}

/* A locale with a decimal comma, made for this test alone: packages.sh installs its source. */
static gboolean set_comma_locale(void) {
        g_autofree char *dir = g_dir_make_tmp("ktrace-locale-XXXXXX", NULL);
        g_autofree char *path = g_build_filename(dir, "de_DE.UTF-8", NULL);
        const char *const argv[] = {
                "localedef", "--no-archive", "-f", "UTF-8", "-i", "de_DE", path, NULL
        };
        const char *const away[] = { "rm", "-r", dir, NULL };

        g_setenv("LOCPATH", dir, TRUE);
        (void)g_spawn_sync(NULL,
                        (char **)argv,
                        NULL,
                        G_SPAWN_SEARCH_PATH,
                        NULL,
                        NULL,
                        NULL,
                        NULL,
                        NULL,
                        NULL);
        gboolean is_set = setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL;
        g_spawn_sync(NULL,
                        (char **)away,
                        NULL,
                        G_SPAWN_SEARCH_PATH,
                        NULL,
                        NULL,
                        NULL,
                        NULL,
                        NULL,
                        NULL);
        return is_set;
}

/* A client's locale must not change what a file means. */
static void test_any_locale(void) {
        if (!set_comma_locale()) {
                g_test_skip("localedef cannot make de_DE (package locales)");
                return;
        }
        g_assert_cmpstr(localeconv()->decimal_point, ==, ",");
        test_doubles();
        setlocale(LC_NUMERIC, "C");
}

static char *repeat(const char *piece, size_t size) {
        char *text = g_malloc(size);

        for (size_t i = 0; i < size; i++)
                text[i] = piece[i % strlen(piece)];
        return text;
}

static void assert_bounded(const char *piece, size_t size, const char *message) {
        _cleanup_free_ char *text = repeat(piece, size);
        json_object *value = NULL;
        Reason reason;

        g_assert_cmpint(json_parse_strict("FILE", text, size, &value, &reason),
                        ==,
                        KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text, ==, message);
        g_assert_null(value);
}

static void test_hostile_is_bounded(void) {
        g_autoptr(GString) keys = g_string_new("{");
        _cleanup_json_ json_object *value = NULL;
        gint64 start = g_get_monotonic_time();

        assert_bounded("[", JSON_MAX_BYTES, "FILE:1: nested too deep, the maximum is 16 levels");
        assert_bounded("{\"\":",
                        JSON_MAX_BYTES,
                        "FILE:1: nested too deep, the maximum is 16 levels");
        assert_bounded("[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],",
                        34,
                        "FILE:1: text after the end of the JSON value");
        assert_bounded("1", JSON_MAX_BYTES + 1, "FILE: longer than 4194304 bytes");
        assert_bounded("1",
                        JSON_MAX_BYTES,
                        "FILE:1: the number \"1111111111111111111111111111111111111111111111111111111111111111...\" is out of range");

        for (unsigned i = 0; i < 200000; i++)
                g_string_append_printf(keys, "%s\"%u\":0", i ? "," : "", i);
        g_string_append_c(keys, '}');
        g_assert_cmpint(json_parse_strict("FILE", keys->str, keys->len, &value, NULL), ==, 0);
        g_assert_cmpint(json_object_object_length(value), ==, 200000);

        /* Far more than it takes: a square in the number of keys would be minutes. */
        g_assert_cmpint(g_get_monotonic_time() - start, <, 20 * G_USEC_PER_SEC);
}

static void test_too_many_values(void) {
        g_autoptr(GString) text = g_string_new("[0");
        json_object *value = NULL;
        Reason reason;

        while (text->len < 2 * (JSON_MAX_VALUES - 1))
                g_string_append(text, ",0");
        g_string_append_c(text, ']');
        g_assert_cmpint(json_parse_strict("FILE", text->str, text->len, &value, &reason), ==, 0);
        json_object_put(value);
        value = NULL;

        g_string_truncate(text, text->len - 1);
        g_string_append(text, ",0]");
        g_assert_cmpint(json_parse_strict("FILE", text->str, text->len, &value, &reason),
                        ==,
                        KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text, ==, "FILE:1: too many values");
        g_assert_null(value);
}

static void test_load(void) {
        _cleanup_json_ json_object *value = NULL;
        _cleanup_close_ int fd = memfd_create("json", MFD_CLOEXEC), dir = -1;
        int pipes[2];
        Reason reason;

        g_assert_cmpint(write(fd, "{\"a\":1}", 7), ==, 7);
        g_assert_cmpint(json_load_fd("FILE", fd, &value, &reason), ==, 0);
        g_assert_cmpstr(json_object_to_json_string(value), ==, "{ \"a\": 1 }");

        g_assert_cmpint(ftruncate(fd, (off_t)JSON_MAX_BYTES + 1), ==, 0);
        g_assert_cmpint(json_load_fd("FILE", fd, &value, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text, ==, "FILE: 4194305 bytes, the maximum is 4194304");

        g_assert_cmpint(ftruncate(fd, 0), ==, 0);
        g_assert_cmpint(json_load_fd("FILE", fd, &value, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text, ==, "FILE:1: expected a JSON value, got an empty text");

        dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        g_assert_cmpint(json_load_fd("FILE", dir, &value, &reason), ==, KT_E_INVALID_SPEC);
        g_assert_cmpstr(reason.text, ==, "FILE: not a regular file");
        /* A pipe that nobody writes to would hang a reader. */
        g_assert_cmpint(pipe2(pipes, O_CLOEXEC), ==, 0);
        g_assert_cmpint(json_load_fd("FILE", pipes[0], &value, &reason), ==, KT_E_INVALID_SPEC);
        close(pipes[0]);
        close(pipes[1]);
        g_assert_cmpint(json_load_fd("FILE", -1, &value, &reason), ==, -EBADF);
}

/* Valid text with some bytes changed: whatever is taken prints and parses to the same again. */
static void test_any_text(void) {
        static const char seed[] =
                        "{\"name\":\"n\\u20ac\",\"l\":[1,-2.5e3,true,null,{\"x\":[]}],\"o\":{\"k\":\"v\\n\"}}";
        static const char bytes[] = "{}[]\",:\\u0123456789eE+-.ntrbf/ \n\x01\x80\xff";
        unsigned n_good = 0;

        for (unsigned i = 0; i < 50000; i++) {
                char text[sizeof(seed)];
                size_t size = sizeof(seed) - 1;
                int n_changes = g_test_rand_int_range(0, 4);
                _cleanup_json_ json_object *value = NULL, *again = NULL;
                const char *printed;
                Reason reason;

                memcpy(text, seed, sizeof(seed));
                for (int k = 0; k < n_changes; k++)
                        text[g_test_rand_int_range(0, (gint32)size)] =
                                        bytes[g_test_rand_int_range(0, sizeof(bytes))];
                if (g_test_rand_int_range(0, 4) == 0)
                        size = (size_t)g_test_rand_int_range(0, (gint32)size);
                if (parse_size(text, size, &value, &reason) != 0) {
                        g_assert_true(g_str_has_prefix(reason.text, "FILE:"));
                        continue;
                }
                n_good++;
                printed = json_object_to_json_string(value);
                g_assert_cmpint(parse_size(printed, strlen(printed), &again, &reason), ==, 0);
                g_assert_true(json_object_equal(value, again));
        }
        g_assert_cmpuint(n_good, >, 1000);
}

static void check_place(const char *path, bool of_key, size_t line, size_t column) {
        static const char text[] = "{\n"
                                   "  \"\u00e4\": \"a \\\" } ]\", \"list\": [ 1, [2], {\"x\":\n"
                                   " {\"y\": true}}, \"last\" ] }";
        JsonPlace place = {};

        g_assert_cmpint(json_find_place(text, strlen(text), path, of_key, &place), ==, line > 0);
        g_assert_cmpuint(place.line, ==, line);
        g_assert_cmpuint(place.column, ==, column);
}

/* Columns are characters; what looks like a bracket in a string is none. */
static void test_place(void) {
        static const char broken[] = "{\"a\": 1,\n \"b\" 2}";

        check_place("", false, 1, 1);
        check_place("list", false, 2, 28);
        check_place("list", true, 2, 20);
        check_place("list[0]", false, 2, 30);
        check_place("list[1][0]", false, 2, 34);
        check_place("list[2].x", true, 2, 39);
        check_place("list[2].x.y", false, 3, 8);
        check_place("list[3]", false, 3, 16);
        check_place("list[4]", false, 0, 0);
        check_place("list.x", false, 0, 0);
        check_place("none", false, 0, 0);
        JsonPlace place = json_place_of(broken, json_find_mistake(broken, strlen(broken)));
        g_assert_cmpuint(place.line, ==, 2);
        g_assert_cmpuint(place.column, ==, 6);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/json/good", test_good);
        g_test_add_func("/json/place", test_place);
        g_test_add_func("/json/doubles", test_doubles);
        g_test_add_func("/json/syntax", test_syntax);
        g_test_add_func("/json/path", test_path);
        g_test_add_func("/json/nul-is-refused", test_nul_is_refused);
        g_test_add_func("/json/any-locale", test_any_locale);
        g_test_add_func("/json/hostile-is-bounded", test_hostile_is_bounded);
        g_test_add_func("/json/too-many-values", test_too_many_values);
        g_test_add_func("/json/load", test_load);
        g_test_add_func("/json/any-text", test_any_text);
        return g_test_run();
}
