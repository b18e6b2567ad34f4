/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sends snapshots to an OpenTelemetry receiver. Started by main.c if the administrator has
 * configured one. A thread takes the newest snapshot at each interval, puts it into a queue and
 * sends the oldest one, so that neither the collector nor the other outputs wait for the network.
 *
 * All numbers are sums since a start time. A snapshot that is lost makes the receiver's picture
 * coarser, but not wrong. So the queue is short, drops its oldest snapshot when it is full, and is
 * dropped when the program ends. After a failure the thread waits twice as long each time, with a
 * random part, so that many machines do not ask a receiver at once when it comes back. */

#include "exporter/otlp-push.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "exporter/otlp-body.h"
#include "exporter/otlp-request.h"
#include "service/log.h"

#define USEC_PER_SEC     UINT64_C(1000000)
#define NSEC_PER_USEC    1000
#define BACKOFF_USEC     USEC_PER_SEC
#define BACKOFF_DOUBLING 6  /* times: to about a minute */
#define HOST_MAX         64 /* bytes, HOST_NAME_MAX of Linux */

struct OtlpPush {
        OtlpRequest *request;
        Board *board;
        char host[HOST_MAX + 1];
        uint64_t interval_usec;
        pthread_t thread;
        pthread_mutex_t lock; /* of counts and stops */
        pthread_cond_t stop;
        bool stops;
        bool is_started;
        OtlpCounts counts;
        /* Only the thread uses these. */
        MetricSnapshot *queue[OTLP_QUEUE_MAX]; /* oldest first */
        size_t n_queued;
        MetricSnapshot *newest; /* the last one that was queued */
        uint64_t due_usec;      /* the next snapshot is taken */
        uint64_t retry_usec;    /* the next request is allowed */
        unsigned n_failures;    /* since the last success */
};

static uint64_t otlp_push_now(void) {
        struct timespec now;

        (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
        return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / NSEC_PER_USEC;
}

static void otlp_push_count(OtlpPush *push, uint64_t *count, uint64_t n) {
        (void)pthread_mutex_lock(&push->lock);
        *count += n;
        push->counts.n_queued = push->n_queued;
        (void)pthread_mutex_unlock(&push->lock);
}

static void otlp_push_remove_oldest(OtlpPush *push) {
        metric_snapshot_unref(push->queue[0]);
        push->n_queued--;
        memmove(push->queue, push->queue + 1, push->n_queued * sizeof(*push->queue));
}

/* Queues the newest snapshot, if it is not the one before. */
static void otlp_push_take(OtlpPush *push) {
        _cleanup_(metric_snapshot_unref_cleanup) MetricSnapshot *snapshot = board_get(push->board);
        uint64_t n_dropped = 0;

        if (!snapshot || snapshot == push->newest)
                return;
        if (push->n_queued == OTLP_QUEUE_MAX) {
                otlp_push_remove_oldest(push);
                n_dropped = 1;
        }
        metric_snapshot_unref(push->newest);
        push->newest = metric_snapshot_ref(snapshot);
        push->queue[push->n_queued++] = TAKE_PTR(snapshot);
        otlp_push_count(push, &push->counts.n_dropped, n_dropped);
}

/* Between half and the whole of the time. */
static uint64_t otlp_push_shake(uint64_t usec) {
        uint32_t random = 0;

        /* Not enough random data only means a less random wait. */
        (void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
        return usec / 2 + random % (usec / 2 + 1);
}

static void otlp_push_wait_longer(OtlpPush *push, const OtlpAnswer *answer) {
        uint64_t doubling = MIN_OF(push->n_failures, (unsigned)BACKOFF_DOUBLING);
        uint64_t wait_usec = otlp_push_shake(BACKOFF_USEC << doubling);

        /* One line, however long the receiver fails. */
        if (push->n_failures == 0)
                log_print(LOG_WARNING, "otlp: cannot send metrics, will retry: %s", answer->text);
        push->n_failures++;
        push->retry_usec = otlp_push_now() + MAX_OF(wait_usec, answer->wait_sec * USEC_PER_SEC);
        otlp_push_count(push, &push->counts.n_retries, 1);
}

static void otlp_push_accept(OtlpPush *push, const OtlpAnswer *answer) {
        if (push->n_failures > 0)
                log_print(LOG_INFO, "otlp: the receiver accepts metrics again");
        if (answer->n_rejected_points > 0 && push->counts.n_rejected_points == 0)
                log_print(LOG_WARNING, "otlp: the receiver rejected a part: %s", answer->text);
        push->n_failures = 0;
        otlp_push_remove_oldest(push);
        otlp_push_count(push, &push->counts.n_sent, 1);
        otlp_push_count(push, &push->counts.n_rejected_points, answer->n_rejected_points);
}

static void otlp_push_give_up(OtlpPush *push, const char *why) {
        if (push->counts.n_refused == 0)
                log_print(LOG_ERR, "otlp: the metrics cannot be sent: %s", why);
        otlp_push_remove_oldest(push);
        otlp_push_count(push, &push->counts.n_refused, 1);
}

static void otlp_push_send_oldest(OtlpPush *push) {
        TextBlock body = {};
        OtlpAnswer answer;
        int r = otlp_body_print(&body, push->queue[0], push->host);

        if (r < 0) {
                text_block_clear(&body);
                otlp_push_give_up(push, strerror(-r));
                return;
        }
        otlp_request_send(push->request, &body, &answer);
        text_block_clear(&body);
        if (__atomic_load_n(&push->stops, __ATOMIC_RELAXED))
                return;
        if (answer.result == OTLP_ACCEPTED)
                otlp_push_accept(push, &answer);
        else if (answer.result == OTLP_LATER)
                otlp_push_wait_longer(push, &answer);
        else
                otlp_push_give_up(push, answer.text);
}

/* Returns false when the thread has to end. */
static bool otlp_push_wait(OtlpPush *push) {
        uint64_t until = push->due_usec;

        if (push->n_queued > 0)
                until = MIN_OF(until, push->retry_usec);
        const struct timespec time = {
                .tv_sec = (time_t)(until / USEC_PER_SEC),
                .tv_nsec = (long)(until % USEC_PER_SEC * NSEC_PER_USEC),
        };
        int r = 0;

        (void)pthread_mutex_lock(&push->lock);
        while (!push->stops && r == 0)
                r = pthread_cond_timedwait(&push->stop, &push->lock, &time);
        bool goes_on = !push->stops;
        (void)pthread_mutex_unlock(&push->lock);
        return goes_on;
}

static void *otlp_push_run(void *userdata) {
        OtlpPush *push = userdata;

        while (otlp_push_wait(push)) {
                uint64_t now = otlp_push_now();

                if (now >= push->due_usec) {
                        otlp_push_take(push);
                        push->due_usec = now + push->interval_usec;
                }
                if (push->n_queued > 0 && now >= push->retry_usec)
                        otlp_push_send_oldest(push);
        }
        return NULL;
}

/* Life */

static void otlp_push_init_locks(OtlpPush *push) {
        pthread_condattr_t attributes;

        /* None of these can fail on Linux. */
        (void)pthread_mutex_init(&push->lock, NULL);
        (void)pthread_condattr_init(&attributes);
        (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        (void)pthread_cond_init(&push->stop, &attributes);
        (void)pthread_condattr_destroy(&attributes);
}

int otlp_push_new(const OtlpSettings *settings, Board *board, OtlpPush **ret, Reason *reason) {
        _cleanup_(otlp_push_free_cleanup) OtlpPush *push = calloc(1, sizeof(*push));

        if (!push)
                return -ENOMEM;
        otlp_push_init_locks(push);
        push->board = board;
        push->interval_usec = settings->interval_usec;
        push->due_usec = otlp_push_now() + settings->interval_usec;
        if (gethostname(push->host, sizeof(push->host) - 1) < 0)
                return -errno;
        int r = otlp_request_new(settings, &push->stops, &push->request, reason);
        if (r != 0)
                return r;
        r = pthread_create(&push->thread, NULL, otlp_push_run, push);
        if (r != 0)
                return -r;
        push->is_started = true;
        *ret = TAKE_PTR(push);
        return 0;
}

OtlpCounts otlp_push_get_counts(OtlpPush *push) {
        (void)pthread_mutex_lock(&push->lock);
        OtlpCounts counts = push->counts;
        (void)pthread_mutex_unlock(&push->lock);
        return counts;
}

OtlpPush *otlp_push_free(OtlpPush *push) {
        if (!push)
                return NULL;
        if (push->is_started) {
                (void)pthread_mutex_lock(&push->lock);
                __atomic_store_n(&push->stops, true, __ATOMIC_RELAXED);
                (void)pthread_cond_signal(&push->stop);
                (void)pthread_mutex_unlock(&push->lock);
                (void)pthread_join(push->thread, NULL);
        }
        while (push->n_queued > 0)
                otlp_push_remove_oldest(push);
        metric_snapshot_unref(push->newest);
        otlp_request_free(push->request);
        (void)pthread_cond_destroy(&push->stop);
        (void)pthread_mutex_destroy(&push->lock);
        free(push);
        return NULL;
}
