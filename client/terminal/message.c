/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints all messages of ktracectl on stderr. A message is always one line, and control characters
 * are replaced. This is necessary because names of files, events and processes come from other
 * users. The owner of a live line on the same terminal registers a function that clears it first.
 * Owns nothing. */

#include "terminal/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "interfaces/utf8.h"
#include "terminal/context.h"

/* The number of characters around the place, and of those after it. */
#define PLACE_WIDTH 72
#define PLACE_AHEAD 24

static void (*message_before)(void *userdata);
static void *message_userdata;
static const char *message_no_password;

void message_set_before(void (*before)(void *userdata), void *userdata) {
        message_before = before;
        message_userdata = userdata;
}

void message_clean(char *text) {
        for (unsigned char *p = (unsigned char *)text; *p; p++) {
                if (*p < 0x20 || *p == 0x7f)
                        *p = '?';
                /* C1 control characters in UTF-8: some terminals interpret them. */
                else if (*p == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f)
                        *p++ = '?', *p = '?';
        }
}

void message_clean_lines(char *text, size_t size, bool *is_open) {
        unsigned char *bytes = (unsigned char *)text;

        if (size == 0)
                return;
        if (*is_open && bytes[0] >= 0x80 && bytes[0] <= 0xbf)
                bytes[0] = '?';
        *is_open = bytes[size - 1] == 0xc2;
        if (*is_open)
                bytes[size - 1] = '?';
        for (size_t i = 0; i < size; i++) {
                unsigned char c = bytes[i];

                if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
                        bytes[i] = '?';
                else if (c == 0xc2 && bytes[i + 1] >= 0x80 && bytes[i + 1] <= 0x9f)
                        bytes[i] = bytes[i + 1] = '?';
        }
}

static void report_args(const char *format, va_list args) {
        char text[4096];

        (void)vsnprintf(text, sizeof(text), format, args);
        message_clean(text);
        if (message_before)
                message_before(message_userdata);
        (void)fflush(stdout);
        (void)fprintf(stderr, "ktracectl: %s\n", text);
}

void message_print(const char *format, ...) {
        va_list args;

        va_start(args, format);
        report_args(format, args);
        va_end(args);
}

int message_show_usage(const Context *context, const char *format, ...) {
        char text[2048];
        va_list args;

        va_start(args, format);
        (void)vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        if (context->verb)
                message_print("%s; see 'ktracectl %s --help'", text, context->verb->name);
        else
                message_print("%s; see 'ktracectl --help'", text);
        return KT_EXIT_USAGE;
}

static size_t skip_characters(const char *text, size_t n) {
        const char *p = text;

        for (; n > 0 && *p; n--)
                p += MAX_OF(utf8_length(p, strlen(p)), (size_t)1);
        return (size_t)(p - text);
}

void message_show_place(const char *text, size_t column) {
        size_t first = column > PLACE_WIDTH - PLACE_AHEAD ? column - PLACE_WIDTH + PLACE_AHEAD : 0;
        const char *start = text + skip_characters(text, first);
        size_t size = skip_characters(start, PLACE_WIDTH);
        _cleanup_free_ char *shown = strndup(start, size);

        if (!shown)
                return;
        message_clean(shown);
        (void)fprintf(stderr,
                        "  %s%s%s\n  %*s^\n",
                        first > 0 ? "…" : "",
                        shown,
                        start[size] ? "…" : "",
                        (int)(column - first + (first > 0)),
                        "");
}

void message_set_no_password(const char *text) {
        message_no_password = text;
}

int message_fail(int code, const Reason *reason) {
        const ErrorEntry *entry = error_get(code);

        if (reason && reason->text[0])
                message_print("%s", reason->text);
        else if (code < 0)
                message_print("%s", strerror(-code));
        else
                message_print("%s", entry->text);
        if (code == KT_E_AUTH_REQUIRED && message_no_password)
                message_print("%s", message_no_password);
        return entry->exit_status;
}
