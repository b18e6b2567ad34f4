/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the argument of -H, for main and near.c. The text comes from the user or from a script that
 * got it from another place, so a name is refused that ssh or a terminal could take for something
 * else: an option, several words, control characters, bytes that are no text. What is left is a
 * name for ssh, which looks it up in its configuration. No shell sees it.
 *
 * The name of a container after a '/' is checked as that of -M.
 *
 * An IPv6 address with a port is in brackets, as ssh://[::1]:22 has it. An address without them has
 * more than one colon and no port. */

#include "remote/host.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "container/container.h"
#include "interfaces/utf8.h"

#define PORT_MAX 65535

static int host_refuse(const char *text, const char *place, const char *why, Reason *reason) {
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "-H %.*s: %s at character %zu: expected [USER@]HOST[:PORT][/CONTAINER]",
                        HOST_MAX,
                        text,
                        why,
                        (size_t)(place - text) + 1);
}

static bool is_name_character(unsigned char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               strchr("-._@:[]%+~", c) || c >= 0x80;
}

/* C1 control characters, and those that change the direction of text: U+200E, U+200F, U+202A to
 * U+202E and U+2066 to U+2069. */
static bool host_begins_with_control(const char *text) {
        const unsigned char *p = (const unsigned char *)text;

        if (p[0] == 0xc2)
                return p[1] >= 0x80 && p[1] <= 0x9f;
        if (p[0] != 0xe2)
                return false;
        if (p[1] == 0x80)
                return p[2] == 0x8e || p[2] == 0x8f || (p[2] >= 0xaa && p[2] <= 0xae);
        return p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9;
}

/* Letters of other scripts are left to ssh, which asks the name service. */
static int host_check_characters(const char *text, Reason *reason) {
        if (!*text)
                return reason_set(reason, KT_E_INVALID_SPEC, "-H: expected [USER@]HOST, got \"\"");
        if (strlen(text) > HOST_MAX)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "-H: a name has at most %d characters",
                                HOST_MAX);
        if (*text == '-')
                return host_refuse(text, text, "'-'", reason);
        for (const char *p = text; *p; p++) {
                size_t length = utf8_length(p, strnlen(p, 4));

                if (*p == ' ' || *p == '\t')
                        return host_refuse(text, p, "a blank", reason);
                if ((unsigned char)*p < 0x20 || *p == 0x7f || host_begins_with_control(p))
                        return host_refuse(text, p, "a control character", reason);
                if (length == 0)
                        return host_refuse(text, p, "a byte that is not UTF-8", reason);
                if (!is_name_character((unsigned char)*p))
                        return host_refuse(text, p, "an unexpected character", reason);
                p += length - 1;
        }
        return 0;
}

static int host_check_port(const char *text, const char *port, Reason *reason) {
        unsigned number = 0;

        for (const char *p = port; *p; p++) {
                if (*p < '0' || *p > '9' ||
                                (number = number * 10 + (unsigned)(*p - '0')) > PORT_MAX)
                        return host_refuse(text, p, "no port from 1 to 65535", reason);
        }
        return number > 0 ? 0 : host_refuse(text, port, "no port from 1 to 65535", reason);
}

/* Finds the name's end and the port. The name may be in brackets. */
static int host_split(const char *text,
                const char *name,
                const char **ret_end,
                const char **ret_port,
                Reason *reason) {
        const char *colon = strchr(name, ':'), *end = strchr(name, ']');

        if (*name == '[') {
                if (!end)
                        return host_refuse(text, name, "'[' without ']'", reason);
                if (end == name + 1)
                        return host_refuse(text, end, "no address", reason);
                if (end[1] && end[1] != ':')
                        return host_refuse(text, end + 1, "text after ']'", reason);
                *ret_end = end;
                *ret_port = end[1] ? end + 2 : NULL;
                return 0;
        }
        if (strpbrk(name, "[]"))
                return host_refuse(text, strpbrk(name, "[]"), "a bracket", reason);
        bool is_address = colon && strchr(colon + 1, ':');
        *ret_end = colon && !is_address ? colon : name + strlen(name);
        *ret_port = colon && !is_address ? colon + 1 : NULL;
        return 0;
}

static int host_parse_machine(const char *text, Host *ret, Reason *reason) {
        _cleanup_free_ char *target = NULL, *port = NULL;
        const char *end = NULL, *port_text = NULL;
        int r = host_check_characters(text, reason);

        if (r != 0)
                return r;
        /* As in ssh, a user's name may contain '@'. */
        const char *at = strrchr(text, '@'), *name = at ? at + 1 : text;
        if (at == text)
                return host_refuse(text, text, "no user before '@'", reason);
        r = host_split(text, name, &end, &port_text, reason);
        r = r ?: port_text ? host_check_port(text, port_text, reason) : 0;
        if (r != 0)
                return r;
        bool is_bracketed = *name == '[';
        if (end == name)
                return host_refuse(text, name, "no host", reason);
        if (name[is_bracketed] == '-')
                return host_refuse(text, name + is_bracketed, "'-'", reason);
        if (asprintf(&target,
                            "%.*s%.*s",
                            (int)(name - text),
                            text,
                            (int)(end - name - is_bracketed),
                            name + is_bracketed) < 0)
                return -ENOMEM;
        port = port_text ? strdup(port_text) : NULL;
        if (port_text && !port)
                return -ENOMEM;
        *ret = (Host){ .target = TAKE_PTR(target), .port = TAKE_PTR(port) };
        return 0;
}

int host_parse(const char *text, Host *ret, Reason *reason) {
        const char *slash = strchr(text, '/');
        _cleanup_free_ char *machine = slash ? strndup(text, (size_t)(slash - text)) : NULL;
        _cleanup_free_ char *container = slash ? strdup(slash + 1) : NULL;
        Host host = {};

        if (slash && (!machine || !container))
                return -ENOMEM;
        int r = host_parse_machine(machine ?: text, &host, reason);
        if (r == 0 && container)
                r = container_check_name("-H: container", container, reason);
        if (r == 0) {
                host.container = TAKE_PTR(container);
                *ret = host;
        } else {
                host_done(&host);
        }
        return r;
}

void host_done(Host *host) {
        free(host->container);
        free(host->target);
        free(host->port);
        *host = (Host){};
}
