/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A role of ktrace-consumer: a process that keeps which user owned each task, and when
 * (history-table.c), as long as the black box runs. It reads an instance with the births, ends and
 * changes of credentials of all tasks. When the daemon asks, it writes the lives of one user's
 * tasks into a memfd. The records have texts that any task has chosen, so a process without
 * privileges reads them.
 *
 * An answer is complete up to the time of the question: all rings were read beyond it. If the
 * kernel lost a record or could not run a probe, no task has an owner from the last time on at
 * which nothing was missing.
 *
 * The process sleeps until a ring is as full as the instance's buffer_percent says, and reads at
 * least every TICK_MSEC. */

#include "consumer/history.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "consumer/order.h"
#include "consumer/records/history-table.h"
#include "consumer/records/page.h"
#include "consumer/records/rings.h"
#include "consumer/sandbox.h"
#include "interfaces/defence.h"

#define TICK_MSEC   250
#define ROUNDS_MAX  256
#define CPUS_MAX    8192
#define PROFILE_MAX ((size_t)1 << 20)

typedef struct History {
        int control_fd, profile_fd;
        ControlMessage setup;
        Rings rings;
        struct pollfd *waits; /* the control socket, then the rings */
        uint8_t *page;
        ControlLife *lives; /* a part of an answer */
        HistoryTable *table;
        uint64_t last_nsec;  /* of the records of a sub-buffer */
        uint64_t clean_nsec; /* nothing was missing up to this time */
        uint64_t n_missed;
        int error; /* of the visit of a record */
} History;

static uint64_t history_get_now(const History *h) {
        struct timespec now = {};

        (void)clock_gettime(h->setup.history.clock, &now); /* history_begin() has tested it */
        return control_nsec(&now);
}

/* A field that the record does not have reads as 0, and the caller must not take that for a proof:
 * *ret_whole becomes false. */
static uint64_t history_get(const uint8_t *record,
                size_t size,
                uint32_t at,
                size_t width,
                bool *ret_whole) {
        uint64_t value = 0;

        if (at < COMMON_SIZE || at > size || width > size - at) {
                *ret_whole = false;
                return 0;
        }
        memcpy(&value, record + at, width); /* of a little-endian machine, as in mask.c */
        return value;
}

/* Flags of struct mm_struct: MMF_DUMPABLE_MASK, and SUID_DUMP_USER of linux/sched/coredump.h. */
static bool history_is_dumpable(uint64_t flags) {
        return (flags & 3) == 1 || !defence_is_on("history-dumpable");
}

/* Without all fields the task has no owner. */
static void history_read_state(const uint8_t *record,
                size_t size,
                const ControlState *at,
                HistoryEvent *event) {
        HistoryCredentials c = {};
        bool is_whole = true;

        for (unsigned i = 0; i < 4; i++) {
                c.uids[i] = (uint32_t)history_get(record, size, at->uids[i], 4, &is_whole);
                c.gids[i] = (uint32_t)history_get(record, size, at->gids[i], 4, &is_whole);
        }
        c.permitted = history_get(record, size, at->permitted, 8, &is_whole);
        c.level = (uint32_t)history_get(record, size, at->level, 4, &is_whole);
        event->mm = history_get(record, size, at->mm, 8, &is_whole);
        uint64_t flags = history_get(record, size, at->mm_flags, 8, &is_whole);
        page_read_name(record, size, &at->name, false, event->name);
        if (is_whole && history_is_dumpable(flags))
                event->owner = history_judge(&c);
}

/* PF_IO_WORKER and PF_USER_WORKER of linux/sched.h: a thread of io_uring or of a virtual machine,
 * which the kernel has made for the process. */
static bool history_is_worker(uint64_t task_flags) {
        return (task_flags & (0x10 | 0x4000)) != 0;
}

static bool history_read_birth(const History *h,
                const uint8_t *record,
                size_t size,
                HistoryEvent *event) {
        const typeof(h->setup.history) *at = &h->setup.history;
        bool is_whole = true;

        event->kind = HISTORY_BIRTH;
        event->other = (uint32_t)history_get(record, size, at->birth_child, 4, &is_whole);
        event->mm = history_get(record, size, at->birth_mm, 8, &is_whole);
        uint64_t flags = history_get(record, size, at->birth_flags, 4, &is_whole);
        uint64_t level = history_get(record, size, at->birth_level, 4, &is_whole);
        event->is_plain = level == 0 && !history_is_worker(flags);
        page_read_name(record, size, &at->birth_name, false, event->name);
        return is_whole;
}

static bool history_read_record(const History *h,
                const uint8_t *record,
                size_t size,
                HistoryEvent *event) {
        const typeof(h->setup.history) *at = &h->setup.history;
        bool is_whole = true;
        uint16_t id;

        memcpy(&id, record, sizeof(id));
        memcpy(&event->tid, record + 4, sizeof(event->tid));
        if (id == at->birth_id)
                return history_read_birth(h, record, size, event);
        if (id == at->exit_id) {
                event->kind = HISTORY_EXIT;
                page_read_name(record, size, &at->exit_name, false, event->name);
        } else if (id == at->exec_id) {
                event->kind = HISTORY_EXEC;
                event->other = (uint32_t)history_get(record, size, at->exec_old, 4, &is_whole);
        } else if (id == at->caps_id || id == at->ids_id) {
                event->kind = HISTORY_CREDENTIALS;
        } else if (id == at->undumpable_id) {
                event->kind = HISTORY_UNDUMPABLE;
                event->mm = history_get(record, size, at->undumpable_mm, 8, &is_whole);
        } else if (id == at->done_id) {
                event->kind = HISTORY_DONE;
                history_read_state(record, size, &at->done, event);
        } else if (id == at->seen_id) {
                event->kind = HISTORY_SEEN;
                event->tid = (uint32_t)history_get(record, size, at->seen_tid, 4, &is_whole);
                history_read_state(record, size, &at->seen, event);
        } else
                is_whole = false;
        return is_whole;
}

static bool history_on_record(const uint8_t *record, size_t size, uint64_t nsec, void *userdata) {
        History *h = userdata;
        HistoryEvent event = { .nsec = nsec };

        if (history_read_record(h, record, size, &event))
                h->error = history_table_note(h->table, &event) ?: h->error;
        h->last_nsec = MAX_OF(h->last_nsec, nsec);
        return true;
}

/* Reads one ring until it is empty or has newer records. Returns 1 if it may have older ones. */
static int history_read_ring(History *h, Ring *ring, uint64_t now) {
        size_t size = h->setup.history.subbuf_size;
        uint64_t n_left = 2 * h->setup.history.buffer_bytes / size + 4;

        for (; n_left > 0; n_left--) {
                ssize_t n = ring_read_one(ring, h->page, size);

                if (n <= 0)
                        return n == 0 && ring->is_unread ? 1 : (int)n;
                h->last_nsec = 0;
                (void)page_visit(h->page, size, history_on_record, h);
                if (h->error < 0)
                        return h->error;
                if (h->last_nsec >= now)
                        return 0;
        }
        return 1;
}

/* Adds up the missed hits of our probes. The file has no groups. So those of a probe that another
 * program has made with the same name count, too; ktraced makes none for a user. A probe that is no
 * longer there misses all. */
static int history_count_missed(const History *h, uint64_t *ret) {
        static const char *const names[] = { CONTROL_HISTORY_PROBES };
        _cleanup_free_ char *text = NULL;
        unsigned found = 0;
        size_t size;
        char *rest;

        *ret = 0;
        if (lseek(h->profile_fd, 0, SEEK_SET) < 0)
                return -errno;
        int r = fd_read_all(h->profile_fd, PROFILE_MAX, &text, &size);
        if (r < 0)
                return r;
        for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
                unsigned long long hits, missed;
                char name[64];

                if (sscanf(line, "%63s %llu %llu", name, &hits, &missed) != 3)
                        continue;
                for (size_t i = 0; i < ELEMENTSOF(names); i++)
                        if (strcmp(name, names[i]) == 0) {
                                found |= 1U << i;
                                *ret += missed;
                        }
        }
        return found == (1U << ELEMENTSOF(names)) - 1 ? 0 : -ENOENT;
}

/* now: the time from which on the rings were read. */
static int history_check_losses(History *h, uint64_t now) {
        uint64_t lost = 0, n_missed;
        int r = 0;

        for (unsigned i = 0; r == 0 && i < h->rings.n_given; i++)
                r = ring_read_statistics(&h->rings.ring[i]);
        r = r ?: history_count_missed(h, &n_missed);
        if (r < 0) /* without memory, the next round tries again */
                return r == -ENOMEM ? -EAGAIN : r;
        for (unsigned i = 0; i < h->rings.n_given; i++)
                lost += ring_take_known_lost(&h->rings.ring[i]);
        bool is_clean = lost == 0 && n_missed == h->n_missed;
        uint64_t until = is_clean ? now : history_get_now(h);
        if (!is_clean) {
                history_table_lose(h->table, h->clean_nsec, until);
                order_report(h->control_fd, CONTROL_DOUBT, 0, "");
        }
        h->clean_nsec = until;
        h->n_missed = n_missed;
        return 0;
}

/* Returns 1 if a ring may have records that are older than now. */
static int history_read_once(History *h, uint64_t now) {
        int rest = 0;

        for (unsigned i = 0; i < h->rings.n_given; i++) {
                int r = history_read_ring(h, &h->rings.ring[i], now);
                if (r < 0)
                        return r;
                rest |= r;
        }
        int r = history_check_losses(h, now);
        if (r == 0 && !rest)
                r = history_table_advance(h->table, now);
        return r ?: rest;
}

static int history_read_all(History *h) {
        uint64_t now = history_get_now(h);
        int r = 1;

        for (unsigned i = 0; r > 0 && i < ROUNDS_MAX; i++)
                r = history_read_once(h, now);
        return r == 1 ? -EAGAIN : r;
}

/* Only notes the records, so that no ring becomes full while an answer is made. */
static int history_note_rings(History *h) {
        uint64_t now = history_get_now(h);
        int r = 0;

        for (unsigned i = 0; r >= 0 && i < h->rings.n_given; i++)
                r = history_read_ring(h, &h->rings.ring[i], now);
        return MIN_OF(r, 0);
}

/* Fails with -E2BIG if the answer does not fit. Other errors are of the rings. */
static int history_write_lives(History *h,
                const HistoryQuestion *question,
                int fd,
                uint32_t *ret_n) {
        HistoryCursor cursor = {};
        size_t n_part, n = 0;
        bool has_more = true;
        int r = 0;

        while (r == 0 && has_more) {
                has_more = history_table_collect(h->table, question, &cursor, h->lives, &n_part);
                n += n_part;
                if (n > CONTROL_LIVES_MAX ||
                                fd_write_all(fd, h->lives, n_part * sizeof(*h->lives)) < 0)
                        return -E2BIG;
                r = history_note_rings(h);
        }
        if (r == 0)
                *ret_n = (uint32_t)n;
        return r;
}

static int history_answer(History *h, const HistoryQuestion *question, int fd, uint32_t *ret_n) {
        int r = history_read_all(h);

        while (r == 0 && history_table_expire(h->table, question->since_nsec))
                r = history_note_rings(h);
        return r ?: history_write_lives(h, question, fd, ret_n);
}

static int history_on_ask(History *h, const ControlMessage *message, int fd) {
        const HistoryQuestion question = {
                message->ask.uid, message->ask.gid, message->ask.since_nsec
        };
        ControlMessage answer = { .type = CONTROL_LIVES };
        int r = -EAGAIN;

        if (rings_are_complete(&h->rings))
                r = history_answer(h, &question, fd, &answer.lives.n);
        if (r < 0 && r != -EAGAIN && r != -E2BIG)
                return r;
        answer.lives.error = -r;
        return order_answer(h->control_fd, &answer);
}

/* Returns -ECANCELED when the daemon has gone. */
static int history_on_control(History *h) {
        int fds[FD_SEND_MAX];
        size_t n_fds = 0;
        ControlMessage message;
        int r = -EBADMSG;

        ssize_t n = fd_receive(
                        h->control_fd, &message, sizeof(message), fds, ELEMENTSOF(fds), &n_fds);
        if (n == -EAGAIN || n == -EINTR)
                return 0;
        if (n <= 0)
                return -ECANCELED;
        if (n == sizeof(message) && message.version == CONTROL_VERSION) {
                if (message.type == CONTROL_RINGS)
                        r = rings_take(&h->rings,
                                        message.rings.first_cpu,
                                        message.rings.n,
                                        fds,
                                        n_fds);
                else if (message.type == CONTROL_ASK && n_fds == 1)
                        r = history_on_ask(h, &message, fds[0]);
        }
        for (size_t i = 0; i < n_fds; i++)
                close_cleanup(&fds[i]);
        return r;
}

static int history_wait(History *h) {
        nfds_t n = 1;

        h->waits[0] = (struct pollfd){ .fd = h->control_fd, .events = POLLIN };
        for (unsigned i = 0; i < h->rings.n_given; i++) {
                const Ring *ring = &h->rings.ring[i];

                h->waits[n++] = (struct pollfd){ .fd = ring->is_absent ? -1 : ring->raw_fd,
                        .events = POLLIN };
        }
        if (poll(h->waits, n, TICK_MSEC) < 0 && errno != EINTR)
                return -errno;
        return 0;
}

static int history_go_on(History *h) {
        int r = 0;

        while (r == 0) {
                r = history_wait(h);
                if (r == 0 && h->waits[0].revents != 0)
                        r = history_on_control(h);
                if (r == 0 && rings_are_complete(&h->rings))
                        r = history_read_all(h);
                if (r == -EAGAIN) /* new records come faster than they are read */
                        r = 0;
        }
        return r;
}

static int history_begin(History *h) {
        struct timespec now;
        int fds[1];

        int r = order_take(h->control_fd, CONTROL_HISTORY, &h->setup, fds, ELEMENTSOF(fds));
        if (r < 0)
                return r;
        const typeof(h->setup.history) *setup = &h->setup.history;
        h->profile_fd = fds[0];
        if (setup->n_cpus == 0 || setup->n_cpus > CPUS_MAX || setup->subbuf_size < 4096 ||
                        setup->subbuf_size > 1U << 20 || clock_gettime(setup->clock, &now) < 0)
                return -EBADMSG;
        r = rings_init(&h->rings, setup->n_cpus, setup->buffer_bytes / setup->subbuf_size);
        r = r ?: history_table_new(0, &h->table);
        h->page = malloc(setup->subbuf_size);
        h->lives = malloc(HISTORY_PART * sizeof(*h->lives));
        h->waits = calloc(1 + (size_t)setup->n_cpus, sizeof(*h->waits));
        if (r < 0 || !h->page || !h->lives || !h->waits)
                return r ?: -ENOMEM;
        r = history_count_missed(h, &h->n_missed);
        r = r ?: sandbox_close(SANDBOX_HISTORY);
        if (r < 0)
                return r;
        h->clean_nsec = control_nsec(&now);
        order_report(h->control_fd, CONTROL_READY, 0, "");
        return 0;
}

void history_run(int control_fd) {
        History h = { .control_fd = control_fd, .profile_fd = -1, .rings = RINGS_NONE };

        int r = history_begin(&h);
        r = r ?: history_go_on(&h);
        if (r != -ECANCELED)
                order_report(control_fd,
                                CONTROL_REFUSED,
                                -r,
                                r == -ENOENT ? "another program has removed a probe"
                                             : strerror(-r));
        history_table_free(h.table);
        for (unsigned i = 0; i < h.rings.n_given; i++)
                ring_close(&h.rings.ring[i]);
        free(h.rings.ring);
        close_cleanup(&h.rings.percent_fd);
        close_cleanup(&h.profile_fd);
        free(h.page);
        free(h.lives);
        free(h.waits);
}
