/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "trace/decode.h"

/* Prints n random records of an event by its table and by libtraceevent. Ends the program with a
 * message if a text differs. Returns how many were compared: 0 if the event is not compiled. */
unsigned print_compare(Decode *decode, const EventLayout *layout, unsigned n);
