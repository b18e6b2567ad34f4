/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/print-table.h"

/* Fills the table of an event that a plugin of libtraceevent prints. Returns 0, -ENOMEM, or
 * -EOPNOTSUPP if only the plugin can print it. */
int print_plugin_compile(PrintTable *table, const EventLayout *layout);
