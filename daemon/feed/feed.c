/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A session's stream, as the daemon sees it. The feed starts the consumer and gives it the metadata
 * and the connection to the client. It passes the rings after the consumer has accepted the sink.
 * It enforces the consumer's time limits. A session owns the feed. When the session ends, the
 * registry owns it until the client has read the remaining data.
 *
 * The feed never touches a client's fd: the pipe is our own, and a client's own sink goes directly
 * to the consumer. The feed gives up a consumer that hangs on a sink, and does not wait for its
 * process. The kernel sometimes holds the locks for opening a ring for a long time, so a plan on
 * the worker opens the rings. The messages to the consumer and its time limits are in feed-link.c.
 * The order of the consumer's messages proves nothing, because hostile data may have taken it over.
 * A message that comes too early or again is ignored, or ends the consumer, and extends no limit.
 * A feed whose consumer counts histograms begins without a reader; readers attach and detach later.
 * Answers to questions about a histogram do not pass through here: each has its own socket. */

#include "feed/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "feed/feed-setup.h"
#include "feed/feed-spool.h"
#include "feed/feed-window.h"
#include "spool/spool-end.h"
#include "trace/metadata.h"
#include "trace/shared.h"
#include "trace/trace-counts.h"
#include "trace/trace-fence.h"
#include "trace/trace-rings.h"

#define USEC_PER_SEC 1000000ULL
/* Reading the largest rings takes well under a second. */
#define RELEASE_TIMEOUT_USEC (10 * USEC_PER_SEC)
#define ATTACH_TIMEOUT_USEC  (10 * USEC_PER_SEC)
#define FILE_TIMEOUT_USEC    (60 * USEC_PER_SEC)

struct Feed {
        Worker *worker;
        Trace *trace; /* NULL once detached */
        const FeedHandlers *handlers;
        void *userdata;
        FeedLink link;
        int client_fd; /* open until ready */
        Plan rings;
        bool rings_in_flight;
        bool has_started; /* the consumer is ready; the feed may still wait for a file */
        bool is_ready, is_released, is_closed, is_given_up;
        bool has_gone;                         /* the consumer has said that it ends */
        bool is_judged;                        /* the consumer removes records of non-members */
        bool is_attached, is_armed, has_rings; /* judged: rings need both */
        bool flush_wanted;
        bool is_snapshot;
        bool is_resuming; /* continues a failed snapshot; it has no reader */
        bool has_view;    /* its names are those of one user's tasks */
        bool is_counting, has_reader;
        int kept_fd; /* snapshot: the window for the next */
        uint64_t n_interferences, interference_nsec;
        ControlMessage finish; /* type 0: not requested yet */
        int finish_names_fd;
        FeedCounters counters;
        FeedSpool spool;
        int error;
        char text[CONTROL_TEXT_MAX];
};

/* The next snapshot reports the records of this snapshot again. */
static void feed_end_turn(Feed *feed, bool is_whole) {
        if (feed->is_snapshot && feed->has_rings && feed->trace)
                feed_window_keep(feed->trace, &feed->kept_fd, is_whole);
}

static void feed_end_spool(Feed *feed) {
        bool has_no_file = feed->finish.type && !feed->is_attached;
        bool has_failed = feed->error != 0 || !feed->finish.type || has_no_file;

        feed_spool_end(&feed->spool,
                        has_failed ? "failed" : feed->finish.finish.code,
                        feed->error != 0 ? feed->text
                        : has_no_file    ? "there was no room for a file until its end"
                        : has_failed     ? "the stream worker ended without warning"
                                         : feed->finish.finish.text);
}

static void feed_settle_ready(Feed *feed) {
        Reason reason = {};

        if (feed->is_ready)
                return;
        int r = reason_set(&reason,
                        KT_E_NO_CONSUMER,
                        "the stream worker did not start%s%s: see the journal of ktrace-consumer",
                        feed->text[0] ? ": " : "",
                        feed->text);
        feed->is_ready = true;
        feed->handlers->on_ready(feed, r, &reason, -1, feed->userdata);
}

/* Reports what the consumer can no longer report: that it did not become ready, and that the rings
 * are released. */
static void feed_settle(Feed *feed) {
        feed_settle_ready(feed);
        if (!feed->is_released && !feed->rings_in_flight) {
                feed->is_released = true;
                feed_end_turn(feed, false);
                feed->handlers->on_released(feed, feed->userdata);
        }
}

/* The handlers may free the feed before this call returns. */
static void feed_closed(Feed *feed) {
        if (feed->is_closed || feed->rings_in_flight)
                return;
        feed->is_closed = true;
        feed->link.consumer = consumer_free(feed->link.consumer);
        feed_settle(feed);
        feed_end_spool(feed);
        feed->handlers->on_closed(feed, feed->error, feed->text, feed->userdata);
}

/* The feed stops waiting for the consumer, but it counts against the session limit until the
 * process has ended. A client whose file server blocks consumers has that many fewer sessions. The
 * handlers may free the feed before this call returns. */
static void feed_give_up(Feed *feed) {
        consumer_kill(feed->link.consumer);
        feed->is_given_up = true;
        feed_settle(feed);
}

static void feed_on_late(void *userdata) {
        Feed *feed = userdata;

        log_write(LOG_WARNING,
                        feed->trace ? &(LogContext){ feed->trace->id,
                                                      NULL,
                                                      feed->trace->owner->uid }
                                    : NULL,
                        "consumer %d does not answer, giving it up",
                        consumer_get_pid(feed->link.consumer));
        if (feed->error == 0) {
                feed->error = ETIMEDOUT;
                snprintf(feed->text, sizeof(feed->text), "the sink does not answer");
        }
        feed_give_up(feed);
}

static void feed_send_finish(Feed *feed) {
        feed_link_send(&feed->link,
                        &feed->finish,
                        &feed->finish_names_fd,
                        feed->finish_names_fd >= 0 ? 1 : 0);
        close_cleanup(&feed->finish_names_fd);
}

static void feed_send_rings(Feed *feed) {
        if (feed->is_judged)
                feed_link_send_guard(&feed->link, feed->trace);
        if (feed->is_snapshot)
                feed->kept_fd = feed_window_send(&feed->link, feed->trace);
        feed_link_send_rings(&feed->link, feed->trace->n_cpus, feed->trace->ring_fds);
}

static void feed_on_rings(Plan *plan, int result, const Reason *reason) {
        Feed *feed = plan->userdata;

        feed->rings_in_flight = false;
        bool is_reading = result == 0 && feed->link.consumer && !feed->is_given_up &&
                          !feed->finish.finish.discards;
        if (is_reading)
                feed_send_rings(feed);
        trace_close_rings(feed->trace);
        if (is_reading && feed->handlers->on_reading)
                feed->handlers->on_reading(feed, feed->userdata);
        if (result != 0) {
                log_error("cannot open the rings: %s",
                                result < 0 ? strerror(-result) : reason->text);
                feed->error = result < 0 ? -result : ECANCELED;
                feed->finish.finish.discards = 1;
                if (feed->is_snapshot)
                        feed->link.consumer = consumer_free(feed->link.consumer);
        }
        if (!feed->link.consumer) {
                feed_closed(feed);
                return;
        }
        if (feed->is_given_up) {
                feed_settle(feed);
                return;
        }
        if (feed->finish.finish.discards) {
                if (feed->finish.type)
                        feed_send_finish(feed);
                else if (result != KT_E_CANCELLED) /* else the ending daemon reports it */
                        feed_finish(feed, -1, "failed", "the rings cannot be opened");
                return;
        }
        if (feed->flush_wanted)
                feed_link_send_type(&feed->link, CONTROL_FLUSH, NULL, 0);
        if (feed->is_snapshot && feed->is_judged) {
                feed_link_set_timer(&feed->link, RELEASE_TIMEOUT_USEC);
                feed_link_send_type(&feed->link, CONTROL_FLUSH, NULL, 0);
        } else if (feed->is_snapshot)
                feed_finish(feed,
                                feed->has_view ? -1 : feed->trace->taken_names_fd,
                                "snapshot",
                                "");
        else if (feed->finish.type)
                feed_send_finish(feed);
}

static void feed_open_rings(Feed *feed) {
        /* A consumer that got FINISH without rings releases them immediately: the trace may be
         * removed before the worker has opened them. */
        if (!feed->trace || feed->has_rings || feed->is_given_up || !feed->is_attached ||
                        feed->finish.type || feed->is_released ||
                        (feed->is_judged && !feed->is_armed) ||
                        (feed->is_snapshot && (feed->trace->is_taken ||
                                                              feed->trace->is_resuming !=
                                                                              feed->is_resuming)))
                return;
        feed->has_rings = true;
        if (trace_is_shared(feed->trace)) {
                feed_link_send_type(
                                &feed->link, CONTROL_VIEW, feed->trace->view_fds, SHARE_VIEW_FDS);
                if (feed->flush_wanted)
                        feed_link_send_type(&feed->link, CONTROL_FLUSH, NULL, 0);
                if (feed->handlers->on_reading)
                        feed->handlers->on_reading(feed, feed->userdata);
                return;
        }
        if (feed->is_snapshot) {
                feed->trace->is_taken = true;
                trace_plan_snapshot(feed->trace, &feed->rings);
        } else
                trace_plan_rings(feed->trace, &feed->rings);
        feed->rings.done = feed_on_rings;
        feed->rings.userdata = feed;
        feed->rings_in_flight = true;
        worker_submit(feed->worker, &feed->rings);
}

static void feed_on_ready(Feed *feed) {
        if (feed->is_ready)
                return;
        feed->is_ready = true;
        feed_link_set_timer(&feed->link, feed->finish.type ? RELEASE_TIMEOUT_USEC : 0);
        feed->handlers->on_ready(feed, 0, NULL, TAKE_FD(feed->client_fd), feed->userdata);
}

/* A session that is recorded on disk can start when its first file is there. Else a short one would
 * end before the consumer has a file, and all its records would be lost. Without room for a file
 * the session records as soon as there is some, so this is not waited for. */
static bool feed_awaits_file(const Feed *feed) {
        return feed->spool.entry && !feed->is_attached && !feed->spool.has_no_room;
}

static void feed_check_ready(Feed *feed) {
        if (feed->has_started && !feed_awaits_file(feed))
                feed_on_ready(feed);
}

static void feed_on_started(Feed *feed) {
        /* The disk may be busy with other recordings. */
        if (!feed->has_started && feed_awaits_file(feed))
                feed_link_set_timer(&feed->link, FILE_TIMEOUT_USEC);
        feed->has_started = true;
        feed_check_ready(feed);
}

static void feed_on_status(Feed *feed, const ControlMessage *message) {
        feed->counters.written_bytes = message->status.written_bytes;
        feed->counters.discarded_bytes = message->status.discarded_bytes;
        if (message->status.error == 0)
                return;
        feed->error = message->status.error;
        snprintf(feed->text,
                        sizeof(feed->text),
                        "%.*s",
                        CONTROL_TEXT_MAX - 1,
                        message->status.text);
}

static void feed_on_tripped(Feed *feed, const ControlMessage *message) {
        char text[CONTROL_TEXT_MAX];

        snprintf(text, sizeof(text), "%.*s", CONTROL_TEXT_MAX - 1, message->status.text);
        if (feed->trace)
                feed->handlers->on_tripped(feed, text, feed->userdata);
}

static void feed_on_released(Feed *feed, const ControlMessage *message) {
        /* The worker thread may use the trace, so it must stay until the plan is over. */
        if (feed->rings_in_flight) {
                feed_kill(feed, "the stream worker released rings too early");
                return;
        }
        feed_link_set_timer(&feed->link, 0);
        feed_on_status(feed, message);
        if (feed->is_released)
                return;
        /* The callee may pass the feed on, and then READY is not awaited. */
        feed_settle_ready(feed);
        feed->is_released = true;
        feed_end_turn(feed, message->status.error == 0);
        feed->handlers->on_released(feed, feed->userdata);
}

static void feed_add_proven(Feed *feed) {
        const Trace *trace = feed->trace;
        _cleanup_free_ ControlMember *members = calloc(trace->n_proven + 1, sizeof(*members));

        for (size_t i = 0; members && i < trace->n_proven; i++)
                members[i] = trace_make_member(&trace->proven[i]);
        if (members)
                feed_add_members(feed, &(FeedMembers){ members, trace->n_proven });
}

static void feed_on_proven(Plan *plan, int result, const Reason *reason _unused_) {
        Feed *feed = plan->userdata;
        Trace *trace = feed->trace;

        feed->rings_in_flight = false;
        if (!feed->link.consumer) {
                feed_closed(feed);
                return;
        }
        if (feed->is_given_up) {
                feed_settle(feed);
                return;
        }
        /* If the plan failed, no task is a member, and all records are removed. */
        if (result == 0) {
                feed_add_proven(feed);
                trace_end_proof(trace);
        }
        feed_finish(feed, trace->taken_names_fd, "snapshot", "");
}

/* The consumer holds the complete judged snapshot in memory. A task that still exists, also as a
 * zombie, with the start time that it had when it was found fit was the same task all the time.
 * Births count from the time at which the last ring begins: from there on, no ring misses an exit.
 * Records of tasks that were born earlier, or that were found fit and have ended, are removed and
 * counted (`foreign`), because the pid may have belonged to another task. */
static void feed_prove(Feed *feed) {
        /* Without rings there is nothing to prove, and the plan of the rings would be in the
         * worker's queue twice when the sink is accepted. */
        if (!feed->is_snapshot || !feed->is_judged || !feed->trace || !feed->has_rings ||
                        feed->rings_in_flight || feed->finish.type || feed->is_released)
                return;
        if (trace_begin_proof(feed->trace) < 0)
                feed->trace->n_proven = 0;
        trace_plan_proven(feed->trace, &feed->rings);
        feed->rings.done = feed_on_proven;
        feed->rings.userdata = feed;
        feed->rings_in_flight = true;
        worker_submit(feed->worker, &feed->rings);
}

static void feed_on_rose(Feed *feed, const ControlMessage *message) {
        if (feed->trace && feed->handlers->on_hits)
                feed->handlers->on_hits(feed,
                                message->rose.table,
                                message->rose.delta,
                                (uint32_t)message->rose.key,
                                feed->userdata);
}

static void feed_on_detached(Feed *feed, const ControlMessage *message) {
        char text[CONTROL_TEXT_MAX];

        if (!feed->has_reader || !feed->is_counting)
                return;
        feed->has_reader = false;
        snprintf(text, sizeof(text), "%.*s", CONTROL_TEXT_MAX - 1, message->status.text);
        if (feed->handlers->on_detached)
                feed->handlers->on_detached(feed, message->status.error, text, feed->userdata);
        /* The counts of each reader start at 0. */
        feed->counters = (FeedCounters){};
        feed->error = 0;
        feed->text[0] = '\0';
}

/* True while a limit runs that no message about a sink may change: the consumer must become ready,
 * or it must release the rings after FINISH. A consumer that could extend it would keep the
 * instance. */
static bool feed_is_due(const Feed *feed) {
        return !feed->is_ready || (feed->finish.type && !feed->is_released);
}

static void feed_on_examined(Feed *feed, const ControlMessage *message) {
        if (!feed_is_due(feed))
                feed_link_set_timer(&feed->link, 0);
        feed_on_status(feed, message);
}

static void feed_on_message(Consumer *consumer _unused_,
                const ControlMessage *message,
                void *userdata) {
        Feed *feed = userdata;

        switch (message->type) {
        case CONTROL_READY:
                feed_on_started(feed);
                break;
        case CONTROL_EXAMINING:
                if (!feed_is_due(feed))
                        feed_link_await_sink(&feed->link);
                break;
        case CONTROL_ATTACHED:
                feed_on_examined(feed, message);
                feed->is_attached = true;
                feed_check_ready(feed);
                feed_open_rings(feed);
                break;
        case CONTROL_REFUSED:
                feed_on_examined(feed, message);
                break;
        case CONTROL_RELEASED:
                feed_on_released(feed, message);
                break;
        case CONTROL_TRIPPED:
                feed_on_tripped(feed, message);
                break;
        case CONTROL_FLUSHED:
                feed_on_status(feed, message);
                feed_prove(feed);
                break;
        case CONTROL_GONE:
                feed->has_gone = true;
                feed_on_status(feed, message);
                break;
        case CONTROL_DOUBT:
                if (feed->trace && feed->handlers->on_doubt)
                        feed->handlers->on_doubt(feed, feed->userdata);
                break;
        case CONTROL_SPOOLED:
                feed_spool_take_report(&feed->spool, message);
                break;
        case CONTROL_DETACHED:
                feed_on_examined(feed, message);
                feed_on_detached(feed, message);
                break;
        case CONTROL_ROSE:
                feed_on_rose(feed, message);
                break;
        default:
                log_warning("consumer %d sent message %u",
                                consumer_get_pid(consumer),
                                message->type);
        }
}

static void feed_on_consumer_closed(Consumer *consumer _unused_, void *userdata) {
        Feed *feed = userdata;

        feed->link.consumer = consumer_free(feed->link.consumer);
        feed_closed(feed);
}

static const ConsumerHandlers consumer_handlers = { feed_on_message, feed_on_consumer_closed };

static int feed_make(sd_event *event, const Feed *template, Feed **ret) {
        _cleanup_(feed_free_cleanup) Feed *feed = malloc(sizeof(*feed));

        if (!feed)
                return -ENOMEM;
        *feed = *template;
        feed->client_fd = feed->kept_fd = feed->finish_names_fd = -1;
        int r = feed_link_init(&feed->link, event, feed_on_late, feed);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(feed);
        return 0;
}

static int feed_begin(const ConsumerLauncher *launcher,
                const Feed *template,
                const FeedSetup *setup,
                Feed **ret,
                Reason *reason) {
        _cleanup_(feed_free_cleanup) Feed *feed = NULL;

        int r = feed_make(launcher->event, template, &feed);
        r = r ?: consumer_spawn(launcher, &consumer_handlers, feed, &feed->link.consumer, reason);
        if (r != 0)
                return r;
        feed->is_snapshot = setup->is_snapshot;
        feed->is_judged = trace_is_judged(feed->trace);
        feed->is_counting = !feed->is_snapshot && trace_counts(feed->trace);
        r = feed_setup_send(feed->link.consumer, setup, feed->trace, &feed->client_fd);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(feed);
        return 0;
}

int feed_new(const ConsumerLauncher *launcher,
                Worker *worker,
                Trace *trace,
                ControlSink kind,
                const FeedHandlers *handlers,
                void *userdata,
                Feed **ret,
                Reason *reason) {
        const Feed template = {
                .worker = worker,
                .trace = trace,
                .handlers = handlers,
                .userdata = userdata,
        };
        const FeedSetup setup = { .kind = kind };

        return feed_begin(launcher, &template, &setup, ret, reason);
}

int feed_new_snapshot(const ConsumerLauncher *launcher,
                Worker *worker,
                Trace *trace,
                ControlSink kind,
                const FeedView *view,
                const FeedHandlers *handlers,
                void *userdata,
                Feed **ret,
                Reason *reason) {
        const Feed template = {
                .worker = worker,
                .trace = trace,
                .handlers = handlers,
                .userdata = userdata,
                .has_view = view != NULL,
                .is_resuming = kind == CONTROL_SINK_NONE,
        };
        const FeedSetup setup = { .kind = kind, .is_snapshot = true, .view = view };

        return feed_begin(launcher, &template, &setup, ret, reason);
}

static void feed_on_spool_file(unsigned number, int fd, void *userdata) {
        Feed *feed = userdata;
        ControlMessage message = {
                .type = CONTROL_SPOOL_FILE,
                .version = CONTROL_VERSION,
                .spool_file = { .number = number },
        };

        feed_link_send(&feed->link, &message, &fd, fd >= 0 ? 1 : 0);
}

static void feed_on_spool_news(FeedSpoolNews news, const char *text, void *userdata) {
        Feed *feed = userdata;

        if (feed->handlers->on_spool)
                feed->handlers->on_spool(feed, news, text, feed->userdata);
        feed_check_ready(feed);
}

static const FeedSpoolHandlers spool_handlers = { feed_on_spool_file, feed_on_spool_news };

int feed_new_spool(const ConsumerLauncher *launcher,
                Worker *worker,
                Trace *trace,
                SpoolEntry *entry,
                const FeedHandlers *handlers,
                void *userdata,
                Feed **ret,
                Reason *reason) {
        const Feed template = {
                .worker = worker,
                .trace = trace,
                .handlers = handlers,
                .userdata = userdata,
        };
        const FeedSetup setup = { .kind = CONTROL_SINK_SPOOL, .entry = entry };

        int r = feed_begin(launcher, &template, &setup, ret, reason);
        if (r == 0)
                feed_spool_begin(&(*ret)->spool, entry, &spool_handlers, *ret);
        else
                spool_end(entry, "failed", r > 0 ? reason->text : strerror(-r));
        return r;
}

int feed_adopt(sd_event *event,
                Worker *worker,
                Trace *trace,
                int control_fd,
                SpoolEntry *entry,
                const FeedHandlers *handlers,
                void *userdata,
                Feed **ret) {
        _cleanup_(feed_free_cleanup) Feed *feed = NULL;

        int r = feed_make(event,
                        &(Feed){
                                        .worker = worker,
                                        .trace = trace,
                                        .handlers = handlers,
                                        .userdata = userdata,
                                        .is_judged = trace_is_judged(trace),
                                        .is_counting = trace_counts(trace),
                                        .has_reader = entry == NULL, /* until DETACHED */
                                        .is_ready = true,
                                        .is_attached = true,
                                        .is_armed = true,
                                        .has_rings = true,
                        },
                        &feed);
        if (r < 0)
                return r;
        feed_link_set_timer(&feed->link, 0);
        r = consumer_adopt(event, control_fd, &consumer_handlers, feed, &feed->link.consumer);
        if (r < 0)
                return r;
        feed_spool_begin(&feed->spool, entry, &spool_handlers, feed);
        feed_link_send(&feed->link,
                        &(ControlMessage){
                                        .type = CONTROL_ADOPT,
                                        .version = CONTROL_VERSION,
                                        .adopt = { .marker_tid = (uint32_t)getpid() },
                        },
                        NULL,
                        0);
        *ret = TAKE_PTR(feed);
        return 0;
}

SpoolEntry *feed_get_entry(const Feed *feed) {
        return feed->spool.entry;
}

int feed_get_fd(const Feed *feed) {
        return consumer_get_fd(feed->link.consumer);
}

pid_t feed_get_pid(const Feed *feed) {
        return consumer_get_pid(feed->link.consumer);
}

bool feed_is_reading(const Feed *feed) {
        return feed->has_rings && !feed->rings_in_flight && feed->link.consumer &&
               !feed->is_given_up && !feed->is_released && !feed->finish.type;
}

/* The daemon ends. Without FINISH the consumer is killed. */
static void feed_leave_spool(Feed *feed) {
        if (feed->finish.type && feed->error == 0)
                feed_spool_await(&feed->spool,
                                consumer_get_fd(feed->link.consumer),
                                feed->finish.finish.code,
                                feed->finish.finish.text);
        else
                feed_end_spool(feed);
}

Feed *feed_free(Feed *feed) {
        if (!feed)
                return NULL;
        feed_leave_spool(feed);
        if (feed->finish.type) /* the daemon ends, the trace continues */
                consumer_release(feed->link.consumer);
        else
                consumer_free(feed->link.consumer);
        feed_link_clear(&feed->link);
        close_cleanup(&feed->client_fd);
        close_cleanup(&feed->kept_fd);
        close_cleanup(&feed->finish_names_fd);
        free(feed);
        return NULL;
}

Feed *feed_leave(Feed *feed) {
        feed_spool_leave(&feed->spool);
        consumer_release(TAKE_PTR(feed->link.consumer));
        return feed_free(feed);
}

void feed_add_members(Feed *feed, const FeedMembers *members) {
        bool has_times = members->until_nsec > 0 || members->gap_nsec > 0 ||
                         members->read_until_nsec > 0;

        if (!feed->is_judged || (members->n == 0 && !has_times))
                return;
        feed_link_send_members(&feed->link, members);
}

void feed_name_tasks(Feed *feed, const FeedMembers *tasks) {
        if (feed->is_counting && !feed->is_judged && tasks->n > 0)
                feed_link_send_members(&feed->link, tasks);
}

void feed_add_inner_pids(Feed *feed, const ControlInnerPid *pids, size_t n) {
        if (n > CONTROL_INNER_LIST_MAX)
                feed_end_inner_pids(feed);
        else if (n > 0)
                feed_link_send_inner_pids(&feed->link, pids, n);
}

void feed_end_inner_pids(Feed *feed) {
        feed_link_end_inner_pids(&feed->link);
}

void feed_arm(Feed *feed, const FeedMembers *members) {
        feed_add_members(feed, members);
        feed->is_armed = true;
        feed_open_rings(feed);
}

bool feed_is_taking(const Feed *feed) {
        return feed->has_rings;
}

void feed_continue(Feed *feed) {
        feed_open_rings(feed);
}

static void feed_fail(Feed *feed, int error, const char *text) {
        feed->error = error;
        snprintf(feed->text, sizeof(feed->text), "%s", text);
}

void feed_kill(Feed *feed, const char *text) {
        feed_fail(feed, ECANCELED, text);
        if (feed->link.consumer && !feed->is_given_up)
                consumer_kill(feed->link.consumer);
        feed_link_set_timer(&feed->link, RELEASE_TIMEOUT_USEC);
}

/* A consumer that got FINISH delivers all its data. Discarding would be too late, so it is killed.
 */
void feed_discard(Feed *feed, const char *code, const char *text) {
        if (feed->finish.type) {
                feed_kill(feed, text);
                return;
        }
        feed_fail(feed, ECANCELED, text);
        feed->finish.finish.discards = 1;
        feed_finish(feed, -1, code, text);
}

void feed_flush(Feed *feed) {
        feed->flush_wanted = true;
        if (!feed->rings_in_flight)
                feed_link_send_type(&feed->link, CONTROL_FLUSH, NULL, 0);
}

void feed_report_interference(Feed *feed, uint64_t n, uint64_t nsec) {
        feed->n_interferences = n;
        feed->interference_nsec = nsec;
}

void feed_finish(Feed *feed, int names_fd, const char *code, const char *text) {
        if (feed->finish.type)
                return;
        feed_spool_finish(&feed->spool);
        feed->finish.type = CONTROL_FINISH;
        feed->finish.version = CONTROL_VERSION;
        snprintf(feed->finish.finish.code, sizeof(feed->finish.finish.code), "%s", code);
        snprintf(feed->finish.finish.text, sizeof(feed->finish.finish.text), "%s", text);
        feed->finish.finish.interferences = feed->n_interferences;
        feed->finish.finish.interference_nsec = feed->interference_nsec;
        feed->finish_names_fd = names_fd >= 0 ? fcntl(names_fd, F_DUPFD_CLOEXEC, 3) : -1;
        feed_link_set_timer(&feed->link, RELEASE_TIMEOUT_USEC);
        if (!feed->rings_in_flight)
                feed_send_finish(feed);
}

void feed_detach(Feed *feed, const FeedHandlers *handlers, void *userdata) {
        feed->trace = NULL;
        feed->handlers = handlers;
        feed->userdata = userdata;
}

bool feed_is_given_up(const Feed *feed) {
        return feed->is_given_up;
}

bool feed_is_released(const Feed *feed) {
        return feed->is_released;
}

void feed_get_counters(const Feed *feed, FeedCounters *ret) {
        *ret = feed->counters;
}

bool feed_has_failed(const Feed *feed) {
        return !feed->has_gone && (feed->is_given_up || feed->error != ECANCELED);
}

bool feed_is_counting(const Feed *feed) {
        return feed->is_counting;
}

bool feed_has_reader(const Feed *feed) {
        return feed->has_reader;
}

int feed_attach(Feed *feed, ControlSink kind) {
        const ControlMessage message = {
                .type = CONTROL_SINK,
                .version = CONTROL_VERSION,
                .sink = { .kind = kind },
        };
        _cleanup_close_ int sink = -1;

        if (!feed->link.consumer || feed->is_given_up || feed->finish.type)
                return -ESHUTDOWN;
        int r = feed_setup_make_ends(kind, &sink, &feed->client_fd);
        r = r ?: consumer_send(feed->link.consumer, &message, &sink, 1);
        if (r < 0) {
                close_cleanup(&feed->client_fd);
                return r;
        }
        feed->has_reader = true;
        /* The consumer must answer READY before the timeout; otherwise the feed gives it up. */
        feed->is_ready = false;
        feed_link_set_timer(&feed->link, ATTACH_TIMEOUT_USEC);
        return 0;
}

int feed_ask_counts(Feed *feed, uint32_t trigger, ControlCountsVerb verb, int fd) {
        const ControlMessage message = {
                .type = CONTROL_COUNTS,
                .version = CONTROL_VERSION,
                .counts = { .table = trigger, .verb = verb },
        };

        if (!feed->link.consumer || feed->is_given_up || feed->finish.type)
                return -ESHUTDOWN;
        return consumer_send(feed->link.consumer, &message, &fd, fd >= 0 ? 1 : 0);
}
