/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records on several machines at the same time, for `record -H a,b`. One loop carries all members.
 * Each machine first makes its session. When all are armed or have failed, all get one time at
 * which they start. A machine that is not armed in time starts later, and does not delay the
 * others.
 *
 * Output: a directory with a file for each machine, and the manifest, which is written at the end.
 * ^C ends the recording on all machines; a second one ends the wait for them.
 *
 * Limits: HOST_LIST_MAX machines; for each, the memory of its packets and outlets. ssh never asks
 * for a password. Owns the members, the outputs, the loop and the board. */

#include "fleet/fleet-record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "fleet/fleet-loop.h"
#include "fleet/manifest.h"
#include "fleet/state-board.h"
#include "terminal/message.h"

/* After the first machine is armed, the others have so much time. */
#define FLEET_ARM_NSEC     ((int64_t)5 * 1000 * 1000 * 1000)
#define FLEET_LEAD_NSEC    ((int64_t)200 * 1000 * 1000) /* until the packet has come */
#define FLEET_COMPARE_NSEC ((int64_t)30 * 1000 * 1000 * 1000)

typedef struct FleetMember {
        Output *output;
        TextLine lines[2]; /* of standard output and standard error */
} FleetMember;

typedef struct Fleet {
        const FleetRecordOptions *options;
        MemberGroup group;
        Member *members;
        FleetMember *more; /* of each member */
        size_t n_members, n_begun;
        FleetLoop loop;
        sd_event_source *starter;
        StateBoard *board;
        Manifest *manifest;
        int64_t armed_at; /* the first member; 0: none yet */
        int64_t start_at; /* 0: not yet decided */
        int64_t compared_at;
} Fleet;

static void fleet_done(Fleet *fleet) {
        sd_event_source_disable_unref(fleet->starter);
        state_board_free(fleet->board);
        for (size_t i = 0; i < fleet->n_begun; i++)
                if (fleet->members[i].link)
                        near_link_close(fleet->members[i].link);
        for (size_t i = 0; fleet->more && i < fleet->n_members; i++) {
                member_done(&fleet->members[i]);
                output_free(fleet->more[i].output);
                text_line_done(&fleet->more[i].lines[0]);
                text_line_done(&fleet->more[i].lines[1]);
        }
        manifest_free(fleet->manifest);
        free(fleet->members);
        free(fleet->more);
        fleet_loop_done(&fleet->loop);
}

static void fleet_on_text(Member *member, bool is_error, const void *data, size_t size) {
        Fleet *fleet = member->group->userdata;
        FleetMember *more = &fleet->more[member - fleet->members];

        state_board_clear(fleet->board);
        (void)text_line_add(&more->lines[is_error],
                        &fleet->loop.sinks[is_error],
                        member->name,
                        data,
                        size);
        if (fleet_loop_is_full(&fleet->loop))
                for (size_t i = 0; i < fleet->n_begun; i++)
                        member_hold(&fleet->members[i], true);
}

static void fleet_on_room(void *userdata) {
        Fleet *fleet = userdata;

        if (!fleet_loop_is_full(&fleet->loop))
                for (size_t i = 0; i < fleet->n_begun; i++)
                        member_hold(&fleet->members[i], false);
}

/* The time must be ahead for each machine when the packet comes there. */
static void fleet_choose_start(Fleet *fleet) {
        int64_t bound = 0;

        for (size_t i = 0; i < fleet->n_begun; i++) {
                const ClockTrack *clock = &fleet->members[i].clock;

                if (fleet->members[i].state == MEMBER_ARMED)
                        bound = MAX_OF(bound, clock->points[clock->n - 1].bound);
        }
        fleet->start_at = member_now() + FLEET_LEAD_NSEC + 2 * bound;
}

static void fleet_start_all(Fleet *fleet) {
        size_t n_armed = 0, n_waiting = fleet->n_members - fleet->n_begun;

        for (size_t i = 0; i < fleet->n_begun; i++) {
                n_armed += fleet->members[i].state == MEMBER_ARMED;
                n_waiting += fleet->members[i].state < MEMBER_ARMED;
        }
        if (fleet->start_at != 0 || n_armed == 0)
                return;
        if (fleet->armed_at == 0)
                fleet->armed_at = member_now();
        if (n_waiting > 0 && member_now() - fleet->armed_at < FLEET_ARM_NSEC)
                return;
        fleet_choose_start(fleet);
        for (size_t i = 0; i < fleet->n_begun; i++)
                if (fleet->members[i].state == MEMBER_ARMED)
                        member_start_recording(&fleet->members[i], fleet->start_at);
}

static bool fleet_is_over(const Fleet *fleet) {
        if (fleet->n_begun < fleet->n_members)
                return false;
        for (size_t i = 0; i < fleet->n_members; i++)
                if (!member_is_final(&fleet->members[i]))
                        return false;
        return fleet_loop_is_flushed(&fleet->loop);
}

static void fleet_end_lines(Fleet *fleet, const Member *member) {
        FleetMember *more = &fleet->more[member - fleet->members];

        for (int i = 0; i < 2; i++)
                (void)text_line_end(&more->lines[i], &fleet->loop.sinks[i], member->name);
}

static void fleet_on_change(Member *member) {
        Fleet *fleet = member->group->userdata;

        state_board_note(fleet->board, member);
        if (member_is_final(member))
                fleet_end_lines(fleet, member);
        if (member->state == MEMBER_ARMED && fleet->start_at != 0)
                member_start_recording(member, fleet->start_at); /* it is late */
        fleet_start_all(fleet);
}

static void fleet_on_tick(void *userdata) {
        Fleet *fleet = userdata;
        bool is_time = member_now() - fleet->compared_at > FLEET_COMPARE_NSEC;

        if (is_time)
                fleet->compared_at = member_now();
        for (size_t i = 0; i < fleet->n_begun; i++) {
                if (is_time && fleet->members[i].state == MEMBER_RECORDING)
                        member_compare_clocks(&fleet->members[i]);
                member_tick(&fleet->members[i]);
        }
        fleet_start_all(fleet);
        state_board_draw(fleet->board);
        if (fleet_is_over(fleet))
                (void)sd_event_exit(fleet->loop.event, 0);
}

/* Opens the file of the machine. Its name is made of letters that cannot leave the directory. */
static int fleet_open_member(Fleet *fleet, size_t i, Reason *reason) {
        _cleanup_free_ char *path = NULL;
        int r;

        if (asprintf(&path,
                            "%s/%s.kts",
                            fleet->options->directory,
                            fleet->options->hosts->entries[i].file) < 0)
                return -ENOMEM;
        r = output_open(path, "kts", &fleet->more[i].output, reason);
        if (r != 0)
                return r;
        output_set_foreign(fleet->more[i].output);
        return member_open(&fleet->members[i], fleet->more[i].output, reason);
}

/* One at a time, so that machines that are connected are not left waiting. */
static int fleet_on_next(sd_event_source *source, void *userdata) {
        Fleet *fleet = userdata;
        Member *member = &fleet->members[fleet->n_begun++];

        if (fleet->loop.n_signals > 0)
                member_fail(member, "interrupted before its start");
        else
                member_start(member);
        return sd_event_source_set_enabled(
                        source, fleet->n_begun < fleet->n_members ? SD_EVENT_ON : SD_EVENT_OFF);
}

/* Nothing more is awaited from the machines, but what came is completed. */
static void fleet_give_up(Fleet *fleet) {
        for (size_t i = 0; i < fleet->n_begun; i++)
                member_fail(&fleet->members[i], "interrupted; the session ends with this process");
}

/* A burst is one signal. A second one, or a third with a command, ends the wait for the machines;
 * one more also the wait for what came. */
static void fleet_on_signal(int number, void *userdata) {
        Fleet *fleet = userdata;
        unsigned patience = fleet->options->has_command ? 3 : 2;

        for (size_t i = 0; i < fleet->n_begun; i++)
                member_send_signal(&fleet->members[i], (uint8_t)number);
        if (fleet->loop.n_signals == patience)
                fleet_give_up(fleet);
        if (fleet->loop.n_signals > patience)
                (void)sd_event_exit(fleet->loop.event, 0);
}

/* 0: it is new or empty, and ours: in another user's directory files could be exchanged. */
static int fleet_check_directory(const char *path, Reason *reason) {
        DIR *entries = opendir(path);
        struct dirent *entry;
        struct stat st;
        const char *why = NULL;

        if (!entries)
                why = strerror(errno);
        else if (fstat(dirfd(entries), &st) < 0 || st.st_uid != geteuid())
                why = "it belongs to another user";
        while (entries && !why && (entry = readdir(entries)))
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                        why = "it is not empty";
        if (entries)
                (void)closedir(entries);
        return why ? reason_set(reason,
                                     KT_E_FAILED,
                                     "%s: %s; expected a new or empty directory for the files of all machines",
                                     path,
                                     why)
                   : 0;
}

static int fleet_make_directory(const char *path, Reason *reason) {
        if (mkdir(path, 0777) == 0)
                return 0;
        if (errno == EEXIST)
                return fleet_check_directory(path, reason);
        return reason_set(reason, KT_E_FAILED, "%s: cannot be made: %s", path, strerror(errno));
}

static int64_t fleet_get_realtime_offset(void) {
        struct timespec now;

        (void)clock_gettime(CLOCK_REALTIME, &now);
        return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - member_now();
}

static int fleet_open(Fleet *fleet, Reason *reason) {
        const FleetRecordOptions *options = fleet->options;
        int r;

        fleet->n_members = options->hosts->n;
        fleet->members = calloc(fleet->n_members, sizeof(*fleet->members));
        fleet->more = calloc(fleet->n_members, sizeof(*fleet->more));
        fleet->manifest = manifest_new(fleet->n_members);
        if (!fleet->members || !fleet->more || !fleet->manifest)
                return -ENOMEM;
        for (size_t i = 0; i < fleet->n_members; i++)
                member_init(&fleet->members[i], &fleet->group, &options->hosts->entries[i]);
        fleet->manifest->realtime_offset = fleet_get_realtime_offset();
        fleet->loop.on_tick = fleet_on_tick;
        fleet->loop.on_signal = fleet_on_signal;
        fleet->loop.on_room = fleet_on_room;
        fleet->loop.userdata = fleet;
        r = fleet_loop_init(&fleet->loop, fleet->n_members, reason);
        fleet->group.event = fleet->loop.event;
        fleet->group.mask = fleet->loop.mask;
        r = r ?: fleet_make_directory(options->directory, reason);
        for (size_t i = 0; r == 0 && i < fleet->n_members; i++)
                r = fleet_open_member(fleet, i, reason);
        if (r == 0)
                r = sd_event_add_defer(fleet->loop.event, &fleet->starter, fleet_on_next, fleet);
        if (r == 0)
                r = state_board_new(fleet->members,
                                fleet->n_members,
                                options->context->quiet,
                                &fleet->board);
        fleet->compared_at = member_now();
        return r;
}

static char *fleet_get_file(const Fleet *fleet, size_t i) {
        char *file;

        return asprintf(&file, "%s.kts", fleet->options->hosts->entries[i].file) < 0 ? NULL : file;
}

/* What is in the manifest of a machine whose recording has ended. */
static int fleet_fill_machine(const Fleet *fleet, size_t i, const NearResult *result) {
        ManifestMachine *machine = &fleet->manifest->machines[i];
        const Member *member = &fleet->members[i];
        bool has_file = result && !member->is_discarded;
        bool is_complete = has_file && result->complete && member->state == MEMBER_DONE;

        machine->host = strdup(fleet->options->hosts->entries[i].name);
        machine->file = has_file ? fleet_get_file(fleet, i) : NULL;
        machine->state = strdup(!has_file ? "failed" : is_complete ? "complete" : "cut");
        machine->message = is_complete || !member->why[0] ? NULL : strdup(member->why);
        machine->status = member->status;
        machine->started = member->started;
        machine->clock = member->clock;
        if (has_file) {
                machine->n_events = MIN_OF(result->n_events, (uint64_t)INT64_MAX);
                machine->n_lost = MIN_OF(result->n_lost, (uint64_t)INT64_MAX);
        }
        return machine->host && machine->state && (!has_file || machine->file) ? 0 : -ENOMEM;
}

/* Completes the file of a machine, and says why there is none. Returns its exit status. */
static int fleet_finish_member(Fleet *fleet, size_t i) {
        Member *member = &fleet->members[i];
        bool is_quiet = fleet->options->context->quiet, has_failed = member->state != MEMBER_DONE,
             has_command = fleet->options->has_command;
        int status = KT_EXIT_FAILED, r;

        if (member->stream && member->is_discarded)
                near_stream_discard(member->stream);
        else if (member->stream)
                status = near_stream_finish(
                                member->stream, is_quiet, has_failed || fleet->loop.n_signals > 0);
        if (has_failed)
                message_print("%s: %s",
                                member->name,
                                member->why[0] ? member->why : "it sent no recording");
        r = fleet_fill_machine(
                        fleet, i, member->stream ? near_stream_get_result(member->stream) : NULL);
        if (r < 0)
                (void)message_fail(r, NULL);
        if (has_failed && member->status > 0 && member->started == 0)
                return member->status;
        if (has_failed)
                return has_command ? KT_EXIT_RECORDING : KT_EXIT_FAILED;
        return has_command && status == KT_EXIT_OK ? member->status : status;
}

/* If all machines say the same, this is the status. Else the result is a part. */
static int fleet_finish(Fleet *fleet) {
        Reason reason = {};
        int status = -1, r;

        for (size_t i = 0; i < fleet->n_begun; i++)
                if (fleet->members[i].link)
                        near_link_close(fleet->members[i].link);
        for (size_t i = 0; i < fleet->n_members; i++) {
                int one = fleet_finish_member(fleet, i);

                status = status < 0 || status == one ? one : KT_EXIT_LOST;
        }
        fleet->manifest->start = fleet->start_at;
        fleet->manifest->end = member_now();
        r = manifest_write(fleet->manifest, fleet->options->directory, &reason);
        return r == 0 ? status : message_fail(r, &reason);
}

int fleet_record(const FleetRecordOptions *options) {
        Fleet fleet = { .options = options };
        Reason reason = {};
        int r, status;

        fleet.group = (MemberGroup){ .n_words = options->context->n_words,
                .words = options->context->words,
                .has_command = options->has_command,
                .on_text = fleet_on_text,
                .on_change = fleet_on_change,
                .userdata = &fleet };
        r = fleet_open(&fleet, &reason);
        if (r == 0)
                r = sd_event_loop(fleet.loop.event);
        fleet.board = state_board_free(fleet.board);
        status = r < 0 || reason.text[0] ? message_fail(r, &reason) : fleet_finish(&fleet);
        fleet_done(&fleet);
        return status;
}
