/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/keep.h"

/* A decision in writing, whole but for its limits. */
int keep_make_grant(const Grant *grant, json_object **ret);
