/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The additional parts of a snapshot's feed: the window that one snapshot passes to the next, and,
 * for a judged trace, which tasks were members in the records that were read. This file is a part
 * of feed.h. feed.c calls it in the event loop; a plan on the worker looks up the members.
 *
 * The consumer reads a judged snapshot completely before the members are looked up. A task that
 * still exists, also as a zombie, with the start time that it had when it was found fit was the
 * same task all the time. Births count from the time at which the last ring begins: from there on,
 * no ring misses an exit. Records of tasks that were born earlier, or that were found fit and have
 * ended, are removed and counted (`foreign`), because the pid may have belonged to another task. */

#include "feed/feed-window.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "feed/feed-parts.h"
#include "feed/feed.h"
#include "trace/trace-rings.h"

/* A window also contains whole sub-buffers and batch headers for each CPU, and the pids once. */
#define WINDOW_SLACK ((uint64_t)16 * 1024 * 1024)

/* Another process gets this window. The window must not exceed its maximum size, and the seals
 * prevent later changes. */
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

/* The next snapshot reports the records of this snapshot again. A failed snapshot has consumed
 * records and these are lost; the next snapshot then begins after them. */
void feed_end_turn(Feed *feed, bool is_whole) {
        if (!feed->is_snapshot || !feed->has_rings || !feed->trace)
                return;
        feed->trace->is_taken = false;
        feed->trace->is_dirty = !is_whole;
        close_cleanup(&feed->trace->window_fd);
        if (is_whole && is_sound_window(feed))
                feed->trace->window_fd = TAKE_FD(feed->kept_fd);
}

/* Errors are not returned here: without a window the consumer takes no rings, so the next step
 * fails. */
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
        /* If the plan failed, no task is a member, and all records are removed. */
        if (result == 0) {
                feed_add_proven(feed);
                trace_end_proof(trace);
        }
        feed_finish(feed, trace->taken_names_fd, "snapshot", "");
}

/* The consumer now holds the complete judged snapshot in memory. Now look up its members. */
void feed_prove(Feed *feed) {
        if (!feed->is_snapshot || !feed->is_judged || !feed->trace || feed->rings_in_flight ||
                        feed->finish.type || feed->is_released)
                return;
        if (trace_begin_proof(feed->trace) < 0)
                feed->trace->n_proven = 0;
        trace_plan_proven(feed->trace, &feed->rings);
        feed->rings.done = feed_on_proven;
        feed->rings.userdata = feed;
        feed->rings_in_flight = true;
        worker_submit(feed->worker, &feed->rings);
}
