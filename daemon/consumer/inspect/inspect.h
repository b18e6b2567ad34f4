/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/inspect/inspect-file.h"
#include "interfaces/user-place.h"

/* Checks that an instruction of the program begins at this offset of the file. Fails with
 * KT_E_FAILED and the reason when none begins there, or when this cannot be determined. */
int inspect_offset(InspectFile *file, uint64_t offset, UserPlace *ret, Reason *reason);
