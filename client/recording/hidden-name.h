/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#define HIDDEN_NAME_SIZE 32

/* Makes a name for an output that is not complete yet. Returns 0 or -EIO. */
int hidden_name_make(char out[static HIDDEN_NAME_SIZE]);
