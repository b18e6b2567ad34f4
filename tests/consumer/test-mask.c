/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What each verdict on a field leaves of a record. */

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "consumer/records/mask-rules.h"
#include "consumer/records/mask.h"
#include "consumer/records/pseudonym.h"
#include "page-builder.h"

#define KERNEL 0xffffffff81234560
#define LINEAR 0xffff888012345678
#define ERROR  ((uint64_t)-22)
#define NUMBER 0x00007fff12345678
#define SECRET "geheim" /* stands in strings that are cut */

#define FORMAT                                                                         \
        "name: e\nID: 7\nformat:\n"                                                    \
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
        "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
        "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"                   \
        "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"                   \
        "\tfield:unsigned long args[3];\toffset:16;\tsize:24;\tsigned:0;\n"            \
        "\tfield:char comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"                    \
        "\tfield:pid_t pid;\toffset:56;\tsize:4;\tsigned:1;\n"                         \
        "\tfield:pid_t other;\toffset:60;\tsize:4;\tsigned:1;\n"                       \
        "\tfield:u8 blob[12];\toffset:64;\tsize:12;\tsigned:0;\n"                      \
        "\tfield:__data_loc char[] name;\toffset:76;\tsize:4;\tsigned:0;\n"            \
        "\tfield:__data_loc unsigned long[] stack;\toffset:80;\tsize:4;\tsigned:0;\n"  \
        "\tfield:__rel_loc u8[] raw;\toffset:84;\tsize:4;\tsigned:0;\n\n"              \
        "print fmt: \"\"\n"
#define FIXED  88
#define NAME   FIXED
#define STACK  (NAME + 8)
#define RAW    (STACK + 24)
#define RECORD (RAW + 16)

static Masks *make_masks_of(const char *format, const char *cuts, bool has_members, int wanted) {
        _cleanup_json_ json_object *events = json_object_new_array();
        json_object *event = json_object_new_object();
        Masks *masks = NULL;

        json_object_object_add(event, "format", json_object_new_string(format));
        if (cuts) {
                json_object *parsed = json_tokener_parse(cuts);

                g_assert_nonnull(parsed);
                json_object_object_add(event, "cut", parsed);
        }
        json_object_array_add(events, event);
        g_assert_cmpint(masks_new(events, has_members, &masks), ==, wanted);
        return masks;
}

static void put_u64(uint8_t *at, uint64_t value) {
        memcpy(at, &value, sizeof(value));
}

static uint64_t get_u64(const uint8_t *at) {
        uint64_t value;

        memcpy(&value, at, sizeof(value));
        return value;
}

static void make_record(uint8_t *record) {
        memset(record, 0, RECORD);
        record[0] = 7;
        page_put_u32(record + 4, 12);
        put_u64(record + 8, KERNEL);
        put_u64(record + 16, LINEAR);
        put_u64(record + 24, ERROR);
        put_u64(record + 32, NUMBER);
        memcpy(record + 40, SECRET, sizeof(SECRET));
        page_put_u32(record + 56, 12);
        page_put_u32(record + 60, 13);
        memset(record + 64, 'b', 12);
        page_put_u32(record + 76, (uint32_t)sizeof(SECRET) << 16 | NAME);
        memcpy(record + NAME, SECRET, sizeof(SECRET));
        page_put_u32(record + 80, 24U << 16 | STACK);
        put_u64(record + STACK, KERNEL);
        put_u64(record + STACK + 8, NUMBER);
        put_u64(record + STACK + 16, LINEAR);
        page_put_u32(record + 84, 16U << 16 | (RAW - 88));
        memset(record + RAW, 'r', 16);
        put_u64(record + RAW + 3, KERNEL); /* at no multiple of anything */
}

/* What cuts make of the record; the bytes in [begin, end) of it may differ, no others. */
static void clean(const char *cuts, uint8_t *record) {
        Masks *masks = make_masks_of(FORMAT, cuts, false, 0);

        make_record(record);
        mask_clean(masks, masks_find(masks, 7), record, RECORD);
        masks_free(masks);
}

static void assert_same_but(const uint8_t *record, size_t begin, size_t end) {
        uint8_t whole[RECORD];

        make_record(whole);
        g_assert_cmpmem(record, begin, whole, begin);
        g_assert_cmpmem(record + end, RECORD - end, whole + end, RECORD - end);
}

static void assert_zero(const uint8_t *at, size_t size) {
        for (size_t i = 0; i < size; i++)
                g_assert_cmphex(at[i], ==, 0);
}

static void test_no_cut(void) {
        uint8_t record[RECORD];

        clean(NULL, record);
        assert_same_but(record, 0, 0);
        clean("[]", record);
        assert_same_but(record, 0, 0);
}

static void test_zero(void) {
        uint8_t record[RECORD];

        clean("[{\"field\":\"args\",\"how\":\"zero\"}]", record);
        assert_same_but(record, 16, 40);
        assert_zero(record + 16, 24);
        clean("[{\"field\":\"comm\",\"how\":\"zero\"}]", record);
        assert_same_but(record, 40, 56);
        assert_zero(record + 40, 16);
        clean("[{\"field\":\"other\",\"how\":\"zero\"}]", record);
        assert_same_but(record, 60, 64);
        assert_zero(record + 60, 4);
}

/* A reader prints an empty string or array, and nothing is left of what was there. */
static void test_zero_located(void) {
        uint8_t record[RECORD];

        clean("[{\"field\":\"name\",\"how\":\"zero\"}]", record);
        g_assert_cmphex(page_get_u32(record + 76), ==, 1U << 16 | NAME);
        assert_zero(record + NAME, 8);
        clean("[{\"field\":\"stack\",\"how\":\"zero\"},{\"field\":\"raw\",\"how\":\"zero\"}]",
                        record);
        g_assert_cmphex(page_get_u32(record + 80), ==, STACK);
        g_assert_cmphex(page_get_u32(record + 84), ==, RAW - 88);
        assert_same_but(record, 80, RECORD);
        assert_zero(record + STACK, RECORD - STACK);
}

/* Where a location lies, and where one that is cut names bytes of another: those go. */
static void test_zero_located_hostile(void) {
        Masks *masks = make_masks_of(FORMAT, "[{\"field\":\"name\",\"how\":\"zero\"}]", false, 0);
        uint8_t record[RECORD];

        make_record(record);
        page_put_u32(record + 76, 8U << 16 | 0xfff0);
        mask_clean(masks, masks_find(masks, 7), record, RECORD);
        g_assert_cmphex(page_get_u32(record + 76), ==, 0);
        make_record(record);
        page_put_u32(record + 76, 16U << 16 | STACK);
        mask_clean(masks, masks_find(masks, 7), record, RECORD);
        assert_zero(record + STACK, 16);
        g_assert_cmphex(get_u64(record + STACK + 16), ==, LINEAR);
        masks_free(masks);
}

static void test_words(void) {
        uint8_t record[RECORD];

        clean("[{\"field\":\"ip\",\"how\":\"words\"},{\"field\":\"args\",\"how\":\"words\"}]",
                        record);
        assert_same_but(record, 8, 40);
        g_assert_cmphex(get_u64(record + 8), ==, 0);
        g_assert_cmphex(get_u64(record + 16), ==, 0);
        g_assert_cmphex(get_u64(record + 24), ==, ERROR);
        g_assert_cmphex(get_u64(record + 32), ==, NUMBER);
        clean("[{\"field\":\"stack\",\"how\":\"words\"}]", record);
        assert_same_but(record, STACK, RAW);
        g_assert_cmphex(get_u64(record + STACK), ==, 0);
        g_assert_cmphex(get_u64(record + STACK + 8), ==, NUMBER);
        g_assert_cmphex(get_u64(record + STACK + 16), ==, 0);
        clean("[{\"field\":\"raw\",\"how\":\"words\"},{\"field\":\"pid\",\"how\":\"words\"}]",
                        record);
        /* At any place of bytes; the first that looks like one goes, and the upper bytes are left.
         */
        assert_same_but(record, RAW + 1, RAW + 11);
        assert_zero(record + RAW + 1, 8);
}

static void test_range(void) {
        static const struct {
                uint64_t word;
                bool is_cut;
        } cases[] = {
                { 0x00007fffffffffff, false },
                { 0x7fffffffffffffff, false },
                { 0x8000000000000000, false },
                { 0xfeffffffffffffff, false },
                { 0xff00000000000000, true },
                { 0xfffffffefffff000, true },
                { 0xff000000ffffffff, true },
                { 0xff11000000000000, true }, /* five levels of pages */
                { 0xffff000000000000, true }, /* arm64 */
                { 0xffff800000000000, true },
                { 0xffffffffffffefff, true },
                { 0xfffffffffffff000, false },
                { UINT64_MAX, false },
        };

        /* One word alone, and each of three, beside words that no address equals. */
        Masks *masks = make_masks_of(FORMAT,
                        "[{\"field\":\"blob\",\"how\":\"zero\"},{\"field\":\"args\",\"how\":\"words\"}]",
                        false,
                        0);
        Masks *one = make_masks_of(FORMAT, "[{\"field\":\"ip\",\"how\":\"words\"}]", false, 0);
        for (size_t i = 0; i < 4 * ELEMENTSOF(cases); i++) {
                uint64_t word = cases[i / 4].word, expected = cases[i / 4].is_cut ? 0 : word;
                size_t offset = 8 + i % 4 * sizeof(word);
                uint8_t record[RECORD];

                make_record(record);
                for (size_t at = 8; at < 40; at += sizeof(word))
                        put_u64(record + at, i % 8 < 4 ? UINT64_MAX : UINT32_MAX);
                put_u64(record + offset, word);
                mask_clean(offset == 8 ? one : masks,
                                masks_find(offset == 8 ? one : masks, 7),
                                record,
                                RECORD);
                g_assert_cmphex(get_u64(record + offset), ==, expected);
        }
        masks_free(masks);
        masks_free(one);
}

static void test_pseudonyms(void) {
        Masks *masks = make_masks_of(FORMAT,
                        "[{\"field\":\"ip\",\"how\":\"pseudonym\"},"
                        "{\"field\":\"args\",\"how\":\"words-pseudonym\"},"
                        "{\"field\":\"pid\",\"how\":\"pseudonym\"},"
                        "{\"field\":\"blob\",\"how\":\"pseudonym\"},"
                        "{\"field\":\"stack\",\"how\":\"pseudonym\"}]",
                        false,
                        0);
        uint8_t record[RECORD], second[RECORD];

        make_record(record);
        mask_clean(masks, masks_find(masks, 7), record, RECORD);
        uint64_t kernel = get_u64(record + 8), linear = get_u64(record + 16);
        g_assert_cmphex(kernel, !=, KERNEL);
        g_assert_cmphex(kernel, !=, 0);
        g_assert_cmphex(kernel >> 48, ==, 0);
        g_assert_cmphex(linear, !=, kernel);
        g_assert_cmphex(linear >> 48, ==, 0);
        g_assert_cmphex(get_u64(record + 24), ==, ERROR);
        g_assert_cmphex(get_u64(record + 32), ==, NUMBER);
        g_assert_cmphex(page_get_u32(record + 56), !=, 12);
        g_assert_cmphex(page_get_u32(record + 56), !=, 0);
        assert_zero(record + 64, 12);
        g_assert_cmphex(get_u64(record + STACK), ==, kernel); /* equal stays equal */
        g_assert_cmphex(get_u64(record + STACK + 16), ==, linear);

        make_record(second);
        put_u64(second + 8, 0);
        mask_clean(masks, masks_find(masks, 7), second, RECORD);
        g_assert_cmphex(get_u64(second + 8), ==, 0);
        g_assert_cmpmem(record + 16, RECORD - 16, second + 16, RECORD - 16);
        masks_free(masks);
        clean("[{\"field\":\"ip\",\"how\":\"pseudonym\"}]", record); /* another session */
        g_assert_cmphex(get_u64(record + 8), !=, kernel);
}

static bool is_twelve(MaskTasks *tasks _unused_, uint32_t pid) {
        return pid == 12;
}

static MaskTasks twelve = { .is_member = is_twelve };

#define OTHERS                                                       \
        "[{\"field\":\"comm\",\"how\":\"member\",\"pid\":\"pid\"},"  \
        "{\"field\":\"pid\",\"how\":\"member\",\"pid\":\"pid\"},"    \
        "{\"field\":\"name\",\"how\":\"member\",\"pid\":\"other\"}," \
        "{\"field\":\"other\",\"how\":\"member\",\"pid\":\"other\"}]"

static void test_members(void) {
        Masks *masks = make_masks_of(FORMAT, OTHERS, true, 0);
        const Mask *mask = masks_find(masks, 7);
        uint8_t record[RECORD];

        g_assert_true(mask->has_members);
        make_record(record);
        mask_clean(masks, mask, record, RECORD);
        assert_same_but(record, 0, 0);
        mask_cut_others(mask, record, RECORD, &twelve);
        assert_zero(record + 60, 4);
        assert_zero(record + NAME, 8);
        g_assert_cmphex(page_get_u32(record + 76), ==, 1U << 16 | NAME);
        memcpy(record + 60, "\x0d\0\0\0", 4);
        page_put_u32(record + 76, (uint32_t)sizeof(SECRET) << 16 | NAME);
        assert_same_but(record, NAME, STACK);

        make_record(record);
        page_put_u32(record + 56, 99);
        page_put_u32(record + 60, 12);
        mask_clean(masks, mask, record, RECORD);
        mask_cut_others(mask, record, RECORD, &twelve);
        assert_zero(record + 40, 20);
        g_assert_cmpuint(page_get_u32(record + 60), ==, 12);
        g_assert_cmpstr((char *)record + NAME, ==, SECRET);
        masks_free(masks);
}

/* NULs at any place, and bytes beside them that a trick with words might take for one. */
static void test_names(void) {
        static const uint8_t bytes[] = { 'a', 0x01, 0x7f, 0x80, 0x81, 0xff, 0, 0 };

        for (unsigned i = 0; i < 100000; i++) {
                uint8_t name[MASK_NAME_SIZE], by_words[MASK_NAME_SIZE],
                                expected[MASK_NAME_SIZE] = {};

                for (size_t k = 0; k < sizeof(name); k++)
                        name[k] = bytes[(unsigned)g_test_rand_int() % (i % 2 ? 8 : 6)];
                if (i % 3 == 0)
                        name[(unsigned)g_test_rand_int() % sizeof(name)] = 0;
                memcpy(expected, name, strnlen((char *)name, sizeof(name)));
                memcpy(by_words, name, sizeof(name));
                name_cut(name);
                name_cut_words(by_words);
                g_assert_cmpmem(name, sizeof(name), expected, sizeof(expected));
                g_assert_cmpmem(by_words, sizeof(by_words), expected, sizeof(expected));
        }
}

#define HEAD_COMMON                                                            \
        "name: e\nID: 7\nformat:\n"                                            \
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
        "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n" \
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

/* The short cut cuts what the long way does: holes at 3 and 28, strings, half a stencil at the end.
 */
static void test_plain(void) {
        static const char format[] =
                        HEAD_COMMON "\tfield:char prev[16];\toffset:8;\tsize:16;\tsigned:0;\n"
                                    "\tfield:u32 secret;\toffset:24;\tsize:4;\tsigned:0;\n"
                                    "\tfield:u64 told;\toffset:32;\tsize:8;\tsigned:0;\n"
                                    "\tfield:char next[16];\toffset:40;\tsize:16;\tsigned:0;\n"
                                    "\tfield:u32 last;\toffset:56;\tsize:4;\tsigned:0;\n\n"
                                    "print fmt: \"\"\n";
        Masks *masks = make_masks_of(format, "[{\"field\":\"secret\",\"how\":\"zero\"}]", false, 0);
        const Mask *mask = masks_find(masks, 7);

        g_assert_cmpuint(mask->plain_size, ==, 60);
        for (unsigned i = 0; i < 10000; i++) {
                uint8_t plain[60], general[60];

                for (size_t k = 0; k < sizeof(plain); k++)
                        plain[k] = (uint8_t)(g_test_rand_int() & (i % 4 ? 0xff : 3));
                memcpy(general, plain, sizeof(plain));
                mask_clean_plain(masks, mask, plain);
                mask_clean(masks, mask, general, sizeof(general));
                g_assert_cmpmem(plain, sizeof(plain), general, sizeof(general));
                g_assert_cmphex(plain[3], ==, 0);
                assert_zero(plain + 24, 8);
        }
        masks_free(masks);
}

/* The same for words of which some are addresses of the kernel. */
static void test_plain_words(void) {
        static const char format[] = HEAD_COMMON
                        "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n"
                        "\tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n\n"
                        "print fmt: \"\"\n";
        static const uint64_t words[] = {
                0, 0x7fff12345678, 0xff00000000000000, 0xfffffffffffff000, 0xffffffff81000000, 1
        };
        Masks *masks = make_masks_of(format, "[{\"field\":\"args\",\"how\":\"words\"}]", false, 0);
        const Mask *mask = masks_find(masks, 7);
        bool was_cut = false, was_kept = false;

        g_assert_cmpuint(mask->plain_size, ==, 64);
        g_assert_cmpuint(mask->whole_size, ==, 0);
        for (unsigned i = 0; i < 10000; i++) {
                uint64_t plain[8], general[8], before[8];

                for (size_t k = 0; k < ELEMENTSOF(plain); k++)
                        plain[k] = words[g_test_rand_int_range(0, ELEMENTSOF(words))];
                memcpy(general, plain, sizeof(plain));
                memcpy(before, plain, sizeof(plain));
                mask_clean_plain(masks, mask, (uint8_t *)plain);
                mask_clean(masks, mask, (uint8_t *)general, sizeof(general));
                g_assert_cmpmem(plain, sizeof(plain), general, sizeof(general));
                for (size_t k = 2; k < ELEMENTSOF(plain); k++) {
                        bool is_kernel = before[k] >= words[2] && before[k] < words[3];

                        g_assert_cmphex(plain[k], ==, is_kernel ? 0 : before[k]);
                        was_cut |= is_kernel;
                        was_kept |= !is_kernel;
                }
        }
        g_assert_true(was_cut && was_kept);
        masks_free(masks);
}

static bool is_odd(MaskTasks *tasks _unused_, uint32_t pid) {
        return pid % 2;
}

/* Two groups in stencils that share bytes, in all four ways: against a byte at a time. */
static void test_plain_members(void) {
        static const char format[] =
                        HEAD_COMMON "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
                                    "\tfield:u32 one;\toffset:24;\tsize:4;\tsigned:0;\n"
                                    "\tfield:u32 two;\toffset:28;\tsize:4;\tsigned:0;\n"
                                    "\tfield:u8 told[20];\toffset:32;\tsize:20;\tsigned:0;\n"
                                    "\tfield:u64 of_one;\toffset:52;\tsize:8;\tsigned:0;\n\n"
                                    "print fmt: \"\"\n";
        Masks *masks = make_masks_of(format,
                        "[{\"field\":\"comm\",\"how\":\"member\",\"pid\":\"two\"},"
                        "{\"field\":\"two\",\"how\":\"member\",\"pid\":\"two\"},"
                        "{\"field\":\"of_one\",\"how\":\"member\",\"pid\":\"one\"}]",
                        true,
                        0);
        const Mask *mask = masks_find(masks, 7);
        MaskTasks tasks = { .is_member = is_odd };

        g_assert_cmpuint(mask->plain_size, ==, 60);
        for (unsigned i = 0; i < 10000; i++) {
                uint8_t record[60], expected[60];

                for (size_t k = 0; k < sizeof(record); k++)
                        record[k] = (uint8_t)(g_test_rand_int() | 1);
                record[24] ^= i & 1;
                record[28] ^= i >> 1 & 1;
                memcpy(expected, record, sizeof(record));
                if (i & 1)
                        memset(expected + 52, 0, 8);
                if (i >> 1 & 1) {
                        memset(expected + 8, 0, 16);
                        memset(expected + 28, 0, 4);
                }
                mask_cut_others(mask, record, sizeof(record), &tasks);
                g_assert_cmpmem(record, sizeof(record), expected, sizeof(expected));
        }
        masks_free(masks);
}

/* Where nobody is told apart nobody is a member. */
static void test_without_members(void) {
        Masks *masks = make_masks_of(FORMAT, OTHERS, false, 0);
        uint8_t record[RECORD];

        g_assert_false(masks_find(masks, 7)->has_members);
        make_record(record);
        mask_clean(masks, masks_find(masks, 7), record, RECORD);
        assert_zero(record + 40, 24);
        assert_zero(record + NAME, 8);
        masks_free(masks);
}

/* Whatever a record is cut to, nothing of what is cut survives. */
static void test_short(void) {
        Masks *masks = make_masks_of(FORMAT,
                        "[{\"field\":\"ip\",\"how\":\"words\"},{\"field\":\"args\",\"how\":\"zero\"},"
                        "{\"field\":\"comm\",\"how\":\"member\",\"pid\":\"other\"}]",
                        true,
                        0);

        for (size_t size = 4; size <= FIXED; size += 4) {
                uint8_t record[RECORD];

                make_record(record);
                mask_clean(masks, masks_find(masks, 7), record, size);
                mask_cut_others(masks_find(masks, 7), record, size, &twelve);
                for (size_t i = 8; i < MIN_OF(size, (size_t)56); i++)
                        g_assert_cmphex(record[i], ==, 0);
                uint8_t whole[RECORD];
                make_record(whole);
                g_assert_cmpmem(record + size, RECORD - size, whole + size, RECORD - size);
        }
        masks_free(masks);
}

#define HEAD "name: e\nID: 7\nformat:\n\tfield:u64 common;\toffset:0;\tsize:8;\tsigned:0;\n\n"

/* An array that reaches to the record's end: a kernel stack, a mark. */
static void test_open(void) {
        static const char stack[] = HEAD
                        "\tfield:unsigned long caller[];\toffset:8;\tsize:0;\tsigned:0;\n\nprint fmt: \"\"\n",
                          text[] = HEAD
                          "\tfield:char buf[];\toffset:8;\tsize:0;\tsigned:0;\n\nprint fmt: \"\"\n";
        uint64_t record[] = { 7, KERNEL, NUMBER, LINEAR };
        const uint64_t kept[] = { 7, 0, NUMBER, 0 }, none[] = { 7, 0, 0, 0 };

        Masks *masks = make_masks_of(stack, "[{\"field\":\"caller\",\"how\":\"words\"}]", false, 0);
        mask_clean(masks, masks_find(masks, 7), (uint8_t *)record, sizeof(record));
        g_assert_cmpmem(record, sizeof(record), kept, sizeof(kept));
        masks_free(masks);
        masks = make_masks_of(text, "[{\"field\":\"buf\",\"how\":\"zero\"}]", false, 0);
        memcpy(record + 1, SECRET, sizeof(SECRET));
        mask_clean(masks, masks_find(masks, 7), (uint8_t *)record, sizeof(record));
        g_assert_cmpmem(record, sizeof(record), none, sizeof(none));
        masks_free(masks);
}

/* A mask that is reported as it is does not even have to be looked at. */
static void test_whole(void) {
        static const char plain[] =
                        HEAD "\tfield:u32 a;\toffset:8;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n",
                          holed[] = HEAD
                          "\tfield:u32 a;\toffset:12;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n";

        Masks *masks = make_masks_of(plain, NULL, false, 0);
        g_assert_cmpuint(masks_find(masks, 7)->whole_size, ==, 12);
        masks_free(masks);
        masks = make_masks_of(plain, "[{\"field\":\"a\",\"how\":\"zero\"}]", false, 0);
        g_assert_cmpuint(masks_find(masks, 7)->whole_size, ==, 0);
        masks_free(masks);
        masks = make_masks_of(holed, NULL, false, 0);
        g_assert_cmpuint(masks_find(masks, 7)->whole_size, ==, 0);
        masks_free(masks);
}

static void test_bad_cuts(void) {
        static const char *const bad[] = {
                "{}",
                "[1]",
                "[{}]",
                "[{\"field\":\"ip\"}]",
                "[{\"field\":\"ip\",\"how\":\"keep\"}]",
                "[{\"field\":\"ip\",\"how\":\"Zero\"}]",
                "[{\"field\":\"ip\",\"how\":1}]",
                "[{\"field\":\"nosuch\",\"how\":\"zero\"}]",
                "[{\"field\":\"common_pid\",\"how\":\"zero\"}]",
                "[{\"field\":\"ip\",\"how\":\"zero\"},{\"field\":\"ip\",\"how\":\"words\"}]",
                "[{\"field\":\"ip\",\"how\":\"member\"}]",
                "[{\"field\":\"ip\",\"how\":\"member\",\"pid\":\"nosuch\"}]",
                "[{\"field\":\"ip\",\"how\":\"member\",\"pid\":\"ip\"}]",
                "[{\"field\":\"ip\",\"how\":\"member\",\"pid\":\"name\"}]",
        };

        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                g_assert_null(make_masks_of(FORMAT, bad[i], true, -EBADMSG));
}

/* A second one may be a user's own field, which says what the user likes. */
static void test_two_starts(void) {
        static const char both[] =
                        HEAD "\tfield:u64 ktrace_from_nsec;\toffset:8;\tsize:8;\tsigned:0;\n"
                             "\tfield:u64 ktrace_from_usec;\toffset:16;\tsize:8;\tsigned:0;\n"
                             "\nprint fmt: \"\"\n";

        g_assert_null(make_masks_of(both, NULL, false, -EBADMSG));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/mask/no-cut", test_no_cut);
        g_test_add_func("/mask/zero", test_zero);
        g_test_add_func("/mask/zero-located", test_zero_located);
        g_test_add_func("/mask/zero-located-hostile", test_zero_located_hostile);
        g_test_add_func("/mask/words", test_words);
        g_test_add_func("/mask/range", test_range);
        g_test_add_func("/mask/pseudonyms", test_pseudonyms);
        g_test_add_func("/mask/members", test_members);
        g_test_add_func("/mask/names", test_names);
        g_test_add_func("/mask/plain", test_plain);
        g_test_add_func("/mask/plain-words", test_plain_words);
        g_test_add_func("/mask/plain-members", test_plain_members);
        g_test_add_func("/mask/without-members", test_without_members);
        g_test_add_func("/mask/short", test_short);
        g_test_add_func("/mask/open", test_open);
        g_test_add_func("/mask/whole", test_whole);
        g_test_add_func("/mask/bad-cuts", test_bad_cuts);
        g_test_add_func("/mask/two-starts", test_two_starts);
        return g_test_run();
}
