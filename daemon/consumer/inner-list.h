/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/control.h"

/* The pids that containers use for tasks of the session. All zero: empty. */
typedef struct InnerList {
        ControlInnerPid *pids;
        size_t n, n_shown; /* n_shown: that have a pid */
        bool is_over;      /* the daemon has withdrawn them */
} InnerList;

/* Adds those of a message. Pids beyond their limit are left out. If a task that joined does not
 * fit, the list is over. Fails with -EBADMSG or -ENOMEM. */
int inner_list_take(InnerList *list, const ControlMessage *message, int fd);
/* Forgets all, and takes no more. */
void inner_list_end(InnerList *list);
void inner_list_clear(InnerList *list);
