/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Parses a message of a Varlink client: one JSON object with the keys that the protocol defines for
 * a call, each with its type and at most once. Called by the servers of ktraced and ktrace-metrics
 * for each message when it is handled. The protocol has no answer to a malformed message, so the
 * connection ends. Whether the method exists and accepts these parameters is not checked here.
 *
 * The text is hostile. The server limits its size and its values. */

#include "interfaces/varlink-message.h"

#include <errno.h>
#include <string.h>

#include "interfaces/cleanup.h"

const char varlink_service_description[] =
                "# The interface of every Varlink service.\n"
                "interface " VARLINK_SERVICE "\n"
                "\n"
                "# The implementation and its interfaces\n"
                "method GetInfo() -> (\n"
                "  vendor: string,\n"
                "  product: string,\n"
                "  version: string,\n"
                "  url: string,\n"
                "  interfaces: []string\n"
                ")\n"
                "\n"
                "# The description of an interface in Varlink's own language\n"
                "method GetInterfaceDescription(interface: string) -> "
                "(description: string)\n"
                "\n"
                "# The service does not have this interface\n"
                "error InterfaceNotFound (interface: string)\n"
                "\n"
                "# The interface does not have this method\n"
                "error MethodNotFound (method: string)\n"
                "\n"
                "# The service does not implement this method of the interface\n"
                "error MethodNotImplemented (method: string)\n"
                "\n"
                "# The parameter is missing, unknown, or of another type\n"
                "error InvalidParameter (parameter: string)\n"
                "\n"
                "# The caller may not do this\n"
                "error PermissionDenied ()\n"
                "\n"
                "# The method must be called with \"more\"\n"
                "error ExpectedMore ()\n";

static int message_refuse_type(Reason *reason, const char *key, const char *wanted) {
        return reason_set(reason, KT_E_INVALID_SPEC, "message: %s must be %s", key, wanted);
}

static int set_flag(const char *key, json_object *value, bool *flag, Reason *reason) {
        if (!json_object_is_type(value, json_type_boolean))
                return message_refuse_type(reason, key, "true or false");
        *flag = json_object_get_boolean(value);
        return 0;
}

static int set_method(json_object *value, const char **ret, Reason *reason) {
        const char *text, *dot;

        if (!json_object_is_type(value, json_type_string))
                return message_refuse_type(reason, "method", "a string");
        text = json_object_get_string(value);
        dot = strrchr(text, '.');
        if (!dot || dot == text || dot[1] == '\0')
                return message_refuse_type(reason, "method", "INTERFACE.NAME");
        *ret = text;
        return 0;
}

static int message_set_key(VarlinkMessage *message,
                const char *key,
                json_object *value,
                Reason *reason) {
        if (strcmp(key, "method") == 0)
                return set_method(value, &message->method, reason);
        if (strcmp(key, "more") == 0)
                return set_flag(key, value, &message->more, reason);
        if (strcmp(key, "oneway") == 0)
                return set_flag(key, value, &message->oneway, reason);
        if (strcmp(key, "upgrade") == 0)
                return set_flag(key, value, &message->upgrade, reason);
        if (strcmp(key, "parameters") != 0)
                return reason_set(reason, KT_E_INVALID_SPEC, "message: unknown key %.64s", key);
        if (value && !json_object_is_type(value, json_type_object))
                return message_refuse_type(reason, key, "an object");
        message->parameters = value;
        return 0;
}

static int message_read_keys(VarlinkMessage *message, Reason *reason) {
        if (!json_object_is_type(message->object, json_type_object))
                return reason_set(reason, KT_E_INVALID_SPEC, "message: not an object");
        json_object_object_foreach(message->object, key, value) {
                int r = message_set_key(message, key, value, reason);

                if (r != 0)
                        return r;
        }
        if (!message->method)
                return reason_set(reason, KT_E_INVALID_SPEC, "message: no method");
        if (message->oneway && (message->more || message->upgrade))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "message: oneway wants no answer, more and upgrade want some");
        return 0;
}

int varlink_message_parse(const char *text,
                size_t size,
                size_t max_values,
                VarlinkMessage *ret,
                Reason *reason) {
        VarlinkMessage message = {};
        int r;

        r = json_parse_message("message", text, size, max_values, &message.object, reason);
        if (r == 0)
                r = message_read_keys(&message, reason);
        if (r != 0) {
                varlink_message_clear(&message);
                return r;
        }
        *ret = message;
        return 0;
}

void varlink_message_clear(VarlinkMessage *message) {
        json_object_put(message->object);
        *message = (VarlinkMessage){};
}
