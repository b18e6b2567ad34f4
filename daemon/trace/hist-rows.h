/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/control.h"
#include "policy/hist.h"

/* What a reader of histograms has told, as GetHistogram answers it; nothing of it is believed.
 * NULL: no memory, or it cannot be. */
json_object *hist_rows_make_entry(const HistLayout *layout, const ControlMessage *message);
/* {"name","event","keys","values","sort","size"}: which one it is. */
json_object *hist_rows_describe(const SpecTrigger *trigger, const HistText *text);
/* The same, and of the whole table. */
json_object *hist_rows_make_head(const SpecTrigger *trigger,
                const HistText *text,
                const ControlMessage *totals,
                size_t n_told);
