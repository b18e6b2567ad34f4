/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Turns an error of the bus into one line that says what to do, and an exit status. Used by
 * proxy-bus.c. */

#include "call/proxy-bus-error.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define START_HINT "start it with 'systemctl start ktraced'"
#define LOG_HINT   "'journalctl -u ktraced' shows why"

typedef struct Mapping {
        const char *name; /* a trailing '.' matches every name with this prefix */
        int code;
        const char *text; /* contains one %s: the message of the bus */
} Mapping;

static const Mapping mappings[] = {
        { SD_BUS_ERROR_SERVICE_UNKNOWN,
                        KT_E_FAILED,
                        "ktraced is not running and the bus cannot start it (%s); is ktraced "
                        "installed? else " START_HINT },
        { SD_BUS_ERROR_NAME_HAS_NO_OWNER, KT_E_FAILED, "ktraced is not running (%s); " START_HINT },
        { SD_BUS_ERROR_NO_SERVER, KT_E_FAILED, "there is no system bus (%s); is dbus running?" },
        { SD_BUS_ERROR_DISCONNECTED, KT_E_FAILED, "the system bus hung up (%s)" },
        { SD_BUS_ERROR_NO_REPLY,
                        KT_E_FAILED,
                        "ktraced did not answer (%s); it may have ended, " LOG_HINT },
        { "org.freedesktop.DBus.Error.TimedOut",
                        KT_E_FAILED,
                        "ktraced was not up in time (%s); " LOG_HINT },
        { "org.freedesktop.DBus.Error.Spawn.",
                        KT_E_FAILED,
                        "the bus could not start ktraced (%s); " LOG_HINT },
        { "org.freedesktop.systemd1.",
                        KT_E_FAILED,
                        "systemd could not start ktraced (%s); 'systemctl status ktraced' shows "
                        "why" },
        { SD_BUS_ERROR_ACCESS_DENIED,
                        KT_E_ACCESS_DENIED,
                        "the bus forbids this call (%s); are ktraced's D-Bus rules installed and "
                        "loaded?" },
        { SD_BUS_ERROR_UNKNOWN_OBJECT, KT_E_NO_SUCH_SESSION, "no such session of yours (%s)" },
        { SD_BUS_ERROR_UNKNOWN_METHOD,
                        KT_E_FAILED,
                        "ktraced is of another version than ktracectl (%s); restart it after an "
                        "upgrade" },
        { SD_BUS_ERROR_UNKNOWN_INTERFACE,
                        KT_E_FAILED,
                        "ktraced is of another version than ktracectl (%s); restart it after an "
                        "upgrade" },
        { SD_BUS_ERROR_LIMITS_EXCEEDED, KT_E_LIMIT_REACHED, "the bus has reached a limit (%s)" },
};

static const Mapping *mapping_find(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(mappings); i++) {
                const char *known = mappings[i].name;
                size_t n = strlen(known);

                if (known[n - 1] == '.' ? strncmp(known, name, n) == 0 : strcmp(known, name) == 0)
                        return &mappings[i];
        }
        return NULL;
}

/* The table's texts are constants of this file. Each contains exactly one %s. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static int judge_mapping(const Mapping *mapping, const char *said, Reason *reason) {
        return reason_set(reason, mapping->code, mapping->text, said);
}

#pragma GCC diagnostic pop

static bool errno_means_hangup(int r) {
        return r == -ECONNRESET || r == -ENOTCONN || r == -EPIPE || r == -ESHUTDOWN ||
               r == -ECONNABORTED;
}

/* NoReply comes from the bus when ktraced has ended, and from sd-bus when the time is over. */
static bool error_is_timeout(const sd_bus_error *error) {
        if (strcmp(error->name, SD_BUS_ERROR_NO_REPLY) == 0)
                return error->message && strcmp(error->message, "Method call timed out") == 0;
        return strcmp(error->name, SD_BUS_ERROR_TIMEOUT) == 0;
}

int proxy_bus_judge(const sd_bus_error *error, int r, Reason *reason) {
        const char *said = error && error->message ? error->message : strerror(-r);
        const Mapping *mapping;
        const ErrorEntry *entry;

        if (!error || !error->name) {
                if (errno_means_hangup(r))
                        return reason_set(reason,
                                        KT_E_FAILED,
                                        "the connection to the system bus was lost (%s)",
                                        said);
                if (r == -ETIMEDOUT)
                        return reason_set(reason,
                                        -ETIMEDOUT,
                                        "ktraced did not answer in time; " LOG_HINT);
                return reason_set(reason, KT_E_FAILED, "the call to ktraced failed: %s", said);
        }
        entry = error_find_by_bus_name(error->name);
        if (entry)
                return reason_set(reason, entry->code, "%s", *said ? said : entry->text);
        if (error_is_timeout(error))
                return reason_set(reason, -ETIMEDOUT, "ktraced did not answer in time; " LOG_HINT);
        mapping = mapping_find(error->name);
        if (mapping)
                return judge_mapping(mapping, said, reason);
        return reason_set(reason, KT_E_FAILED, "ktraced replied %s: %s", error->name, said);
}
