/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs `top`: a session with a stream, and a loop that counts its records, takes keys and draws.
 * Read top_run() first: it contains the steps in order. The event loop is that of watch.h. Each
 * refresh is one write. If the terminal does not accept it, the refresh is left out, and its
 * numbers are part of the next one: the stream is read on. Owns the session, the stream and the
 * terminal's state. */

#include "top/top-run.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "call/proxy-session.h"
#include "interfaces/spec-json.h"
#include "recording/watch.h"
#include "spec/caret.h"
#include "terminal/message.h"
#include "terminal/table.h"
#include "top/top-frame.h"
#include "top/top-keys.h"
#include "top/top-terminal.h"
#include "trace/live-trace.h"

#define READ_SIZE  ((size_t)64 * 1024)
#define READS_MAX  16 /* then other event sources run */
#define FLUSH_USEC UINT64_C(8000)
#define TIMER_USEC UINT64_C(1000)
/* Records of the last moments may still be on their way: live-trace.c, HOLD_NS. */
#define HOLD_NS UINT64_C(200000000)

typedef struct Top {
        const TopOptions *options;
        const Context *context;
        Proxy *proxy;
        Watch watch;
        json_object *spec; /* of the session */
        char *session;
        int stream_fd;
        LiveTrace *live;
        TopTable *table;
        bool is_mono;    /* the trace's clock is CLOCK_MONOTONIC */
        uint64_t newest; /* time of the newest record */

        TopTerminal terminal;
        TopChoice choice;
        TopKeys keys;
        TopNumbers numbers; /* of the last interval */
        uint64_t interval_usec, interval_nsec, taken_nsec;
        uint64_t past[TOP_PAST_MAX];
        size_t n_past, n_frames;
        TextBlock block;

        sd_event_source *stream, *input, *timer, *flush, *resize;
        bool is_over;
        int result;
        Reason reason;
} Top;

static uint64_t now_nsec(void) {
        struct timespec ts;

        (void)clock_gettime(CLOCK_MONOTONIC, &ts);
        return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void top_end(Top *top, int result) {
        top->is_over = true;
        top->result = top->result ?: result;
}

static int on_formats(Decode *decode, void *userdata, Reason *reason _unused_) {
        Top *top = userdata;

        top->is_mono = strcmp(decode->clock, "mono") == 0;
        return top_table_begin(top->table, decode);
}

static int on_record(const Record *record, void *userdata) {
        Top *top = userdata;

        top->newest = MAX_OF(top->newest, record->ts);
        return top_table_record(top->table, record);
}

static int on_loss(const Record *at, int64_t lost, void *userdata) {
        Top *top = userdata;

        return top_table_loss(top->table, at->cpu, lost);
}

static int on_late(uint32_t cpu, void *userdata) {
        Top *top = userdata;

        return top_table_loss(top->table, cpu, 0);
}

static const LiveReader top_reader = { .begin = on_formats,
        .record = on_record,
        .loss = on_loss,
        .late = on_late };

static int top_print_json(Top *top) {
        _cleanup_json_ json_object *object = top_view_to_json(&top->numbers, top->interval_nsec);

        if (!object)
                return -ENOMEM;
        table_print_json(top->context, object);
        return fflush(stdout) != 0 ? -errno : 0;
}

/* Draws the last numbers. */
static int top_draw(Top *top) {
        TopFrame frame = { .choice = &top->choice,
                .numbers = &top->numbers,
                .scope = top->options->scope,
                .interval_nsec = top->interval_nsec,
                .past = top->past,
                .n_past = top->n_past,
                .has_colour = top->options->has_colour,
                .is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
                .is_live = top->terminal.is_entered };

        if (top->context->json != JSON_OFF)
                return top_print_json(top);
        if (frame.is_live)
                top_terminal_get_size(&frame.width, &frame.height);
        top->block.used = 0;
        top_frame_add(&top->block, &frame);
        if (top->block.is_short_of_memory)
                return -ENOMEM;
        if (frame.is_live && !top_terminal_is_writable())
                return 0;
        return top_terminal_write(top->block.data, top->block.used);
}

/* Takes the numbers since the last refresh. */
static int top_take(Top *top) {
        uint64_t now = now_nsec();
        uint64_t until = top->is_mono && now > HOLD_NS ? now - HOLD_NS : top->newest;

        top_numbers_clear(&top->numbers);
        int r = top_table_take(top->table, until, &top->numbers);
        if (r < 0)
                return r;
        top->interval_nsec = MAX_OF(now - top->taken_nsec, UINT64_C(1));
        top->taken_nsec = now;
        if (top->n_past == TOP_PAST_MAX)
                memmove(top->past, top->past + 1, --top->n_past * sizeof(*top->past));
        top->past[top->n_past++] = (uint64_t)((double)top->numbers.n_events * 1e9 /
                                              (double)top->interval_nsec);
        return 0;
}

static void top_refresh(Top *top) {
        /* A terminal that is stopped (^S) gets the numbers later. */
        bool is_stuck = top->terminal.is_entered && !top_terminal_is_writable();
        int r = is_stuck ? 0 : top_take(top);

        if (r == 0 && !is_stuck)
                r = top_draw(top);
        if (r < 0)
                top_end(top, r);
        if (!is_stuck && ++top->n_frames == top->options->n_frames)
                top_end(top, 0);
        (void)sd_event_source_set_time_relative(top->timer, top->interval_usec);
        (void)sd_event_source_set_enabled(top->timer, SD_EVENT_ONESHOT);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        top_refresh(userdata);
        return 0;
}

static int on_quiet(sd_event_source *source, uint64_t usec, void *userdata) {
        Top *top = userdata;
        int r = live_trace_flush(top->live);

        if (r < 0)
                top_end(top, r);
        return 0;
}

/* The stream is at its end, although top has not ended the session. */
static int top_find_end(Top *top) {
        const Stream *stream = live_trace_get_stream(top->live);
        int r = live_trace_finish(top->live);

        if (r != 0 || (stream->is_ended && watch_is_good_end(stream->end_code)))
                return r;
        return reason_set(&top->reason,
                        KT_E_FAILED,
                        "the session ended early: %s",
                        stream->is_ended
                                        ? stream->end_reason
                                        : "its stream worker is gone, 'journalctl -u ktraced' shows why");
}

static int on_stream(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Top *top = userdata;
        uint8_t buffer[READ_SIZE];

        for (int i = 0; i < READS_MAX; i++) {
                ssize_t n = read(fd, buffer, sizeof(buffer));

                if (n < 0 && (errno == EAGAIN || errno == EINTR))
                        break;
                if (n <= 0) {
                        top->stream = sd_event_source_disable_unref(top->stream);
                        top_end(top, n < 0 ? -errno : top_find_end(top));
                        return 0;
                }
                int r = live_trace_feed(top->live, buffer, (size_t)n, &top->reason);
                if (r != 0) {
                        top_end(top, r);
                        return 0;
                }
        }
        (void)sd_event_source_set_time_relative(top->flush, FLUSH_USEC);
        (void)sd_event_source_set_enabled(top->flush, SD_EVENT_ONESHOT);
        return 0;
}

static int on_input(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Top *top = userdata;
        TopAction action = TOP_ACTION_NOTHING;
        unsigned char bytes[64];
        ssize_t n = read(fd, bytes, sizeof(bytes));

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n <= 0) { /* the terminal is gone */
                top_end(top, 0);
                return 0;
        }
        for (ssize_t i = 0; i < n; i++) {
                TopAction next = top_keys_take(&top->keys, bytes[i], top->numbers.has_scheduler);

                action = MAX_OF(action, next);
        }
        if (action == TOP_ACTION_QUIT)
                top_end(top, 0);
        else if (action == TOP_ACTION_REFRESH)
                top_refresh(top);
        else if (action == TOP_ACTION_DRAW && top_draw(top) < 0)
                top_end(top, -EIO);
        return 0;
}

static int on_resize(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata) {
        Top *top = userdata;
        int r = top_draw(top);

        if (r < 0)
                top_end(top, r);
        return 0;
}

static int top_create(Top *top, Reason *reason) {
        _cleanup_spec_ Spec *spec = NULL;
        int r = spec_options_build(&top->options->spec, 0, NULL, NULL, &spec, reason);

        r = r ?: spec_complete(spec, reason);
        r = r ?: spec_to_json(spec, &top->spec);
        r = r ?: proxy_create(top->proxy, top->spec, &top->session, reason);
        r = r ?: watch_set_session(&top->watch, top->session);
        r = r
                            ?: proxy_open_fd(top->proxy,
                                               top->session,
                                               "OpenStream",
                                               NULL,
                                               &top->stream_fd,
                                               reason);
        if (r == 0 && fcntl(top->stream_fd, F_SETFL, O_NONBLOCK) < 0)
                r = -errno;
        return r ?: proxy_order(top->proxy, top->session, "Start", NULL, reason);
}

static int top_add_timers(Top *top) {
        sd_event *event = top->watch.event;
        int r = sd_event_add_time_relative(event,
                        &top->timer,
                        CLOCK_MONOTONIC,
                        top->interval_usec,
                        TIMER_USEC,
                        on_timer,
                        top);

        if (r >= 0)
                r = sd_event_add_time_relative(event,
                                &top->flush,
                                CLOCK_MONOTONIC,
                                FLUSH_USEC,
                                TIMER_USEC,
                                on_quiet,
                                top);
        return r;
}

static int top_add_sources(Top *top) {
        sd_event *event = top->watch.event;
        int r = sd_event_add_io(event, &top->stream, top->stream_fd, EPOLLIN, on_stream, top);

        if (r >= 0)
                r = top_add_timers(top);
        if (r >= 0 && top->terminal.is_entered)
                r = sd_event_add_io(event, &top->input, STDIN_FILENO, EPOLLIN, on_input, top);
        if (r >= 0 && top->terminal.is_entered)
                r = sd_event_add_signal(event, &top->resize, SIGWINCH, on_resize, top);
        return MIN_OF(r, 0);
}

/* The event loop still runs while the session is destroyed. Nothing may be drawn then. */
static void top_drop_sources(Top *top) {
        top->stream = sd_event_source_disable_unref(top->stream);
        top->input = sd_event_source_disable_unref(top->input);
        top->timer = sd_event_source_disable_unref(top->timer);
        top->flush = sd_event_source_disable_unref(top->flush);
        top->resize = sd_event_source_disable_unref(top->resize);
}

static int top_show(Top *top) {
        int r = top->options->is_batch ? 0 : top_terminal_enter(&top->terminal);

        top->taken_nsec = now_nsec();
        r = r ?: top_add_sources(top);
        if (r == 0 && top->terminal.is_entered)
                r = top_draw(top);
        while (r == 0 && !top->is_over && top->watch.n_signals == 0 && !watch_is_cut(&top->watch))
                r = MIN_OF(watch_run(&top->watch, UINT64_MAX), 0);
        top_drop_sources(top);
        top_terminal_leave(&top->terminal);
        return r ?: top->result;
}

static int top_conduct(Top *top) {
        Reason *reason = &top->reason;
        int r = proxy_open(top->context->door, &top->proxy, reason);

        if (r != 0)
                return r;
        top->proxy->may_ask = top->context->ask_password;
        r = watch_init(&top->watch, top->proxy);
        if (r < 0)
                return r;
        r = top_create(top, reason);
        r = r ?: top_show(top);
        if (r == 0 && watch_is_cut(&top->watch))
                r = reason_set(reason,
                                KT_E_FAILED,
                                "the session ended early: %s",
                                top->watch.ended ? top->watch.end_reason
                                                 : "ktraced or the system bus is gone");
        if (top->session && !watch_is_cut(&top->watch)) {
                Reason ignored;

                watch_set_patience(&top->watch, top->watch.n_signals + 1);
                (void)proxy_order(top->proxy, top->session, "Destroy", NULL, &ignored);
        }
        return r;
}

static void top_done(Top *top) {
        top_drop_sources(top);
        if (top->stream_fd >= 0)
                close(top->stream_fd);
        watch_done(&top->watch);
        proxy_free(top->proxy);
        live_trace_free(top->live);
        top_table_free(top->table);
        top_numbers_clear(&top->numbers);
        text_block_clear(&top->block);
        free(top->session);
}

static int top_init(Top *top) {
        sigset_t mask;
        int r;

        for (TopViewId id = 0; id < _TOP_VIEW_N; id++)
                top->choice.sort[id] = top_view_get(id)->sort;
        top->choice.view = top->options->view;
        top->choice.sort[top->choice.view] = top->options->sort;
        top->keys = (TopKeys){ .choice = &top->choice, .interval_usec = &top->interval_usec };
        (void)sigemptyset(&mask);
        (void)sigaddset(&mask, SIGWINCH);
        r = watch_block_signals(NULL);
        if (r == 0 && sigprocmask(SIG_BLOCK, &mask, NULL) < 0)
                r = -errno;
        (void)signal(SIGPIPE, SIG_IGN);
        r = r ?: top_table_new(&top->table);
        return r ?: live_trace_new(&top_reader, top, false, &top->live);
}

int top_run(const TopOptions *options, const Context *context) {
        Top top = { .options = options,
                .context = context,
                .stream_fd = -1,
                .interval_usec = options->interval_usec };
        int r = top_init(&top);

        r = r ?: top_conduct(&top);
        top_done(&top);
        /* With -EPIPE, the reader of the output has seen enough. */
        int status = r == 0 || r == -EPIPE ? KT_EXIT_OK
                                           : caret_report_failure(top.spec,
                                                             options->spec.origins,
                                                             r,
                                                             &top.reason);
        json_object_put(top.spec);
        return status;
}
