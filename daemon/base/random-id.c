/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/random-id.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>

int random_id_make(char id[static KT_ID_DIGITS + 1]) {
        uint64_t random;

        if (getrandom(&random, sizeof(random), 0) != sizeof(random))
                return errno ? -errno : -EIO;
        (void)snprintf(id, KT_ID_DIGITS + 1, "%016" PRIx64, random);
        return 0;
}
