/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/decode.h"

/* Stores the names of tasks that a record contains. */
void comm_learn(Decode *decode, const Record *record);
/* Reads the name of an unknown pid from /proc. */
void comm_look_up(Decode *decode, int pid);
