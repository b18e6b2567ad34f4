/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* An error in the text of an error_log. */
typedef struct LogEntry {
        const char *message; /* not terminated */
        size_t message_size;
        size_t column; /* from 1; 0: unknown */
} LogEntry;

/* Finds the latest error about this command. */
bool error_log_find(const char *log, const char *command, LogEntry *ret);
