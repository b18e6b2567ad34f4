/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>

#include "trace/trace.h"

/* Fills the metadata frame's "receipt", ktrace-stream(5); 0 or -errno. */
int receipt_fill(const Trace *trace, json_object *receipt);
