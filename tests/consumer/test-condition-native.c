/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The stream worker's verdict on records (condition.c) against the kernel's: random filters on
 * random records. One instance has the filter; another one records everything, and each of its
 * records is judged here. What the kernel let through must be what was judged to pass.
 *
 * The events: task:task_rename, with two texts of fixed size, and a probe in a function of this
 * program, with a number of each width and sign and a text of any length. */

#include "native.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "consumer/records/condition.h"
#include "consumer/records/count-field.h"
#include "consumer/records/page.h"
#include "kernel/buffer.h"
#include "kernel/event.h"
#include "kernel/filter.h"
#include "kernel/probe-group.h"
#include "kernel/probe.h"
#include "policy/filter.h"

#define N_FILTERS 500
#define N_HITS    24
#define GROUP     "ktrace_contract"
#define PAGE_MAX  65536

#ifdef __x86_64__
#define NUMBER   "%%di"
#define SEQUENCE "%%si"
#define TEXT     "%%dx"
#else
#define NUMBER   "%%x0"
#define SEQUENCE "%%x1"
#define TEXT     "%%x2"
#endif

typedef struct Pair {
        Instance *kernel, *whole; /* with the filter; without one */
        const char *system, *event;
        Format *format;
        const char *key; /* the field that tells the records of one round apart */
        void (*hit)(unsigned i);
        unsigned n_some; /* rounds in which some records passed, but not all */
} Pair;

/* The events */

/* The compiler must neither remove nor inline it. */
__attribute__((noinline, used)) static void probed(uint64_t number,
                uint32_t sequence,
                const char *text) {
        __asm__ volatile("" : : "r"(number), "r"(sequence), "r"(text) : "memory");
}

static char *make_text(size_t max) {
        static const char letters[] = "aabb-^]!\\1";
        GString *text = g_string_new(NULL);

        for (int n = g_test_rand_int_range(0, (gint32)max + 1); n > 0; n--)
                g_string_append_c(text, letters[g_test_rand_int_range(0, (gint32)strlen(letters))]);
        return g_string_free(text, false);
}

static uint64_t pick_number(void) {
        static const uint64_t numbers[] = { 0,
                1,
                2,
                0x7f,
                0x80,
                0xff,
                0x7fff,
                0x8000,
                0xffff,
                0x7fffffff,
                0x80000000,
                0xffffffff,
                0x100000000,
                INT64_MAX,
                (uint64_t)INT64_MIN,
                UINT64_MAX };

        return numbers[g_test_rand_int_range(0, G_N_ELEMENTS(numbers))];
}

/* A prefix makes the name unlike all others of the round. */
static void hit_rename(unsigned i) {
        g_autofree char *rest = make_text(4),
                        *name = g_strdup_printf("%s%c", rest, (char)('A' + i));

        g_assert_cmpint(prctl(PR_SET_NAME, i % 2 ? name : rest), ==, 0);
}

static void hit_probe(unsigned i) {
        g_autofree char *text = make_text(i == 0 ? 600 : 4);

        probed(pick_number(), i, text);
}

/* Filters */

static void add_text(GString *filter) {
        static const char *const pieces[] = { "a",
                "b",
                "*",
                "?",
                "[",
                "]",
                "-",
                "!",
                "^",
                "\\",
                "1",
                "[ab]",
                "[^a]",
                "[!a]",
                "[]a]",
                "[a-b]",
                "[a-]" };

        g_string_append(filter, g_test_rand_int_range(0, 4) > 0 ? " ~ '" : " == '");
        for (int n = g_test_rand_int_range(0, 4); n > 0; n--)
                g_string_append(filter, pieces[g_test_rand_int_range(0, G_N_ELEMENTS(pieces))]);
        g_string_append_c(filter, '\'');
}

static const char *pick_operator(void) {
        static const char *const operators[] = { "==", "!=", "<", "<=", ">", ">=" };

        return operators[g_test_rand_int_range(0, G_N_ELEMENTS(operators))];
}

static void add_number(GString *filter, bool is_signed) {
        uint64_t number = pick_number();

        g_string_append_printf(
                        filter, " %s ", g_test_rand_int_range(0, 7) == 0 ? "&" : pick_operator());
        if (is_signed)
                g_string_append_printf(filter, "%" PRId64, (int64_t)number);
        else
                g_string_append_printf(filter, "%" PRIu64, number);
}

static void add_comparison(GString *filter, const Format *format) {
        for (;;) {
                const FormatField *field =
                                &format->fields[g_test_rand_int_range(0, (gint32)format->n_fields)];

                if (field->is_common || (!field->is_string && g_test_rand_int_range(0, 3) > 0))
                        continue;
                g_string_append(filter, g_test_rand_bit() ? "!" : "");
                if (g_test_rand_int_range(0, 10) == 0) {
                        g_string_append_printf(filter, "CPU %s -1", pick_operator());
                        return;
                }
                g_string_append(filter, field->name);
                if (field->is_string)
                        add_text(filter);
                else
                        add_number(filter, field->is_signed);
                return;
        }
}

static void add_expression(GString *filter, const Format *format, int depth) {
        int n = g_test_rand_int_range(1, 3);

        for (int i = 0; i < n; i++) {
                if (i > 0)
                        g_string_append(filter, g_test_rand_bit() ? " && " : " || ");
                if (depth == 0 || g_test_rand_bit()) {
                        add_comparison(filter, format);
                        continue;
                }
                g_string_append(filter, g_test_rand_bit() ? "!(" : "(");
                add_expression(filter, format, depth - 1);
                g_string_append_c(filter, ')');
        }
}

/* A filter that compiles: many are refused, because a number does not fit its field. */
static char *make_filter(const FilterContext *context) {
        for (;;) {
                g_autoptr(GString) text = g_string_new(NULL);
                char *compiled = NULL;

                add_expression(text, context->format, 1);
                if (filter_compile(context, text->str, &compiled, NULL) == 0)
                        return compiled;
        }
}

/* Records */

typedef struct Found {
        const Pair *pair;
        const Condition *condition; /* NULL: the kernel has judged */
        GPtrArray *keys;
} Found;

static bool take(const uint8_t *record, size_t size, uint64_t nsec _unused_, void *userdata) {
        Found *found = userdata;
        CountField field;
        size_t n;

        if (!condition_holds(found->condition, record, size, 0))
                return true;
        g_assert_cmpint(count_field_find(found->pair->format, found->pair->key, &field), ==, 0);
        if (field.is_string) {
                const char *text = count_field_find_text(&field, record, size, &n);

                g_ptr_array_add(found->keys, g_strndup(text, n));
        } else
                g_ptr_array_add(found->keys,
                                g_strdup_printf("%" PRIu64,
                                                count_field_read_number(&field, record, size)));
        return true;
}

/* Consumes all records of this CPU. */
static char *read_keys(const Pair *pair, const Instance *instance, const Condition *condition) {
        Found found = { pair, condition, g_ptr_array_new_with_free_func(g_free) };
        g_autofree char *path = g_strdup_printf("per_cpu/cpu%d/trace_pipe_raw", sched_getcpu());
        g_autofree uint8_t *page = g_malloc(PAGE_MAX);
        int fd = instance_open_file(instance, path, O_RDONLY | O_NONBLOCK);
        size_t size = 0;

        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(instance_get_subbuf_size(instance, &size), ==, 0);
        g_assert_cmpuint(size, <=, PAGE_MAX);
        for (ssize_t n; (n = read(fd, page, size)) > 0;)
                (void)page_visit(page, (size_t)n, take, &found);
        close(fd);
        g_ptr_array_add(found.keys, NULL);
        char *keys = g_strjoinv(" ", (char **)found.keys->pdata);
        g_ptr_array_unref(found.keys);
        return keys;
}

static void compare(Pair *pair, const char *filter) {
        const FilterContext context = { .event = "try:try", .format = pair->format };
        _cleanup_(condition_free_cleanup) Condition *condition = NULL;
        _cleanup_json_ json_object *described = NULL;
        Reason reason = {};

        if (filter_describe(&context, filter, &described, &reason) != 0)
                g_error("%s: %s", filter, reason.text);
        g_assert_cmpint(condition_new(described, pair->format, &condition), ==, 0);
        g_assert_cmpint(instance_enable_event(pair->kernel, pair->system, pair->event, false),
                        ==,
                        0);
        if (instance_set_filter(pair->kernel, pair->system, pair->event, filter, &reason) != 0)
                g_error("%s: %s", filter, reason.text);
        g_assert_cmpint(instance_enable_event(pair->kernel, pair->system, pair->event, true),
                        ==,
                        0);
        for (unsigned i = 0; i < N_HITS; i++)
                pair->hit(i);
        g_autofree char *kernel = read_keys(pair, pair->kernel, NULL);
        g_autofree char *judged = read_keys(pair, pair->whole, condition);
        g_auto(GStrv) keys = g_strsplit(kernel, " ", -1);
        pair->n_some += *kernel && g_strv_length(keys) < N_HITS;
        if (strcmp(kernel, judged) != 0)
                g_error("%s: the kernel let through '%s', judged were '%s'",
                                filter,
                                kernel,
                                judged);
}

static Format *load_format(const char *system, const char *name) {
        _cleanup_free_ char *text = NULL;
        Format *format = NULL;
        Reason reason = {};
        size_t size;

        g_assert_cmpint(event_read_format(native_tracefs, system, name, &text, &size), ==, 0);
        g_assert_cmpint(format_parse(text, size, &format, &reason), ==, 0);
        return format;
}

static void stay_on_cpu(void) {
        cpu_set_t set;

        CPU_ZERO(&set);
        CPU_SET(sched_getcpu(), &set);
        g_assert_cmpint(sched_setaffinity(0, sizeof(set), &set), ==, 0);
}

static void run(Pair *pair) {
        const char *id = native_id();

        stay_on_cpu();
        g_assert_cmpint(instance_create(native_tracefs, id, &pair->whole), ==, 0);
        pair->format = load_format(pair->system, pair->event);
        const FilterContext context = { .event = "try:try", .format = pair->format };
        g_assert_cmpint(instance_add_pid(pair->kernel, getpid()), ==, 0);
        g_assert_cmpint(instance_add_pid(pair->whole, getpid()), ==, 0);
        g_assert_cmpint(instance_enable_event(pair->whole, pair->system, pair->event, true), ==, 0);
        for (unsigned i = 0; i < N_FILTERS; i++) {
                _cleanup_free_ char *filter = make_filter(&context);

                compare(pair, filter);
        }
        g_assert_cmpuint(pair->n_some, >, N_FILTERS / 10);
        g_assert_cmpint(instance_enable_event(pair->kernel, pair->system, pair->event, false),
                        ==,
                        0);
        g_assert_cmpint(instance_enable_event(pair->whole, pair->system, pair->event, false),
                        ==,
                        0);
        g_autofree char *name = g_strdup(pair->whole->name);
        instance_free(pair->whole);
        g_assert_cmpint(instance_remove(native_tracefs, name), ==, 0);
        format_free(pair->format);
}

static void test_texts(Instance *instance) {
        Pair pair = { .kernel = instance,
                .system = "task",
                .event = "task_rename",
                .key = "newcomm",
                .hit = hit_rename };

        run(&pair);
}

typedef struct Place {
        ElfW(Addr) address;
        uint64_t offset; /* in the file */
} Place;

static int find_offset(struct dl_phdr_info *info, size_t size _unused_, void *userdata) {
        Place *place = userdata;

        for (int i = 0; i < info->dlpi_phnum; i++) {
                const ElfW(Phdr) *header = &info->dlpi_phdr[i];
                ElfW(Addr) begin = info->dlpi_addr + header->p_vaddr;

                if (header->p_type != PT_LOAD || place->address < begin ||
                                place->address >= begin + header->p_memsz)
                        continue;
                place->offset = place->address - begin + header->p_offset;
                return 1;
        }
        return 0;
}

static void test_numbers(Instance *instance) {
        Pair pair = { .kernel = instance,
                .system = GROUP,
                .event = "judged",
                .key = "sequence",
                .hit = hit_probe };
        Place place = { .address = (ElfW(Addr))probed };
        _cleanup_close_ int fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
        Reason reason = {};

        if (!probe_is_supported(native_tracefs, PROBE_USER)) {
                g_test_skip("this kernel has no uprobes");
                return;
        }
        g_assert_cmpint(dl_iterate_phdr(find_offset, &place), ==, 1);
        g_autofree char *line = g_strdup_printf(
                        "p:" GROUP "/judged /proc/self/fd/%d:0x%016" PRIx64 " u1=" NUMBER
                        ":u8 s1=" NUMBER ":s8 u2=" NUMBER ":u16 s2=" NUMBER ":s16 u4=" NUMBER
                        ":u32 s4=" NUMBER ":s32 u8=" NUMBER ":u64 s8=" NUMBER
                        ":s64 sequence=" SEQUENCE ":u32 text=+0(" TEXT "):string",
                        fd,
                        place.offset);
        if (probe_define(native_tracefs, PROBE_USER, line, &(size_t){ 0 }, &reason) != 0)
                g_error("%s: %s", line, reason.text);
        run(&pair);
        g_assert_cmpint(probe_remove(native_tracefs, PROBE_USER, GROUP, "judged"), ==, 0);
}

static void add_tests(void) {
        native_add_test("/condition/texts", test_texts);
        native_add_test("/condition/numbers", test_numbers);
}

int main(int argc, char **argv) {
        return native_main(argc, argv, add_tests);
}
