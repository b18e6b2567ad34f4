/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Headers Accept and Accept-Encoding of HTTP clients: a format is set exactly if one is chosen, and
 * the same header selects the same one. */

#include <stdlib.h>
#include <string.h>

#include "exporter/accept-header.h"
#include "fuzz.h"

const char *const fuzz_words[] = { "text/plain",
        "application/openmetrics-text",
        "application/json",
        "*/*",
        "text/*",
        "application/*",
        ";",
        ",",
        "=",
        "q=",
        "q=0",
        "q=0.5",
        "q=1.000",
        "version=0.0.4",
        "version=1.0.0",
        "version=\"1.0.0\"",
        "\"",
        " ",
        "\t",
        "gzip",
        "/",
        NULL };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        char *text = malloc(size + 1);
        TextFormat first = _TEXT_FORMAT_N, second = _TEXT_FORMAT_N;

        memcpy(text, data, size);
        text[size] = '\0';
        bool is_chosen = accept_header_choose(text, &first);
        fuzz_check(is_chosen == (first < _TEXT_FORMAT_N));
        fuzz_check(accept_header_choose(text, &second) == is_chosen && first == second);
        fuzz_check(accept_header_has_gzip(text) == accept_header_has_gzip(text));
        free(text);
        return 0;
}
