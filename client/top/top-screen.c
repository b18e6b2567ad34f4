/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The screen of top: keys, the size of the terminal, and one write for each refresh. Called by
 * top-run.c for a session here, and by top-near.c for one on another machine; both put numbers into
 * it. A refresh is left out while the terminal does not accept it. Owns the numbers that are shown
 * and the terminal's state. */

#include "top/top-screen.h"

#include <errno.h>
#include <langinfo.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "terminal/table.h"

#define PAST_RATE_MAX 1e18

int top_screen_init(TopScreen *screen,
                const TopOptions *options,
                const Context *context,
                const TopScreenHandlers *handlers,
                void *userdata) {
        sigset_t mask;

        *screen = (TopScreen){ .options = options,
                .context = context,
                .scope = options->scope,
                .handlers = *handlers,
                .userdata = userdata,
                .interval_usec = options->interval_usec };
        for (TopViewId id = 0; id < _TOP_VIEW_N; id++)
                screen->choice.sort[id] = top_view_get(id)->sort;
        screen->choice.view = options->view;
        screen->choice.sort[options->view] = options->sort;
        screen->keys = (TopKeys){ .choice = &screen->choice,
                .interval_usec = &screen->interval_usec };
        (void)signal(SIGPIPE, SIG_IGN);
        (void)sigemptyset(&mask);
        (void)sigaddset(&mask, SIGWINCH);
        return sigprocmask(SIG_BLOCK, &mask, NULL) < 0 ? -errno : 0;
}

static int top_screen_print_json(const TopScreen *screen) {
        _cleanup_json_ json_object *object =
                        top_view_to_json(&screen->numbers, screen->interval_nsec, screen->scope);

        if (!object)
                return -ENOMEM;
        table_print_json(screen->context, object);
        return fflush(stdout) != 0 ? -errno : 0;
}

int top_screen_draw(TopScreen *screen) {
        TopFrame frame = { .choice = &screen->choice,
                .numbers = &screen->numbers,
                .scope = screen->scope,
                .interval_nsec = screen->interval_nsec,
                .past = screen->past,
                .n_past = screen->n_past,
                .has_colour = screen->options->has_colour,
                .is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
                .is_live = screen->terminal.is_entered };

        if (screen->context->json != JSON_OFF)
                return top_screen_print_json(screen);
        if (frame.is_live)
                top_terminal_get_size(&frame.width, &frame.height);
        screen->block.used = 0;
        top_frame_add(&screen->block, &frame);
        if (screen->block.is_short_of_memory)
                return -ENOMEM;
        if (top_screen_is_stuck(screen))
                return 0;
        return top_terminal_write(screen->block.data, screen->block.used);
}

bool top_screen_is_stuck(const TopScreen *screen) {
        return screen->terminal.is_entered && !top_terminal_is_writable();
}

void top_screen_note(TopScreen *screen) {
        double rate = (double)screen->numbers.n_events * 1e9 /
                      (double)MAX_OF(screen->interval_nsec, UINT64_C(1));

        if (screen->n_past == TOP_PAST_MAX)
                memmove(screen->past, screen->past + 1, --screen->n_past * sizeof(*screen->past));
        screen->past[screen->n_past++] = (uint64_t)MIN_OF(rate, PAST_RATE_MAX);
}

static int on_input(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        TopScreen *screen = userdata;
        uint64_t interval_usec = screen->interval_usec;
        TopAction action = TOP_ACTION_NOTHING;
        unsigned char bytes[64];
        ssize_t n = read(fd, bytes, sizeof(bytes));

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n <= 0) { /* the terminal is gone */
                screen->handlers.on_end(screen->userdata, 0);
                return 0;
        }
        for (ssize_t i = 0; i < n; i++) {
                TopAction next = top_keys_take(
                                &screen->keys, bytes[i], screen->numbers.has_scheduler);

                action = MAX_OF(action, next);
        }
        if (action == TOP_ACTION_QUIT)
                screen->handlers.on_end(screen->userdata, 0);
        else if (action == TOP_ACTION_REFRESH || screen->interval_usec != interval_usec)
                screen->handlers.on_refresh(screen->userdata);
        else if (action == TOP_ACTION_DRAW && top_screen_draw(screen) < 0)
                screen->handlers.on_end(screen->userdata, -EIO);
        return 0;
}

static int on_resize(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata) {
        TopScreen *screen = userdata;
        int r = top_screen_draw(screen);

        if (r < 0)
                screen->handlers.on_end(screen->userdata, r);
        return 0;
}

int top_screen_enter(TopScreen *screen, sd_event *event) {
        int r;

        if (screen->options->is_batch)
                return 0;
        r = top_terminal_enter(&screen->terminal);
        if (r >= 0)
                r = sd_event_add_io(event, &screen->input, STDIN_FILENO, EPOLLIN, on_input, screen);
        if (r >= 0)
                r = sd_event_add_signal(event, &screen->resize, SIGWINCH, on_resize, screen);
        return r < 0 ? r : top_screen_draw(screen);
}

void top_screen_leave(TopScreen *screen) {
        screen->input = sd_event_source_disable_unref(screen->input);
        screen->resize = sd_event_source_disable_unref(screen->resize);
        top_terminal_leave(&screen->terminal);
}

void top_screen_done(TopScreen *screen) {
        top_screen_leave(screen);
        top_numbers_clear(&screen->numbers);
        text_block_clear(&screen->block);
}
