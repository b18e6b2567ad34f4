/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>
#include <stddef.h>
#include <sys/queue.h>

typedef struct Notice Notice;

/* The notices that the caller has not taken yet. */
typedef struct NoticeQueue {
        STAILQ_HEAD(, Notice) notices;
        size_t n_notices, n_dropped;
} NoticeQueue;

void notice_queue_init(NoticeQueue *queue);
void notice_queue_clear(NoticeQueue *queue);
/* object: borrowed. */
void notice_queue_add(NoticeQueue *queue, json_object *object);
/* Takes the oldest notice. *ret is NULL if there is none. Returns 0 or -ENOMEM. */
int notice_queue_take(NoticeQueue *queue, json_object **ret);
