/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "terminal/context.h"
#include "top/top-frame.h"
#include "top/top-keys.h"
#include "top/top-options.h"
#include "top/top-terminal.h"

typedef struct TopScreenHandlers {
        /* The user wants new numbers now, or has changed the interval. */
        void (*on_refresh)(void *userdata);
        /* result: 0: the user has seen enough, or the terminal is gone; else -errno. */
        void (*on_end)(void *userdata, int result);
} TopScreenHandlers;

/* What top shows, and how the user wants it. */
typedef struct TopScreen {
        const TopOptions *options;
        const Context *context;
        const char *scope; /* borrowed: whose processes */
        TopScreenHandlers handlers;
        void *userdata;
        TopTerminal terminal;
        TopChoice choice;
        TopKeys keys;
        uint64_t interval_usec; /* between two refreshes */
        TopNumbers numbers;     /* of the last interval */
        uint64_t interval_nsec; /* its length; 0: no numbers yet */
        uint64_t past[TOP_PAST_MAX];
        size_t n_past;
        TextBlock block;
        sd_event_source *input, *resize;
} TopScreen;

/* options, context and scope are borrowed. Blocks SIGWINCH. Returns 0 or -errno. */
int top_screen_init(TopScreen *screen,
                const TopOptions *options,
                const Context *context,
                const TopScreenHandlers *handlers,
                void *userdata);
/* Takes over the terminal, and draws. Nothing for a file or a pipe. */
int top_screen_enter(TopScreen *screen, sd_event *event);
/* Gives the terminal back. */
void top_screen_leave(TopScreen *screen);
void top_screen_done(TopScreen *screen);
/* Whether the terminal takes no output now, as after ^S. */
bool top_screen_is_stuck(const TopScreen *screen);
/* Call it for new numbers. */
void top_screen_note(TopScreen *screen);
int top_screen_draw(TopScreen *screen);
