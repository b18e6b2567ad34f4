/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "define/function.h"

/* {"name","module","signature","returns","arguments":[{"name","type"}],"takes":[{"expression",
 * "type"}],"note"} */
int probe_function_describe(const ProbeFunction *function, json_object **ret);
