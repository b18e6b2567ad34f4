/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <curl/curl.h>

#include "interfaces/error.h"

/* The functions of libcurl that are used. */
typedef struct CurlLibrary {
        __typeof__(curl_easy_cleanup) *easy_cleanup;
        __typeof__(curl_easy_getinfo) *easy_getinfo;
        __typeof__(curl_easy_init) *easy_init;
        __typeof__(curl_easy_perform) *easy_perform;
        __typeof__(curl_easy_setopt) *easy_setopt;
        __typeof__(curl_easy_strerror) *easy_strerror;
        __typeof__(curl_free) *free;
        __typeof__(curl_global_init) *global_init;
        __typeof__(curl_slist_append) *slist_append;
        __typeof__(curl_slist_free_all) *slist_free_all;
        __typeof__(curl_url) *url;
        __typeof__(curl_url_cleanup) *url_cleanup;
        __typeof__(curl_url_get) *url_get;
        __typeof__(curl_url_set) *url_set;
} CurlLibrary;

/* Loads and initialises the library; it stays loaded. KT_E_FAILED with a reason: it is not
 * installed. */
int curl_library_load(CurlLibrary *ret, Reason *reason);
