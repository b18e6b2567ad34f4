/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* write-sample: writes a small recording to standard output. */

#include "stream-fixture.h"

#include <stdio.h>

int main(void) {
        g_autoptr(GByteArray) sample = stream_new_sample();

        return fwrite(sample->data, 1, sample->len, stdout) != sample->len || fflush(stdout) != 0;
}
