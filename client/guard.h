/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

/* Makes of an event's format file a text that libtraceevent may be given; the caller frees it. 0,
 * -EBADMSG when its fields are not as kernels write them, -ENOMEM. */
int guard_format(const char *text, size_t size, char **ret, int *ret_id);
