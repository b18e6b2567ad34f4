/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <microhttpd.h>

#include "interfaces/error.h"

/* The functions of libmicrohttpd that are used. */
typedef struct HttpLibrary {
        __typeof__(MHD_start_daemon) *start_daemon;
        __typeof__(MHD_stop_daemon) *stop_daemon;
        __typeof__(MHD_get_daemon_info) *get_daemon_info;
        __typeof__(MHD_lookup_connection_value) *lookup_connection_value;
        __typeof__(MHD_create_response_from_buffer) *create_response_from_buffer;
        __typeof__(MHD_create_response_from_callback) *create_response_from_callback;
        __typeof__(MHD_create_response_from_fd64) *create_response_from_fd64;
        __typeof__(MHD_add_response_header) *add_response_header;
        __typeof__(MHD_queue_response) *queue_response;
        __typeof__(MHD_destroy_response) *destroy_response;
} HttpLibrary;

/* Loads the library; it stays loaded. KT_E_FAILED with a reason: it is not installed. */
int http_library_load(HttpLibrary *ret, Reason *reason);
