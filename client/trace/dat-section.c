/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The parts that both versions of trace.dat have: header pages, event formats, kernel symbols,
 * printk formats, command names; also how numbers and strings are read. Called by trace-dat.
 * libtraceevent does not check all of its input, so the checks are here or in format-guard.c. */

#include <endian.h>
#include <string.h>

#include "interfaces/cleanup.h"
#include "trace/dat-section.h"
#include "trace/print-guard.h"

#define TEXT_MAX_SIZE ((uint64_t)256 * 1024 * 1024) /* kallsyms is some 15 MB */
#define EVENTS_MAX    65536

int dat_cut(Reason *reason, const char *where) {
        return reason_set(reason, KT_E_FAILED, "the trace.dat is cut or damaged in %s", where);
}

bool dat_get(DatInput *input, void *data, uint64_t size) {
        if (size > input->end - input->place)
                return false;
        if (input->data)
                memcpy(data, input->data + input->place, size);
        else if (trace_read(input->trace, input->place, data, size) != 1)
                return false;
        input->place += size;
        return true;
}

bool dat_get_number(DatInput *input, unsigned size, uint64_t *ret) {
        uint64_t value = 0;

        if (!dat_get(input, &value, size))
                return false;
        *ret = le64toh(value);
        return true;
}

bool dat_get_u32(DatInput *input, uint32_t *ret) {
        uint64_t value;

        if (!dat_get_number(input, 4, &value))
                return false;
        *ret = (uint32_t)value;
        return true;
}

bool dat_get_string(DatInput *input, char ret[static DAT_STRING_MAX]) {
        for (size_t i = 0; i < DAT_STRING_MAX; i++) {
                if (!dat_get(input, &ret[i], 1))
                        return false;
                if (ret[i] == '\0')
                        return true;
        }
        return false;
}

char *dat_get_text(DatInput *input, uint64_t size) {
        char *text;

        if (size > TEXT_MAX_SIZE || size > input->end - input->place)
                return NULL;
        text = malloc(size + 1);
        if (!text)
                return NULL;
        if (!dat_get(input, text, size)) {
                free(text);
                return NULL;
        }
        text[size] = '\0';
        return text;
}

static int read_header_info(DatInput *input, Decode *decode, Reason *reason) {
        _cleanup_free_ char *page = NULL, *event = NULL;
        const char *commit, *size_text;
        char word[16];
        uint64_t size;

        if (!dat_get(input, word, 12) || memcmp(word, "header_page", 12) != 0 ||
                        !dat_get_number(input, 8, &size) || !(page = dat_get_text(input, size)))
                return dat_cut(reason, "header_page");
        /* The size of the kernel's long, which may be wider than the recorder's. */
        commit = strstr(page, "commit;");
        size_text = commit ? strstr(commit, "size:") : NULL;
        decode->long_size = size_text && size_text[5] == '4' ? 4 : 8;

        if (!dat_get(input, word, 13) || memcmp(word, "header_event", 13) != 0 ||
                        !dat_get_number(input, 8, &size) || !(event = dat_get_text(input, size)))
                return dat_cut(reason, "header_event");
        return 0;
}

static int read_formats(DatInput *input, Decode *decode, const char *system, Reason *reason) {
        uint32_t n;

        if (!dat_get_u32(input, &n) || n > EVENTS_MAX)
                return dat_cut(reason, "the event formats");
        for (uint32_t i = 0; i < n; i++) {
                _cleanup_free_ char *text = NULL;
                uint64_t size;
                int r;

                if (!dat_get_number(input, 8, &size) || !(text = dat_get_text(input, size)))
                        return dat_cut(reason, "the event formats");
                r = decode_add_event(decode, system, text, size, reason);
                if (r != 0)
                        return r;
        }
        return 0;
}

static int read_ftrace_events(DatInput *input, Decode *decode, Reason *reason) {
        return read_formats(input, decode, "ftrace", reason);
}

static int dat_section_read_events(DatInput *input, Decode *decode, Reason *reason) {
        uint32_t n;

        if (!dat_get_u32(input, &n) || n > EVENTS_MAX)
                return dat_cut(reason, "the event systems");
        for (uint32_t i = 0; i < n; i++) {
                char system[DAT_STRING_MAX];
                int r;

                if (!dat_get_string(input, system))
                        return dat_cut(reason, "the event systems");
                r = read_formats(input, decode, system, reason);
                if (r != 0)
                        return r;
        }
        return 0;
}

static int read_symbols(DatInput *input, Decode *decode, Reason *reason) {
        _cleanup_free_ char *text = NULL;
        uint32_t size;

        if (!dat_get_u32(input, &size) || !(text = dat_get_text(input, size)))
                return dat_cut(reason, "the kernel's symbols");
        if (size > 0)
                (void)tep_parse_kallsyms(decode->tep, text);
        return 0;
}

/* One `0xADDRESS : "FORMAT"` per line. libtraceevent's own reader reads past the end of short
 * lines. */
static void add_printk_formats(Decode *decode, char *text) {
        char *line;

        while ((line = strsep(&text, "\n"))) {
                char *format = strchr(line, '"'), *end;
                unsigned long long address = strtoull(line, &end, 16);

                if (format && end != line && strlen(format) >= 5)
                        (void)tep_register_print_string(decode->tep, format, address);
        }
}

static int read_printk(DatInput *input, Decode *decode, Reason *reason) {
        _cleanup_free_ char *text = NULL;
        uint32_t size;

        if (!dat_get_u32(input, &size) || !(text = dat_get_text(input, size)))
                return dat_cut(reason, "the printk formats");
        if (print_guard_check_widths(text))
                add_printk_formats(decode, text);
        return 0;
}

static int read_commands(DatInput *input, Decode *decode, Reason *reason) {
        _cleanup_free_ char *text = NULL;
        uint64_t size;

        if (!dat_get_number(input, 8, &size) || !(text = dat_get_text(input, size)))
                return dat_cut(reason, "the command names");
        return size > 0 ? decode_add_commands(decode, text) : 0;
}

int dat_read_section(DatSection section, DatInput *input, Decode *decode, Reason *reason) {
        static int (*const readers[_DAT_SECTION_N])(DatInput *, Decode *, Reason *) = {
                [DAT_HEADER_INFO] = read_header_info,
                [DAT_FTRACE_EVENTS] = read_ftrace_events,
                [DAT_EVENT_FORMATS] = dat_section_read_events,
                [DAT_KALLSYMS] = read_symbols,
                [DAT_PRINTK] = read_printk,
                [DAT_CMDLINES] = read_commands,
        };

        return readers[section](input, decode, reason);
}
