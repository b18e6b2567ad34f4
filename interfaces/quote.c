/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Quotes values in messages. A quoted value is long enough to recognise, and short enough to
 * leave room in a Reason for the remedy that follows, whatever a caller sent. */

#include <stdio.h>
#include <string.h>

#include "interfaces/cleanup.h"
#include "interfaces/quote.h"
#include "interfaces/utf8.h"

Quoted quote(const char *value) {
        size_t size = strlen(value), used = 0;
        Quoted quoted;

        while (used < size) {
                size_t n = MAX_OF(utf8_length(value + used, size - used), (size_t)1);

                if (used + n > QUOTE_MAX)
                        break;
                used += n;
        }
        snprintf(quoted.text,
                        sizeof(quoted.text),
                        "\"%.*s%s\"",
                        (int)used,
                        value,
                        used < size ? "..." : "");
        return quoted;
}
