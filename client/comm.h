/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "decode.h"

/* Takes the names that a record tells of tasks: from now on they are those of their pids. */
void comm_learn(Decode *decode, const Record *record);
/* Asks /proc for the name of a pid that is not known yet. */
void comm_look_up(Decode *decode, int pid);
