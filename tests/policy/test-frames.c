/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* No page frame number reaches the group ktrace: of the events of Debian 13's kernel, whose fields
 * lie in fields-6.12. Each line there is "system:event SIZE DECLARATION", one for each declaration
 * that a granted system has. The first argument is the folder of the shipped rules. */

#include <glib.h>
#include <string.h>

#include "frames.h"

#include "policy/grant.h"

static const char *policy_dir;

static int compare(const void *a, const void *b) {
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted, each once; they lie in `lines`. */
static GPtrArray *get_names(char **lines) {
        GPtrArray *names = g_ptr_array_new();

        for (; *lines && **lines; lines++) {
                char *end = strchr(*lines, ' ');

                g_assert_nonnull(end);
                *end = '\0';
                g_ptr_array_add(names, *lines);
        }
        g_ptr_array_sort(names, compare);
        for (guint i = names->len; i > 1; i--)
                if (strcmp(names->pdata[i - 1], names->pdata[i - 2]) == 0)
                        g_ptr_array_remove_index(names, i - 1);
        return names;
}

static const GrantEvent *find(const Grant *grant, const char *name) {
        for (size_t i = 0; i < grant->n_events; i++) {
                const GrantEvent *event = &grant->events[i];
                g_autofree char *full = g_strdup_printf("%s:%s", event->system, event->name);

                if (strcmp(full, name) == 0)
                        return event;
        }
        g_error("%s is not granted", name);
}

static Format *make_format(const char *declaration, const char *size) {
        g_autofree char *text = g_strdup_printf(
                        "name: x\nID: 7\nformat:\n"
                        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
                        "\tfield:%s;\toffset:8;\tsize:%s;\tsigned:0;\n\nprint fmt: \"\"\n",
                        declaration,
                        size);
        Format *format = NULL;
        Reason reason = { "" };

        if (format_parse(text, strlen(text), &format, &reason) != 0)
                g_error("%s: %s", declaration, reason.text);
        return format;
}

static void test_sample(void) {
        g_autofree char *path = g_test_build_filename(G_TEST_DIST, "fields-6.12", NULL);
        g_autofree char *text = NULL;

        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        g_autoptr(GPtrArray) names = get_names(lines);
        g_autoptr(GString) found = g_string_new(NULL);
        _cleanup_(grant_free_cleanup) Grant *grant =
                        frames_grant(policy_dir, (const char *const *)names->pdata, names->len);
        for (char **line = lines; *line && **line; line++) {
                char *size = *line + strlen(*line) + 1, *declaration = strchr(size, ' ');

                g_assert_nonnull(declaration);
                *declaration++ = '\0';
                _cleanup_(format_free_cleanup) Format *format = make_format(declaration, size);
                frames_check(grant, find(grant, *line), format, found);
        }
        frames_assert_none(found);
}

/* The pattern finds what is known to be physical memory, where the rule does not cut it. */
static void test_found(void) {
        static const char *const fields[][2] = {
                { "compaction:mm_compaction_begin", "unsigned long zone_start" },
                { "huge_memory:mm_khugepaged_scan_pmd", "unsigned long scan_pfn" },
                { "kmem:mm_alloc_contig_migrate_range_info", "unsigned long start" },
                { "migrate:set_migration_pte", "unsigned long pte" },
                { "page_pool:page_pool_state_hold", "unsigned long pfn" },
                { "vmscan:mm_vmscan_write_folio", "phys_addr_t where" },
        };
        const Grant bare = { .redacted = true, .addresses = ADDRESS_PSEUDONYM };

        for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
                g_auto(GStrv) name = g_strsplit(fields[i][0], ":", 2);
                const GrantEvent event = { .system = name[0], .name = name[1] };
                _cleanup_(format_free_cleanup) Format *format = make_format(fields[i][1], "8");
                g_autoptr(GString) found = g_string_new(NULL);

                frames_check(&bare, &event, format, found);
                if (found->len == 0)
                        g_error("%s of %s was not found", fields[i][1], fields[i][0]);
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_assert_cmpint(argc, ==, 2);
        policy_dir = argv[1];
        g_test_add_func("/frames/linux-6.12", test_sample);
        g_test_add_func("/frames/found", test_found);
        return g_test_run();
}
