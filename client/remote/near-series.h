/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "remote/near-link.h"
#include "remote/near-stream.h"
#include "remote/near.h"

/* The streams of a verb on the far side of -H, and their outputs here: one of a recording, or one
 * for each snapshot of a flight recorder. The functions accept NULL: the verb has no output. */
typedef struct NearSeries NearSeries;

/* Begins the first stream. options and clocks are borrowed; clocks: NULL: they are not compared.
 * on_change: there is room again, or a stream is complete. */
int near_series_new(sd_event *event,
                const NearOptions *options,
                const ClockQuestion *clocks,
                void (*on_change)(void *userdata),
                void *userdata,
                NearSeries **ret,
                Reason *reason);
NearSeries *near_series_free(NearSeries *series);
DEFINE_CLEANUP(NearSeries, near_series_free);
/* The user asks for one more snapshot. */
void near_series_ask(NearSeries *series);
/* Further bytes of the stream. A host that sends what nobody asked for is refused. */
void near_series_put(NearSeries *series, NearLink *link, const Packet *packet);
/* The stream has ended, and another one may follow. is_discarded: it is no recording. */
void near_series_divide(NearSeries *series, NearLink *link, bool is_discarded);
/* The last stream has ended. is_discarded: as above. */
void near_series_end(NearSeries *series, bool is_discarded);
/* No more comes. */
void near_series_close(NearSeries *series);
/* Completes the output of a stream that has ended, in a process of its own. */
void near_series_advance(NearSeries *series, NearLink *link);
/* Whether nothing more should come now. */
bool near_series_is_full(const NearSeries *series);
/* Whether the current output has all of its stream, or has failed. */
bool near_series_is_done(const NearSeries *series);
/* Whether all that came is in the outputs. */
bool near_series_is_flushed(const NearSeries *series);
bool near_series_has_kept(const NearSeries *series);
/* Completes the last output. may_lack_end: see near_stream_finish(). Returns the exit status of all
 * outputs. */
int near_series_finish(NearSeries *series, bool may_lack_end);
/* After near_series_finish(): whether the last output got no recording. */
bool near_series_lacks_last(const NearSeries *series);
