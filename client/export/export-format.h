/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef enum ExportFormat {
        EXPORT_KTS,
        EXPORT_DAT,
        EXPORT_TEXT,
        EXPORT_JSON,
        EXPORT_TEXT_WALL, /* times of day instead of the trace's clock */
        EXPORT_DAT_WALL,  /* with the offset of trace-cmd's record --date: shows times of day */
        EXPORT_CSV,
        EXPORT_CTF,
        EXPORT_CALLS, /* system calls, see CallStyle */
        EXPORT_CHROME,
        EXPORT_FOLDED,
        EXPORT_SPEEDSCOPE,
        EXPORT_SUMMARY,
        EXPORT_PERFETTO,
        EXPORT_HTML,
        _EXPORT_FORMAT_N,
} ExportFormat;

/* What a format can do, and so which options belong to it. */
typedef enum ExportAbility {
        EXPORT_CAN_STREAM = 1 << 0,     /* record, stream, snapshot and spool fetch write it */
        EXPORT_CAN_CHOOSE = 1 << 1,     /* some of the CPUs */
        EXPORT_CAN_RAW = 1 << 2,        /* strings that are not escaped */
        EXPORT_CAN_THREAD = 1 << 3,     /* print with several threads */
        EXPORT_CAN_COMPRESS = 1 << 4,   /* with zstd, or not */
        EXPORT_CAN_CUT = 1 << 5,        /* some of the events */
        EXPORT_CAN_FILL = 1 << 6,       /* a directory, which part.h describes; not one file */
        EXPORT_CAN_COMPATIBLE = 1 << 7, /* for older viewers */
        EXPORT_CAN_MACHINES = 1 << 8,   /* of a recording of several machines */
} ExportAbility;

/* .kts .dat .txt .json and so on; -EINVAL otherwise. */
int export_format_from_suffix(const char *path, ExportFormat *ret);
/* kts dat text json text-wall dat-wall and so on; -EINVAL otherwise. */
int export_format_from_string(const char *name, ExportFormat *ret);
const char *export_format_to_string(ExportFormat format);
/* ".dat" and so on, of its files. "": it has none. */
const char *export_format_get_suffix(ExportFormat format);
const char *export_format_get_summary(ExportFormat format);
bool export_format_can(ExportFormat format, ExportAbility ability);
bool export_format_is_dat(ExportFormat format);
bool export_format_is_text(ExportFormat format);

typedef struct Exporter Exporter;
/* NULL: the format is not made record by record. */
const Exporter *export_format_get_exporter(ExportFormat format);

typedef struct ExportFormatNames {
        char text[256];
} ExportFormatNames;

/* The names of all formats that have the ability, "dat, text, json". 0: all formats. */
ExportFormatNames export_format_list(unsigned ability);
/* The formats of EXPORT_CAN_STREAM, for help. */
#define EXPORT_FORMAT_NAMES "dat, text, json, kts, text-wall, dat-wall, calls"
