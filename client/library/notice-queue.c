/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Notices of a session or of a watch, until the caller of the library takes them. Used by
 * connection.c. A caller that takes none costs a limited amount of memory: further notices are
 * counted, and {"dropped": N} takes their place. After a drop none is kept until the caller has
 * learned of it, so that the place is right. */

#include "library/notice-queue.h"

#include <errno.h>

#include "call/proxy.h"

#define NOTICES_MAX 1024

struct Notice {
        STAILQ_ENTRY(Notice) entry;
        json_object *object;
};

void notice_queue_init(NoticeQueue *queue) {
        *queue = (NoticeQueue){};
        STAILQ_INIT(&queue->notices);
}

/* The caller owns the object. */
static json_object *notice_queue_pop(NoticeQueue *queue) {
        Notice *notice = STAILQ_FIRST(&queue->notices);
        json_object *object = notice->object;

        STAILQ_REMOVE_HEAD(&queue->notices, entry);
        queue->n_notices--;
        free(notice);
        return object;
}

void notice_queue_clear(NoticeQueue *queue) {
        while (queue->n_notices > 0)
                json_object_put(notice_queue_pop(queue));
}

void notice_queue_add(NoticeQueue *queue, json_object *object) {
        bool has_room = queue->n_notices < NOTICES_MAX && queue->n_dropped == 0;
        Notice *notice = has_room ? malloc(sizeof(*notice)) : NULL;

        if (!notice) {
                queue->n_dropped++;
                return;
        }
        *notice = (Notice){ .object = json_object_get(object) };
        STAILQ_INSERT_TAIL(&queue->notices, notice, entry);
        queue->n_notices++;
}

int notice_queue_take(NoticeQueue *queue, json_object **ret) {
        *ret = NULL;
        if (queue->n_notices > 0) {
                *ret = notice_queue_pop(queue);
                return 0;
        }
        if (queue->n_dropped == 0)
                return 0;
        int r = proxy_make_object("dropped", json_object_new_uint64(queue->n_dropped), ret);
        if (r == 0)
                queue->n_dropped = 0;
        return r;
}
