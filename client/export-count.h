/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "export.h"

/* What is in a .kts file: its events are counted if they are wanted, and nothing is decoded. 0 also
 * for a file that is cut; -errno. */
int export_count(int fd, bool with_events, ExportSummary *ret);
