/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

/* Reads the running kernel's /proc/kallsyms when the stream with this metadata needs it, comes from
 * this boot of this machine, and the caller may read it. Otherwise *ret stays NULL. Returns 0 or
 * -errno. */
int symbols_read(const json_object *metadata, char **ret);
