/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The names of the formats that recordings are written in, and what each format can do. Called by
 * the verbs, to judge options, and by export.c. To add a format: a value of ExportFormat, a line in
 * this table, and an Exporter in a file export-NAME.c. */

#include "export/export-format.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "export/export-csv.h"
#include "export/export-ctf.h"
#include "interfaces/cleanup.h"

#define CAN_PART  (EXPORT_CAN_CHOOSE | EXPORT_CAN_CUT)
#define CAN_PRINT (EXPORT_CAN_STREAM | CAN_PART | EXPORT_CAN_THREAD)
#define CAN_DAT   (EXPORT_CAN_STREAM | EXPORT_CAN_CHOOSE | EXPORT_CAN_COMPRESS)

static const struct {
        const char *name, *suffix;
        unsigned abilities;
        const Exporter *exporter;
} formats[_EXPORT_FORMAT_N] = {
        [EXPORT_DAT] = { "dat", ".dat", CAN_DAT },
        [EXPORT_TEXT] = { "text", ".txt", CAN_PRINT | EXPORT_CAN_RAW },
        [EXPORT_JSON] = { "json", ".json", CAN_PRINT },
        [EXPORT_KTS] = { "kts", ".kts", EXPORT_CAN_STREAM },
        [EXPORT_TEXT_WALL] = { "text-wall", "", CAN_PRINT | EXPORT_CAN_RAW },
        [EXPORT_DAT_WALL] = { "dat-wall", "", CAN_DAT },
        [EXPORT_CSV] = { "csv", ".csv", CAN_PART, &csv_exporter },
        [EXPORT_CTF] = { "ctf", ".ctf", CAN_PART | EXPORT_CAN_FILL, &ctf_exporter },
        [EXPORT_CALLS] = { "calls", "", EXPORT_CAN_STREAM | CAN_PART },
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
