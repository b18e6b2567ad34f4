/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sets the title that distinguishes a stream worker from the others in lists of processes. It
 * contains the session's id, which means nothing to strangers. Used by the consumer.
 *
 * It relies on this behaviour: the kernel places the arguments one after the other, and
 * /proc/PID/cmdline shows that memory as it is now (proc(5)). So no system call is needed, which
 * the sandbox might refuse. */

#include "consumer/title.h"

#include <stdio.h>
#include <string.h>

#define KEY       "\"id\":\""
#define ID_DIGITS 16

static char *area;
static size_t area_size;

void title_init(int argc, char **argv) {
        char *end = NULL;

        for (int i = 0; i < argc && (!end || argv[i] == end); i++)
                end = argv[i] + strlen(argv[i]) + 1;
        area = argc > 0 ? argv[0] : NULL;
        area_size = area ? (size_t)(end - area) : 0;
}

void title_set(const char *text) {
        if (area_size == 0)
                return;
        memset(area, 0, area_size);
        memcpy(area, text, strnlen(text, area_size - 1));
}

void title_set_session(const char *metadata) {
        const char *session = strstr(metadata, "\"session\":"),
                   *id = session ? strstr(session, KEY) : NULL;
        char text[64];

        if (!id || strspn(id + strlen(KEY), "0123456789abcdef") != ID_DIGITS)
                return;
        snprintf(text, sizeof(text), "ktrace-consumer: %.*s", ID_DIGITS, id + strlen(KEY));
        title_set(text);
}
