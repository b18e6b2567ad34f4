/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "export/export.h"
#include "terminal/context.h"
#include "trace/selection.h"

typedef struct FleetReportOptions {
        const Context *context;
        const char *path;           /* of the directory */
        ExportFormat format;        /* EXPORT_TEXT, EXPORT_TEXT_WALL or EXPORT_JSON */
        const Selection *selection; /* without times */
        bool has_names, is_raw;     /* text: see ExportSource */
} FleetReportOptions;

/* Whether the path is a directory. */
bool fleet_is_directory(const char *path);
/* Prints the events of all machines in one order, and reports all errors. Returns the exit
 * status. */
int fleet_report(const FleetReportOptions *options);
