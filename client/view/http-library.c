/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Loads libmicrohttpd when it is needed. Called by page-server.c. Only `view` uses the library. It
 * loads GnuTLS, which would make every other verb start more slowly. */

#include "view/http-library.h"

#include <dlfcn.h>

#define LIBRARY "libmicrohttpd.so.12"

int http_library_load(HttpLibrary *ret, Reason *reason) {
        void *library = dlopen(LIBRARY, RTLD_NOW);

        const struct {
                const char *name;
                void **place;
        } functions[] = {
                { "MHD_start_daemon", (void **)&ret->start_daemon },
                { "MHD_stop_daemon", (void **)&ret->stop_daemon },
                { "MHD_get_daemon_info", (void **)&ret->get_daemon_info },
                { "MHD_lookup_connection_value", (void **)&ret->lookup_connection_value },
                { "MHD_create_response_from_buffer", (void **)&ret->create_response_from_buffer },
                { "MHD_create_response_from_callback",
                                (void **)&ret->create_response_from_callback },
                { "MHD_create_response_from_fd64", (void **)&ret->create_response_from_fd64 },
                { "MHD_add_response_header", (void **)&ret->add_response_header },
                { "MHD_queue_response", (void **)&ret->queue_response },
                { "MHD_destroy_response", (void **)&ret->destroy_response },
        };

        if (!library)
                return reason_set(reason,
                                KT_E_FAILED,
                                "view: cannot load " LIBRARY ": install libmicrohttpd12, or use "
                                "'ktracectl convert --to html' and open the file");
        for (size_t i = 0; i < ELEMENTSOF(functions); i++) {
                *functions[i].place = dlsym(library, functions[i].name);
                if (!*functions[i].place)
                        return reason_set(reason,
                                        KT_E_FAILED,
                                        "view: " LIBRARY " has no function %s: expected version "
                                        "0.9.75 or newer",
                                        functions[i].name);
        }
        return 0;
}
