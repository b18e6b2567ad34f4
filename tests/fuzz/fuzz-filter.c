/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Filters: the first byte chooses who asks, the rest is the text. What compiles is canonical, short
 * enough for the kernel, speaks of nothing that is cut; what does not has a reason with a place. */

#include <string.h>

#include "fuzz.h"
#include "policy/filter.h"

#define SECRET "hidden"

const char *const fuzz_words[] = { "(",
        ")",
        "!",
        "&&",
        "||",
        "==",
        "!=",
        "<=",
        ">=",
        "<",
        ">",
        "&",
        "~",
        "\"",
        "'",
        " ",
        "pid",
        "CPU",
        "comm",
        "common_flags",
        "name",
        "count",
        "level",
        "delta",
        "text",
        "path",
        "mask",
        "site",
        "good",
        "hidden",
        ".ustring",
        ".function",
        "CPUS{0-3,7}",
        "CPUS{",
        "}",
        "true",
        "-1",
        "0x7f",
        "0777",
        "18446744073709551615",
        "10ms",
        "64k",
        "\"1*\"",
        "'!a?'",
        "a == 1 && b",
        "(((((((((((((((((",
        ")))))))))))))))))",
        NULL };

static const char description[] =
                "name: any\nID: 1\nformat:\n"
                "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
                "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                "\tfield:char name[16];\toffset:8;\tsize:16;\tsigned:0;\n"
                "\tfield:u8 count;\toffset:24;\tsize:1;\tsigned:0;\n"
                "\tfield:s16 level;\toffset:26;\tsize:2;\tsigned:1;\n"
                "\tfield:s64 delta;\toffset:32;\tsize:8;\tsigned:1;\n"
                "\tfield:__data_loc char[] text;\toffset:40;\tsize:4;\tsigned:0;\n"
                "\tfield:const char * path;\toffset:48;\tsize:8;\tsigned:0;\n"
                "\tfield:__data_loc cpumask_t mask;\toffset:56;\tsize:4;\tsigned:0;\n"
                "\tfield:void * site;\toffset:64;\tsize:8;\tsigned:0;\n"
                "\tfield:bool good;\toffset:72;\tsize:1;\tsigned:0;\n"
                "\tfield:u8 array[4];\toffset:73;\tsize:4;\tsigned:0;\n"
                "\tfield:u32 " SECRET ";\toffset:80;\tsize:4;\tsigned:0;\n"
                "\nprint fmt: \"\"\n";

static bool is_readable(const FormatField *field, void *userdata _unused_) {
        return strcmp(field->name, SECRET) != 0;
}

/* The text with its strings taken out. */
static bool speaks_of(const char *text, const char *name) {
        char quote = '\0';

        for (; *text; text++) {
                if (quote == '\0' && strncmp(text, name, strlen(name)) == 0)
                        return true;
                if (quote == '\0' && (*text == '"' || *text == '\''))
                        quote = *text;
                else if (*text == quote)
                        quote = '\0';
        }
        return false;
}

static void check_result(const FilterContext *context, const char *result) {
        _cleanup_free_ char *again = NULL;

        fuzz_check(strlen(result) <= FILTER_RESULT_MAX);
        for (const char *p = result; *p; p++)
                fuzz_check((unsigned char)*p >= 0x20 && *p != 0x7f);
        if (context->may_read)
                fuzz_check(!speaks_of(result, SECRET) && !speaks_of(result, ".function") &&
                                !speaks_of(result, "path ") /* without .ustring */);
        if (strlen(result) > FILTER_TEXT_MAX)
                return;
        fuzz_check(filter_compile(context, result, &again, NULL) == 0);
        fuzz_check(strcmp(result, again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static Format *format;
        FilterContext context = { .event = "any:any" };
        _cleanup_free_ char *text = NULL, *result = NULL;
        Reason reason = {};
        int r;

        if (size == 0)
                return 0;
        if (!format)
                fuzz_check(format_parse(description, strlen(description), &format, NULL) == 0);
        context.format = format;
        context.may_read = (data[0] & 1) ? is_readable : NULL;
        context.event = (data[0] & 2) ? "syscalls:any" : "any:any";
        context.n_cpus = (data[0] & 4) ? 0 : 8;

        text = strndup((const char *)data + 1, size - 1);
        r = filter_compile(&context, text, &result, &reason);
        fuzz_check(r == 0 || r == KT_E_INVALID_SPEC || r == KT_E_ACCESS_DENIED);
        fuzz_check((r == 0) == (result != NULL));
        if (r == 0)
                check_result(&context, result);
        else
                fuzz_check(strstr(reason.text, ": filter column "));
        return 0;
}
