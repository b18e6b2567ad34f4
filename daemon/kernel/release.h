/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/* Compares with the version from uname(), for features that tracefs does not show. */
bool kernel_is_at_least(unsigned major, unsigned minor);
