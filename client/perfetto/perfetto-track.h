/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/decode.h"

typedef struct PerfettoTrack {
        uint64_t id;  /* 0: not in the output yet */
        uint64_t end; /* of its last slice */
} PerfettoTrack;

/* Slices that may overlap, on as many tracks as that needs. */
typedef struct PerfettoTrackGroup {
        PerfettoTrack *tracks;
        size_t n_tracks;
} PerfettoTrackGroup;

/* The tracks of what is not a record of the kernel. */
typedef struct PerfettoTracks {
        FILE *out;       /* borrowed */
        TextBlock block; /* packets that wait */
        uint64_t n_tracks;
        PerfettoTrack marks;
        PerfettoTrackGroup *losses; /* by CPU */
        PerfettoTrackGroup *pairs;  /* by event id */
} PerfettoTracks;

/* Returns 0 or -ENOMEM. */
int perfetto_tracks_init(PerfettoTracks *tracks, FILE *out);
void perfetto_tracks_clear(PerfettoTracks *tracks);

/* All times are those of CLOCK_BOOTTIME. All functions return 0 or -errno. */
int perfetto_tracks_add_mark(PerfettoTracks *tracks, uint64_t ts, const char *text, size_t size);
/* lost: -1: an unknown number. */
int perfetto_tracks_add_loss(PerfettoTracks *tracks,
                unsigned cpu,
                uint64_t from,
                uint64_t to,
                int64_t lost);
/* A record of a probe that consists of two events. to: the time of the record. */
int perfetto_tracks_add_pair(PerfettoTracks *tracks,
                const struct tep_event *source,
                uint64_t from,
                uint64_t to,
                int tid);
int perfetto_tracks_finish(PerfettoTracks *tracks);
