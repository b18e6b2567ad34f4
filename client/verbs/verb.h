/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"
#include "terminal/message.h"
#include "terminal/options.h"

/* For the help of verbs that accept --administrator. */
#define HELP_ADMINISTRATOR                                                                         \
        "  --administrator            another user's session, where polkit allows to manage it;\n" \
        "                             exit status 3 where it does not\n"

extern const Verb verb_bootconfig;
extern const Verb verb_blackbox;
extern const Verb verb_calls;
extern const Verb verb_clear;
extern const Verb verb_convert;
extern const Verb verb_create;
extern const Verb verb_destroy;
extern const Verb verb_events;
extern const Verb verb_hist;
extern const Verb verb_last;
extern const Verb verb_list;
extern const Verb verb_mark;
extern const Verb verb_metrics;
extern const Verb verb_policy;
extern const Verb verb_probes;
extern const Verb verb_record;
extern const Verb verb_report;
extern const Verb verb_saved;
extern const Verb verb_serve;
extern const Verb verb_set;
extern const Verb verb_show;
extern const Verb verb_fleet;
extern const Verb verb_spool;
extern const Verb verb_start;
extern const Verb verb_status;
extern const Verb verb_stop;
extern const Verb verb_snapshot;
extern const Verb verb_stream;
extern const Verb verb_summary;
extern const Verb verb_top;
extern const Verb verb_verify;
extern const Verb verb_view;
extern const Verb verb_watch;
