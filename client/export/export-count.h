/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "export/export.h"

/* Summarises a .kts file. with_events: also counts its events; it decodes nothing. Returns 0,
 * also for a cut file, or -errno. */
int export_count(int fd, bool with_events, ExportSummary *ret);
