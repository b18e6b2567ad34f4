/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The near side of -H: sends the command line to a host, and carries input, signals, output and the
 * stream until the exit status comes. The verbs that write an output call near_run() with it; for
 * all other verbs main calls it. near-link.c is the connection.
 *
 * Standard input goes only to a command and to verbs that read it: a loop of a script with
 * `ktracectl -H` must not lose its input. It is read after the hello of the far side, because until
 * then ssh may read a password from the same terminal. A signal is passed to the far side, which
 * ends the recording as a local one ends; a further one ends this process, and with it the
 * connection.
 *
 * The host may be hostile. All that waits here is limited: the connection is held while an output
 * has no room. Text for a terminal loses its control characters,
 * except that of a command, which passes as ssh passes it. Nothing that the host sends names a
 * file.
 *
 * The clocks of both sides are compared while a file is recorded: at the start, every 30 s, and at
 * the end of the stream. Clocks that cannot be compared do not end the recording.
 *
 * Owns the link, the loop, the series and the outlets of its texts. */

#include "remote/near.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "recording/watch.h"
#include "remote/clock-question.h"
#include "remote/near-link.h"
#include "remote/near-series.h"
#include "terminal/message.h"

#define NEAR_TICK_USEC  ((uint64_t)250 * 1000)
#define NEAR_BURST_USEC ((uint64_t)300 * 1000) /* as in watch.c */

/* Text of the host that a descriptor of this process shows. */
typedef struct NearText {
        Outlet *outlet; /* may be shared: a loop watches each descriptor once */
        bool is_clean;  /* without control characters */
        bool is_open;   /* the first byte of a character of two bytes was the last one */
} NearText;

typedef struct Near {
        const NearOptions *options;
        const char *host;
        sd_event *event;
        sigset_t mask;
        NearLink *link;
        NearSeries *series; /* NULL: the verb has no output */
        NearText output, errors;
        NearText notices; /* of ssh, on standard error, with the outlet of errors */
        ClockQuestion clocks;
        int64_t compared_at;  /* when the last comparison began; 0: none yet */
        bool compares_clocks; /* they are compared, and the far side waits for the last time */
        bool has_stream_end, has_left;
        sd_event_source *signals[3], *asking, *input, *timer;
        bool is_input_asked; /* the far side runs, so its login has read the terminal */
        size_t input_window;
        unsigned n_signals;
        uint64_t signal_usec;
        bool has_ended;    /* its output, so the recording is ended */
        bool has_given_up; /* by signals: the host is not awaited */
        bool must_leave;   /* by one more: nor is a reader of the output */
        int status;
        int write_error; /* of standard output, which takes no more text */
} Near;

static void near_advance(Near *near);

static uint64_t near_now(const Near *near) {
        uint64_t now = 0;

        (void)sd_event_now(near->event, CLOCK_MONOTONIC, &now);
        return now;
}

static void near_done(Near *near) {
        for (size_t i = 0; i < ELEMENTSOF(near->signals); i++)
                sd_event_source_disable_unref(near->signals[i]);
        sd_event_source_disable_unref(near->asking);
        sd_event_source_disable_unref(near->input);
        sd_event_source_disable_unref(near->timer);
        near_series_free(near->series);
        near_link_free(near->link);
        outlet_free(near->output.outlet);
        outlet_free(near->errors.outlet);
        sd_event_unref(near->event);
}

/* The exit status of a failure that is not the verb's. */
static int near_get_failure(const Near *near) {
        return near->options->has_command ? KT_EXIT_RECORDING : KT_EXIT_FAILED;
}

static void near_put_text(Near *near, NearText *text, const uint8_t *data, size_t size) {
        uint8_t *room = outlet_reserve(text->outlet, size);

        if (!room) {
                near_link_refuse(near->link, strerror(ENOMEM));
                return;
        }
        memcpy(room, data, size);
        if (text->is_clean)
                message_clean_lines((char *)room, size, &text->is_open);
        outlet_commit(text->outlet, size);
}

static bool near_is_full(const Near *near) {
        return outlet_get_size(near->output.outlet) >= OUTLET_FULL ||
               outlet_get_size(near->errors.outlet) >= OUTLET_FULL ||
               near_series_is_full(near->series);
}

static bool near_is_flushed(const Near *near) {
        return outlet_get_size(near->output.outlet) == 0 &&
               outlet_get_size(near->errors.outlet) == 0 && near_series_is_flushed(near->series);
}

/* Without a command, a recording ends with its output: the reader has gone, or the disk is full. A
 * flight recorder may take more snapshots. */
static void near_end_stream(Near *near) {
        static const uint8_t number = SIGINT;

        if (!near_series_is_done(near->series) || near->options->has_command ||
                        near->options->is_flight || near->has_ended ||
                        near_link_has_exit(near->link) || near_link_is_broken(near->link))
                return;
        near->has_ended = true;
        (void)near_link_send(near->link, PACKET_SIGNAL, &number, 1);
}

/* Standard output takes no more text. A command gets SIGPIPE there at its next write, and the
 * recording goes on, as it does here. */
static void near_end_output(Near *near) {
        static const uint8_t number = SIGPIPE;

        if (!near->options->output && !near->options->has_command)
                (void)sd_event_exit(near->event, 0);
        else if (!near_link_has_exit(near->link) && !near_link_is_broken(near->link))
                (void)near_link_send(near->link, PACKET_SIGNAL, &number, 1);
}

static int near_on_input(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Near *near = userdata;
        struct pollfd pollfd = { .fd = STDIN_FILENO, .events = POLLIN };
        ssize_t n;

        /* Another process may have read a shared descriptor since the loop looked. */
        if (poll(&pollfd, 1, 0) == 0)
                return 0;
        n = near_link_send_from(near->link, PACKET_INPUT, STDIN_FILENO, near->input_window);
        if (n == -EAGAIN || n == -EINTR)
                return 0;
        if (n > 0) {
                near->input_window -= (size_t)n;
        } else {
                (void)near_link_send(near->link, PACKET_INPUT, NULL, 0);
                near->input = sd_event_source_disable_unref(near->input);
        }
        near_advance(near);
        return 0;
}

static int near_on_input_turn(sd_event_source *source, void *userdata) {
        return near_on_input(source, STDIN_FILENO, 0, userdata);
}

static int near_open_input(Near *near) {
        int r;

        near->input_window = PACKET_INPUT_WINDOW;
        if (!near->options->has_command && !near->options->reads_input)
                return near_link_send(near->link, PACKET_INPUT, NULL, 0);
        r = sd_event_add_io(near->event, &near->input, STDIN_FILENO, EPOLLIN, near_on_input, near);
        if (r != -EPERM)
                return r;
        return sd_event_add_defer(near->event, &near->input, near_on_input_turn, near);
}

static void near_start_input(Near *near) {
        if (near->is_input_asked || !near_link_has_hello(near->link) ||
                        near_link_is_broken(near->link))
                return;
        near->is_input_asked = true;
        int r = near_open_input(near);
        if (r < 0)
                near_link_refuse(near->link, strerror(-r));
}

/* Clocks that make no sense are not compared again, and what was learnt from them is dropped. */
static void near_end_comparison(Near *near, ClockAnswer answer) {
        if (answer == CLOCK_ANSWER_BAD) {
                near->clocks.track.n = 0;
                near->compares_clocks = false;
        }
        bool waits = near->timer && near_link_can_wait(near->link) && !near->has_left;
        if (answer == CLOCK_ANSWER_MORE || !near->has_stream_end || !waits)
                return;
        near->has_left = true;
        (void)near_link_send(near->link, PACKET_LEAVE, NULL, 0);
}

static void near_take_clock(Near *near, const Packet *packet) {
        const char *ignored;

        near_end_comparison(near, clock_question_take(&near->clocks, packet, &ignored));
}

static void near_compare_clocks(Near *near) {
        if (near->compares_clocks && near_link_has_hello(near->link)) {
                near->compared_at = clock_question_now();
                clock_question_start(&near->clocks);
        }
}

static int near_on_tick(sd_event_source *source, uint64_t usec, void *userdata) {
        Near *near = userdata;
        const char *ignored;

        if (!near_link_is_broken(near->link) && !near_link_has_exit(near->link))
                near_end_comparison(near, clock_question_tick(&near->clocks, &ignored));
        if (!near->has_stream_end &&
                        (near->compared_at == 0 || clock_question_now() - near->compared_at >
                                                                   CLOCK_QUESTION_PERIOD_NSEC))
                near_compare_clocks(near);
        (void)sd_event_source_set_time_relative(source, NEAR_TICK_USEC);
        return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static void near_take_stream_end(Near *near, const Packet *packet) {
        near->has_stream_end = true;
        near_series_end(near->series, packet->data[0] != 0);
        if (!near->series)
                return;
        near_compare_clocks(near);
        if (!clock_question_is_running(&near->clocks))
                near_end_comparison(near, CLOCK_ANSWER_END);
}

/* Decides after each event what is read next, and when all is done. */
static void near_advance(Near *near) {
        bool is_over = near_link_has_exit(near->link) || near->has_given_up ||
                       near_link_is_over(near->link);

        if (near_link_is_broken(near->link)) {
                near->input = sd_event_source_disable_unref(near->input);
                near_series_close(near->series);
        }
        near_series_advance(near->series, near->link);
        near_start_input(near);
        if (near->compared_at == 0)
                near_compare_clocks(near);
        near_end_stream(near);
        near_link_hold(near->link, near_is_full(near));
        if (near->input)
                (void)sd_event_source_set_enabled(near->input,
                                near->input_window > 0 && !near_link_is_full(near->link)
                                                ? SD_EVENT_ON
                                                : SD_EVENT_OFF);
        if ((is_over && near_is_flushed(near)) || near->must_leave)
                (void)sd_event_exit(near->event, 0);
}

static void near_on_change(void *userdata) {
        near_advance(userdata);
}

static void near_on_text_written(Outlet *outlet, int error, void *userdata) {
        Near *near = userdata;

        if (error != 0 && outlet == near->output.outlet) {
                near->write_error = error;
                near_end_output(near);
        }
        near_advance(near);
}

static void near_take_input_taken(Near *near, const Packet *packet) {
        uint32_t n = packet_get_u32(packet);

        if (n > PACKET_INPUT_WINDOW - near->input_window)
                near_link_refuse(near->link, "it reports more standard input than it got");
        else
                near->input_window += n;
}

static void near_take_exit(Near *near, const Packet *packet) {
        near->status = packet->data[0];
        near_series_close(near->series);
        near->input = sd_event_source_disable_unref(near->input);
}

static void near_on_packet(NearLink *link, const Packet *packet, void *userdata) {
        Near *near = userdata;

        switch (packet->type) {
        case PACKET_OUTPUT:
                near_put_text(near, &near->output, packet->data, packet->size);
                break;
        case PACKET_ERRORS:
                near_put_text(near, &near->errors, packet->data, packet->size);
                break;
        case PACKET_STREAM:
                near_series_put(near->series, link, packet);
                break;
        case PACKET_STREAM_END:
                near_take_stream_end(near, packet);
                break;
        case PACKET_STREAM_NEXT:
                near_series_divide(near->series, link, packet->data[0] != 0);
                break;
        case PACKET_CLOCK_TIMES:
                near_take_clock(near, packet);
                break;
        case PACKET_INPUT_TAKEN:
                near_take_input_taken(near, packet);
                break;
        case PACKET_EXIT:
                near_take_exit(near, packet);
                break;
        default: /* the reader refuses what a far side does not send */
                break;
        }
}

static void near_on_notice(NearLink *link, const uint8_t *data, size_t size, void *userdata) {
        Near *near = userdata;

        near_put_text(near, &near->notices, data, size);
}

static void near_on_link_change(NearLink *link, void *userdata) {
        near_advance(userdata);
}

/* Before the far side has answered there is no recording to end. */
static int near_on_signal(sd_event_source *source,
                const struct signalfd_siginfo *si,
                void *userdata) {
        Near *near = userdata;
        uint8_t number = (uint8_t)si->ssi_signo;
        unsigned patience = near->options->has_command ? 3 : 2;

        if (near->n_signals == 0 || near_now(near) - near->signal_usec > NEAR_BURST_USEC)
                near->n_signals++;
        near->signal_usec = near_now(near);
        near->must_leave = near->has_given_up;
        near->has_given_up = !near_link_has_hello(near->link) || near_link_is_broken(near->link) ||
                             near->n_signals >= patience;
        if (!near->has_given_up && !near_link_has_exit(near->link))
                (void)near_link_send(near->link, PACKET_SIGNAL, &number, 1);
        if (near->has_given_up)
                near_series_close(near->series);
        near_advance(near);
        return 0;
}

/* The far side keeps the request until the recording can answer it. */
static int near_on_asking(sd_event_source *source,
                const struct signalfd_siginfo *si,
                void *userdata) {
        static const uint8_t number = SIGUSR1;
        Near *near = userdata;

        near_series_ask(near->series);
        if (!near_link_has_exit(near->link) && !near_link_is_broken(near->link))
                (void)near_link_send(near->link, PACKET_SIGNAL, &number, 1);
        return 0;
}

static uint32_t near_get_columns(void) {
        const char *columns = getenv("COLUMNS");
        struct winsize size;
        int n = columns ? atoi(columns) : 0;

        if (n <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
                n = size.ws_col;
        return n > 0 ? MIN_OF((uint32_t)n, (uint32_t)HELLO_COLUMNS_MAX) : 0;
}

static int near_send_command(Near *near, Reason *reason) {
        const Context *context = near->options->context;
        bool is_flight = near->options->is_flight;
        Hello hello = hello_make(is_flight ? HELLO_SERIES : context->verb->far_protocol);
        int r;

        hello.wants_stream = near->options->output;
        hello.wants_series = is_flight;
        hello.is_terminal = isatty(STDOUT_FILENO);
        hello.compares = near->compares_clocks;
        hello.columns = near_get_columns();
        r = near_link_send_hello(near->link, &hello);
        return r < 0 ? r
                     : near_link_send_words(near->link, context->n_words, context->words, reason);
}

static int near_open_text(Near *near, int fd, bool is_clean, NearText *text) {
        static const OutletHandlers handlers = { .on_empty = near_on_text_written };

        bool is_paged = fd == STDOUT_FILENO && near->options->context->is_paged;

        text->is_clean = is_clean && (isatty(fd) || is_paged);
        return outlet_new(near->event, fd, false, &handlers, near, &text->outlet);
}

static int near_open_loop(Near *near) {
        static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
        bool is_clean = !near->options->has_command;
        int r = sd_event_new(&near->event);

        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(signals); i++)
                r = sd_event_add_signal(
                                near->event, &near->signals[i], signals[i], near_on_signal, near);
        if (r >= 0 && near->options->has_signal)
                r = sd_event_add_signal(near->event, &near->asking, SIGUSR1, near_on_asking, near);
        if (r >= 0)
                r = near_open_text(near, STDOUT_FILENO, is_clean, &near->output);
        if (r >= 0)
                r = near_open_text(near, STDERR_FILENO, is_clean, &near->errors);
        near->notices = (NearText){ near->errors.outlet, .is_clean = isatty(STDERR_FILENO) };
        return r;
}

static int near_open_clocks(Near *near) {
        int r = sd_event_add_time_relative(near->event,
                        &near->timer,
                        CLOCK_MONOTONIC,
                        NEAR_TICK_USEC,
                        NEAR_TICK_USEC,
                        near_on_tick,
                        near);
        return r < 0 ? r : 0;
}

/* It stays blocked: one that comes late must not end this process. */
static int near_block_asking(const NearOptions *options) {
        sigset_t mask;

        if (!options->has_signal)
                return 0;
        (void)sigemptyset(&mask);
        (void)sigaddset(&mask, SIGUSR1);
        return sigprocmask(SIG_BLOCK, &mask, NULL) < 0 ? -errno : 0;
}

static int near_open(Near *near, const Host *host, Reason *reason) {
        static const NearLinkHandlers handlers = {
                near_on_packet, near_on_notice, near_on_link_change
        };
        const NearOptions *options = near->options;
        int r = watch_block_signals(&near->mask);

        r = r < 0 ? r : near_block_asking(options);

        near->compares_clocks = options->compares_clocks && options->output &&
                                output_get_sink_fd(options->output) >= 0;
        /* Writers get EPIPE and EFBIG. */
        (void)signal(SIGPIPE, SIG_IGN);
        (void)signal(SIGXFSZ, SIG_IGN);
        r = r < 0 ? r : near_open_loop(near);
        if (r >= 0 && options->output)
                r = near_series_new(near->event,
                                options,
                                options->compares_clocks ? &near->clocks : NULL,
                                near_on_change,
                                near,
                                &near->series,
                                reason);
        if (r >= 0)
                r = r
                                    ?: near_link_new(near->event,
                                                       host,
                                                       &near->mask,
                                                       &handlers,
                                                       near,
                                                       &near->link,
                                                       reason);
        near->clocks.link = near->link;
        if (r == 0 && near->compares_clocks)
                r = near_open_clocks(near);
        if (r == 0)
                r = near_send_command(near, reason);
        return r;
}

int near_join_status(bool has_command, int status, int written) {
        if (written == KT_EXIT_OK)
                return status;
        if (has_command)
                return written == KT_EXIT_LOST ? status : KT_EXIT_RECORDING;
        return status == KT_EXIT_OK || status == KT_EXIT_LOST ? written : status;
}

/* Returns the exit status of the outputs alone. */
static int near_finish_series(Near *near) {
        bool may_lack_end = near->options->may_lack_end || near->has_given_up ||
                            near_link_is_broken(near->link);
        int written = near_series_finish(near->series, may_lack_end);

        /* The verb there may say that all is well, but no recording is here. */
        if (written != KT_EXIT_OK || !near_link_has_exit(near->link) ||
                        near->status != KT_EXIT_OK || near->options->may_lack_stream ||
                        !near_series_lacks_last(near->series))
                return written;
        message_print("%s: expected a recording, got none", near->host);
        return KT_EXIT_FAILED;
}

static int near_finish(Near *near) {
        int status = near_link_has_exit(near->link) ? near->status : near_get_failure(near);

        /* A stuck terminal may take no message: then the next signal ends this process. */
        if (near->must_leave)
                (void)sigprocmask(SIG_SETMASK, &near->mask, NULL);
        if (near->write_error != 0 && near->write_error != EPIPE) {
                message_print("cannot write to standard output: %s", strerror(near->write_error));
                status = near_get_failure(near);
        } else if (near->write_error != 0 && !near->options->output &&
                        !near->options->has_command) {
                return 128 + SIGPIPE;
        }
        if (near->has_given_up && !near_link_has_exit(near->link)) {
                message_print("%s: interrupted; the session ends with this process", near->host);
                status = 128 + SIGINT;
        } else if (near_link_is_broken(near->link)) {
                message_print("%s: %s", near->host, near_link_explain(near->link));
        }
        return near_join_status(near->options->has_command, status, near_finish_series(near));
}

static int near_conduct(const NearOptions *options, const Host *host) {
        Near near = { .options = options, .host = host->target };
        Reason reason = {};
        int status, r = near_open(&near, host, &reason);

        if (r == 0) {
                near_advance(&near);
                r = sd_event_loop(near.event);
        }
        if (r >= 0 && reason.text[0] == '\0') {
                status = near_finish(&near);
        } else {
                if (options->output && !near_series_has_kept(near.series))
                        output_discard(options->output);
                status = message_fail(r, &reason);
        }
        near_done(&near);
        return status;
}

int near_run(const NearOptions *options) {
        Host host = {};
        Reason reason = {};
        int r = host_parse(options->context->host, &host, &reason);

        if (r == KT_E_INVALID_SPEC)
                return message_show_usage(options->context, "%s", reason.text);
        if (r != 0)
                return message_fail(r, &reason);
        int status = near_conduct(options, &host);
        host_done(&host);
        return status;
}
