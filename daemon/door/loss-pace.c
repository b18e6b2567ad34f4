/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Merges the losses that a session reports within a second, for those who watch many sessions. Used
 * by watchers.c. A session reports losses up to ten times a second (work/notice.c), which is what
 * the reader of that session needs. A watcher needs to know that events are lost, and how many: the
 * first notice passes at once, and the counts of the next second become one notice. Counts are only
 * added, never dropped. The counts of single CPUs are left out of all these notices.
 *
 * Owns a timer for each session that has lost events within the last second, and otherwise
 * nothing. */

#include "door/loss-pace.h"

#include <errno.h>
#include <string.h>
#include <sys/queue.h>

#include "interfaces/json.h"
#include "interfaces/names.h"

#define PACE_USEC UINT64_C(1000000)

/* A session that has reported losses within the last second. */
typedef struct Loss {
        TAILQ_ENTRY(Loss) entry;
        LossPace *pace;
        uid_t uid;
        char session[KT_ID_DIGITS + 1];
        json_object *waiting; /* the sum since the last report; NULL: none */
        sd_event_source *timer;
} Loss;

struct LossPace {
        sd_event *event;
        LossHandler handler;
        void *userdata;
        TAILQ_HEAD(, Loss) losses;
};

static void loss_free(Loss *loss) {
        TAILQ_REMOVE(&loss->pace->losses, loss, entry);
        sd_event_source_disable_unref(loss->timer);
        json_object_put(loss->waiting);
        free(loss);
}

/* Returns whether anything has waited. */
static bool loss_report(Loss *loss) {
        _cleanup_json_ json_object *notice = TAKE_PTR(loss->waiting);

        if (notice)
                loss->pace->handler(loss->uid, notice, loss->pace->userdata);
        return notice != NULL;
}

static int loss_on_timer(sd_event_source *source, uint64_t usec _unused_, void *userdata) {
        Loss *loss = userdata;

        if (loss_report(loss) && sd_event_source_set_time_relative(source, PACE_USEC) >= 0)
                (void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
        else
                loss_free(loss);
        return 0;
}

static uint64_t loss_get(json_object *notice, const char *key) {
        return json_object_get_uint64(json_object_object_get(notice, key));
}

static void loss_set(json_object *notice, const char *key, uint64_t value) {
        (void)json_object_set_uint64(json_object_object_get(notice, key), value);
}

/* The sum keeps the time of its first part. */
static void loss_add(json_object *sum, json_object *notice) {
        loss_set(sum, "lost", loss_get(sum, "lost") + loss_get(notice, "lost"));
        loss_set(sum, "merged", loss_get(sum, "merged") + loss_get(notice, "merged") + 1);
        loss_set(sum, "total", loss_get(notice, "total"));
}

static int loss_new(LossPace *pace, uid_t uid, const char *session) {
        Loss *loss = calloc(1, sizeof(*loss));

        if (!loss)
                return -ENOMEM;
        loss->pace = pace;
        loss->uid = uid;
        (void)snprintf(loss->session, sizeof(loss->session), "%s", session);
        TAILQ_INSERT_TAIL(&pace->losses, loss, entry);
        int r = sd_event_add_time_relative(pace->event,
                        &loss->timer,
                        CLOCK_MONOTONIC,
                        PACE_USEC,
                        PACE_USEC / 10,
                        loss_on_timer,
                        loss);
        if (r < 0)
                loss_free(loss);
        return r < 0 ? r : 0;
}

static Loss *loss_find(const LossPace *pace, const char *session) {
        Loss *loss;

        TAILQ_FOREACH(loss, &pace->losses, entry)
                if (strcmp(loss->session, session) == 0)
                        return loss;
        return NULL;
}

void loss_pace_take(LossPace *pace, uid_t uid, const char *session, json_object *notice) {
        Loss *loss = loss_find(pace, session);

        json_object_object_del(notice, "cpus");
        if (loss && loss->waiting)
                loss_add(loss->waiting, notice);
        else if (loss)
                loss->waiting = json_object_get(notice);
        else {
                /* Without memory for the pause, the next notice is not merged. */
                (void)loss_new(pace, uid, session);
                pace->handler(uid, notice, pace->userdata);
        }
}

void loss_pace_flush(LossPace *pace, const char *session) {
        Loss *loss;

        TAILQ_FOREACH(loss, &pace->losses, entry)
                if (!session || strcmp(loss->session, session) == 0)
                        (void)loss_report(loss);
}

int loss_pace_new(sd_event *event, LossHandler handler, void *userdata, LossPace **ret) {
        LossPace *pace = calloc(1, sizeof(*pace));

        if (!pace)
                return -ENOMEM;
        pace->event = event;
        pace->handler = handler;
        pace->userdata = userdata;
        TAILQ_INIT(&pace->losses);
        *ret = pace;
        return 0;
}

LossPace *loss_pace_free(LossPace *pace) {
        if (!pace)
                return NULL;
        while (!TAILQ_EMPTY(&pace->losses))
                loss_free(TAILQ_FIRST(&pace->losses));
        free(pace);
        return NULL;
}
