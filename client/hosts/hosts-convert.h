/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "export/export.h"
#include "terminal/context.h"

typedef struct HostsConvertOptions {
        const Context *context;
        const char *path;           /* of the directory with the recordings */
        const char *out_path;       /* of a directory that is new or empty */
        const ExportSource *source; /* the selection and options, for each machine */
        ExportFormat format;        /* EXPORT_DAT, EXPORT_DAT_WALL or EXPORT_HTML */
} HostsConvertOptions;

/* Makes a file of each machine whose clocks were compared, all on the time line of the machine that
 * collected the recordings, and reports all errors. The directory is published only when it is
 * complete. Returns the exit status. */
int hosts_convert(const HostsConvertOptions *options);
