/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "interfaces/stream-name.h"

#include <string.h>

uint32_t stream_name_parse(const char *name) {
        uint32_t number = 0;
        size_t n = strspn(name, "0123456789");

        if (n < 6 || n > 9 || strcmp(name + n, ".kts") != 0)
                return 0;
        for (size_t i = 0; i < n; i++)
                number = number * 10 + (uint32_t)(name[i] - '0');
        return number;
}
