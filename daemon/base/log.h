/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <syslog.h>

#include "interfaces/cleanup.h"

typedef enum LogTarget {
        LOG_TARGET_AUTO, /* journal when stderr is connected to it, else console */
        LOG_TARGET_CONSOLE,
        LOG_TARGET_JOURNAL,
        LOG_TARGET_NULL,
        _LOG_TARGET_N,
} LogTarget;

/* The subject of a log line, as structured journal fields. */
typedef struct LogContext {
        const char *session;  /* id, or NULL */
        const char *instance; /* or NULL */
        unsigned uid;         /* owner, or (unsigned)-1 */
} LogContext;

/* An additional journal field, such as "KTRACE_RULE", and its value. */
typedef struct LogField {
        const char *name;
        const char *value; /* NULL: leave it out */
} LogField;

#define LOG_FIELDS_MAX 12

void log_open(LogTarget target);
void log_set_level(int level);
int log_get_level(void);
int log_level_from_string(const char *name); /* -EINVAL */
const char *log_level_to_string(int level);
int log_set_target(const char *name); /* auto console journal null; -EINVAL */
const char *log_get_target(void);

void log_write(int level, const LogContext *context, const char *format, ...) _printf_(3, 4);
/* Appends ": " and the errno's text; returns r unchanged, so that `return log_errno(r, …)` reads
 * well. */
int log_errno(int r, int level, const LogContext *context, const char *format, ...) _printf_(4, 5);

/* Logs with additional fields, at most LOG_FIELDS_MAX, for programs that read the journal. The
 * console gets only the text. */
void log_record(int level,
                const LogContext *context,
                const LogField *fields,
                size_t n_fields,
                const char *format,
                ...) _printf_(5, 6);

#define log_error(...)   log_write(LOG_ERR, NULL, __VA_ARGS__)
#define log_warning(...) log_write(LOG_WARNING, NULL, __VA_ARGS__)
#define log_notice(...)  log_write(LOG_NOTICE, NULL, __VA_ARGS__)
#define log_info(...)    log_write(LOG_INFO, NULL, __VA_ARGS__)
#define log_debug(...)   log_write(LOG_DEBUG, NULL, __VA_ARGS__)
