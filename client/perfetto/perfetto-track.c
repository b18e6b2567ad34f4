/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes what is not a record of the kernel as track events: marks as instants, lost events as
 * slices, and probes of two events as slices from the first event to the second. Called by the
 * exporter.
 *
 * Slices of one track must not overlap partly, but requests to a disk do. So a slice goes to the
 * first track of its group that is free at its start. The viewer shows tracks of one name as one.
 * Slices come in the order of their ends, so the end of the last slice says whether a track is
 * free. A group has at most TRACKS_MAX tracks; further slices are left out, but not their records.
 */

#include "perfetto/perfetto-track.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "interfaces/cleanup.h"
#include "perfetto/perfetto-bundle.h"
#include "perfetto/perfetto-packet.h"
#include "perfetto/proto.h"

#define TRACKS_MAX 256
#define EVENTS_MAX 65536
#define BLOCK_SIZE ((size_t)64 * 1024)

typedef enum PerfettoTrackEventType {
        TRACK_EVENT_BEGIN = 1,
        TRACK_EVENT_END = 2,
        TRACK_EVENT_INSTANT = 3,
} PerfettoTrackEventType;

enum {
        TRACK_EVENT_ANNOTATION = 4,
        TRACK_EVENT_TYPE = 9,
        TRACK_EVENT_TRACK = 11,
        TRACK_EVENT_NAME = 23,
        ANNOTATION_INT = 4,
        ANNOTATION_NAME = 10,
        DESCRIPTOR_ID = 1,
        DESCRIPTOR_NAME = 2,
};

typedef struct PerfettoTrackEvent {
        PerfettoTrackEventType type;
        uint64_t track, ts;
        const char *name; /* NULL: none */
        size_t name_size;
        int tid; /* as an annotation; 0: none */
} PerfettoTrackEvent;

int perfetto_tracks_init(PerfettoTracks *tracks, FILE *out) {
        *tracks = (PerfettoTracks){ .out = out,
                .losses = calloc(PERFETTO_CPUS_MAX, sizeof(*tracks->losses)),
                .pairs = calloc(EVENTS_MAX, sizeof(*tracks->pairs)) };
        return tracks->losses && tracks->pairs ? 0 : -ENOMEM;
}

void perfetto_tracks_clear(PerfettoTracks *tracks) {
        for (size_t i = 0; tracks->losses && i < PERFETTO_CPUS_MAX; i++)
                free(tracks->losses[i].tracks);
        for (size_t i = 0; tracks->pairs && i < EVENTS_MAX; i++)
                free(tracks->pairs[i].tracks);
        free(tracks->losses);
        free(tracks->pairs);
        text_block_clear(&tracks->block);
        *tracks = (PerfettoTracks){};
}

/* Writes a descriptor of the track before its first event. */
static void perfetto_tracks_open(PerfettoTracks *tracks, PerfettoTrack *track, const char *name) {
        TextBlock *block = &tracks->block;
        size_t packet, descriptor;

        if (track->id > 0)
                return;
        track->id = ++tracks->n_tracks;
        packet = perfetto_packet_open(block);
        descriptor = proto_open(block, PACKET_TRACK_DESCRIPTOR);
        proto_add_number(block, DESCRIPTOR_ID, track->id);
        proto_add_string(block, DESCRIPTOR_NAME, name);
        proto_close(block, descriptor);
        proto_close(block, packet);
}

static void perfetto_tracks_add(PerfettoTracks *tracks, const PerfettoTrackEvent *event) {
        TextBlock *block = &tracks->block;
        size_t packet = perfetto_packet_open(block), place;

        proto_add_number(block, PACKET_TIMESTAMP, event->ts);
        place = proto_open(block, PACKET_TRACK_EVENT);
        proto_add_number(block, TRACK_EVENT_TYPE, event->type);
        proto_add_number(block, TRACK_EVENT_TRACK, event->track);
        if (event->name)
                proto_add_text(block, TRACK_EVENT_NAME, event->name, event->name_size);
        if (event->tid > 0) {
                size_t annotation = proto_open(block, TRACK_EVENT_ANNOTATION);

                proto_add_number(block, ANNOTATION_INT, (uint64_t)event->tid);
                proto_add_string(block, ANNOTATION_NAME, "tid");
                proto_close(block, annotation);
        }
        proto_close(block, place);
        proto_close(block, packet);
}

static int perfetto_tracks_flush(PerfettoTracks *tracks) {
        return tracks->block.used < BLOCK_SIZE ? 0 : perfetto_tracks_finish(tracks);
}

int perfetto_tracks_finish(PerfettoTracks *tracks) {
        return text_block_write(&tracks->block, tracks->out);
}

int perfetto_tracks_add_mark(PerfettoTracks *tracks, uint64_t ts, const char *text, size_t size) {
        perfetto_tracks_open(tracks, &tracks->marks, "Marks");
        perfetto_tracks_add(tracks,
                        &(PerfettoTrackEvent){
                                        TRACK_EVENT_INSTANT, tracks->marks.id, ts, text, size, 0 });
        return perfetto_tracks_flush(tracks);
}

/* Returns a track that is free from then on. Sets *ret to NULL if the group is full. */
static int perfetto_track_group_find(PerfettoTrackGroup *group,
                uint64_t from,
                PerfettoTrack **ret) {
        PerfettoTrack *larger;

        *ret = NULL;
        for (size_t i = 0; i < group->n_tracks; i++)
                if (group->tracks[i].end <= from) {
                        *ret = &group->tracks[i];
                        return 0;
                }
        if (group->n_tracks == TRACKS_MAX)
                return 0;
        larger = reallocarray(group->tracks, group->n_tracks + 1, sizeof(*larger));
        if (!larger)
                return -ENOMEM;
        group->tracks = larger;
        *ret = &group->tracks[group->n_tracks++];
        **ret = (PerfettoTrack){};
        return 0;
}

/* track_name: of the group. event: the slice, without type and track. */
static int perfetto_tracks_add_slice(PerfettoTracks *tracks,
                PerfettoTrackGroup *group,
                const char *track_name,
                PerfettoTrackEvent event,
                uint64_t to) {
        PerfettoTrack *track;

        int r = perfetto_track_group_find(group, event.ts, &track);
        if (r < 0 || !track)
                return r;
        perfetto_tracks_open(tracks, track, track_name);
        track->end = to;
        event.type = TRACK_EVENT_BEGIN;
        event.track = track->id;
        perfetto_tracks_add(tracks, &event);
        perfetto_tracks_add(tracks,
                        &(PerfettoTrackEvent){
                                        .type = TRACK_EVENT_END, .track = track->id, .ts = to });
        return perfetto_tracks_flush(tracks);
}

int perfetto_tracks_add_loss(PerfettoTracks *tracks,
                unsigned cpu,
                uint64_t from,
                uint64_t to,
                int64_t lost) {
        char track_name[64], name[64];

        (void)snprintf(track_name, sizeof(track_name), "Lost events, CPU %u", cpu);
        if (lost > 0)
                (void)snprintf(name, sizeof(name), "%" PRId64 " events lost", lost);
        else
                (void)snprintf(name, sizeof(name), "events lost");
        PerfettoTrackEvent event = {
                .ts = MIN_OF(from, to), .name = name, .name_size = strlen(name)
        };
        return perfetto_tracks_add_slice(tracks, &tracks->losses[cpu], track_name, event, to);
}

int perfetto_tracks_add_pair(PerfettoTracks *tracks,
                const struct tep_event *source,
                uint64_t from,
                uint64_t to,
                int tid) {
        PerfettoTrackEvent event = { .ts = MIN_OF(from, to),
                .name = source->name,
                .name_size = strlen(source->name),
                .tid = tid };

        return perfetto_tracks_add_slice(
                        tracks, &tracks->pairs[(uint16_t)source->id], source->name, event, to);
}
