/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The names of outputs before they are published. Called by target.c and directory-target.c. Other
 * users cannot predict the name, so they cannot put a file of their own there first. */

#include "recording/hidden-name.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>

int hidden_name_make(char out[static HIDDEN_NAME_SIZE]) {
        uint64_t number;

        if (getrandom(&number, sizeof(number), 0) != sizeof(number))
                return -EIO;
        (void)snprintf(out, HIDDEN_NAME_SIZE, ".ktrace-%016" PRIx64, number);
        return 0;
}
