/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A session's stream, as the daemon sees it. The feed starts the consumer and gives it the metadata
 * and the connection to the client. It passes the rings after the consumer has accepted the sink.
 * It enforces the consumer's time limits. A session owns the feed. When the session ends, the
 * registry owns it until the client has read the remaining data.
 *
 * The feed never touches a client's fd: the pipe is our own, and a client's own sink goes directly
 * to the consumer. The feed gives up a consumer that hangs on a sink, and does not wait for its
 * process. The kernel sometimes holds the locks for opening a ring for a long time, so a plan on
 * the worker opens the rings. The additional parts of a snapshot are in feed-window.c. */

#include "feed/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/log.h"
#include "feed/feed-counts.h"
#include "feed/feed-parts.h"
#include "feed/feed-setup.h"
#include "feed/feed-spool.h"
#include "feed/feed-window.h"
#include "trace/metadata.h"
#include "trace/trace-counts.h"
#include "trace/trace-fence.h"
#include "trace/trace-rings.h"

#define USEC_PER_SEC       1000000ULL
#define READY_TIMEOUT_USEC (10 * USEC_PER_SEC)
/* A FUSE server that does not answer blocks the process that examines its file. */
#define EXAMINE_TIMEOUT_USEC (2 * USEC_PER_SEC)
/* Reading the largest rings takes well under a second. */
#define RELEASE_TIMEOUT_USEC (10 * USEC_PER_SEC)
#define MEMBERS_MAX          65536 /* per message; the consumer's limit */

/* Reports what the consumer can no longer report: that it did not become ready, and that the rings
 * are released. */
void feed_settle(Feed *feed) {
        if (!feed->is_ready) {
                Reason reason = {};
                int r = reason_set(&reason,
                                KT_E_NO_CONSUMER,
                                "the stream worker did not start%s%s: see the journal of ktrace-consumer",
                                feed->text[0] ? ": " : "",
                                feed->text);

                feed->is_ready = true;
                feed->handlers->on_ready(feed, r, &reason, -1, feed->userdata);
        }
        if (!feed->is_released && !feed->rings_in_flight) {
                feed->is_released = true;
                feed_end_turn(feed, false);
                feed->handlers->on_released(feed, feed->userdata);
        }
}

/* The handlers may free the feed before this call returns. */
void feed_closed(Feed *feed) {
        if (feed->is_closed || feed->rings_in_flight)
                return;
        feed->is_closed = true;
        feed->consumer = consumer_free(feed->consumer);
        feed_settle(feed);
        feed_end_spool(feed);
        feed->handlers->on_closed(feed, feed->error, feed->text, feed->userdata);
}

/* The feed stops waiting for the consumer, but it counts against the session limit until the
 * process has ended. A client whose file server blocks consumers has that many fewer sessions. The
 * handlers may free the feed before this call returns. */
static void feed_give_up(Feed *feed) {
        consumer_kill(feed->consumer);
        feed->is_given_up = true;
        feed_settle(feed);
}

static void feed_look_later(Feed *feed) {
        uint64_t limit_usec = feed->patience.limit_nsec / 1000;

        (void)sd_event_source_set_time_relative(
                        feed->timer, MIN_OF(limit_usec, PATIENCE_LOOK_USEC));
        (void)sd_event_source_set_enabled(feed->timer, SD_EVENT_ONESHOT);
}

static int feed_on_timer(sd_event_source *source _unused_, uint64_t usec _unused_, void *userdata) {
        Feed *feed = userdata;

        if (!patience_is_over(&feed->patience)) {
                feed_look_later(feed);
                return 0;
        }
        log_write(LOG_WARNING,
                        feed->trace ? &(LogContext){ feed->trace->id,
                                                      NULL,
                                                      feed->trace->owner->uid }
                                    : NULL,
                        "consumer %d does not answer, giving it up",
                        consumer_get_pid(feed->consumer));
        if (feed->error == 0) {
                feed->error = ETIMEDOUT;
                snprintf(feed->text, sizeof(feed->text), "the sink does not answer");
        }
        feed_give_up(feed);
        return 0;
}

/* usec 0 stops the timer. Time in which the consumer waits for a CPU does not count. */
void feed_set_timer(Feed *feed, uint64_t usec) {
        if (usec == 0) {
                (void)sd_event_source_set_enabled(feed->timer, SD_EVENT_OFF);
                return;
        }
        patience_begin(&feed->patience, PATIENCE_WITH_WORK, consumer_get_pid(feed->consumer), usec);
        feed_look_later(feed);
}

static void feed_await_sink(Feed *feed) {
        patience_begin(&feed->patience,
                        PATIENCE_WITH_CALL,
                        consumer_get_pid(feed->consumer),
                        EXAMINE_TIMEOUT_USEC);
        feed_look_later(feed);
}

/* The queue of a working consumer is never full. If sending fails here, the timer gives the
 * consumer up. */
void feed_send(Feed *feed, const ControlMessage *message, const int *fds, size_t n_fds) {
        int r = feed->consumer ? consumer_send(feed->consumer, message, fds, n_fds) : 0;

        if (r < 0 && r != -EPIPE && r != -ECONNRESET) { /* closed: on_closed reports it */
                log_errno(r,
                                LOG_WARNING,
                                NULL,
                                "cannot send to consumer %d",
                                consumer_get_pid(feed->consumer));
                feed_set_timer(feed, 1);
        }
}

static void feed_send_finish(Feed *feed) {
        feed_send(feed, &feed->finish, &feed->finish_names_fd, feed->finish_names_fd >= 0 ? 1 : 0);
        close_cleanup(&feed->finish_names_fd);
}

static void feed_send_guard(Feed *feed) {
        const int *fds = feed->trace->guard_fds;

        if (fds[0] >= 0)
                feed_send(feed,
                                &(ControlMessage){
                                                .type = CONTROL_GUARD, .version = CONTROL_VERSION },
                                fds,
                                fds[1] >= 0 ? 2 : 1);
}

static void feed_send_rings(Feed *feed) {
        const Trace *trace = feed->trace;
        size_t at = 0;

        if (feed->is_judged)
                feed_send_guard(feed);
        if (feed->is_snapshot)
                feed_send_window(feed);

        for (unsigned cpu = 0; cpu < trace->n_cpus;) {
                size_t n_fds = cpu == 0 ? 1 : 0;
                unsigned n = MIN_OF(trace->n_cpus - cpu, (unsigned)(FD_SEND_MAX - n_fds) / 2);
                ControlMessage message = {
                        .type = CONTROL_RINGS,
                        .version = CONTROL_VERSION,
                        .rings = { .first_cpu = cpu, .n = n },
                };

                n_fds += 2 * (size_t)n;
                feed_send(feed, &message, trace->ring_fds + at, n_fds);
                at += n_fds;
                cpu += n;
        }
}

static void feed_send_flush(Feed *feed) {
        feed_send(feed,
                        &(ControlMessage){ .type = CONTROL_FLUSH, .version = CONTROL_VERSION },
                        NULL,
                        0);
}

static void feed_on_rings(Plan *plan, int result, const Reason *reason) {
        Feed *feed = plan->userdata;

        feed->rings_in_flight = false;
        bool is_reading = result == 0 && feed->consumer && !feed->is_given_up &&
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
                        feed->consumer = consumer_free(feed->consumer);
        }
        if (!feed->consumer) {
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
                feed_send_flush(feed);
        if (feed->is_snapshot && feed->is_judged) {
                feed_set_timer(feed, RELEASE_TIMEOUT_USEC);
                feed_send_flush(feed);
        } else if (feed->is_snapshot)
                feed_finish(feed, feed->trace->taken_names_fd, "snapshot", "");
        else if (feed->finish.type)
                feed_send_finish(feed);
}

static void feed_open_rings(Feed *feed) {
        /* A consumer that got FINISH without rings releases them immediately: the trace may be
         * removed before the worker has opened them. */
        if (!feed->trace || feed->has_rings || feed->is_given_up || !feed->is_attached ||
                        feed->finish.type || feed->is_released ||
                        (feed->is_judged && !feed->is_armed) ||
                        (feed->is_snapshot && feed->trace->is_taken))
                return;
        feed->has_rings = true;
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
        feed_set_timer(feed, feed->finish.type ? RELEASE_TIMEOUT_USEC : 0);
        feed->handlers->on_ready(feed, 0, NULL, TAKE_FD(feed->client_fd), feed->userdata);
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
        feed_set_timer(feed, 0);
        feed_on_status(feed, message);
        if (feed->is_released)
                return;
        feed->is_released = true;
        feed_end_turn(feed, message->status.error == 0);
        feed->handlers->on_released(feed, feed->userdata);
}

static void feed_on_message(Consumer *consumer _unused_,
                const ControlMessage *message,
                void *userdata) {
        Feed *feed = userdata;
        uint64_t after = feed->finish.type ? RELEASE_TIMEOUT_USEC : 0;

        switch (message->type) {
        case CONTROL_READY:
                feed_on_ready(feed);
                break;
        case CONTROL_EXAMINING:
                feed_await_sink(feed);
                break;
        case CONTROL_ATTACHED:
                feed_set_timer(feed, after);
                feed_on_status(feed, message);
                feed->is_attached = true;
                feed_open_rings(feed);
                break;
        case CONTROL_REFUSED:
                feed_set_timer(feed, after);
                feed_on_status(feed, message);
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
                feed_on_status(feed, message);
                break;
        case CONTROL_DOUBT:
                if (feed->trace && feed->handlers->on_doubt)
                        feed->handlers->on_doubt(feed, feed->userdata);
                break;
        case CONTROL_SPOOLED:
                feed_on_spooled(feed, message);
                break;
        case CONTROL_DETACHED:
                feed_set_timer(feed, after);
                feed_on_status(feed, message);
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

        feed->consumer = consumer_free(feed->consumer);
        feed_closed(feed);
}

static const ConsumerHandlers consumer_handlers = { feed_on_message, feed_on_consumer_closed };

static int feed_make(sd_event *event, const Feed *template, Feed **ret) {
        _cleanup_(feed_free_cleanup) Feed *feed = malloc(sizeof(*feed));

        if (!feed)
                return -ENOMEM;
        *feed = *template;
        feed->client_fd = feed->kept_fd = feed->finish_names_fd = -1;
        feed->entry = NULL; /* set after nothing can fail */
        int r = sd_event_add_time_relative(event,
                        &feed->timer,
                        CLOCK_MONOTONIC,
                        READY_TIMEOUT_USEC,
                        0,
                        feed_on_timer,
                        feed);
        if (r < 0)
                return r;
        (void)sd_event_source_set_description(feed->timer, "feed");
        /* The timer runs after the messages: a message that has already arrived is not late. */
        r = sd_event_source_set_priority(feed->timer, SD_EVENT_PRIORITY_NORMAL + 1);
        if (r < 0)
                return r;
        /* The consumer has no process yet. */
        patience_begin(&feed->patience, PATIENCE_WITH_WORK, 0, READY_TIMEOUT_USEC);
        *ret = TAKE_PTR(feed);
        return 0;
}

int feed_begin(const ConsumerLauncher *launcher,
                const Feed *template,
                ControlSink kind,
                Feed **ret,
                Reason *reason) {
        _cleanup_(feed_free_cleanup) Feed *feed = NULL;

        int r = feed_make(launcher->event, template, &feed);
        r = r ?: consumer_spawn(launcher, &consumer_handlers, feed, &feed->consumer, reason);
        if (r != 0)
                return r;
        feed->entry = template->entry;
        r = feed_set_up(feed, kind, feed->trace);
        if (r < 0) {
                feed->entry = NULL;
                return r;
        }
        *ret = TAKE_PTR(feed);
        return 0;
}

int feed_new(const ConsumerLauncher *launcher,
                Worker *worker,
                Trace *trace,
                FeedPurpose purpose,
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
                .is_snapshot = purpose == FEED_SNAPSHOT,
        };

        return feed_begin(launcher, &template, kind, ret, reason);
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
        feed_set_timer(feed, 0);
        r = consumer_adopt(event, control_fd, &consumer_handlers, feed, &feed->consumer);
        if (r < 0)
                return r;
        feed_set_entry(feed, entry);
        feed_send(feed,
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
        return feed->entry;
}

int feed_get_fd(const Feed *feed) {
        return consumer_get_fd(feed->consumer);
}

pid_t feed_get_pid(const Feed *feed) {
        return consumer_get_pid(feed->consumer);
}

bool feed_is_reading(const Feed *feed) {
        return feed->has_rings && !feed->rings_in_flight && feed->consumer && !feed->is_given_up &&
               !feed->is_released && !feed->finish.type;
}

Feed *feed_free(Feed *feed) {
        if (!feed)
                return NULL;
        if (feed->finish.type) /* the daemon ends, the trace continues */
                consumer_release(feed->consumer);
        else
                consumer_free(feed->consumer);
        feed_leave_spool(feed); /* the daemon ends: the spool records why */
        sd_event_source_disable_unref(feed->timer);
        close_cleanup(&feed->client_fd);
        close_cleanup(&feed->kept_fd);
        close_cleanup(&feed->finish_names_fd);
        free(feed);
        return NULL;
}

Feed *feed_leave(Feed *feed) {
        feed_leave_spool(feed);
        consumer_release(TAKE_PTR(feed->consumer));
        return feed_free(feed);
}

/* Sends at most MEMBERS_MAX members, starting with `first`. */
static void feed_send_members(Feed *feed, const FeedMembers *members, size_t first) {
        size_t n = MIN_OF(members->n - first, (size_t)MEMBERS_MAX);
        ControlMessage message = {
                .type = CONTROL_MEMBERS,
                .version = CONTROL_VERSION,
                .members = { .n = (uint32_t)n,
                                .until_nsec = members->until_nsec,
                                .gap_nsec = members->gap_nsec,
                                .read_until_nsec = members->read_until_nsec },
        };

        _cleanup_close_ int fd = fd_memfd_sealed("members",
                        n > 0 ? members->members + first : NULL,
                        n * sizeof(ControlMember));
        if (fd < 0) { /* their records stay removed */
                log_errno(fd, LOG_ERR, NULL, "cannot send the members to a consumer");
                return;
        }
        feed_send(feed, &message, &fd, 1);
}

void feed_add_members(Feed *feed, const FeedMembers *members) {
        bool has_times = members->until_nsec > 0 || members->gap_nsec > 0 ||
                         members->read_until_nsec > 0;

        if (!feed->is_judged || (members->n == 0 && !has_times))
                return;
        for (size_t i = 0; i == 0 || i < members->n; i += MEMBERS_MAX)
                feed_send_members(feed, members, i);
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
        if (feed->consumer && !feed->is_given_up)
                consumer_kill(feed->consumer);
        feed_set_timer(feed, RELEASE_TIMEOUT_USEC);
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
                feed_send_flush(feed);
}

void feed_report_interference(Feed *feed, uint64_t n, uint64_t nsec) {
        feed->n_interferences = n;
        feed->interference_nsec = nsec;
}

void feed_finish(Feed *feed, int names_fd, const char *code, const char *text) {
        if (feed->finish.type)
                return;
        feed->finish.type = CONTROL_FINISH;
        feed->finish.version = CONTROL_VERSION;
        snprintf(feed->finish.finish.code, sizeof(feed->finish.finish.code), "%s", code);
        snprintf(feed->finish.finish.text, sizeof(feed->finish.finish.text), "%s", text);
        feed->finish.finish.interferences = feed->n_interferences;
        feed->finish.finish.interference_nsec = feed->interference_nsec;
        feed->finish_names_fd = names_fd >= 0 ? fcntl(names_fd, F_DUPFD_CLOEXEC, 3) : -1;
        feed_set_timer(feed, RELEASE_TIMEOUT_USEC);
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
