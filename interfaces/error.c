/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The one table of errors that callers may rely on: code, D-Bus name, text, exit status. The
 * daemon's D-Bus and Varlink servers turn codes into names with it. The client turns names into
 * exit statuses.
 *
 * Reasons are shown on terminals, in the journal and in D-Bus messages (which must be UTF-8).
 * They quote input from untrusted callers and messages of the kernel. So reason_set() turns any
 * input into one line of printable UTF-8. It never fails: it cuts a long reason at a character
 * boundary. */

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "interfaces/error.h"
#include "interfaces/names.h"
#include "interfaces/utf8.h"

static const ErrorEntry error_table[] = {
        { KT_E_FAILED, KT_ERROR_PREFIX "Failed", "the operation failed", KT_EXIT_FAILED },
        { KT_E_INVALID_SPEC,
                        KT_ERROR_PREFIX "InvalidSpec",
                        "a value is malformed or over its limit",
                        KT_EXIT_USAGE },
        { KT_E_UNKNOWN_KEY, KT_ERROR_PREFIX "UnknownKey", "a key is not known", KT_EXIT_USAGE },
        { KT_E_ACCESS_DENIED,
                        KT_ERROR_PREFIX "AccessDenied",
                        "policy does not allow this",
                        KT_EXIT_DENIED },
        { KT_E_NO_SUCH_EVENT, KT_ERROR_PREFIX "NoSuchEvent", "no such event", KT_EXIT_FAILED },
        { KT_E_NO_SUCH_PROCESS,
                        KT_ERROR_PREFIX "NoSuchProcess",
                        "no such process",
                        KT_EXIT_FAILED },
        { KT_E_NO_SUCH_SESSION,
                        KT_ERROR_PREFIX "NoSuchSession",
                        "no such session",
                        KT_EXIT_FAILED },
        { KT_E_NAME_TAKEN,
                        KT_ERROR_PREFIX "NameTaken",
                        "a session of this name exists",
                        KT_EXIT_FAILED },
        { KT_E_LIMIT_REACHED,
                        KT_ERROR_PREFIX "LimitReached",
                        "a limit is reached",
                        KT_EXIT_FAILED },
        { KT_E_BUSY,
                        KT_ERROR_PREFIX "Busy",
                        "the session is busy with another request",
                        KT_EXIT_FAILED },
        { KT_E_WRONG_STATE,
                        KT_ERROR_PREFIX "WrongState",
                        "the session's state does not allow this",
                        KT_EXIT_FAILED },
        { KT_E_WRONG_MODE,
                        KT_ERROR_PREFIX "WrongMode",
                        "the session's mode does not allow this",
                        KT_EXIT_FAILED },
        { KT_E_STREAM_BUSY,
                        KT_ERROR_PREFIX "StreamBusy",
                        "the session's stream has a reader",
                        KT_EXIT_FAILED },
        { KT_E_CANCELLED,
                        KT_ERROR_PREFIX "Cancelled",
                        "the request was cancelled",
                        KT_EXIT_FAILED },
        { KT_E_KERNEL_REFUSED,
                        KT_ERROR_PREFIX "KernelRefused",
                        "the kernel refused a value",
                        KT_EXIT_FAILED },
        { KT_E_NO_TRACING,
                        KT_ERROR_PREFIX "NoTracing",
                        "the kernel's tracing cannot be used here",
                        KT_EXIT_FAILED },
        { KT_E_NO_CONSUMER,
                        KT_ERROR_PREFIX "NoConsumer",
                        "the stream worker cannot be run safely",
                        KT_EXIT_FAILED },
        { KT_E_AUTH_REQUIRED,
                        KT_ERROR_PREFIX "InteractiveAuthorizationRequired",
                        "this needs authentication, and no agent could ask for it",
                        KT_EXIT_DENIED },
        { KT_E_NO_SUCH_FUNCTION,
                        KT_ERROR_PREFIX "NoSuchFunction",
                        "no such function of the kernel",
                        KT_EXIT_FAILED },
        { KT_E_NO_SUCH_PROBE, KT_ERROR_PREFIX "NoSuchProbe", "no such probe", KT_EXIT_FAILED },
        { KT_E_LOCKED, KT_ERROR_PREFIX "Locked", "the session is locked", KT_EXIT_DENIED },
};

_Static_assert(ELEMENTSOF(error_table) == _KT_E_N - 1, "each code has one entry, in order");

const ErrorEntry *error_get(int code) {
        if (code < 1 || code >= _KT_E_N)
                code = KT_E_FAILED;
        return &error_table[code - 1];
}

const ErrorEntry *error_find_by_bus_name(const char *bus_name) {
        for (size_t i = 0; bus_name && i < ELEMENTSOF(error_table); i++)
                if (strcmp(error_table[i].bus_name, bus_name) == 0)
                        return &error_table[i];
        return NULL;
}

/* C0, DEL and C1: a terminal may act on each of them. */
static bool is_control(const char *text, size_t length) {
        unsigned char first = (unsigned char)text[0];

        if (length == 1)
                return first < 0x20 || first == 0x7f;
        return first == 0xc2 && (unsigned char)text[1] < 0xa0;
}

static void error_clean(char *text, size_t size, bool is_cut) {
        size_t out = 0;

        for (size_t in = 0; in < size;) {
                size_t length = utf8_length(text + in, size - in);

                /* vsnprintf() may have cut the last character: the incomplete rest is not the
                 * caller's error, so it gets no '?'. */
                if (length == 0 && is_cut && size - in < 4 && (unsigned char)text[in] >= 0xc2)
                        break;
                if (length == 0 || is_control(text + in, length)) {
                        text[out++] = '?';
                        in += MAX_OF(length, (size_t)1);
                        continue;
                }
                memmove(text + out, text + in, length);
                out += length;
                in += length;
        }
        text[out] = '\0';
}

int reason_set(Reason *reason, int code, const char *format, ...) {
        va_list arguments;
        int n;

        if (!reason)
                return code;

        va_start(arguments, format);
        n = vsnprintf(reason->text, sizeof(reason->text), format, arguments);
        va_end(arguments);
        if (n < 0)
                reason->text[0] = '\0';
        error_clean(reason->text, strlen(reason->text), n >= (int)sizeof(reason->text));
        return code;
}
