/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A judged stream in the consumer: the daemon's messages set it up, and it is read in rounds.
 * hold.c explains a round, and lives.c decides who is a member. It never assumes that a list is
 * complete: a task that is not in the list is a stranger. */

#include "consumer/fence.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"

#define BATCH_SIZE ((size_t)64 * 1024)
/* PROOF_WAIT_NSEC is the longest wait for an absent daemon. PROOF_PAUSE_NSEC is the shortest time
 * between two requests, because the daemon must examine each member for a proof. */
#define PROOF_WAIT_NSEC  ((uint64_t)1000 * 1000 * 1000)
#define PROOF_PAUSE_NSEC ((uint64_t)50 * 1000 * 1000)

int fence_init(Fence *fence,
                const ControlMessage *setup,
                const Masks *masks,
                PageTally *tally,
                Bucket *bucket) {
        struct timespec now;

        if (!masks || setup->setup.fork_id == 0 || setup->setup.exit_id == 0)
                return -EBADMSG;
        if (clock_gettime(setup->setup.clock, &now) < 0)
                return -errno;
        int r = lives_new(&fence->lives);
        if (r < 0)
                return r;
        fence->clock = setup->setup.clock;
        fence->hold = (Hold){
                .subbuf_size = setup->setup.subbuf_size,
                .batch_size = MAX_OF(BATCH_SIZE, (size_t)setup->setup.subbuf_size),
                .judge = { .masks = masks,
                                .lives = fence->lives,
                                .fork_id = setup->setup.fork_id,
                                .fork_child_offset = setup->setup.fork_child_offset,
                                .exit_id = setup->setup.exit_id,
                                .exec_id = setup->setup.exec_id,
                                .exec_old_offset = setup->setup.exec_old_offset,
                                .fork_name = setup->setup.fork_name,
                                .exit_name = setup->setup.exit_name,
                                .exec_file = setup->setup.exec_file,
                                .marker_tids = { setup->setup.marker_tid },
                                .marker_id = setup->setup.marker_id },
                .tally = tally,
                .bucket = bucket,
        };
        fence->is_on = true;
        return hold_init(&fence->hold, setup->setup.n_cpus);
}

static int note_lost(Fence *fence, LifeEventKind kind, uint64_t nsec, uint64_t until_nsec) {
        return until_nsec == 0 ? 0
                               : lives_note(fence->lives,
                                                 &(LifeEvent){ .nsec = nsec,
                                                                 .kind = kind,
                                                                 .until_nsec = until_nsec });
}

int fence_take_members(Fence *fence, const ControlMessage *message, int fd) {
        _cleanup_free_ char *bytes = NULL;
        uint32_t n = message->members.n;
        size_t size;

        if (!fence->is_on || n > CONTROL_MEMBERS_MAX)
                return -EBADMSG;
        int r = fd_read_all(fd, CONTROL_MEMBERS_MAX * sizeof(ControlMember), &bytes, &size);
        if (r < 0)
                return r;
        if (size != n * sizeof(ControlMember))
                return -EBADMSG;
        for (uint32_t i = 0; r == 0 && i < n; i++) {
                ControlMember member;

                memcpy(&member, bytes + i * sizeof(member), sizeof(member));
                if (member.tid == 0) /* no session owns the idle tasks */
                        return -EBADMSG;
                LifeEvent event = { .nsec = member.since_nsec,
                        .kind = LIFE_MEMBER,
                        .tid = member.tid,
                        .until_nsec = message->members.until_nsec };

                member.comm[sizeof(member.comm) - 1] = '\0';
                memcpy(event.name, member.comm, sizeof(event.name));
                r = lives_note(fence->lives, &event);
                if (r == 0 && fence->hold.judge.names && member.comm[0])
                        r = command_names_add(fence->hold.judge.names,
                                        member.tid,
                                        member.since_nsec,
                                        member.comm);
        }
        fence->proven_nsec = MAX_OF(fence->proven_nsec, message->members.until_nsec);
        r = r ?: note_lost(fence, LIFE_GAP, message->members.gap_nsec, message->members.gap_nsec);
        return r ?: note_lost(fence, LIFE_LOSS, 1, message->members.read_until_nsec);
}

bool fence_awaits_proof(Fence *fence) {
        uint64_t loss = hold_find_loss(&fence->hold), now = fence_get_now(fence);

        if (loss <= fence->proven_nsec ||
                        (fence->waits_since > 0 && now - fence->waits_since > PROOF_WAIT_NSEC)) {
                fence->waits_since = 0;
                return false;
        }
        if (fence->waits_since == 0)
                fence->waits_since = now;
        if (now - fence->asked_nsec > PROOF_PAUSE_NSEC) {
                fence->asked_nsec = now;
                fence->wants_proof = true;
        }
        return true;
}

void fence_add_marker(Fence *fence, uint32_t tid) {
        uint32_t *tids = fence->hold.judge.marker_tids;

        memmove(tids + 1, tids, (PAGE_MARKERS_MAX - 1) * sizeof(*tids));
        tids[0] = tid;
}

int fence_read(Fence *fence, Rings *rings, uint64_t now, uint64_t *ret_bytes) {
        for (unsigned i = 0; i < rings->n_given; i++) {
                uint64_t bytes;

                int r = hold_read(&fence->hold, &rings->ring[i], now, &bytes);
                if (r < 0)
                        return r;
                *ret_bytes += bytes;
        }
        lives_end_losses(fence->lives, fence_get_now(fence));
        return 0;
}

int fence_read_window(Fence *fence, Rings *rings) {
        int r = 0;

        fence->since = calloc(rings->n_cpus, sizeof(*fence->since));
        if (!fence->since)
                return -ENOMEM;
        fence->read_nsec = fence_get_now(fence);
        for (unsigned i = 0; r >= 0 && i < rings->n_given; i++) {
                r = hold_read_window(&fence->hold, &rings->ring[i], &fence->since[i]);
                fence->has_more = fence->has_more || r > 0;
        }
        return MIN_OF(r, 0);
}

/* A birth counts only if all later exits were read, that is, from the latest of the rings'
 * beginnings on. Dropped records may include an exit at an unknown time, so then no birth
 * counts. */
void fence_settle_window(Fence *fence, const Rings *rings, bool is_frozen) {
        uint64_t since = 0;

        for (unsigned i = 0; i < rings->n_given; i++) {
                const RingStatistics *s = &rings->ring[i].last;

                since = MAX_OF(since, fence->since[i]);
                if (s->dropped + s->commit_overrun > 0)
                        since = UINT64_MAX;
        }
        lives_forget_births(fence->lives, since);
        /* In a ring that is still written, the unread records are newer than the beginning of the
         * reading. A frozen ring should have been read completely. */
        if (is_frozen && fence->has_more)
                lives_forget_births(fence->lives, UINT64_MAX);
        if (!is_frozen)
                lives_doubt_from(fence->lives, fence->read_nsec);
}

uint64_t fence_get_now(const Fence *fence) {
        struct timespec now = {};

        (void)clock_gettime(fence->clock, &now); /* fence_init() has tested it */
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
