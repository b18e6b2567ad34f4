/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Parses places in programs from definitions, and knows the registers of their arguments. Called by
 * compile.c, evaluate-user.c and session. Pure. The path is unchecked input: this file does not
 * open it.
 *
 * The kernel has names only for whole registers (regs_query_register_offset): "edi" is "di" with a
 * type of four bytes. */

#include "define/user-spot.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "interfaces/cleanup.h"
#include "interfaces/quote.h"
#include "interfaces/user-args.h"
#include "interfaces/user-place.h"

#define MARKER_MAX 256 /* bytes of PROVIDER:NAME */

static bool user_spot_is_name_char(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               strchr("_.$-@", c);
}

static bool user_spot_is_name(const char *text, size_t size) {
        if (size == 0)
                return false;
        for (size_t i = 0; i < size; i++)
                if (!user_spot_is_name_char(text[i]))
                        return false;
        return true;
}

static bool read_offset(const char *text, uint64_t *ret) {
        if (strncmp(text, "0x", 2) != 0)
                return false;
        size_t n = strspn(text + 2, "0123456789abcdefABCDEF");
        if (n == 0 || n > 15 || text[2 + n])
                return false;
        *ret = strtoull(text, NULL, 16);
        return true;
}

static const char *find_colon_before(const char *text, const char *end) {
        for (const char *p = end; p > text; p--)
                if (p[-1] == ':')
                        return p - 1;
        return NULL;
}

/* Returns the end of the path; NULL if no place follows it. */
static const char *user_spot_find_place(const char *on, uint64_t *ret_offset, bool *ret_is_marker) {
        const char *colon = strrchr(on, ':');

        *ret_is_marker = false;
        if (!colon || read_offset(colon + 1, ret_offset))
                return colon;
        const char *first = find_colon_before(on, colon);
        if (!first || !user_spot_is_name(first + 1, (size_t)(colon - first - 1)) ||
                        !user_spot_is_name(colon + 1, strlen(colon + 1)) ||
                        strlen(first) > MARKER_MAX)
                return NULL;
        *ret_is_marker = true;
        return first;
}

int user_spot_parse(const char *on, UserSpot *ret, Reason *reason) {
        UserSpot spot = {};
        bool is_marker;
        const char *end = user_spot_find_place(on, &spot.offset, &is_marker);

        if (*on != '/' || !end || end < on + 2)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "on: %s: expected /PATH:0xOFFSET (in the file) or "
                                "/PATH:PROVIDER:MARKER; ktracectl finds functions and lines of "
                                "programs",
                                quote(on).text);
        spot.path = strndup(on, (size_t)(end - on));
        spot.marker = is_marker ? strdup(end + 1) : NULL;
        if (!spot.path || (is_marker && !spot.marker)) {
                user_spot_clear(&spot);
                return -ENOMEM;
        }
        *ret = spot;
        return 0;
}

void user_spot_clear(UserSpot *spot) {
        free(spot->path);
        free(spot->marker);
        *spot = (UserSpot){};
}

#if defined(__x86_64__)
#define PREFIX "r" /* of registers with names of two letters */
static const char *const arguments[USER_FUNCTION_MAX] = { "di", "si", "dx", "cx", "r8", "r9" };
#elif defined(__aarch64__)
#define PREFIX ""
static const char *const arguments[USER_FUNCTION_MAX] = { "x0", "x1", "x2", "x3", "x4", "x5" };
#else
#error "say how this machine passes arguments"
#endif

static bool user_spot_is_called(const char *name, const char *kernel, const char *prefix) {
        size_t n = strlen(prefix);

        return strncmp(name, prefix, n) == 0 && strcmp(name + n, kernel) == 0;
}

const char *user_register_find(const char *text, size_t size) {
        const char *known;
        char name[8];

        if (size >= sizeof(name))
                return NULL;
        memcpy(name, text, size);
        name[size] = '\0';
        for (unsigned i = 0; (known = user_register_name(i)); i++)
                if (user_spot_is_called(name, known, "") ||
                                (known[0] != 'r' && user_spot_is_called(name, known, PREFIX)))
                        return known;
        return NULL;
}

const char *user_register_of_argument(unsigned index) {
        return arguments[index];
}
