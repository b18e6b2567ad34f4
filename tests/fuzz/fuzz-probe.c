/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Definitions of probes: the first byte chooses the function and whether its return is meant, the
 * rest is one argument. What compiles is short enough for the kernel and says nothing that was
 * written but a name; what does not has a reason with a place. */

#include <string.h>

#include "../probe/btf-fixture.h"
#include "compile.h"
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

static void check_field(const ProbeField *field) {
        static const char name[] =
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

        fuzz_check(field->name[0] && strspn(field->name, name) == strlen(field->name));
        fuzz_check(strlen(field->name) <= PROBE_FIELD_NAME_MAX);
        fuzz_check(strlen(field->fetch) <= PROBE_FETCH_MAX);
        fuzz_check(strchr("+$%", field->fetch[0]) && strchr(field->fetch, ':'));
        for (const char *p = field->fetch; *p; p++)
                fuzz_check(*p > 0x20 && *p < 0x7f && !strchr("#;=-'\"\\", *p));
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
        const char *on = functions[data[0] / 2 % ELEMENTSOF(functions)];
        text = strndup((const char *)data + 1, size - 1);
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
        check_field(&form->fields[0]);
        fuzz_check(probe_form_to_line(form, "g", "mine", &line, NULL) == 0);
        fuzz_check(probe_form_show(form, line, &shown) == 0);
        return 0;
}
