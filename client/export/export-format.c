/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The names of the formats that recordings are written in, and what each format can do. Called by
 * the verbs, to judge options, and by export.c. To add a format: a value of ExportFormat, a line in
 * this table, and an Exporter in a file export-NAME.c. */

#include "export/export-format.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "export/export-chrome.h"
#include "export/export-csv.h"
#include "export/export-ctf.h"
#include "export/export-folded.h"
#include "export/export-html.h"
#include "export/export-perfetto.h"
#include "export/export-speedscope.h"
#include "export/export-summary.h"
#include "interfaces/cleanup.h"

#define CAN_PART  (EXPORT_CAN_CHOOSE | EXPORT_CAN_CUT)
#define CAN_PRINT (EXPORT_CAN_STREAM | CAN_PART | EXPORT_CAN_THREAD)
#define CAN_DAT   (EXPORT_CAN_STREAM | EXPORT_CAN_CHOOSE | EXPORT_CAN_COMPRESS | EXPORT_CAN_MACHINES)

static const struct {
        const char *name, *suffix, *summary;
        unsigned abilities;
        const Exporter *exporter;
} formats[_EXPORT_FORMAT_N] = {
        [EXPORT_DAT] = { "dat", ".dat", "for trace-cmd and KernelShark", CAN_DAT },
        [EXPORT_TEXT] = { "text", ".txt", "as 'report' prints it", CAN_PRINT | EXPORT_CAN_RAW },
        [EXPORT_JSON] = { "json", ".json", "one object a line", CAN_PRINT },
        [EXPORT_KTS] = { "kts", ".kts", "the stream itself", EXPORT_CAN_STREAM },
        [EXPORT_TEXT_WALL] = { "text-wall",
                        "",
                        "text with times of day",
                        CAN_PRINT | EXPORT_CAN_RAW },
        [EXPORT_DAT_WALL] = { "dat-wall", "", "a dat with times of day", CAN_DAT },
        [EXPORT_CSV] = { "csv", ".csv", "a table for spreadsheets", CAN_PART, &csv_exporter },
        [EXPORT_CTF] = { "ctf",
                        ".ctf",
                        "a directory for babeltrace2 and Trace Compass",
                        CAN_PART | EXPORT_CAN_FILL,
                        &ctf_exporter },
        [EXPORT_CALLS] = { "calls",
                        "",
                        "one line for each system call",
                        EXPORT_CAN_STREAM | CAN_PART },
        [EXPORT_CHROME] = { "chrome",
                        "",
                        "JSON for chrome://tracing and Perfetto",
                        CAN_PART,
                        &chrome_exporter },
        [EXPORT_FOLDED] = { "folded",
                        ".folded",
                        "stacks, for flame graphs",
                        CAN_PART,
                        &folded_exporter },
        [EXPORT_HTML] = { "html",
                        ".html",
                        "a page for browsers",
                        CAN_PART | EXPORT_CAN_MACHINES,
                        &html_exporter },
        [EXPORT_SPEEDSCOPE] = { "speedscope",
                        "",
                        "stacks and calls of threads, for speedscope",
                        CAN_PART,
                        &speedscope_exporter },
        [EXPORT_SUMMARY] = { "summary",
                        "",
                        "the numbers of 'summary --json'",
                        CAN_PART,
                        &summary_exporter },
        [EXPORT_PERFETTO] = { "perfetto",
                        ".pftrace",
                        "for ui.perfetto.dev",
                        CAN_PART | EXPORT_CAN_COMPATIBLE | EXPORT_CAN_MACHINES,
                        &perfetto_exporter },
};

int export_format_from_suffix(const char *path, ExportFormat *ret) {
        const char *dot = strrchr(path, '.');

        for (ExportFormat f = 0; dot && f < _EXPORT_FORMAT_N; f++)
                if (strcmp(dot, formats[f].suffix) == 0) {
                        *ret = f;
                        return 0;
                }
        return -EINVAL;
}

int export_format_from_string(const char *name, ExportFormat *ret) {
        for (ExportFormat f = 0; f < _EXPORT_FORMAT_N; f++)
                if (strcmp(name, formats[f].name) == 0) {
                        *ret = f;
                        return 0;
                }
        return -EINVAL;
}

const char *export_format_to_string(ExportFormat format) {
        return formats[format].name;
}

const char *export_format_get_suffix(ExportFormat format) {
        return formats[format == EXPORT_DAT_WALL ? EXPORT_DAT : format].suffix;
}

const char *export_format_get_summary(ExportFormat format) {
        return formats[format].summary;
}

bool export_format_can(ExportFormat format, ExportAbility ability) {
        return (formats[format].abilities & ability) != 0;
}

bool export_format_is_dat(ExportFormat format) {
        return format == EXPORT_DAT || format == EXPORT_DAT_WALL;
}

bool export_format_is_text(ExportFormat format) {
        return format == EXPORT_TEXT || format == EXPORT_TEXT_WALL;
}

const Exporter *export_format_get_exporter(ExportFormat format) {
        return formats[format].exporter;
}

ExportFormatNames export_format_list(unsigned ability) {
        ExportFormatNames names = {};
        size_t used = 0;

        for (ExportFormat f = 0; f < _EXPORT_FORMAT_N; f++)
                if ((formats[f].abilities & ability) == ability && used < sizeof(names.text))
                        used += (size_t)snprintf(names.text + used,
                                        sizeof(names.text) - used,
                                        "%s%s",
                                        used > 0 ? ", " : "",
                                        formats[f].name);
        return names;
}
