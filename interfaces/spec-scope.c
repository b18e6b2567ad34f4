/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The key `scope` of a session spec: parses text into a scope with its pids or its cgroup, and
 * formats it again. It checks only the text. At each start, the code that holds the pidfds
 * checks that the processes live and that the caller may trace them. A name or path that passes
 * these checks cannot lead out of the cgroup file system. */

#include <errno.h>
#include <string.h>

#include "interfaces/ascii.h"
#include "interfaces/quote.h"
#include "interfaces/spec-scope.h"
#include "interfaces/utf8.h"

/* Parses "12,13" into an allocated array. `value` is the whole scope, for messages. */
static int parse_pids(const char *list,
                const char *value,
                pid_t *pids,
                size_t *ret_n,
                Reason *reason) {
        const char *p = list;
        size_t n = 0;

        for (;;) {
                pid_t pid = 0;

                if (!ascii_is_digit(*p))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "scope: %s: expected a pid%s",
                                        quote(value).text,
                                        n == 0 ? "" : " after ','");
                for (; ascii_is_digit(*p) && pid <= SPEC_PID_MAX; p++)
                        pid = pid * 10 + (*p - '0');
                if (pid < 1 || pid > SPEC_PID_MAX)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "scope: %s: expected a pid from 1 to %d",
                                        quote(value).text,
                                        SPEC_PID_MAX);
                if (n == SPEC_PIDS_MAX)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "scope: more than %d pids",
                                        SPEC_PIDS_MAX);
                for (size_t i = 0; i < n; i++)
                        if (pids[i] == pid)
                                return reason_set(reason,
                                                KT_E_INVALID_SPEC,
                                                "scope: pid %d twice: give it once",
                                                (int)pid);
                pids[n++] = pid;
                if (!*p)
                        break;
                if (*p++ != ',')
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "scope: %s: expected pids with a ',' between them",
                                        quote(value).text);
        }
        *ret_n = n;
        return 0;
}

static int set_scope_pids(Spec *spec, SpecScope scope, const char *value, Reason *reason) {
        _cleanup_free_ pid_t *pids = calloc(SPEC_PIDS_MAX, sizeof(*pids));
        size_t n = 0;
        int r;

        if (!pids)
                return -ENOMEM;
        r = parse_pids(strchr(value, ':') + 1, value, pids, &n, reason);
        if (r != 0)
                return r;
        if (scope == SCOPE_COMMAND && n != 1)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "scope: %s: expected one process: for more write pids:PID,PID",
                                quote(value).text);
        spec->scope = scope;
        spec->pids = TAKE_PTR(pids);
        spec->n_pids = n;
        spec->has_scope = true;
        return 0;
}

static int set_group(Spec *spec, SpecScope scope, const char *group) {
        spec->group = strdup(group);
        if (!spec->group)
                return -ENOMEM;
        spec->scope = scope;
        spec->has_scope = true;
        return 0;
}

static bool is_unit_char(char c) {
        return ascii_is_alphanumeric(c) || (c && strchr(":-_.\\@", c));
}

/* The form of the names of systemd units that have a cgroup. Escapes are kept: names are
 * compared, never unescaped. */
int spec_check_unit(const char *key, const char *value, const char *name, Reason *reason) {
        static const char *const types[] = {
                ".service", ".scope", ".slice", ".socket", ".mount", ".swap"
        };
        size_t size = strlen(name);

        for (const char *p = name; *p; p++)
                if (!is_unit_char(*p))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "%s: %s: a unit's name holds only letters, digits and "
                                        "':', '-', '_', '.', '\\', '@'",
                                        key,
                                        quote(value).text);
        for (size_t i = 0; i < ELEMENTSOF(types) && size <= SPEC_UNIT_MAX; i++) {
                size_t length = strlen(types[i]);

                if (size > length && strcmp(name + size - length, types[i]) == 0)
                        return 0;
        }
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "%s: %s names no unit with processes: write unit:NAME.service (or .scope, "
                        ".slice, .socket, .mount, .swap), at most %d bytes",
                        key,
                        quote(value).text,
                        SPEC_UNIT_MAX);
}

static int set_scope_unit(Spec *spec, const char *value, Reason *reason) {
        const char *name = value + strlen("unit:");
        int r = spec_check_unit("scope", value, name, reason);

        return r ?: set_group(spec, SCOPE_UNIT, name);
}

static const char cgroup_form[] =
                "write the path as /proc/PID/cgroup shows it after '0::', such as "
                "cgroup:/system.slice/x.service";

static int set_scope_cgroup(Spec *spec, const char *value, Reason *reason) {
        const char *path = value + strlen("cgroup:");
        size_t size = strlen(path);

        if (*path != '/' || !path[1] || size > SPEC_CGROUP_MAX ||
                        strncmp(path, "/sys/fs/cgroup", strlen("/sys/fs/cgroup")) == 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "scope: %s: %s",
                                quote(value).text,
                                cgroup_form);
        for (size_t i = 0, n; i < size; i += n) {
                n = utf8_length(path + i, size - i);
                if (n == 0 || (unsigned char)path[i] < 0x20 || path[i] == 0x7f)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "scope: %s: byte %zu of the path is not printable",
                                        quote(value).text,
                                        i + 1);
        }
        for (const char *p = path; *p;) {
                size_t length = strcspn(++p, "/");

                if (length == 0 || (length <= 2 && strncmp(p, "..", length) == 0))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "scope: %s: the path contains an empty part, '.' or "
                                        "'..': %s",
                                        quote(value).text,
                                        cgroup_form);
                p += length;
        }
        return set_group(spec, SCOPE_CGROUP, path);
}

int spec_scope_set(Spec *spec, const char *value, Reason *reason) {
        if (strncmp(value, "command:", strlen("command:")) == 0)
                return set_scope_pids(spec, SCOPE_COMMAND, value, reason);
        if (strncmp(value, "pids:", strlen("pids:")) == 0)
                return set_scope_pids(spec, SCOPE_PIDS, value, reason);
        if (strncmp(value, "unit:", strlen("unit:")) == 0)
                return set_scope_unit(spec, value, reason);
        if (strncmp(value, "cgroup:", strlen("cgroup:")) == 0)
                return set_scope_cgroup(spec, value, reason);

        if (strcmp(value, "own") == 0)
                spec->scope = SCOPE_OWN;
        else if (strcmp(value, "system") == 0)
                spec->scope = SCOPE_SYSTEM;
        else if (strcmp(value, "command") == 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "scope: \"command\" names no process: write command:PID, or let "
                                "'ktracectl record -- CMD' do it");
        else if (strcmp(value, "pids") == 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "scope: \"pids\" names no process: write pids:PID,PID");
        else if (strcmp(value, "unit") == 0 || strcmp(value, "cgroup") == 0)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "scope: \"%s\" has no name: write unit:NAME or cgroup:PATH",
                                value);
        else
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "scope: %s is not known: write " SPEC_SCOPE_FORMS,
                                quote(value).text);
        spec->has_scope = true;
        return 0;
}

const char *spec_scope_to_string(SpecScope scope) {
        static const char *const names[_SCOPE_N] = {
                [SCOPE_COMMAND] = "command",
                [SCOPE_OWN] = "own",
                [SCOPE_PIDS] = "pids",
                [SCOPE_UNIT] = "unit",
                [SCOPE_CGROUP] = "cgroup",
                [SCOPE_SYSTEM] = "system",
        };

        return names[scope];
}

int spec_format_scope(const Spec *spec, char **ret) {
        char *text = NULL;
        size_t size = 0;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                return -ENOMEM;
        fputs(spec_scope_to_string(spec->scope), f);
        for (size_t i = 0; i < spec->n_pids; i++)
                fprintf(f, "%c%d", i == 0 ? ':' : ',', (int)spec->pids[i]);
        if (spec->group)
                fprintf(f, ":%s", spec->group);
        if (fclose(f) != 0) {
                free(text);
                return -ENOMEM;
        }
        *ret = text;
        return 0;
}
