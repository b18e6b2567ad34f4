/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Takes the records of one user from a snapshot of the black box, which has the records of all. The
 * daemon sends the lives of that user's tasks (history.c). A record passes if it was made in one of
 * them, with the rules of a session of own processes (page_judge). pump.c calls it for each
 * sub-buffer and does not show the user the sub-buffer itself.
 *
 * The records of others leave no trace: those that pass are copied into new sub-buffers, with their
 * own times. Padding in their place would show when others recorded how much. For the same reason
 * the end of the stream has no counts. The data that is kept for the next snapshot is not changed,
 * because that may be another user's. */

#include "consumer/past.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/fd.h"
#include "consumer/records/lives.h"
#include "consumer/records/mask-rules.h"
#include "consumer/repack.h"

struct Past {
        Masks *masks;
        Lives *lives;
        PageTally tally;
        PageJudge judge;
        uint8_t *page; /* a copy of the sub-buffer that is judged */
        size_t subbuf_size;
        Repack repack;
};

static int past_load_masks(Past *past, const char *metadata) {
        _cleanup_json_ json_object *object = json_tokener_parse(metadata);
        json_object *events;

        if (!object || !json_object_object_get_ex(object, "events", &events))
                return -EBADMSG;
        int r = masks_new(events, true, &past->masks);
        if (r < 0)
                return r;
        past->tally.pids = mmap(NULL,
                        PAGE_PIDS_MAX / 8,
                        PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS,
                        -1,
                        0);
        if (past->tally.pids != MAP_FAILED)
                return 0;
        past->tally.pids = NULL;
        return -ENOMEM;
}

static int past_load_lives(Past *past, uint32_t n, int fd) {
        _cleanup_free_ char *bytes = NULL;
        size_t size;

        if (n > CONTROL_LIVES_MAX)
                return -EBADMSG;
        int r = fd_read_all(fd, CONTROL_LIVES_MAX * sizeof(ControlLife), &bytes, &size);
        if (r == 0 && size != n * sizeof(ControlLife))
                r = -EBADMSG;
        r = r ?: lives_new(&past->lives);
        for (uint32_t i = 0; r == 0 && i < n; i++) {
                ControlLife life;

                memcpy(&life, bytes + i * sizeof(life), sizeof(life));
                life.comm[sizeof(life.comm) - 1] = '\0';
                r = life.tid == 0 || life.to_nsec < life.from_nsec ? -EBADMSG
                                                                   : lives_add(past->lives,
                                                                                     life.tid,
                                                                                     life.from_nsec,
                                                                                     life.to_nsec,
                                                                                     life.comm);
        }
        return r;
}

int past_new(const ControlMessage *setup, const char *metadata, int lives_fd, Past **ret) {
        _cleanup_(past_free_cleanup) Past *past = calloc(1, sizeof(*past));

        if (!past)
                return -ENOMEM;
        past->subbuf_size = setup->setup.subbuf_size;
        past->page = malloc(past->subbuf_size);
        if (!past->page)
                return -ENOMEM;
        int r = repack_init(&past->repack, past->subbuf_size);
        r = r ?: past_load_masks(past, metadata);
        r = r ?: past_load_lives(past, setup->setup.n_lives, lives_fd);
        if (r < 0)
                return r;
        /* No event has these ids: forks in the records make no task the user's. */
        past->judge = (PageJudge){ .masks = past->masks,
                .lives = past->lives,
                .fork_id = UINT32_MAX,
                .exit_id = UINT32_MAX };
        *ret = TAKE_PTR(past);
        return 0;
}

Past *past_free(Past *past) {
        if (!past)
                return NULL;
        masks_free(past->masks);
        lives_free(past->lives);
        if (past->tally.pids)
                (void)munmap(past->tally.pids, PAGE_PIDS_MAX / 8);
        repack_clear(&past->repack);
        free(past->page);
        free(past);
        return NULL;
}

typedef struct PastVisit {
        Past *past;
        Queue *queue;
        unsigned cpu;
        int error;
} PastVisit;

static bool past_on_record(const uint8_t *record, size_t size, uint64_t nsec, void *userdata) {
        PastVisit *visit = userdata;

        if (visit->error == 0)
                visit->error = repack_put(
                                &visit->past->repack, visit->queue, visit->cpu, nsec, record, size);
        return true;
}

static int past_put_page(PastVisit *visit) {
        Past *past = visit->past;
        PageSummary summary;

        int r = page_scan(&past->judge, past->page, past->subbuf_size, &past->tally, &summary);
        if (r < 0)
                return r;
        page_judge(&past->judge, past->page, past->subbuf_size, &past->tally, &summary);
        if (summary.n_records > 0)
                (void)page_visit(past->page, past->subbuf_size, past_on_record, visit);
        return visit->error;
}

int past_put(Past *past, Queue *queue, unsigned cpu, const uint8_t *data, size_t size) {
        PastVisit visit = { past, queue, cpu };
        int r = 0;

        for (size_t at = 0; r == 0 && at < size; at += past->subbuf_size) {
                size_t n = MIN_OF(past->subbuf_size, size - at);

                memcpy(past->page, data + at, n);
                memset(past->page + n, 0, past->subbuf_size - n);
                (void)page_forget_missed(past->page, past->subbuf_size);
                r = past_put_page(&visit);
        }
        return r;
}

int past_end(Past *past, Queue *queue) {
        return repack_end(&past->repack, queue);
}

const TaskNames *past_get_names(const Past *past, PageTally *ret_tally) {
        *ret_tally = (PageTally){ .pids = past->tally.pids };
        return lives_get_names(past->lives);
}
