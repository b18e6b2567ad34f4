/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Samples of the kernel's histograms, for the unit test and the fuzz target. The files of
 * tests/fuzz/corpus/hist are what a 6.1 kernel wrote. */

#include "hist-sample.h"

#include <string.h>

#include "interfaces/cleanup.h"

static const char *const kinds[] = {
        [HIST_NUMBER] = "number",
        [HIST_HEX] = "hex",
        [HIST_SYM] = "sym",
        [HIST_EXECNAME] = "execname",
        [HIST_SYSCALL] = "syscall",
        [HIST_LOG2] = "log2",
        [HIST_BUCKETS] = "buckets",
        [HIST_STRING] = "string",
        [HIST_STACKTRACE] = "stacktrace",
};

static bool read_column(const char **at, const char *end, HistColumn *ret) {
        char name[HIST_NAME_MAX], kind[16];
        int n = 0;

        if (sscanf(*at, "%63[a-z_0-9] %15[a-z0-9]%n", name, kind, &n) != 2 || *at + n > end)
                return false;
        *at += n;
        memcpy(ret->name, name, sizeof(name));
        if (strcmp(kind, "comm") == 0) {
                ret->kind = HIST_STRING;
                ret->size = 16;
                return true;
        }
        for (ret->kind = 0; ret->kind < _HIST_KIND_N; ret->kind++)
                if (strcmp(kinds[ret->kind], kind) == 0)
                        return true;
        return false;
}

static bool read_columns(const char **at,
                const char *end,
                HistColumn *columns,
                size_t max,
                uint32_t *ret_n) {
        for (*ret_n = 0; *ret_n < max;) {
                if (!read_column(at, end, &columns[(*ret_n)++]))
                        return false;
                if (*at == end || **at != ',')
                        return true;
                (*at)++;
        }
        return false;
}

bool hist_sample_read(const char *data, size_t size, HistSample *ret) {
        const char *end = memchr(data, '\n', size), *at = data, *next;
        char line[512];
        size_t n = end ? (size_t)(end - data) : 0;

        if (!end || n >= sizeof(line))
                return false;
        *ret = (HistSample){};
        memcpy(line, data, n);
        line[n] = '\0';
        at = line;
        end = line + n;
        if (!read_columns(&at, end, ret->layout.keys, HIST_KEYS_MAX, &ret->layout.n_keys))
                return false;
        if (at < end && *at++ == ';' &&
                        !read_columns(&at,
                                        end,
                                        ret->layout.values,
                                        HIST_VALUES_MAX,
                                        &ret->layout.n_values))
                return false;
        at = data + n + 1;
        next = memchr(at, '\n', size - n - 1);
        if (at != line && next && next - at > 2 && at[1] == ' ') {
                ret->choice = (HistChoice){
                        .trigger = at + 2,
                        .trigger_size = (size_t)(next - at) - 2,
                        .n_tables = (size_t)(at[0] - '0'),
                };
                ret->text = next + 1;
                ret->size = size - (size_t)(next + 1 - data);
                return true;
        }
        return false;
}
