/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Tables of histograms, as a 6.1 kernel wrote them (tests/fuzz/corpus/hist), some of them while a
 * traced process did what it could to have them misread. */

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "hist-sample.h"

typedef struct Parsed {
        char *data;
        HistSample *sample; /* it points into itself */
        int result;
        HistTotals totals;
        GArray *entries;
} Parsed;

static int note(const HistEntry *entry, void *userdata) {
        g_array_append_vals(userdata, entry, 1);
        return 0;
}

static Parsed parse(const char *name) {
        g_autofree char *path = g_build_filename(g_getenv("SAMPLES"), name, NULL);
        Parsed p = { .entries = g_array_new(FALSE, FALSE, sizeof(HistEntry)),
                .sample = g_new0(HistSample, 1) };
        gsize size;

        g_assert_true(g_file_get_contents(path, &p.data, &size, NULL));
        g_assert_true(hist_sample_read(p.data, size, p.sample));
        p.sample->choice.layout = &p.sample->layout;
        p.result = hist_parse(p.sample->text,
                        p.sample->size,
                        &p.sample->choice,
                        note,
                        p.entries,
                        &p.totals);
        return p;
}

static void parsed_clear(Parsed *p) {
        g_free(p->data);
        g_free(p->sample);
        g_array_unref(p->entries);
}

static const HistEntry *get(const Parsed *p, unsigned i) {
        g_assert_cmpint(p->result, ==, 0);
        g_assert_cmpuint(i, <, p->entries->len);
        return &g_array_index(p->entries, HistEntry, i);
}

static void assert_text(const HistKey *key, const char *text) {
        g_assert_cmpmem(key->text, key->size, text, strlen(text));
}

/* Whether the hits of the entries and those without room are all. */
static void assert_adds_up(const Parsed *p) {
        uint64_t sum = p->totals.dropped;

        g_assert_cmpint(p->result, ==, 0);
        for (unsigned i = 0; i < p->entries->len; i++)
                sum += get(p, i)->hitcount;
        g_assert_cmpuint(p->entries->len, ==, p->totals.entries);
        g_assert_cmpuint(sum, >=, p->totals.hits);
}

static void test_all_forms(void) {
        static const char *const names[] = { "number",
                "hex",
                "sym",
                "sym-offset",
                "execname",
                "syscall",
                "log2",
                "buckets",
                "string",
                "long-string",
                "stacktrace",
                "stack-first",
                "stack-last",
                "values",
                "negative",
                "cpu",
                "full",
                "empty",
                "first",
                "second",
                "third",
                "hostile",
                "hostile-execname" };

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                Parsed p = parse(names[i]);

                if (p.result != 0)
                        g_error("%s: %s", names[i], g_strerror(-p.result));
                assert_adds_up(&p);
                parsed_clear(&p);
        }
}

static void test_numbers(void) {
        Parsed p = parse("log2");

        g_assert_cmpuint(get(&p, p.entries->len - 1)->keys[0].number, ==, 9);
        g_assert_cmpuint(get(&p, p.entries->len - 1)->hitcount, ==, 50);
        g_assert_cmpuint(get(&p, p.entries->len - 1)->values[0], ==, 25600);
        parsed_clear(&p);
        p = parse("buckets");
        g_assert_cmpuint(get(&p, 1)->keys[0].number, ==, 512);
        g_assert_cmpuint(get(&p, 1)->keys[0].last, ==, 1023);
        g_assert_cmpuint(get(&p, 1)->hitcount, ==, 50);
        parsed_clear(&p);
        p = parse("negative");
        g_assert_cmpint((int64_t)get(&p, 0)->keys[0].number, ==, -ENOENT);
        parsed_clear(&p);
        p = parse("full");
        g_assert_cmpuint(p.totals.dropped, ==, 497);
        g_assert_cmpuint(p.totals.entries, ==, 128);
        parsed_clear(&p);
}

static void test_names(void) {
        Parsed p = parse("execname");

        assert_text(&get(&p, 0)->keys[0], "bash");
        g_assert_cmpuint(get(&p, 0)->keys[0].number, ==, 181);
        assert_text(&get(&p, 0)->keys[1], "sys_newfstatat");
        g_assert_cmpuint(get(&p, 2)->keys[1].number, ==, UINT64_MAX);
        parsed_clear(&p);
        p = parse("sym-offset");
        g_assert_nonnull(memchr(get(&p, 0)->keys[0].text, '+', get(&p, 0)->keys[0].size));
        g_assert_cmpuint(get(&p, 0)->keys[0].number >> 48, ==, 0xffff);
        parsed_clear(&p);
}

static bool has_key(const Parsed *p, const char *text) {
        for (unsigned i = 0; i < p->entries->len; i++) {
                const HistKey *key = &get(p, i)->keys[0];

                if (key->size == strlen(text) && memcmp(key->text, text, key->size) == 0)
                        return true;
        }
        return false;
}

/* Names that look like the table are reported as they are. */
static void test_hostile(void) {
        static const char *const names[] = { "{ a: 1 } hitcou",
                "a\nb",
                "\"q\", x: 1",
                "} hitcount: 9\n",
                "",
                "\xff\xfe\x01",
                "x }",
                "tr",
                "\n\n\n",
                "{ x:",
                "\n\nTotals:\n",
                " } hitcount:1\n{",
                "[         1], a" };
        Parsed p = parse("hostile");

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
                if (!has_key(&p, names[i]))
                        g_error("'%s' is missing", names[i]);
        parsed_clear(&p);
}

/* What can be read in two ways is not read at all. */
static void test_forged(void) {
        static const char *const names[] = { "forged-entry",
                "forged-entry-filled",
                "forged-key",
                "forged-key-filled",
                "forged-table",
                "forged-neighbour",
                "ambiguous" };

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                Parsed p = parse(names[i]);

                if (p.result != -EBADMSG)
                        g_error("%s: %d", names[i], p.result);
                parsed_clear(&p);
        }
}

static void test_choice(void) {
        Parsed p = parse("second");

        g_assert_cmpuint(p.sample->choice.n_tables, ==, 2);
        parsed_clear(&p);
        p = parse("paused");
        assert_adds_up(&p);
        g_assert_true(p.totals.is_paused);
        /* Another one than is there, or one more than there should be. */
        p.sample->choice.trigger_size--;
        g_assert_cmpint(hist_parse(p.sample->text,
                                        p.sample->size,
                                        &p.sample->choice,
                                        note,
                                        p.entries,
                                        &p.totals),
                        ==,
                        -ENOENT);
        p.sample->choice.trigger_size++;
        p.sample->choice.n_tables--;
        g_assert_cmpint(hist_parse(p.sample->text,
                                        p.sample->size,
                                        &p.sample->choice,
                                        note,
                                        p.entries,
                                        &p.totals),
                        ==,
                        -EBADMSG);
        parsed_clear(&p);
}

/* Each shorter text is refused. */
static void test_cut(void) {
        Parsed p = parse("values");

        for (size_t size = 0; size < p.sample->size; size++)
                g_assert_cmpint(hist_parse(p.sample->text,
                                                size,
                                                &p.sample->choice,
                                                note,
                                                p.entries,
                                                &p.totals),
                                <,
                                0);
        parsed_clear(&p);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/consumer/hist-parse/all-forms", test_all_forms);
        g_test_add_func("/consumer/hist-parse/numbers", test_numbers);
        g_test_add_func("/consumer/hist-parse/names", test_names);
        g_test_add_func("/consumer/hist-parse/hostile", test_hostile);
        g_test_add_func("/consumer/hist-parse/forged", test_forged);
        g_test_add_func("/consumer/hist-parse/choice", test_choice);
        g_test_add_func("/consumer/hist-parse/cut", test_cut);
        return g_test_run();
}
