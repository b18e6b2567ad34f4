/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What becomes of each field of a granted event before a reader gets it. */
#include <glib.h>
#include <string.h>

#include "policy/address.h"
#include "policy/grant-field.h"
#include "policy/policy.h"

#define COMMON                                                                 \
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
        "\tfield:unsigned long common_wide;\toffset:8;\tsize:8;\tsigned:0;\n\n"

static const char text[] =
                "name: sample\nID: 7\nformat:\n" COMMON
                "\tfield:unsigned long ip;\toffset:16;\tsize:8;\tsigned:0;\n"
                "\tfield:long id;\toffset:24;\tsize:8;\tsigned:1;\n"
                "\tfield:const void * ptr;\toffset:32;\tsize:8;\tsigned:0;\n"
                "\tfield:unsigned long args[6];\toffset:40;\tsize:48;\tsigned:0;\n"
                "\tfield:pid_t pid;\toffset:88;\tsize:4;\tsigned:1;\n"
                "\tfield:char comm[16];\toffset:92;\tsize:16;\tsigned:0;\n"
                "\tfield:__data_loc char[] file;\toffset:108;\tsize:4;\tsigned:0;\n"
                "\tfield:__data_loc unsigned long[] caller;\toffset:112;\tsize:4;\tsigned:0;\n"
                "\tfield:u8 raw[12];\toffset:116;\tsize:12;\tsigned:0;\n"
                "\tfield:unsigned long where;\toffset:128;\tsize:8;\tsigned:0;\n"
                "\tfield:int prev_state;\toffset:136;\tsize:4;\tsigned:1;\n"
                "\nprint fmt: \"%d %pS\", REC->pid, (void *)REC->where\n";

static char *globs[] = { (char *)"prev_*", (char *)"id" };

static void expect(const Grant *grant, const GrantEvent *event, const char *name, const char *how) {
        _cleanup_(format_free_cleanup) Format *format = NULL;
        const char *pid;

        g_assert_cmpint(format_parse(text, strlen(text), &format, NULL), ==, 0);
        const FormatField *field = format_field_find(format, name);
        g_assert_nonnull(field);
        FieldVerdict verdict = grant_judge_field(grant, event, format, field, &pid);
        g_test_message("%s", name);
        g_assert_cmpstr(field_verdict_to_string(verdict), ==, how);
        g_assert_cmpstr(pid, ==, verdict == VERDICT_MEMBER ? "pid" : NULL);
}

static void expect_all(const Grant *grant,
                const GrantEvent *event,
                const char *const *names,
                const char *how) {
        for (; *names; names++)
                expect(grant, event, *names, how);
}

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const GrantEvent whole = {};

/* Of one's own, whatever its type says: `unsigned long` holds addresses as well as pointers do. */
static void test_words(void) {
        const Grant grant = { .fenced = true, .redacted = true };
        const Grant other = { .fenced = true, .redacted = true, .addresses = ADDRESS_PSEUDONYM };

        expect_all(&grant, &whole, NAMES("ip", "id", "ptr", "args", "caller", "raw"), "words");
        expect_all(&grant, &whole, NAMES("pid", "comm", "file", "common_wide"), NULL);
        expect_all(&other, &whole, NAMES("ip", "id", "ptr", "args", "caller"), "words-pseudonym");
        expect_all(&other, &whole, NAMES("pid", "comm", "file", "common_wide"), NULL);
}

/* Of others, what is meant to be an address goes whole, where it points in a process too. */
static void test_addresses_of_others(void) {
        const Grant grant = { .redacted = true };
        const Grant other = { .redacted = true, .addresses = ADDRESS_PSEUDONYM };

        expect_all(&grant, &whole, NAMES("ip", "ptr", "caller", "where"), "zero");
        expect_all(&grant, &whole, NAMES("id", "args", "raw"), "words");
        expect_all(&other, &whole, NAMES("ip", "ptr", "caller", "where"), "pseudonym");
        expect_all(&other, &whole, NAMES("id", "args", "raw"), "words-pseudonym");
        expect_all(&grant, &whole, NAMES("pid", "comm", "file"), NULL);
}

/* As Linux 6.19 describes a write. */
static void test_user_memory(void) {
        static char *all[] = { (char *)"*" };
        const Grant own = { .fenced = true, .redacted = true }, others = { .redacted = true },
                    root = { .addresses = ADDRESS_KEEP };
        const GrantEvent call = { .system = (char *)"syscalls", .name = (char *)"sys_enter_write" },
                         probe = { .system = (char *)"probes", .name = (char *)"opened" },
                         kept = { .system = (char *)"syscalls", .keep = all, .n_keep = 1 };

        expect_all(&own, &call, NAMES("file"), NULL);
        expect_all(&root, &call, NAMES("file", "caller"), NULL);
        expect_all(&others, &call, NAMES("file", "caller"), "zero");
        expect_all(&others, &kept, NAMES("file", "caller"), "zero");
        expect_all(&others, &call, NAMES("pid", "comm"), NULL);
        expect_all(&others, &probe, NAMES("file"), NULL);
}

static void test_unredacted(void) {
        const Grant root = { .addresses = ADDRESS_KEEP };
        const Grant kept = { .fenced = true, .redacted = true, .addresses = ADDRESS_KEEP };

        expect_all(&root, &whole, NAMES("ip", "ptr", "args", "caller"), NULL);
        expect_all(&kept, &whole, NAMES("ip", "ptr", "args", "caller"), NULL);
}

static void test_lists(void) {
        const Grant grant = { .redacted = true, .addresses = ADDRESS_KEEP };
        const GrantEvent kept = { .keep = globs, .n_keep = 2 }, cut = { .cut = globs, .n_cut = 2 },
                         both = { .keep = globs, .n_keep = 2, .cut = globs + 1, .n_cut = 1 },
                         others = { .speaks_of_others = true };

        expect_all(&grant, &kept, NAMES("id", "prev_state", "common_wide"), NULL);
        expect_all(&grant, &kept, NAMES("pid", "comm", "ip"), "zero");
        expect_all(&grant, &cut, NAMES("id", "prev_state"), "zero");
        expect_all(&grant, &cut, NAMES("pid", "comm", "ip"), NULL);
        expect_all(&grant, &both, NAMES("id", "pid"), "zero");
        expect_all(&grant, &both, NAMES("prev_state"), NULL);
        expect_all(&grant, &others, NAMES("id", "pid", "comm", "prev_state"), "zero");
        expect_all(&grant, &others, NAMES("common_wide"), NULL);
}

/* A field of a task that has room for an address is not shown even of a member, nor is one whose
 * pid the kernel does not have. */
static void test_members(void) {
        char *fields[] = { (char *)"comm", (char *)"pid", (char *)"id" };
        GrantMember member = { (char *)"pid", fields, 3 }, absent = { (char *)"tid", fields, 3 },
                    wide = { (char *)"id", fields, 3 };
        const Grant grant = { .fenced = true, .redacted = true };
        const GrantEvent event = { .speaks_of_others = true, .members = &member, .n_members = 1 },
                         no_pid = { .speaks_of_others = true, .members = &absent, .n_members = 1 },
                         no_int = { .speaks_of_others = true, .members = &wide, .n_members = 1 };

        expect_all(&grant, &event, NAMES("comm", "pid"), "member");
        expect_all(&grant, &event, NAMES("id", "ip", "file"), "zero");
        expect_all(&grant, &no_pid, NAMES("comm", "pid"), "zero");
        expect_all(&grant, &no_int, NAMES("comm", "pid"), "zero");
}

/* What is printed as a pointer is one; what %p prints of a place in the record is none. */
static void test_printed(void) {
        static const struct {
                const char *print;
                bool is_address;
        } cases[] = {
                { "\"%p\", REC->id", true },
                { "\"a=%d b=%pS\", REC->pid, (void *)REC->id", true },
                { "\"a=%d b=%pS\", REC->id, REC->pid", false },
                { "\"%% %s %px\", __print_symbolic(REC->id, { 1, \"a,%p\" }), REC->pid", false },
                { "\"%*d %p\", REC->pid, REC->id, REC->ip", false },
                { "\"%*d %p\", REC->pid, REC->ip, REC->id", true },
                { "\"%p\", REC->identity", false },
                { "\"%lx\", REC->id", false },
                { "REC->id ? \"%p\" : \"\", REC->id", true },
                { "\"a=%p \" \"b=%p\", REC->ip, REC->id", true },
                { "\"%p\"", false },
                { "\"%p", false },
                { "\"%", false },
                { "\"%p\", ((REC->id", true },
                { "", false },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                FormatField field = { .name = (char *)"id", .size = 8 };
                const Format format = {
                        .fields = &field, .n_fields = 1, .print_format = (char *)cases[i].print
                };

                g_test_message("%s", cases[i].print);
                g_assert_cmpint(field_is_address(&format, &field), ==, cases[i].is_address);
                field.size = 4;
                g_assert_false(field_is_address(&format, &field));
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/grant-field/words", test_words);
        g_test_add_func("/grant-field/addresses-of-others", test_addresses_of_others);
        g_test_add_func("/grant-field/user-memory", test_user_memory);
        g_test_add_func("/grant-field/unredacted", test_unredacted);
        g_test_add_func("/grant-field/lists", test_lists);
        g_test_add_func("/grant-field/members", test_members);
        g_test_add_func("/grant-field/printed", test_printed);
        return g_test_run();
}
