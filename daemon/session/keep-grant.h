/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/keep.h"

/* The whole decision as JSON, except its limits. */
int keep_make_grant(const Grant *grant, json_object **ret);
