/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Loads libcurl when it is needed. Called by otlp-request.c. Only machines that push metrics need
 * it. With the thirty libraries that it loads, it would be a third of the program's memory on all
 * others. */

#include "exporter/curl-library.h"

#include <dlfcn.h>

#define LIBRARY "libcurl.so.4"

int curl_library_load(CurlLibrary *ret, Reason *reason) {
        void *library = dlopen(LIBRARY, RTLD_NOW);

        const struct {
                const char *name;
                void **place;
        } functions[] = {
                { "curl_easy_cleanup", (void **)&ret->easy_cleanup },
                { "curl_easy_getinfo", (void **)&ret->easy_getinfo },
                { "curl_easy_init", (void **)&ret->easy_init },
                { "curl_easy_perform", (void **)&ret->easy_perform },
                { "curl_easy_setopt", (void **)&ret->easy_setopt },
                { "curl_easy_strerror", (void **)&ret->easy_strerror },
                { "curl_free", (void **)&ret->free },
                { "curl_global_init", (void **)&ret->global_init },
                { "curl_slist_append", (void **)&ret->slist_append },
                { "curl_slist_free_all", (void **)&ret->slist_free_all },
                { "curl_url", (void **)&ret->url },
                { "curl_url_cleanup", (void **)&ret->url_cleanup },
                { "curl_url_get", (void **)&ret->url_get },
                { "curl_url_set", (void **)&ret->url_set },
        };

        if (!library)
                return reason_set(reason,
                                KT_E_FAILED,
                                "otlp: cannot load " LIBRARY ": install libcurl4");
        for (size_t i = 0; i < ELEMENTSOF(functions); i++) {
                *functions[i].place = dlsym(library, functions[i].name);
                if (!*functions[i].place)
                        return reason_set(reason,
                                        KT_E_FAILED,
                                        "otlp: " LIBRARY
                                        " has no function %s: expected version 7.85 "
                                        "or newer",
                                        functions[i].name);
        }
        if (ret->global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
                return reason_set(reason, KT_E_FAILED, "otlp: libcurl cannot be initialised");
        return 0;
}
