/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "page/page-escape.h"

#include <string.h>

void page_escape(FILE *out, const char *text) {
        for (; *text; text++)
                if (strchr("<&\"", *text))
                        fprintf(out, "&#%d;", *text);
                else if ((unsigned char)*text >= ' ' && *text != 0x7f)
                        (void)fputc(*text, out);
}
