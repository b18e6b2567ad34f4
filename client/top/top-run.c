/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs `top` on this machine: a session with a stream, and a loop that counts its records and
 * refreshes the screen (top-screen.h). Read top_run() first: it contains the steps in order. The
 * event loop is that of watch.h. A refresh that the terminal does not accept is left out, and its
 * numbers are part of the next one. The stream is read all the time.
 *
 * On the far side of -H, for a screen on the near side, each refresh is an object of JSON, the
 * first one at once. A line of standard input is a new interval in microseconds, which also asks
 * for a refresh now. Owns the session and the stream. */

#include "top/top-run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "call/proxy-session.h"
#include "interfaces/spec-json.h"
#include "recording/watch.h"
#include "spec/caret.h"
#include "terminal/message.h"
#include "top/top-screen.h"
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

        TopScreen screen;
        uint64_t taken_nsec;
        size_t n_frames;
        char order[32]; /* a line of the near side of -H that is not complete */
        size_t n_order;

        sd_event_source *stream, *orders, *timer, *flush;
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

/* Takes the numbers since the last refresh. */
static int top_take(Top *top) {
        TopScreen *screen = &top->screen;
        uint64_t now = now_nsec();
        uint64_t until = top->is_mono && now > HOLD_NS ? now - HOLD_NS : top->newest;

        top_numbers_clear(&screen->numbers);
        int r = top_table_take(top->table, until, &screen->numbers);
        if (r < 0)
                return r;
        screen->interval_nsec = MAX_OF(now - top->taken_nsec, UINT64_C(1));
        top->taken_nsec = now;
        top_screen_note(screen);
        return 0;
}

static void top_refresh(Top *top) {
        /* A terminal that is stopped (^S) gets the numbers later. */
        bool is_stuck = top_screen_is_stuck(&top->screen);
        int r = is_stuck ? 0 : top_take(top);

        if (r == 0 && !is_stuck)
                r = top_screen_draw(&top->screen);
        if (r < 0)
                top_end(top, r);
        if (!is_stuck && ++top->n_frames == top->options->n_frames)
                top_end(top, 0);
        (void)sd_event_source_set_time_relative(top->timer, top->screen.interval_usec);
        (void)sd_event_source_set_enabled(top->timer, SD_EVENT_ONESHOT);
}

static void top_on_refresh(void *userdata) {
        top_refresh(userdata);
}

static void top_on_end(void *userdata, int result) {
        top_end(userdata, result);
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

static void top_take_order(Top *top) {
        char *end;
        uint64_t usec = strtoull(top->order, &end, 10);

        if (*end != '\0' || usec < TOP_INTERVAL_MIN_USEC || usec > TOP_INTERVAL_MAX_USEC)
                return;
        top->screen.interval_usec = usec;
        top_refresh(top);
}

/* Bytes beyond the longest line are dropped. */
static int on_orders(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Top *top = userdata;
        char bytes[64];
        ssize_t n = read(fd, bytes, sizeof(bytes));

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n <= 0)
                top->orders = sd_event_source_disable_unref(top->orders);
        for (ssize_t i = 0; i < n; i++) {
                if (bytes[i] == '\n') {
                        top->order[top->n_order] = '\0';
                        top->n_order = 0;
                        top_take_order(top);
                } else if (top->n_order + 1 < sizeof(top->order)) {
                        top->order[top->n_order++] = bytes[i];
                }
        }
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
                        top->screen.interval_usec,
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

/* Whether the screen is on the near side of -H. */
static bool top_draws_there(const Top *top) {
        return top->context->far && top->context->far->draws;
}

static int top_add_sources(Top *top) {
        sd_event *event = top->watch.event;
        int r = sd_event_add_io(event, &top->stream, top->stream_fd, EPOLLIN, on_stream, top);

        if (r >= 0)
                r = top_add_timers(top);
        if (r >= 0 && top_draws_there(top))
                r = sd_event_add_io(event, &top->orders, STDIN_FILENO, EPOLLIN, on_orders, top);
        return MIN_OF(r, 0);
}

/* The event loop still runs while the session is destroyed. Nothing may be drawn then. */
static void top_drop_sources(Top *top) {
        top->stream = sd_event_source_disable_unref(top->stream);
        top->orders = sd_event_source_disable_unref(top->orders);
        top->timer = sd_event_source_disable_unref(top->timer);
        top->flush = sd_event_source_disable_unref(top->flush);
}

static int top_show(Top *top) {
        int r = top_screen_enter(&top->screen, top->watch.event);

        top->taken_nsec = now_nsec();
        r = r ?: top_add_sources(top);
        if (r == 0 && top_draws_there(top))
                r = top_screen_draw(&top->screen);
        while (r == 0 && !top->is_over && top->watch.n_signals == 0 && !watch_is_cut(&top->watch))
                r = MIN_OF(watch_run(&top->watch, UINT64_MAX), 0);
        top_drop_sources(top);
        top_screen_leave(&top->screen);
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
        top_screen_done(&top->screen);
        free(top->session);
}

static int top_init(Top *top) {
        static const TopScreenHandlers handlers = { top_on_refresh, top_on_end };
        int r = top_screen_init(&top->screen, top->options, top->context, &handlers, top);

        r = r ?: watch_block_signals(NULL);
        r = r ?: top_table_new(&top->table);
        return r ?: live_trace_new(&top_reader, top, false, &top->live);
}

int top_run(const TopOptions *options, const Context *context) {
        Top top = { .options = options, .context = context, .stream_fd = -1 };
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
