/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/queue.h"
#include "consumer/records/page.h"
#include "interfaces/control.h"
#include "interfaces/task-names.h"

/* One user's part of a snapshot of what all tasks did. */
typedef struct Past Past;

/* metadata: of the stream, with the fields that the user may not see. lives_fd: ControlLife[],
 * sorted by their begin. Fails with -EBADMSG, -ENOMEM or -EINVAL. */
int past_new(const ControlMessage *setup, const char *metadata, int lives_fd, Past **ret);
Past *past_free(Past *past);
DEFINE_CLEANUP(Past, past_free);
/* Puts the user's records of these sub-buffers into the queue, later or now. The last one may be
 * cut. Returns -errno on failure. */
int past_put(Past *past, Queue *queue, unsigned cpu, const uint8_t *data, size_t size);
/* Puts all that is left. */
int past_end(Past *past, Queue *queue);
/* Returns the names of the user's tasks, and marks in *ret_tally the tasks that have records. */
const TaskNames *past_get_names(const Past *past, PageTally *ret_tally);
