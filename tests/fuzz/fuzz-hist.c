/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Tables of the kernel's histograms, which hold what traced processes have chosen. Whatever comes:
 * what is reported lies in the text, and as many entries as the totals say. */

#include <errno.h>
#include <string.h>

#include "../consumer/hist-sample.h"
#include "fuzz.h"

const char *const fuzz_words[] = { "{ ",
        " }",
        "} hitcount: ",
        " } hitcount:          1\n",
        ", ",
        "next_comm: ",
        "filename: ",
        "pid: ",
        "\n\nTotals:\n    Hits: 1\n    Entries: 1\n    Dropped: 0\n",
        "# event histogram\n#\n# trigger info: ",
        " [active]\n#\n\n",
        "                                                  ",
        "~ 2^",
        "18446744073709551615",
        "18446744073709551616",
        "stacktrace:\n         ",
        "string",
        "buckets",
        NULL };

typedef struct Count {
        const HistSample *sample;
        uint64_t n;
} Count;

static int count(const HistEntry *entry, void *userdata) {
        Count *c = userdata;
        const HistSample *sample = c->sample;

        c->n++;
        for (unsigned i = 0; i < sample->layout.n_keys; i++) {
                const HistKey *key = &entry->keys[i];

                fuzz_check(!key->text ||
                                (key->text >= sample->text &&
                                                key->text + key->size <=
                                                                sample->text + sample->size));
        }
        return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        HistSample sample;
        HistTotals totals = {};
        Count c = { .sample = &sample };

        if (!hist_sample_read((const char *)data, size, &sample))
                return 0;
        sample.choice.layout = &sample.layout;
        int r = hist_parse(sample.text, sample.size, &sample.choice, count, &c, &totals);
        fuzz_check(r == 0 || r == -EBADMSG || r == -ENOENT);
        fuzz_check(r != 0 || totals.entries == c.n);
        return 0;
}
