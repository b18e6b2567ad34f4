/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

/* Returns the number of a stream of a recording in the spool: of "000012.kts" 12. 0: the file is no
 * stream. */
uint32_t stream_name_parse(const char *name);
