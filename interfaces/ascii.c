/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Classes of ASCII characters, for names that users write and for ids. ctype.h is not used, because
 * it depends on the locale. */

#include "interfaces/ascii.h"

#include <string.h>

bool ascii_is_digit(char c) {
        return c >= '0' && c <= '9';
}

bool ascii_is_alphanumeric(char c) {
        return ascii_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool ascii_is_hex(const char *text, size_t n) {
        return strlen(text) == n && strspn(text, "0123456789abcdef") == n;
}
