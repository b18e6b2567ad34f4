/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <syslog.h>

#include "interfaces/cleanup.h"

/* Writes a line to the log. level: LOG_ERR, LOG_WARNING, LOG_NOTICE or LOG_INFO. */
void log_print(int level, const char *format, ...) _printf_(2, 3);
