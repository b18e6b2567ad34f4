/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The methods of org.ktrace1.Manager that are about recordings on disk: read the arguments, find
 * the caller, ask the session floor, answer when the disk operation is complete. Used by
 * manager-object.c, which has the table. */
#include "bus/spool-methods.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bus/call.h"
#include "bus/spec-reader.h"
#include "interfaces/quote.h"
#include "session/registry.h"
#include "spool/spool-fetch.h"

#define FILE_MAX 64

int method_list_spool(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        Door *door = userdata;
        Reason reason = { "" };

        int r = call_new(door, m, call_reply_list, &request, &reason);
        if (r == 0)
                r = spool_list(registry_get_spool(door->desk->registry),
                                request,
                                desk_get_reach(call_get_peer(door, m)),
                                &reason);
        if (r != 0)
                return call_refuse(m, r, &reason);
        request = NULL;
        return 1;
}

/* Reads the option "file", a name or a number. */
static int spool_methods_read_file(sd_bus_message *m,
                char file[static FILE_MAX + 1],
                Reason *reason) {
        const char *key, *type, *text;
        uint64_t number = 0;

        int r = sd_bus_message_read(m, "s", &key);
        if (r >= 0 && strcmp(key, "file") != 0)
                return reason_set(reason,
                                KT_E_UNKNOWN_KEY,
                                "%.64s: no such option: there is file",
                                key);
        r = r < 0 ? r : sd_bus_message_peek_type(m, NULL, &type);
        if (r < 0)
                return r;
        if (strcmp(type, "s") == 0) {
                r = sd_bus_message_read(m, "v", "s", &text);
                if (r >= 0 && (strlen(text) > FILE_MAX || *text == '\0'))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "file: %s is not a name of a file: ListSpool returns "
                                        "the names",
                                        quote(text).text);
                if (r >= 0)
                        (void)snprintf(file, FILE_MAX + 1, "%s", text);
                return r < 0 ? r : 0;
        }
        r = spec_read_number(m, "file", &number, reason);
        if (r == 0 && (number < 1 || number > 99999999))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "file: %" PRIu64 ": files count from 1",
                                number);
        if (r == 0)
                (void)snprintf(file, FILE_MAX + 1, "%" PRIu64, number);
        return r;
}

static int spool_methods_read_options(sd_bus_message *m,
                char file[static FILE_MAX + 1],
                Reason *reason) {
        int r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "{sv}");

        while (r >= 0 &&
                        (r = sd_bus_message_enter_container(m, SD_BUS_TYPE_DICT_ENTRY, "sv")) > 0) {
                r = spool_methods_read_file(m, file, reason);
                if (r != 0)
                        return r;
                r = sd_bus_message_exit_container(m);
        }
        return r < 0 ? r : 0;
}

static int spool_methods_answer_pipe(sd_bus_message *m, Request *request) {
        return sd_bus_reply_method_return(m, "h", request->fd);
}

int method_open_spool(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        char file[FILE_MAX + 1] = "";
        Door *door = userdata;
        Reason reason = { "" };
        const char *id;

        int r = sd_bus_message_read(m, "s", &id);
        r = r < 0 ? r : spool_methods_read_options(m, file, &reason);
        r = r ?: call_new(door, m, spool_methods_answer_pipe, &request, &reason);
        if (r == 0)
                r = spool_open(registry_get_spool(door->desk->registry),
                                request,
                                id,
                                file[0] ? file : NULL,
                                &reason);
        if (r != 0)
                return call_refuse(m, r, &reason);
        request = NULL;
        return 1;
}

int method_remove_spool(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        _cleanup_(waiting_free_cleanup) Request *request = NULL;
        Door *door = userdata;
        Reason reason = { "" };
        const char *id;

        int r = sd_bus_message_read(m, "s", &id);
        if (r < 0)
                return call_refuse(m, r, NULL);
        r = call_new(door, m, call_reply_empty, &request, &reason);
        if (r == 0)
                r = spool_remove(registry_get_spool(door->desk->registry),
                                request,
                                desk_get_reach(call_get_peer(door, m)),
                                id,
                                &reason);
        if (r != 0)
                return call_refuse(m, r, &reason);
        request = NULL;
        return 1;
}
