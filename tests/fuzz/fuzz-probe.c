/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Definitions of probes: the first byte chooses the function, of the kernel or of a program, and
 * whether its return is meant, the rest is one argument. What compiles is short enough for the
 * kernel and says nothing that was written but a name; what does not has a reason with a place. */

#include <string.h>

#include "../define/btf-fixture.h"
#include "define/compile-user.h"
#include "define/compile.h"
#include "define/show.h"
#include "fuzz.h"

const char *const fuzz_words[] = { "dev",
        "path",
        "size",
        "color",
        "next",
        "in",
        "port",
        "tag",
        "label",
        "list",
        "mode",
        "rest",
        "tiny",
        "whole",
        "$retval",
        "$comm",
        "$arg1",
        "$arg6",
        "$arg12",
        "$stack1",
        "+8(",
        "/x:0x1136",
        "/x:p:m",
        "-8(",
        "+0(+0(+0(+0(+0(",
        "%di",
        "%",
        "$",
        ".",
        "->",
        "[0]",
        "[3]",
        "[65535]",
        "[",
        "]",
        "(struct device *)",
        "(struct inner *)",
        "(union",
        "*",
        "(",
        ")",
        " = ",
        " : ",
        "u8",
        "s64",
        "x32",
        "be16",
        "be64",
        "ip4",
        "string",
        "symbol",
        "user",
        "0x10",
        "dev.next.next.next.next.next",
        "((((((((((((((((",
        "))))))))))))))))",
        "****************",
        NULL };

static void check_field(const ProbeField *field, bool is_user) {
        static const char name[] =
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

        fuzz_check(field->name[0] && strspn(field->name, name) == strlen(field->name));
        fuzz_check(strlen(field->name) <= PROBE_FIELD_NAME_MAX);
        fuzz_check(strlen(field->fetch) <= PROBE_FETCH_MAX);
        fuzz_check(strchr(is_user ? "+-$%\\" : "+$%", field->fetch[0]) &&
                        strchr(field->fetch, ':'));
        for (const char *p = field->fetch; *p; p++)
                fuzz_check(*p > 0x20 && *p < 0x7f &&
                                !strchr(is_user ? "#;='\"@" : "#;=-'\"\\", *p));
}

/* In a program: the same place as a function's beginning and as a marker. */
static void check_user(const char *arg, bool is_marker, bool is_return) {
        static const UserPlace place = {
                .offset = 0x1136,
                .function = 0x1136,
                .semaphore = 0x4010,
                .n_args = 3,
                .args = { { .kind = USER_ARG_CONSTANT, .size = -4, .value = INT64_MIN },
                                { .kind = USER_ARG_MEMORY, .size = 8, .value = INT32_MIN },
                                { .kind = USER_ARG_REGISTER, .size = 2, .reg = 3 } },
        };
        _cleanup_(definition_free_cleanup) Definition *d = definition_new();
        _cleanup_(probe_form_free_cleanup) ProbeForm *form = NULL;
        _cleanup_free_ char *line = NULL;
        Reason reason = {};

        fuzz_check(definition_set_string(d, "on", is_marker ? "/x:p:m" : "/x:0x1136", NULL) == 0);
        d->is_return = is_return && !is_marker;
        if (definition_add_arg(d, arg, &reason) != 0)
                return;
        int r = probe_compile_user(d, "/proc/self/fd/7", &place, 1, &form, &reason);
        fuzz_check((r == 0 || r == KT_E_INVALID_SPEC) && (r == 0) == (form != NULL));
        if (r != 0) {
                fuzz_check(strncmp(reason.text, "args[0] column ", strlen("args[0] column ")) == 0);
                return;
        }
        check_field(&form->fields[0], true);
        fuzz_check(probe_form_to_line(form, "g", "mine", &line, NULL) == 0);
        fuzz_check(!strchr(line, '\n'));
}

/* The place itself: a path, and a number or two names of a few characters. */
static void check_spot(const char *on) {
        static const char path[] = "/there";
        _cleanup_(definition_free_cleanup) Definition *d = definition_new();
        UserSpot spot;

        if (definition_set_string(d, "on", on, NULL) != 0 ||
                        user_spot_parse(d->on, &spot, NULL) != 0)
                return;
        fuzz_check(spot.path[0] == '/' && strlen(spot.path) < strlen(on));
        fuzz_check(!spot.marker || (strchr(spot.marker, ':') && !strpbrk(spot.marker, " /()")));
        user_spot_clear(&spot);
        fuzz_check(definition_set_path(d, path, NULL) == 0);
        fuzz_check(strncmp(d->on, path, strlen(path)) == 0 && d->on[strlen(path)] == ':');
        fuzz_check(user_spot_parse(d->on, &spot, NULL) == 0 && strcmp(spot.path, path) == 0);
        user_spot_clear(&spot);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static const char *const functions[] = { "dev_open",
                "dev_find",
                "dev_close",
                "dev_by_value",
                "dev_quiet",
                "dev_open+4",
                "mod:dev_modular" };
        static ProbeKernel *kernel;
        _cleanup_(definition_free_cleanup) Definition *definition = definition_new();
        _cleanup_(probe_form_free_cleanup) ProbeForm *form = NULL;
        _cleanup_free_ char *text = NULL, *line = NULL, *shown = NULL;
        Reason reason = {};

        if (size == 0)
                return 0;
        if (!kernel)
                kernel = btf_fixture_new();
        unsigned choice = data[0] / 2 % (ELEMENTSOF(functions) + 3);
        text = strndup((const char *)data + 1, size - 1);
        if (choice == ELEMENTSOF(functions) + 2) {
                check_spot(text);
                return 0;
        }
        if (choice >= ELEMENTSOF(functions)) {
                check_user(text, choice > ELEMENTSOF(functions), data[0] & 1);
                return 0;
        }
        const char *on = functions[choice];
        fuzz_check(definition_set_string(definition, "name", "mine", NULL) == 0);
        fuzz_check(definition_set_string(definition, "on", on, NULL) == 0);
        definition->is_return = (data[0] & 1) && !strchr(on, '+');
        if (definition_add_arg(definition, text, &reason) != 0)
                return 0;

        int r = probe_compile(kernel, definition, &form, &reason);
        fuzz_check(r == 0 || r == KT_E_INVALID_SPEC);
        fuzz_check((r == 0) == (form != NULL));
        if (r != 0) {
                fuzz_check(strncmp(reason.text, "args[0] column ", strlen("args[0] column ")) == 0);
                return 0;
        }
        check_field(&form->fields[0], false);
        fuzz_check(probe_form_to_line(form, "g", "mine", &line, NULL) == 0);
        fuzz_check(probe_form_show(form, line, &shown) == 0);
        return 0;
}
