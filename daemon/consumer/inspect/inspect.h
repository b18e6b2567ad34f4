/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/inspect/inspect-file.h"
#include "interfaces/user-place.h"

/* Does an instruction of the program begin at this offset of the file? KT_E_FAILED with the reason:
 * it does not, or nobody can tell. */
int inspect_offset(InspectFile *file, uint64_t offset, UserPlace *ret, Reason *reason);
