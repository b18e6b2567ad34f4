/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Definitions on events: the first byte chooses whether of one or of two, then comes a line with a
 * key and the rest is one argument. What compiles says nothing to the kernel that was written but
 * names, never reads where a program's pointer leads, and compares what is alike; what does not has
 * a reason with a place. */

#include <string.h>

#include "define/compile-pair.h"
#include "define/compile.h"
#include "fuzz.h"

#define HEAD                                                                         \
        "ID: 7\nformat:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n" \
        "\tfield:int door;\toffset:8;\tsize:4;\tsigned:1;\n"                         \
        "\tfield:u64 house;\toffset:16;\tsize:8;\tsigned:0;\n"                       \
        "\tfield:char who[16];\toffset:24;\tsize:16;\tsigned:0;\n"
#define END "\nprint fmt: \"\"\n"

static const char from_text[] =
                "name: rings\n" HEAD "\tfield:const char * told;\toffset:40;\tsize:8;\tsigned:0;\n"
                "\tfield:unsigned long list[4];\toffset:64;\tsize:32;\tsigned:0;\n" END;
static const char to_text[] =
                "name: opens\n" HEAD "\tfield:long result;\toffset:40;\tsize:8;\tsigned:1;\n"
                "\tfield:__data_loc char[] host;\toffset:48;\tsize:4;\tsigned:0;\n" END;

const char *const fuzz_words[] = { "door",
        "house",
        "who",
        "told",
        "list",
        "result",
        "host",
        "common_pid",
        "from.",
        "to.",
        "$latency",
        "$comm",
        " = ",
        " : ",
        "us",
        "ns",
        "u8",
        "x32",
        "s64",
        "be16",
        "symbol",
        "string",
        "user",
        "\n",
        "x = ",
        "+8(",
        "[0]",
        "->",
        NULL };

/* Only names, and what stands between them. */
static void check_text(const char *text, const char *marks) {
        for (const char *p = text; *p; p++)
                fuzz_check((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                                (*p >= '0' && *p <= '9') || strchr(marks, *p));
        fuzz_check(!strstr(text, "told"));
}

static void check_pair(const ProbeForm *form) {
        const PairPlace place = {
                .from = "a.b", .token = "p0_", .event = "e", .clock = "mono", .entries = 128
        };
        _cleanup_free_ char *fields = NULL, *from = NULL, *to = NULL, *shown = NULL;

        fuzz_check(probe_pair_to_fields(form, &fields) == 0);
        fuzz_check(probe_pair_to_triggers(form, &place, &from, &to) == 0);
        fuzz_check(probe_pair_show(form, "mine", to_text, &shown) == 0);
        check_text(from, "_:=,.");
        check_text(to, "_:=,.$()-");
        for (size_t i = 0; i < form->n_keys; i++) {
                bool is_result = strcmp(form->keys[i].to, "result") == 0;

                /* The only number that has no like on the other side. */
                fuzz_check(!is_result);
                fuzz_check((strcmp(form->keys[i].from, "house") == 0) ==
                                (strcmp(form->keys[i].to, "house") == 0));
        }
}

static void check_event(const ProbeForm *form) {
        _cleanup_free_ char *line = NULL;

        fuzz_check(probe_form_to_line(form, "g", "mine", &line, NULL) == 0);
        for (const char *p = line; *p; p++)
                fuzz_check(*p >= 0x20 && *p < 0x7f && !strchr("#;'\"\\+@%(", *p));
}

static int make(const char *key, const char *arg, bool is_pair, Definition *d, Reason *reason) {
        fuzz_check(definition_set_string(d, "name", "mine", NULL) == 0);
        if (!is_pair)
                fuzz_check(definition_set_string(d, "event", "a:b", NULL) == 0);
        else if (definition_set_string(d, "from", "a:b", NULL) != 0 ||
                        definition_set_string(d, "to", "a:c", NULL) != 0 ||
                        definition_add_key(d, key, reason) != 0)
                return KT_E_INVALID_SPEC;
        return definition_add_arg(d, arg, reason);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(definition_free_cleanup) Definition *d = definition_new();
        _cleanup_(format_free_cleanup) Format *from = NULL, *to = NULL;
        _cleanup_(probe_form_free_cleanup) ProbeForm *form = NULL;
        _cleanup_free_ char *text = NULL;
        Reason reason = {};

        if (size == 0)
                return 0;
        text = strndup((const char *)data + 1, size - 1);
        char *arg = strchr(text, '\n');
        if (!arg)
                return 0;
        *arg++ = '\0';
        fuzz_check(format_parse(from_text, strlen(from_text), &from, NULL) == 0);
        fuzz_check(format_parse(to_text, strlen(to_text), &to, NULL) == 0);
        bool is_pair = !(data[0] & 1);
        if (make(text, arg, is_pair, d, &reason) != 0)
                return 0;
        int r = is_pair ? probe_compile_pair(d, from, to, &form, &reason)
                        : probe_compile_event(d, from, &form, &reason);
        fuzz_check(r == 0 || r == KT_E_INVALID_SPEC);
        fuzz_check((r == 0) == (form != NULL));
        if (r != 0)
                fuzz_check(strncmp(reason.text, "args", 4) == 0 ||
                                strncmp(reason.text, "key[", 4) == 0);
        else if (is_pair)
                check_pair(form);
        else
                check_event(form);
        return 0;
}
