/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "export/export.h"
#include "terminal/context.h"

/* Opens a trace to read. path "-" is standard input. Always sets *ret_name. */
int input_open(const char *path, int *ret_fd, const char **ret_name, Reason *reason);
/* Opens a new file without a name, in $TMPDIR or /var/tmp. Returns 0 or -errno. */
int input_open_temporary(int *ret);
/* Opens several streams of one recording, in order, as one temporary file. */
int input_open_all(char **paths, int n, int *ret_fd, const char **ret_name, Reason *reason);
/* Reports that export_file failed, with the input's name. out: its output, NULL when not open yet.
 * Returns the exit status. */
int input_report_failure(const char *name, FILE *out, int code, const Reason *reason);
/* Reports what the trace lacks. Returns KT_EXIT_LOST when its end is missing, else 0. */
int input_report_summary(const Context *context, const char *name, const ExportSummary *summary);

/* --jobs: the number of threads. KT_E_INVALID_SPEC with a reason: text is none. NULL: as many as
 * CPUs that this process may use. */
int input_parse_jobs(const char *text, unsigned *ret, Reason *reason);
