/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "interfaces/json.h"

/* The interface of every Varlink service, and its description. */
#define VARLINK_SERVICE             "org.varlink.service"
#define VARLINK_SERVICE_ERROR(name) VARLINK_SERVICE "." name
extern const char varlink_service_description[];

/* A parsed call. */
typedef struct VarlinkMessage {
        json_object *object;     /* owns the rest */
        const char *method;      /* contains a dot with text before and after it */
        json_object *parameters; /* NULL: none */
        bool more, oneway, upgrade;
} VarlinkMessage;

/* text: without its NUL. max_values: see json_parse_message. Returns 0, KT_E_INVALID_SPEC with the
 * reason, or -ENOMEM. */
int varlink_message_parse(const char *text,
                size_t size,
                size_t max_values,
                VarlinkMessage *ret,
                Reason *reason);
void varlink_message_clear(VarlinkMessage *message);
