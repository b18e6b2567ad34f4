/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes JSON to standard output. json-c escapes only the control characters of ASCII. Text from a
 * stream or the names of processes may contain C1 control characters, which terminals interpret, or
 * bytes that are not UTF-8, which JSON does not allow. This file escapes them. Used by the
 * exporters and for --json. */

#include "interfaces/json-text.h"

#include <errno.h>
#include <string.h>

#include "interfaces/utf8.h"

int json_text_print(FILE *out, json_object *object, int flags) {
        const char *text = json_object_to_json_string_ext(object, flags), *plain = text;
        size_t size = text ? strlen(text) : 0;

        if (!text)
                return -ENOMEM;
        for (size_t length; size > 0; text += length, size -= length) {
                unsigned char c = (unsigned char)text[0];

                length = utf8_length(text, size);
                if (length > 0 && c != 0x7f && (c != 0xc2 || (unsigned char)text[1] >= 0xa0))
                        continue;
                /* A byte that is not ASCII, or DEL. It is inside a string, so an escape is
                 * allowed. */
                fwrite(plain, 1, (size_t)(text - plain), out);
                fprintf(out, "\\u%04x", length == 0 ? 0xfffdU : (unsigned char)text[length - 1]);
                length = length ?: 1;
                plain = text + length;
        }
        fwrite(plain, 1, (size_t)(text - plain), out);
        return ferror(out) ? -EIO : 0;
}
