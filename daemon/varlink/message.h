/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "interfaces/json.h"

/* A call as it came. */
typedef struct VarlinkMessage {
        json_object *object;     /* owns the rest */
        const char *method;      /* has a dot, and something on both sides of it */
        json_object *parameters; /* NULL: none */
        bool more, oneway, upgrade;
} VarlinkMessage;

/* text: without its NUL. 0, KT_E_INVALID_SPEC with the reason, -ENOMEM. */
int varlink_message_parse(const char *text, size_t size, VarlinkMessage *ret, Reason *reason);
void varlink_message_clear(VarlinkMessage *message);
