/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

/* Returns a copy of an event's format file that is safe for libtraceevent. The caller frees it.
 * 0, -EBADMSG if its fields do not match the kernel's format, -ENOMEM. */
int format_guard_make_safe(const char *text, size_t size, char **ret, int *ret_id);
