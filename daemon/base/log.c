/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The log of the daemon and the consumer: the journal with structured fields (KTRACE_SESSION,
 * KTRACE_INSTANCE, KTRACE_UID), or plain lines on stderr. Called only at the edges (method
 * dispatch, event-source callbacks, main), from any thread: level and target are atomics, and a
 * line is one write or one datagram.
 *
 * It relies on systemd setting JOURNAL_STREAM to "DEVICE:INODE" of the stream that it connected to
 * the journal (systemd.exec(5)). The journal is used only if stderr is that file.
 *
 * It does not trust messages: they quote names and texts of callers. Control characters become '?',
 * so that a caller cannot forge a second line or move a terminal's cursor. A log line that cannot
 * be written is lost, because no other place exists to report it. */

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#include "base/log.h"
#include "interfaces/error.h"

#define LINE_SIZE_MAX   2048
#define FIELD_SIZE_MAX  128
#define RECORD_SIZE_MAX 512 /* size of a log_record field */
#define N_FIELDS_MAX    5

static _Atomic LogTarget log_target = LOG_TARGET_CONSOLE;
static atomic_bool log_to_journal = false;
static atomic_int log_level = LOG_INFO;

static const char *const target_names[_LOG_TARGET_N] = {
        [LOG_TARGET_AUTO] = "auto",
        [LOG_TARGET_CONSOLE] = "console",
        [LOG_TARGET_JOURNAL] = "journal",
        [LOG_TARGET_NULL] = "null",
};

static const char *const level_names[] = {
        [LOG_EMERG] = "emerg",
        [LOG_ALERT] = "alert",
        [LOG_CRIT] = "crit",
        [LOG_ERR] = "err",
        [LOG_WARNING] = "warning",
        [LOG_NOTICE] = "notice",
        [LOG_INFO] = "info",
        [LOG_DEBUG] = "debug",
};

static bool stderr_is_journal(void) {
        const char *stream = getenv("JOURNAL_STREAM");
        unsigned long long device, inode;
        struct stat st;
        char end;

        if (!stream || sscanf(stream, "%llu:%llu%c", &device, &inode, &end) != 2)
                return false;
        return fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

void log_open(LogTarget target) {
        atomic_store(&log_target, target);
        atomic_store(&log_to_journal,
                        target == LOG_TARGET_JOURNAL ||
                                        (target == LOG_TARGET_AUTO && stderr_is_journal()));
}

void log_set_level(int level) {
        atomic_store(&log_level, level);
}

int log_get_level(void) {
        return atomic_load(&log_level);
}

int log_level_from_string(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(level_names); i++)
                if (strcmp(level_names[i], name) == 0)
                        return (int)i;
        return -EINVAL;
}

const char *log_level_to_string(int level) {
        if (level < 0 || (size_t)level >= ELEMENTSOF(level_names))
                return "info";
        return level_names[level];
}

int log_set_target(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(target_names); i++)
                if (strcmp(target_names[i], name) == 0) {
                        log_open((LogTarget)i);
                        return 0;
                }
        return -EINVAL;
}

const char *log_get_target(void) {
        return target_names[atomic_load(&log_target)];
}

/* In UTF-8 the C1 controls, which some terminals obey like ESC, are 0xc2 0x80 to 0xc2 0x9f. */
static void make_harmless(char *text) {
        for (unsigned char *p = (unsigned char *)text; *p; p++) {
                if (*p < 0x20 || *p == 0x7f)
                        *p = '?';
                else if (p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
                        p[0] = p[1] = '?';
        }
}

static struct iovec iovec_of(const char *text) {
        return (struct iovec){ .iov_base = (char *)text, .iov_len = strlen(text) };
}

typedef struct Record {
        const LogField *fields;
        size_t n;
} Record;

/* `line` is "MESSAGE=...", the journal's format. */
static void write_journal(int level,
                const LogContext *context,
                const Record *record,
                const char *line) {
        char texts[LOG_FIELDS_MAX][RECORD_SIZE_MAX];
        char priority[FIELD_SIZE_MAX], session[FIELD_SIZE_MAX], instance[FIELD_SIZE_MAX];
        char uid[FIELD_SIZE_MAX];
        struct iovec fields[N_FIELDS_MAX + LOG_FIELDS_MAX];
        int n = 0;

        snprintf(priority, sizeof(priority), "PRIORITY=%d", level);
        fields[n++] = iovec_of(line);
        fields[n++] = iovec_of(priority);
        if (context && context->session) {
                snprintf(session, sizeof(session), "KTRACE_SESSION=%s", context->session);
                fields[n++] = iovec_of(session);
        }
        if (context && context->instance) {
                snprintf(instance, sizeof(instance), "KTRACE_INSTANCE=%s", context->instance);
                fields[n++] = iovec_of(instance);
        }
        if (context && context->uid != (unsigned)-1) {
                snprintf(uid, sizeof(uid), "KTRACE_UID=%u", context->uid);
                fields[n++] = iovec_of(uid);
        }
        for (size_t i = 0; i < MIN_OF(record->n, (size_t)LOG_FIELDS_MAX); i++) {
                const LogField *field = &record->fields[i];

                if (!field->value)
                        continue;
                snprintf(texts[i], sizeof(texts[i]), "%s=%s", field->name, field->value);
                make_harmless(texts[i]);
                fields[n++] = iovec_of(texts[i]);
        }
        (void)sd_journal_sendv(fields, n);
}

static void write_console(const LogContext *context, const char *message) {
        char line[LINE_SIZE_MAX + FIELD_SIZE_MAX];

        if (context && context->session)
                snprintf(line, sizeof(line), "%s: %s\n", context->session, message);
        else
                snprintf(line, sizeof(line), "%s\n", message);
        /* stdio is not used: one line must be one write, even if two threads log. */
        ssize_t n = write(STDERR_FILENO, line, strlen(line));
        (void)n;
}

static void _printf_(5, 0) write_line(int r,
                int level,
                const LogContext *context,
                const Record *record,
                const char *format,
                va_list ap) {
        static const char prefix[] = "MESSAGE=";
        char line[LINE_SIZE_MAX];
        char *message = line + sizeof(prefix) - 1;
        size_t room = sizeof(line) - (sizeof(prefix) - 1);

        if (level > log_get_level() || atomic_load(&log_target) == LOG_TARGET_NULL)
                return;

        memcpy(line, prefix, sizeof(prefix));
        vsnprintf(message, room, format, ap);
        if (r != 0) {
                char buffer[FIELD_SIZE_MAX];
                const char *why =
                                r < 0 ? strerror_r(-r, buffer, sizeof(buffer)) : error_get(r)->text;
                size_t n = strlen(message);
                snprintf(message + n, room - n, ": %s", why);
        }
        make_harmless(message);

        if (atomic_load(&log_to_journal))
                write_journal(level, context, record, line);
        else
                write_console(context, message);
}

void log_write(int level, const LogContext *context, const char *format, ...) {
        int saved_errno = errno;
        va_list ap;

        va_start(ap, format);
        write_line(0, level, context, &(Record){}, format, ap);
        va_end(ap);
        errno = saved_errno;
}

int log_errno(int r, int level, const LogContext *context, const char *format, ...) {
        int saved_errno = errno;
        va_list ap;

        va_start(ap, format);
        write_line(r, level, context, &(Record){}, format, ap);
        va_end(ap);
        errno = saved_errno;
        return r;
}

void log_record(int level,
                const LogContext *context,
                const LogField *fields,
                size_t n_fields,
                const char *format,
                ...) {
        int saved_errno = errno;
        va_list ap;

        va_start(ap, format);
        write_line(0, level, context, &(Record){ fields, n_fields }, format, ap);
        va_end(ap);
        errno = saved_errno;
}
