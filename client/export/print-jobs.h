/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "export/printer.h"

typedef struct PrintJobs PrintJobs;

/* n_jobs: threads that print, 1 to EXPORT_JOBS_MAX; the caller's thread is one of them. Takes the
 * settings of the printer, and adds the counts to it. Returns 0 or -ENOMEM. */
int print_jobs_new(Printer *printer, unsigned n_jobs, PrintJobs **ret);
PrintJobs *print_jobs_free(PrintJobs *jobs);
DEFINE_CLEANUP(PrintJobs, print_jobs_free);

/* Lines are written in the order of these calls, whole batches at a time. All return 0 or -errno.
 * After an error of a call only print_jobs_free() is allowed. */
int print_jobs_record(PrintJobs *jobs, const Record *record, const char *buffer);
int print_jobs_loss(PrintJobs *jobs, const Record *at, int64_t lost, const char *buffer);
/* Writes all lines that wait. */
int print_jobs_finish(PrintJobs *jobs);
