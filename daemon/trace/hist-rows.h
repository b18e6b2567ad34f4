/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/control.h"
#include "policy/hist.h"

/* Makes a row of GetHistogram's answer from an untrusted message of the histogram reader. Returns
 * NULL without memory or if the message is invalid. */
json_object *hist_rows_make_entry(const HistLayout *layout, const ControlMessage *message);
/* Identifies the histogram: {"name","event","keys","values","sort","size","counted-by"}. */
json_object *hist_rows_describe(const SpecTrigger *trigger,
                const HistText *text,
                bool is_of_consumer);
/* The same, with the totals of the table. */
json_object *hist_rows_make_head(const SpecTrigger *trigger,
                const HistText *text,
                bool is_of_consumer,
                const ControlMessage *totals,
                size_t n_listed);
