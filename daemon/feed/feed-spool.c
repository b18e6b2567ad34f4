/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The additional parts of the feed of a recording on disk: it writes to files instead of a sink.
 * This file is a part of feed.h. feed.c and the spool call it in the event loop. It opens no file
 * itself. It passes files from the spool to the consumer, and reports from the consumer to the
 * spool. */

#include "feed/feed-spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "feed/feed-parts.h"
#include "feed/feed.h"
#include "spool/spool-end.h"
#include "spool/spool-record.h"

static void feed_spool_send_file(Feed *feed, unsigned number, int fd) {
        ControlMessage message = {
                .type = CONTROL_SPOOL_FILE,
                .version = CONTROL_VERSION,
                .spool_file = { .number = number },
        };

        feed_send(feed, &message, &fd, fd >= 0 ? 1 : 0);
}

static void end_when_full(Feed *feed) {
        if (feed->is_full && feed->wants_file && feed->handlers->on_spool)
                feed->handlers->on_spool(feed, FEED_SPOOL_FULL, feed->full_text, feed->userdata);
}

static void on_file(SpoolEntry *entry _unused_,
                SpoolFileNews news,
                unsigned number,
                int fd,
                const char *text,
                void *userdata) {
        Feed *feed = userdata;

        switch (news) {
        case SPOOL_FILE:
                feed->wants_file = false;
                feed_spool_send_file(feed, number, fd);
                close(fd); /* a regular file without data: close cannot block */
                break;
        case SPOOL_FULL:
                feed->is_full = true;
                (void)snprintf(feed->full_text, sizeof(feed->full_text), "%s", text);
                feed_spool_send_file(feed, 0, -1);
                end_when_full(feed);
                break;
        case SPOOL_WAIT:
                if (feed->handlers->on_spool)
                        feed->handlers->on_spool(feed, FEED_SPOOL_WAITS, text, feed->userdata);
                break;
        }
}

static const SpoolReceiver receiver = { on_file };

void feed_on_spooled(Feed *feed, const ControlMessage *message) {
        SpoolNote note = {
                .number = message->spooled.number,
                .bytes = message->spooled.bytes,
                .closed_bytes = message->spooled.closed_bytes,
                .lost = message->spooled.lost,
                .has_next = message->spooled.has_next,
                .is_answer = message->spooled.is_answer,
                .is_stuck = message->spooled.error != 0,
        };
        int error = message->spooled.error;

        if (!feed->entry)
                return;
        feed->wants_file = message->spooled.wants_next;
        spool_take_note(feed->entry, &note);
        if (error != 0 && error != feed->spool_error && feed->handlers->on_spool)
                feed->handlers->on_spool(feed, FEED_SPOOL_WAITS, strerror(error), feed->userdata);
        feed->spool_error = error;
        if (error != 0)
                spool_make_room(feed->entry);
        end_when_full(feed);
}

void feed_end_spool(Feed *feed) {
        bool has_failed = feed->error != 0 || !feed->finish.type;

        if (!feed->entry)
                return;
        spool_stop_files(feed->entry);
        spool_end(TAKE_PTR(feed->entry),
                        has_failed ? "failed" : feed->finish.finish.code,
                        feed->error != 0 ? feed->text
                        : has_failed     ? "the stream worker ended without warning"
                                         : feed->finish.finish.text);
}

void feed_set_entry(Feed *feed, SpoolEntry *entry) {
        feed->entry = entry;
        if (entry)
                spool_start_files(entry, &receiver, feed);
}

void feed_leave_spool(Feed *feed) {
        if (feed->entry)
                spool_stop_files(TAKE_PTR(feed->entry));
}

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
                .entry = entry,
        };

        int r = feed_begin(launcher, &template, CONTROL_SINK_SPOOL, ret, reason);
        if (r == 0)
                feed_set_entry(*ret, entry);
        else
                spool_end(entry, "failed", r > 0 ? reason->text : strerror(-r));
        return r;
}
