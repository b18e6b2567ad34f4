/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "metrics/board.h"

#define REPORT_METRICS_MAX 256 /* systemd-report reads 1024 of all services together */

/* Serves counters and gauges of the newest snapshot as io.systemd.Metrics over Varlink. */
typedef struct ReportServer ReportServer;

/* Serves a listening UNIX socket, in a thread of its own. Consumes fd, also on failure. Returns 0
 * or -errno. */
int report_server_new(Board *board, int fd, ReportServer **ret);
ReportServer *report_server_free(ReportServer *server);
DEFINE_CLEANUP(ReportServer, report_server_free);
