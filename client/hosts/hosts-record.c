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

#include "hosts/hosts-record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "hosts/hosts-loop.h"
#include "hosts/manifest.h"
#include "hosts/state-board.h"
#include "terminal/message.h"

/* After the first machine is armed, the others have so much time. */
#define HOSTS_ARM_NSEC     ((int64_t)5 * 1000 * 1000 * 1000)
#define HOSTS_LEAD_NSEC    ((int64_t)200 * 1000 * 1000) /* until the packet has come */
#define HOSTS_COMPARE_NSEC ((int64_t)30 * 1000 * 1000 * 1000)

typedef struct HostsMember {
        Output *output;
        TextLine lines[2]; /* of standard output and standard error */
} HostsMember;

typedef struct Hosts {
        const HostsRecordOptions *options;
        MemberGroup group;
        Member *members;
        HostsMember *more; /* of each member */
        size_t n_members, n_begun;
        HostsLoop loop;
        sd_event_source *starter;
        StateBoard *board;
        Manifest *manifest;
        int64_t armed_at; /* the first member; 0: none yet */
        int64_t start_at; /* 0: not yet decided */
        int64_t compared_at;
} Hosts;

static void hosts_done(Hosts *hosts) {
        sd_event_source_disable_unref(hosts->starter);
        state_board_free(hosts->board);
        for (size_t i = 0; i < hosts->n_begun; i++)
                if (hosts->members[i].link)
                        near_link_close(hosts->members[i].link);
        for (size_t i = 0; hosts->more && i < hosts->n_members; i++) {
                member_done(&hosts->members[i]);
                output_free(hosts->more[i].output);
                text_line_done(&hosts->more[i].lines[0]);
                text_line_done(&hosts->more[i].lines[1]);
        }
        manifest_free(hosts->manifest);
        free(hosts->members);
        free(hosts->more);
        hosts_loop_done(&hosts->loop);
}

static void hosts_on_text(Member *member, bool is_error, const void *data, size_t size) {
        Hosts *hosts = member->group->userdata;
        HostsMember *more = &hosts->more[member - hosts->members];

        state_board_clear(hosts->board);
        (void)text_line_add(&more->lines[is_error],
                        &hosts->loop.sinks[is_error],
                        member->name,
                        data,
                        size);
        if (hosts_loop_is_full(&hosts->loop))
                for (size_t i = 0; i < hosts->n_begun; i++)
                        member_hold(&hosts->members[i], true);
}

static void hosts_on_room(void *userdata) {
        Hosts *hosts = userdata;

        if (!hosts_loop_is_full(&hosts->loop))
                for (size_t i = 0; i < hosts->n_begun; i++)
                        member_hold(&hosts->members[i], false);
}

/* The time must be ahead for each machine when the packet comes there. */
static void hosts_choose_start(Hosts *hosts) {
        int64_t bound = 0;

        for (size_t i = 0; i < hosts->n_begun; i++) {
                const ClockTrack *clock = &hosts->members[i].clock;

                if (hosts->members[i].state == MEMBER_ARMED)
                        bound = MAX_OF(bound, clock->points[clock->n - 1].bound);
        }
        hosts->start_at = member_now() + HOSTS_LEAD_NSEC + 2 * bound;
}

static void hosts_start_all(Hosts *hosts) {
        size_t n_armed = 0, n_waiting = hosts->n_members - hosts->n_begun;

        for (size_t i = 0; i < hosts->n_begun; i++) {
                n_armed += hosts->members[i].state == MEMBER_ARMED;
                n_waiting += hosts->members[i].state < MEMBER_ARMED;
        }
        if (hosts->start_at != 0 || n_armed == 0)
                return;
        if (hosts->armed_at == 0)
                hosts->armed_at = member_now();
        if (n_waiting > 0 && member_now() - hosts->armed_at < HOSTS_ARM_NSEC)
                return;
        hosts_choose_start(hosts);
        for (size_t i = 0; i < hosts->n_begun; i++)
                if (hosts->members[i].state == MEMBER_ARMED)
                        member_start_recording(&hosts->members[i], hosts->start_at);
}

static bool hosts_is_over(const Hosts *hosts) {
        if (hosts->n_begun < hosts->n_members)
                return false;
        for (size_t i = 0; i < hosts->n_members; i++)
                if (!member_is_final(&hosts->members[i]))
                        return false;
        return hosts_loop_is_flushed(&hosts->loop);
}

static void hosts_end_lines(Hosts *hosts, const Member *member) {
        HostsMember *more = &hosts->more[member - hosts->members];

        for (int i = 0; i < 2; i++)
                (void)text_line_end(&more->lines[i], &hosts->loop.sinks[i], member->name);
}

static void hosts_on_change(Member *member) {
        Hosts *hosts = member->group->userdata;

        state_board_note(hosts->board, member);
        if (member_is_final(member))
                hosts_end_lines(hosts, member);
        if (member->state == MEMBER_ARMED && hosts->start_at != 0)
                member_start_recording(member, hosts->start_at); /* it is late */
        hosts_start_all(hosts);
}

static void hosts_on_tick(void *userdata) {
        Hosts *hosts = userdata;
        bool is_time = member_now() - hosts->compared_at > HOSTS_COMPARE_NSEC;

        if (is_time)
                hosts->compared_at = member_now();
        for (size_t i = 0; i < hosts->n_begun; i++) {
                if (is_time && hosts->members[i].state == MEMBER_RECORDING)
                        member_compare_clocks(&hosts->members[i]);
                member_tick(&hosts->members[i]);
        }
        hosts_start_all(hosts);
        state_board_draw(hosts->board);
        if (hosts_is_over(hosts))
                (void)sd_event_exit(hosts->loop.event, 0);
}

/* Opens the file of the machine. Its name is made of letters that cannot leave the directory. */
static int hosts_open_member(Hosts *hosts, size_t i, Reason *reason) {
        _cleanup_free_ char *path = NULL;
        int r;

        if (asprintf(&path,
                            "%s/%s.kts",
                            hosts->options->directory,
                            hosts->options->hosts->entries[i].file) < 0)
                return -ENOMEM;
        r = output_open(path, "kts", &hosts->more[i].output, reason);
        if (r != 0)
                return r;
        output_set_foreign(hosts->more[i].output);
        return member_open(&hosts->members[i], hosts->more[i].output, reason);
}

/* One at a time, so that machines that are connected are not left waiting. */
static int hosts_on_next(sd_event_source *source, void *userdata) {
        Hosts *hosts = userdata;
        Member *member = &hosts->members[hosts->n_begun++];

        if (hosts->loop.n_signals > 0)
                member_fail(member, "interrupted before its start");
        else
                member_start(member);
        return sd_event_source_set_enabled(
                        source, hosts->n_begun < hosts->n_members ? SD_EVENT_ON : SD_EVENT_OFF);
}

/* Nothing more is awaited from the machines, but what came is completed. */
static void hosts_give_up(Hosts *hosts) {
        for (size_t i = 0; i < hosts->n_begun; i++)
                member_fail(&hosts->members[i], "interrupted; the session ends with this process");
}

/* A burst is one signal. A second one, or a third with a command, ends the wait for the machines;
 * one more also the wait for what came. */
static void hosts_on_signal(int number, void *userdata) {
        Hosts *hosts = userdata;
        unsigned patience = hosts->options->has_command ? 3 : 2;

        for (size_t i = 0; i < hosts->n_begun; i++)
                member_send_signal(&hosts->members[i], (uint8_t)number);
        if (hosts->loop.n_signals == patience)
                hosts_give_up(hosts);
        if (hosts->loop.n_signals > patience)
                (void)sd_event_exit(hosts->loop.event, 0);
}

/* 0: it is new or empty, and ours: in another user's directory files could be exchanged. */
static int hosts_check_directory(const char *path, Reason *reason) {
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

static int hosts_make_directory(const char *path, Reason *reason) {
        if (mkdir(path, 0777) == 0)
                return 0;
        if (errno == EEXIST)
                return hosts_check_directory(path, reason);
        return reason_set(reason, KT_E_FAILED, "%s: cannot be made: %s", path, strerror(errno));
}

static int64_t hosts_get_realtime_offset(void) {
        struct timespec now;

        (void)clock_gettime(CLOCK_REALTIME, &now);
        return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - member_now();
}

static int hosts_open(Hosts *hosts, Reason *reason) {
        const HostsRecordOptions *options = hosts->options;
        int r;

        hosts->n_members = options->hosts->n;
        hosts->members = calloc(hosts->n_members, sizeof(*hosts->members));
        hosts->more = calloc(hosts->n_members, sizeof(*hosts->more));
        hosts->manifest = manifest_new(hosts->n_members);
        if (!hosts->members || !hosts->more || !hosts->manifest)
                return -ENOMEM;
        for (size_t i = 0; i < hosts->n_members; i++)
                member_init(&hosts->members[i], &hosts->group, &options->hosts->entries[i]);
        hosts->manifest->realtime_offset = hosts_get_realtime_offset();
        hosts->loop.on_tick = hosts_on_tick;
        hosts->loop.on_signal = hosts_on_signal;
        hosts->loop.on_room = hosts_on_room;
        hosts->loop.userdata = hosts;
        r = hosts_loop_init(&hosts->loop, hosts->n_members, reason);
        hosts->group.event = hosts->loop.event;
        hosts->group.mask = hosts->loop.mask;
        r = r ?: hosts_make_directory(options->directory, reason);
        for (size_t i = 0; r == 0 && i < hosts->n_members; i++)
                r = hosts_open_member(hosts, i, reason);
        if (r == 0)
                r = sd_event_add_defer(hosts->loop.event, &hosts->starter, hosts_on_next, hosts);
        if (r == 0)
                r = state_board_new(hosts->members,
                                hosts->n_members,
                                options->context->quiet,
                                &hosts->board);
        hosts->compared_at = member_now();
        return r;
}

static char *hosts_get_file(const Hosts *hosts, size_t i) {
        char *file;

        return asprintf(&file, "%s.kts", hosts->options->hosts->entries[i].file) < 0 ? NULL : file;
}

/* What is in the manifest of a machine whose recording has ended. */
static int hosts_fill_machine(const Hosts *hosts, size_t i, const NearResult *result) {
        ManifestMachine *machine = &hosts->manifest->machines[i];
        const Member *member = &hosts->members[i];
        bool has_file = result && !member->is_discarded;
        bool is_complete = has_file && result->complete && member->state == MEMBER_DONE;

        machine->host = strdup(hosts->options->hosts->entries[i].name);
        machine->file = has_file ? hosts_get_file(hosts, i) : NULL;
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
static int hosts_finish_member(Hosts *hosts, size_t i) {
        Member *member = &hosts->members[i];
        bool is_quiet = hosts->options->context->quiet, has_failed = member->state != MEMBER_DONE,
             has_command = hosts->options->has_command;
        int status = KT_EXIT_FAILED, r;

        if (member->stream && member->is_discarded)
                near_stream_discard(member->stream);
        else if (member->stream)
                status = near_stream_finish(
                                member->stream, is_quiet, has_failed || hosts->loop.n_signals > 0);
        if (has_failed)
                message_print("%s: %s",
                                member->name,
                                member->why[0] ? member->why : "it sent no recording");
        r = hosts_fill_machine(
                        hosts, i, member->stream ? near_stream_get_result(member->stream) : NULL);
        if (r < 0)
                (void)message_fail(r, NULL);
        if (has_failed && member->status > 0 && member->started == 0)
                return member->status;
        if (has_failed)
                return has_command ? KT_EXIT_RECORDING : KT_EXIT_FAILED;
        return has_command && status == KT_EXIT_OK ? member->status : status;
}

/* If all machines say the same, this is the status. Else the result is a part. */
static int hosts_finish(Hosts *hosts) {
        Reason reason = {};
        int status = -1, r;

        for (size_t i = 0; i < hosts->n_begun; i++)
                if (hosts->members[i].link)
                        near_link_close(hosts->members[i].link);
        for (size_t i = 0; i < hosts->n_members; i++) {
                int one = hosts_finish_member(hosts, i);

                status = status < 0 || status == one ? one : KT_EXIT_LOST;
        }
        hosts->manifest->start = hosts->start_at;
        hosts->manifest->end = member_now();
        r = manifest_write(hosts->manifest, hosts->options->directory, &reason);
        return r == 0 ? status : message_fail(r, &reason);
}

int hosts_record(const HostsRecordOptions *options) {
        Hosts hosts = { .options = options };
        Reason reason = {};
        int r, status;

        hosts.group = (MemberGroup){ .n_words = options->context->n_words,
                .words = options->context->words,
                .has_command = options->has_command,
                .on_text = hosts_on_text,
                .on_change = hosts_on_change,
                .userdata = &hosts };
        r = hosts_open(&hosts, &reason);
        if (r == 0)
                r = sd_event_loop(hosts.loop.event);
        hosts.board = state_board_free(hosts.board);
        status = r < 0 || reason.text[0] ? message_fail(r, &reason) : hosts_finish(&hosts);
        hosts_done(&hosts);
        return status;
}
