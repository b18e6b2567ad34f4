/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

/* The running kernel's /proc/kallsyms, where a stream with this metadata needs it and is of this
 * boot of this machine, and the caller may read it; else *ret stays NULL. -errno. */
int symbols_read(const json_object *metadata, char **ret);
