/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Messages of Varlink clients: what is taken is a call with the types that the protocol has, and
 * its like is taken again; what is refused has one line of reason. */

#include <string.h>

#include "fuzz.h"
#include "varlink/server.h"

const char *const fuzz_words[] = { "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "null",
        "true",
        "false",
        "-1",
        "1e9",
        "18446744073709551616",
        "\\u0000",
        "\\ud800",
        "\xc3\xa4",
        "\"method\"",
        "\"parameters\"",
        "\"more\"",
        "\"oneway\"",
        "\"upgrade\"",
        "\"error\"",
        "\"continues\"",
        "\"org.varlink.service.GetInfo\"",
        "\"a.B\"",
        "\".\"",
        NULL };

static void check_message(const VarlinkMessage *message) {
        const char *dot = strrchr(message->method, '.');
        const char *text = json_object_to_json_string_ext(message->object, JSON_C_TO_STRING_PLAIN);
        VarlinkMessage again = {};

        fuzz_check(dot && dot > message->method && dot[1] != '\0');
        fuzz_check(!message->parameters ||
                        json_object_is_type(message->parameters, json_type_object));
        fuzz_check(!message->oneway || !(message->more || message->upgrade));
        fuzz_check(text &&
                        varlink_message_parse(
                                        text, strlen(text), VARLINK_VALUES_MAX, &again, NULL) == 0);
        fuzz_check(strcmp(again.method, message->method) == 0);
        fuzz_check(again.more == message->more && again.oneway == message->oneway);
        fuzz_check(json_object_equal(again.object, message->object));
        varlink_message_clear(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        VarlinkMessage message = {};
        Reason reason = {};
        int r = varlink_message_parse(
                        (const char *)data, size, VARLINK_VALUES_MAX, &message, &reason);

        fuzz_check(r >= 0);
        if (r == 0)
                check_message(&message);
        else
                fuzz_check(!message.object && reason.text[0] != '\0' && !strchr(reason.text, '\n'));
        varlink_message_clear(&message);
        return 0;
}
