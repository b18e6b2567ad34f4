/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Bodies of D-Bus calls with an a{sv} or, after an odd first byte, an aa{sv}, as they arrive from
 * the bus: what is read is strict JSON, within the limits; what is refused has one line of reason.
 */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "bus/arguments.h"
#include "door/parameter.h"
#include "fuzz.h"

#define BODY_MAX 65536

const char *const fuzz_words[] = { "\1s",
        "\1b",
        "\1u",
        "\1t",
        "\1d",
        "\1v",
        "\1h",
        "\1o",
        "\2as",
        "\5a{sv}",
        "\6aa{sv}",
        "scope",
        "own",
        "events",
        "name",
        "filter",
        "triggers",
        "spool",
        "as-user",
        "\xc3\xa4",
        "\xff\xff\xff\xff",
        NULL };

static sd_bus *daemon_end, *client_end;

static void check_read(json_object *o) {
        const char *text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);
        _cleanup_json_ json_object *again = NULL;
        _cleanup_spec_ Spec *spec = NULL;
        Reason reason = {};
        uid_t uid;

        fuzz_check(json_parse_message("again",
                                   text,
                                   strlen(text),
                                   ARGUMENTS_VALUES_MAX,
                                   &again,
                                   &reason) == 0);
        fuzz_check(json_object_equal(again, o));
        if (!json_object_is_type(o, json_type_object))
                return;
        int r = parameter_read_question(o, &spec, &uid, &reason);
        fuzz_check(r >= 0 && (r == 0 || (reason.text[0] && !strchr(reason.text, '\n'))));
}

static const Method of_object = { .name = "A",
        .parameters = (const MethodValue[]){ { "value", VALUE_OBJECT }, {} } };
static const Method of_list = { .name = "B",
        .parameters = (const MethodValue[]){ { "value", VALUE_OBJECTS, .place = "probes" }, {} } };

static int on_message(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        _cleanup_json_ json_object *o = NULL;
        Reason reason = {};

        if (!sd_bus_message_is_signal(m, "a.b", "c"))
                return 0;
        const Method *method = sd_bus_message_has_signature(m, "aa{sv}") ? &of_list : &of_object;
        int r = arguments_read(m, method, &o, &reason);
        /* A negative result is from sd-bus: the body does not match its signature. */
        fuzz_check(r != -ENOMEM);
        fuzz_check((r == 0) == (o != NULL));
        if (r == 0)
                check_read(json_object_object_get(o, "value"));
        else if (r > 0)
                fuzz_check(reason.text[0] != '\0' && !strchr(reason.text, '\n'));
        return 1;
}

/* Two ends of one connection, past their greetings. */
static void connect_ends(void) {
        sd_id128_t id = SD_ID128_MAKE(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
        int fds[2];

        fuzz_check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
        fuzz_check(sd_bus_new(&daemon_end) >= 0 && sd_bus_new(&client_end) >= 0);
        fuzz_check(sd_bus_set_fd(daemon_end, fds[0], fds[0]) >= 0);
        fuzz_check(sd_bus_set_server(daemon_end, true, id) >= 0);
        fuzz_check(sd_bus_set_anonymous(daemon_end, true) >= 0);
        fuzz_check(sd_bus_set_fd(client_end, fds[1], fds[1]) >= 0);
        fuzz_check(sd_bus_start(daemon_end) >= 0 && sd_bus_start(client_end) >= 0);
        fuzz_check(sd_bus_add_filter(daemon_end, NULL, on_message, NULL) >= 0);
        for (int i = 0; i < 16; i++)
                fuzz_check(sd_bus_process(client_end, NULL) >= 0 &&
                                sd_bus_process(daemon_end, NULL) >= 0);
        fuzz_check(sd_bus_is_ready(daemon_end) > 0 && sd_bus_is_ready(client_end) > 0);
}

static size_t put_field(uint8_t *out, size_t at, uint8_t code, char type, const char *text) {
        uint32_t size = (uint32_t)strlen(text);

        while (at % 8 != 0)
                out[at++] = 0;
        out[at++] = code;
        out[at++] = 1;
        out[at++] = (uint8_t)type;
        out[at++] = 0;
        if (type == 'g')
                out[at++] = (uint8_t)size;
        else {
                memcpy(out + at, &size, sizeof(size));
                at += sizeof(size);
        }
        memcpy(out + at, text, size + 1);
        return at + size + 1;
}

/* A signal a.b.c with this body, in the byte order of this machine. */
static void send_message(const char *signature, const uint8_t *body, size_t size) {
        static uint8_t out[BODY_MAX + 256];
        static uint32_t serial;
        uint32_t n_body = (uint32_t)size, n_fields;
        size_t at = 16;

        memcpy(out,
                        (uint8_t[]){ __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 'l' : 'B',
                                        4,
                                        1,
                                        1 },
                        4);
        serial++;
        memcpy(out + 4, &n_body, 4);
        memcpy(out + 8, &serial, 4);
        at = put_field(out, at, 1, 'o', "/a");
        at = put_field(out, at, 2, 's', "a.b");
        at = put_field(out, at, 3, 's', "c");
        at = put_field(out, at, 8, 'g', signature);
        n_fields = (uint32_t)(at - 16);
        memcpy(out + 12, &n_fields, 4);
        while (at % 8 != 0)
                out[at++] = 0;
        memcpy(out + at, body, size);
        fuzz_check(send(sd_bus_get_fd(client_end), out, at + size, 0) == (ssize_t)(at + size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        int r;

        if (!daemon_end)
                connect_ends();
        if (size < 2 || size > BODY_MAX)
                return 0;
        send_message(data[0] & 1 ? "aa{sv}" : "a{sv}", data + 1, size - 1);
        do
                r = sd_bus_process(daemon_end, NULL);
        while (r > 0);
        fuzz_check(r == 0);
        return 0;
}
