/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "top/top-view.h"
#include "trace/text-block.h"

#define TOP_INPUT_MAX 64
#define TOP_PAST_MAX  24

/* What the user has chosen, and what is typed. */
typedef struct TopChoice {
        TopViewId view;
        size_t sort[_TOP_VIEW_N]; /* columns */
        bool is_reverse;
        bool has_help;
        char filter[TOP_INPUT_MAX];
        char question[TOP_INPUT_MAX]; /* "": no input; else what is asked */
        char input[TOP_INPUT_MAX];
        char note[2 * TOP_INPUT_MAX]; /* "": none */
} TopChoice;

/* One refresh of the screen. */
typedef struct TopFrame {
        const TopChoice *choice;
        const TopNumbers *numbers;
        const char *scope;      /* whose processes */
        uint64_t interval_nsec; /* between this refresh and the one before */
        const uint64_t *past; /* events per second of earlier intervals, the last one at the end */
        size_t n_past;
        unsigned width, height; /* 0: without limits, as for a file */
        bool has_colour, is_utf8;
        bool is_live; /* draw over the frame before */
} TopFrame;

/* Appends the text of the frame. */
void top_frame_add(TextBlock *block, const TopFrame *frame);
