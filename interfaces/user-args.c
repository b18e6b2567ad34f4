/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Parses the places of a marker's arguments. sys/sdt.h makes the compiler write them as text: size,
 * '@' and an operand in assembler syntax. Called by the confined reader, which passes no text of a
 * file on: the daemon receives numbers, checks them, and writes its own words for the kernel.
 * Arguments that a probe cannot fetch (floats, symbols, indexed addresses) are reported as
 * USER_ARG_OTHER. Pure; the text is untrusted.
 *
 * To add a form: this file, user-place.h and probes/inspection-place.c;
 * tests/interfaces/test-user-args.c. */

#include "interfaces/user-args.h"

#include "interfaces/user-place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/cleanup.h"

#define OPERAND_MAX 128 /* a longer operand contains a symbol */
#define DIGITS      "0123456789"

/* In DWARF's order (AMD64 supplement of the System V ABI, "Register Number Mapping"). */
static const char *const x86_names[] = { "ax", "dx", "cx", "bx", "si", "di", "bp", "sp" };
#define X86_OLD  ELEMENTSOF(x86_names)
#define X86_LAST 15
#define ARM_SP   31

const char *user_register_name(unsigned reg) {
#ifdef __aarch64__
        static const char *const more[] = { "x0",
                "x1",
                "x2",
                "x3",
                "x4",
                "x5",
                "x6",
                "x7",
                "x8",
                "x9",
                "x10",
                "x11",
                "x12",
                "x13",
                "x14",
                "x15",
                "x16",
                "x17",
                "x18",
                "x19",
                "x20",
                "x21",
                "x22",
                "x23",
                "x24",
                "x25",
                "x26",
                "x27",
                "x28",
                "x29",
                "x30",
                "sp" };

        return reg < ELEMENTSOF(more) ? more[reg] : NULL;
#else
        static const char *const more[] = { "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15" };

        if (reg < X86_OLD)
                return x86_names[reg];
        return reg - X86_OLD < ELEMENTSOF(more) ? more[reg - X86_OLD] : NULL;
#endif
}

/* The whole text must be one number, decimal or hexadecimal (0x). */
static bool user_args_parse_number(const char *text, int64_t *ret) {
        char *end;

        if (!*text || !strchr("-+" DIGITS, *text))
                return false;
        errno = 0;
        long long value = strtoll(text, &end, 0);
        if (errno != 0 || *end || end == text)
                return false;
        *ret = value;
        return true;
}

/* Reads a register's number after its letters, without leading zeroes. */
static bool parse_index(const char *text, const char **ret_end, uint8_t *ret) {
        size_t n = strspn(text, DIGITS);

        if (n == 0 || n > 2 || (n == 2 && *text == '0'))
                return false;
        *ret = (uint8_t)(n == 1 ? text[0] - '0' : (text[0] - '0') * 10 + text[1] - '0');
        *ret_end = text + n;
        return true;
}

/* Accepts the name of every width: rax, eax, ax, al; r8, r8d, r8w, r8b; rsi, sil. */
static bool parse_x86_register(const char *text, uint8_t *ret) {
        const char *end;

        if (*text++ != '%')
                return false;
        if (*text == 'r' && parse_index(text + 1, &end, ret))
                return *ret >= X86_OLD && *ret <= X86_LAST &&
                       (!*end || (strchr("dwb", *end) && !end[1]));
        bool is_wide = *text == 'r' || *text == 'e';
        for (uint8_t i = 0; i < X86_OLD; i++) {
                const char *name = x86_names[i];
                bool is_letter = name[1] == 'x'; /* its low byte has a name such as al */

                *ret = i;
                if (strcmp(text, name) == 0 || (is_wide && strcmp(text + 1, name) == 0))
                        return true;
                if (is_letter ? text[0] == name[0] && strcmp(text + 1, "l") == 0
                              : strncmp(text, name, 2) == 0 && strcmp(text + 2, "l") == 0)
                        return true;
        }
        return false;
}

static bool parse_arm_register(const char *text, uint8_t *ret) {
        const char *end;

        if (strcmp(text, "sp") == 0 || strcmp(text, "wsp") == 0) {
                *ret = ARM_SP;
                return true;
        }
        return (*text == 'x' || *text == 'w') && parse_index(text + 1, &end, ret) && !*end &&
               *ret < ARM_SP;
}

/* "-8(%rbp)", "(%rax)" */
static bool parse_x86_memory(char *text, UserArg *arg) {
        char *open = strchr(text, '('), *close = open ? strchr(open, ')') : NULL;

        if (!close || close[1])
                return false;
        *open = *close = '\0';
        arg->value = 0;
        return (!*text || user_args_parse_number(text, &arg->value)) &&
               parse_x86_register(open + 1, &arg->reg);
}

/* "[x0]", "[sp, 8]", "[sp, #8]" */
static bool parse_arm_memory(char *text, UserArg *arg) {
        size_t length = strlen(text);

        if (length < 2 || text[0] != '[' || text[length - 1] != ']')
                return false;
        text[length - 1] = '\0';
        char *comma = strchr(text, ',');
        arg->value = 0;
        if (comma) {
                *comma++ = '\0';
                comma += strspn(comma, " #");
                if (!user_args_parse_number(comma, &arg->value))
                        return false;
        }
        return parse_arm_register(text + 1, &arg->reg);
}

static UserArgKind parse_operand(char *text, bool is_arm, UserArg *arg) {
        if (is_arm ? parse_arm_register(text, &arg->reg) : parse_x86_register(text, &arg->reg))
                return USER_ARG_REGISTER;
        if (is_arm && (strcmp(text, "xzr") == 0 || strcmp(text, "wzr") == 0))
                return USER_ARG_CONSTANT; /* 0 */
        if (is_arm || *text == '$') {
                if (user_args_parse_number(text + (is_arm ? 0 : 1), &arg->value))
                        return USER_ARG_CONSTANT;
        }
        if (is_arm ? parse_arm_memory(text, arg) : parse_x86_memory(text, arg))
                if (arg->value >= INT32_MIN && arg->value <= INT32_MAX)
                        return USER_ARG_MEMORY;
        return USER_ARG_OTHER;
}

static UserArg parse_argument(const char *text, size_t length, bool is_arm) {
        char copy[OPERAND_MAX];
        UserArg arg = {};
        int64_t size;

        if (length >= sizeof(copy))
                return arg;
        memcpy(copy, text, length);
        copy[length] = '\0';
        char *at = strchr(copy, '@');
        if (!at)
                return arg;
        *at = '\0';
        if (!user_args_parse_number(copy, &size) ||
                        (llabs(size) != 1 && llabs(size) != 2 && llabs(size) != 4 &&
                                        llabs(size) != 8))
                return arg;
        UserArgKind kind = parse_operand(at + 1, is_arm, &arg);
        if (kind == USER_ARG_OTHER)
                return (UserArg){};
        arg.kind = (uint8_t)kind;
        arg.size = (int8_t)size;
        return arg;
}

/* Measures up to the first space outside brackets. */
static size_t user_args_measure(const char *text) {
        bool is_within = false;
        size_t n = 0;

        for (; text[n] && (text[n] != ' ' || is_within); n++)
                is_within = text[n] == '[' || (is_within && text[n] != ']');
        return n;
}

int user_args_parse(const char *text, bool is_arm, UserArg args[USER_ARGS_MAX], size_t *ret_n) {
        size_t n = 0;

        for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
                size_t length = user_args_measure(text);

                if (n == USER_ARGS_MAX)
                        return -EBADMSG;
                args[n++] = parse_argument(text, length, is_arm);
                text += length;
        }
        *ret_n = n;
        return 0;
}
