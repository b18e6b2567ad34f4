/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

/* Makes room for one more element in *array, which has n elements of this size, and fills it with
 * zeros. The array must have grown from NULL by this function only. Returns 0 or -ENOMEM. */
int array_grow(void *array, size_t n, size_t size);
