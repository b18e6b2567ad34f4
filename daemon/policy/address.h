/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/format.h"

/* Can eight bytes of it hold an address, whatever the field is said to be? */
bool field_has_words(const FormatField *field);
/* Is it meant to be an address? */
bool field_is_address(const Format *format, const FormatField *field);
