/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the feed of a snapshot has more than a stream's: the window that goes from one snapshot to
 * the next, and, of a judged trace, who was a member in what was read. A part of feed.h, called by
 * feed.c in the event loop; looking up the members is a plan.
 *
 * A judged snapshot is read whole first, and only then it is looked up who is a member: a task that
 * is there with the start time with which it was found fit, also as a zombie, was the same all the
 * time. Births count from where the youngest of the rings begins, since no exit behind them is
 * missing. Who was born before that, or found fit and has ended, is cut and counted (`foreign`):
 * its number may have been another's. */

#include "feed/feed-window.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "feed/feed-parts.h"
#include "feed/feed.h"
#include "trace/trace-rings.h"

/* Of a window, for each CPU and once: whole sub-buffers, headers of batches, the pids. */
#define WINDOW_SLACK ((uint64_t)16 * 1024 * 1024)

/* It is for another process: no longer than what it may hold, and nobody changes it any more. */
static bool is_sound_window(const Feed *feed) {
        const Spec *spec = feed->trace->spec;
        uint64_t most = (spec->buffer_kb * 1024 + WINDOW_SLACK) * feed->trace->n_cpus +
                        WINDOW_SLACK;
        struct stat status;

        return fcntl(feed->kept_fd,
                               F_ADD_SEALS,
                               F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0 &&
               fstat(feed->kept_fd, &status) == 0 && (uint64_t)status.st_size <= most;
}

/* What a snapshot has told is the next one's to tell again. One that failed has taken something out
 * that nobody has: then the next one begins behind it. */
void feed_end_turn(Feed *feed, bool is_whole) {
        if (!feed->is_snapshot || !feed->has_rings || !feed->trace)
                return;
        feed->trace->is_taken = false;
        feed->trace->is_dirty = !is_whole;
        close_cleanup(&feed->trace->window_fd);
        if (is_whole && is_sound_window(feed))
                feed->trace->window_fd = TAKE_FD(feed->kept_fd);
}

/* Fails as what follows does: without it the consumer takes no rings. */
void feed_send_window(Feed *feed) {
        _cleanup_close_ int none = memfd_create("ktrace-window", MFD_CLOEXEC);
        int earlier = feed->trace->window_fd;

        feed->kept_fd = memfd_create("ktrace-window", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (none < 0 || feed->kept_fd < 0)
                return;
        feed_send(feed,
                        &(ControlMessage){ .type = CONTROL_WINDOW, .version = CONTROL_VERSION },
                        (int[]){ earlier >= 0 ? earlier : none, feed->kept_fd },
                        2);
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
        if (!feed->consumer) {
                feed_closed(feed);
                return;
        }
        if (feed->is_given_up) {
                feed_settle(feed);
                return;
        }
        /* Else nobody is: all is cut. */
        if (result == 0) {
                feed_add_proven(feed);
                trace_end_proof(trace);
        }
        feed_finish(feed, trace->taken_names_fd, "snapshot", "");
}

/* All of a judged snapshot is in the consumer's memory: whose it is is looked up now. */
void feed_prove(Feed *feed) {
        if (!feed->is_snapshot || !feed->is_judged || !feed->trace || feed->rings_in_flight ||
                        feed->finish.type)
                return;
        if (trace_begin_proof(feed->trace) < 0)
                feed->trace->n_proven = 0;
        trace_plan_proven(feed->trace, &feed->rings);
        feed->rings.done = feed_on_proven;
        feed->rings.userdata = feed;
        feed->rings_in_flight = true;
        worker_submit(feed->worker, &feed->rings);
}
