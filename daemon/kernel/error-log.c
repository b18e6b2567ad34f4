/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads the kernel's error message about a filter or a probe from its error_log. Used by the other
 * files of this floor. The log holds the last eight errors: the message, "  Command: " with the
 * text, and a line with a caret below the position. Only errors about our own command are quoted,
 * because all users of the instance share the log. */

#include "kernel/error-log.h"

#include <string.h>

#define COMMAND_PREFIX "  Command: "

static size_t error_log_line_size(const char *line) {
        return strcspn(line, "\n");
}

static const char *error_log_next_line(const char *line) {
        size_t size = error_log_line_size(line);
        return line + size + (line[size] == '\n');
}

static bool line_is_command(const char *line, const char *command) {
        size_t prefix = strlen(COMMAND_PREFIX), size = error_log_line_size(line);

        if (size < prefix || memcmp(line, COMMAND_PREFIX, prefix) != 0)
                return false;
        while (size > prefix && line[size - 1] == ' ')
                size--;
        return size - prefix == strlen(command) &&
               memcmp(line + prefix, command, size - prefix) == 0;
}

bool error_log_find(const char *log, const char *command, LogEntry *ret) {
        static const char marker[] = "error: ";
        const char *head = NULL;
        bool found = false;

        for (const char *line = log; *line; line = error_log_next_line(line)) {
                if (*line == '[') {
                        head = line;
                        continue;
                }
                if (!head || !line_is_command(line, command))
                        continue;

                /* "[  1.2] event filter parse error: error: Field not found" */
                size_t size = error_log_line_size(head);
                const char *message = head;
                for (const char *p = head; p + sizeof(marker) - 1 <= head + size; p++)
                        if (memcmp(p, marker, sizeof(marker) - 1) == 0)
                                message = p + sizeof(marker) - 1;
                const char *caret = error_log_next_line(line);
                size_t offset = strspn(caret, " ");
                *ret = (LogEntry){
                        .message = message,
                        .message_size = (size_t)(head + size - message),
                };
                if (caret[offset] == '^' && offset >= strlen(COMMAND_PREFIX))
                        ret->column = offset - strlen(COMMAND_PREFIX) + 1;
                head = NULL;
                found = true;
        }
        return found;
}
