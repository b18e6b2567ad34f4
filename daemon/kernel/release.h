/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/* By what uname() says: for what cannot be asked of tracefs itself. */
bool kernel_is_at_least(unsigned major, unsigned minor);
