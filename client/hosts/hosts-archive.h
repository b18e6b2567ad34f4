/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "export/export.h"
#include "terminal/context.h"
#include "trace/selection.h"

typedef struct HostsArchiveOptions {
        const Context *context;
        const char *path;     /* of the directory with the recordings */
        const char *out_path; /* "-": standard output */
        const Selection *selection;
        bool is_compatible; /* see ExportSource */
} HostsArchiveOptions;

/* Writes the recordings of all machines as one archive for Perfetto, and reports all errors. The
 * archive is published only when it is complete. Returns the exit status. */
int hosts_archive(const HostsArchiveOptions *options);
