/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/mux/viewer.h"

/* Passes a batch to the viewers that have joined. viewers: SHARE_VIEWERS_MAX of them. read: the
 * kernel's number after the batch. Returns how many viewers have joined. */
unsigned audience_pass(MuxViewer *const *viewers, const Batch *batch, uint64_t read);
