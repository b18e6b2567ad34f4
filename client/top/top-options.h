/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "spec/spec-options.h"
#include "top/top-view.h"

typedef struct TopOptions {
        SpecOptions spec;
        const char *scope; /* for the first line: whose processes */
        uint64_t interval_usec;
        uint64_t n_frames; /* 0: until ^C or q */
        TopViewId view;
        size_t sort; /* a column of the view */
        bool is_batch;
        bool has_colour;
} TopOptions;
