/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "recording/output.h"
#include "remote/clock-question.h"
#include "remote/near-reader.h"
#include "remote/outlet.h"

/* The stream of the far side of -H on its way into an output here. */
typedef struct NearStream NearStream;

/* output is borrowed. on_change: there is room again, or the stream is done. */
int near_stream_new(sd_event *event,
                Output *output,
                void (*on_change)(void *userdata),
                void *userdata,
                NearStream **ret,
                Reason *reason);
NearStream *near_stream_free(NearStream *stream);
DEFINE_CLEANUP(NearStream, near_stream_free);
/* The receipt of the recording gets these comparisons. Borrowed. */
void near_stream_set_clocks(NearStream *stream, const ClockQuestion *clocks);
int near_stream_put(NearStream *stream, const void *data, size_t size);
/* No more comes. */
void near_stream_end(NearStream *stream);
bool near_stream_is_full(const NearStream *stream);
/* Whether all that came is in the output, or the output has failed. */
bool near_stream_is_done(const NearStream *stream);
bool near_stream_has_bytes(const NearStream *stream);
/* Ends the reader, which writes no more: for a user who does not wait for the rest. */
void near_stream_stop(NearStream *stream);
/* Completes the output and reports what is in it. may_lack_end: a stream without an end is no
 * failure, or is already reported. Returns the exit status. */
int near_stream_finish(NearStream *stream, bool is_quiet, bool may_lack_end);
/* After near_stream_finish(). NULL: nothing came. */
const NearResult *near_stream_get_result(const NearStream *stream);
/* Removes what came of it: the far side says that it is no recording. */
void near_stream_discard(NearStream *stream);
