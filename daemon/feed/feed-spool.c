/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The files of a recording on disk, between the spool and the consumer that writes them: it passes
 * files from the spool on, and reports of the consumer back. feed.c and the spool call it in the
 * event loop. It opens no file itself. */

#include "feed/feed-spool.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "spool/spool-end.h"
#include "spool/spool-record.h"

static void feed_spool_report_full(FeedSpool *spool) {
        if (spool->is_full && spool->wants_file)
                spool->handlers->on_news(FEED_SPOOL_FULL, spool->full_text, spool->userdata);
}

static void feed_spool_on_file(SpoolEntry *entry _unused_,
                SpoolFileNews news,
                unsigned number,
                int fd,
                const char *text,
                void *userdata) {
        FeedSpool *spool = userdata;

        switch (news) {
        case SPOOL_FILE:
                spool->wants_file = spool->has_no_room = false;
                spool->handlers->on_file(number, fd, spool->userdata);
                close(fd); /* a regular file without data: close cannot block */
                break;
        case SPOOL_FULL:
                spool->is_full = true;
                (void)snprintf(spool->full_text, sizeof(spool->full_text), "%s", text);
                spool->handlers->on_file(0, -1, spool->userdata);
                feed_spool_report_full(spool);
                break;
        case SPOOL_WAIT:
                spool->has_no_room = true;
                spool->handlers->on_news(FEED_SPOOL_WAITS, text, spool->userdata);
                break;
        }
}

void feed_spool_begin(FeedSpool *spool,
                SpoolEntry *entry,
                const FeedSpoolHandlers *handlers,
                void *userdata) {
        static const SpoolReceiver receiver = { feed_spool_on_file };

        *spool = (FeedSpool){ .entry = entry, .handlers = handlers, .userdata = userdata };
        if (entry)
                spool_start_files(entry, &receiver, spool);
}

void feed_spool_take_report(FeedSpool *spool, const ControlMessage *message) {
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

        if (!spool->entry)
                return;
        spool->wants_file = message->spooled.wants_next;
        spool_take_note(spool->entry, &note);
        if (error != 0 && error != spool->error)
                spool->handlers->on_news(FEED_SPOOL_WAITS, strerror(error), spool->userdata);
        spool->error = error;
        if (error != 0)
                spool_make_room(spool->entry);
        feed_spool_report_full(spool);
}

void feed_spool_finish(FeedSpool *spool) {
        if (spool->entry)
                spool_finish(spool->entry);
}

void feed_spool_end(FeedSpool *spool, const char *code, const char *text) {
        if (!spool->entry)
                return;
        spool_stop_files(spool->entry);
        spool_end(TAKE_PTR(spool->entry), code, text);
}

void feed_spool_await(FeedSpool *spool, int control_fd, const char *code, const char *text) {
        if (!spool->entry)
                return;
        spool_stop_files(spool->entry);
        spool_await(TAKE_PTR(spool->entry),
                        control_fd >= 0 ? fcntl(control_fd, F_DUPFD_CLOEXEC, 3) : -1,
                        code,
                        text);
}

void feed_spool_leave(FeedSpool *spool) {
        if (spool->entry)
                spool_stop_files(TAKE_PTR(spool->entry));
}
