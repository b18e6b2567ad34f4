/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Keeps the pids of a container for the end of a stream. The daemon reads them from /proc, and
 * consumer.c passes its messages here. summary.c writes them into the statistics. This process does
 * not use them. */

#include "consumer/inner-list.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"

void inner_list_end(InnerList *list) {
        inner_list_clear(list);
        list->is_over = true;
}

static void inner_list_add(InnerList *list, const ControlInnerPid *pid) {
        bool is_shown = pid->inner > 0;

        if (list->is_over || (is_shown && list->n_shown == CONTROL_INNER_PIDS_MAX))
                return;
        if (list->n == CONTROL_INNER_LIST_MAX) {
                inner_list_end(list);
                return;
        }
        list->pids[list->n++] = *pid;
        list->n_shown += is_shown;
}

int inner_list_take(InnerList *list, const ControlMessage *message, int fd) {
        size_t size, n = message->inner_pids.n;
        _cleanup_free_ char *bytes = NULL;

        if (n > CONTROL_INNER_LIST_MAX)
                return -EBADMSG;
        int r = fd_read_all(fd, CONTROL_INNER_LIST_MAX * sizeof(ControlInnerPid), &bytes, &size);
        if (r < 0)
                return r;
        if (size != n * sizeof(ControlInnerPid))
                return -EBADMSG;
        if (list->is_over || n == 0)
                return 0;
        ControlInnerPid pid, *bigger = reallocarray(list->pids, list->n + n, sizeof(*bigger));
        if (!bigger)
                return -ENOMEM;
        list->pids = bigger;
        for (size_t i = 0; i < n; i++) {
                memcpy(&pid, bytes + i * sizeof(pid), sizeof(pid));
                inner_list_add(list, &pid);
        }
        return 0;
}

void inner_list_clear(InnerList *list) {
        free(list->pids);
        *list = (InnerList){};
}
