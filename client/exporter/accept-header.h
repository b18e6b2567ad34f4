/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "exporter/text-format.h"

/* Chooses by a header Accept; NULL: none. Returns false if it allows no format. */
bool accept_header_choose(const char *accept, TextFormat *ret);
/* Whether a header Accept-Encoding allows gzip; NULL: none. */
bool accept_header_has_gzip(const char *accept);
