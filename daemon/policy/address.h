/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/format.h"

/* Returns whether eight bytes of the field can hold an address, whatever its declared type is. */
bool field_has_words(const FormatField *field);
/* Returns whether the field is declared as an address. */
bool field_is_address(const Format *format, const FormatField *field);
