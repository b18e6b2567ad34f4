/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "export/export.h"
#include "terminal/context.h"
#include "trace/selection.h"

typedef struct HostsReportOptions {
        const Context *context;
        const char *path;    /* of the directory */
        ExportFormat format; /* EXPORT_TEXT, EXPORT_TEXT_WALL or EXPORT_JSON */
        const Selection *selection;
        bool has_names, is_raw; /* text: see ExportSource */
} HostsReportOptions;

/* Prints the events of all machines in one order, and reports all errors. Returns the exit
 * status. */
int hosts_report(const HostsReportOptions *options);
