/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sets for the tests. */

#include "sample-set.h"

#include <string.h>

Set *sample_read(const char *text) {
        SetText input = { "sample.json", "sample", text, strlen(text) };
        Reason reason = {};
        Set *set = NULL;

        int r = set_read(&input, &set, &reason);
        if (r != 0)
                g_error("%s", reason.text);
        return set;
}

Set *sample_read_metric(const char *type, const char *rest) {
        g_autofree char *text = g_strdup_printf(
                        "{\"metrics\":[{\"name\":\"m\",\"help\":\"h\",\"type\":\"%s\",%s}]}",
                        type,
                        rest);

        return sample_read(text);
}
