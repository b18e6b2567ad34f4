/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "interfaces/json.h"

/* A parsed call. */
typedef struct VarlinkMessage {
        json_object *object;     /* owns the rest */
        const char *method;      /* contains a dot with text before and after it */
        json_object *parameters; /* NULL: none */
        bool more, oneway, upgrade;
} VarlinkMessage;

/* text: without its NUL. Returns 0, KT_E_INVALID_SPEC with the reason, or -ENOMEM. */
int varlink_message_parse(const char *text, size_t size, VarlinkMessage *ret, Reason *reason);
void varlink_message_clear(VarlinkMessage *message);
