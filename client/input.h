/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "export.h"
#include "verb.h"

/* Opens a trace to read; path "-": standard input. *ret_name is set in any case. */
int input_open(const char *path, int *ret_fd, const char **ret_name, Reason *reason);
/* Several: the streams of one recording in order, put together in a temporary file. */
int input_open_all(char **paths, int n, int *ret_fd, const char **ret_name, Reason *reason);
/* Tells a failure of export_file from name to out (NULL: none yet) and returns the exit status. */
int input_report_failure(const char *name, FILE *out, int code, const Reason *reason);
/* Tells what the trace lacks; KT_EXIT_LOST when its end does, else 0. */
int input_report_summary(const Context *context, const char *name, const ExportSummary *summary);
