/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records on several machines at the same time, for `record -H a,b` and `snapshot -H a,b`. One loop
 * carries all members. Each machine first makes its session, or finds it. When all are armed or
 * have failed, all get one time at which they start. Machines that are silent or slow do not delay
 * this time: see hosts_must_wait(). A machine that is armed later starts later.
 *
 * Output: a directory with a file for each machine, and the manifest. A file gets its name when its
 * recording starts. The manifest is written soon after that, when something has changed, and at the
 * end, so what was recorded can be read even if this process is killed. Without any file, no
 * directory is left.
 *
 * ^C ends the recording on all machines; a second one, or with a command a third one, ends the wait
 * for them.
 *
 * Limits: HOST_LIST_MAX machines; for each, the memory of its packets and outlets. Text is held at
 * the machine that sends it while its reader is slow; only a recording whose own text waits can
 * lose events by that. ssh never asks for a password. Owns the members, the outputs, the loop and
 * the board. */

#include "hosts/hosts-record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "hosts/host-list.h"
#include "hosts/hosts-loop.h"
#include "hosts/manifest.h"
#include "hosts/state-board.h"
#include "remote/near.h"
#include "terminal/message.h"

#define HOSTS_ARM_NSEC   ((int64_t)5 * 1000 * 1000 * 1000)  /* the others may take so long */
#define HOSTS_LEAD_NSEC  ((int64_t)200 * 1000 * 1000)       /* until the packet has come */
#define HOSTS_BOUND_NSEC ((int64_t)250 * 1000 * 1000)       /* a less certain clock starts later */
#define HOSTS_WRITE_NSEC ((int64_t)10 * 1000 * 1000 * 1000) /* between two manifests */

typedef struct HostsMember {
        Output *output;
        TextQueue texts[2];  /* of standard output and standard error */
        bool is_published;   /* its file has its name */
        int64_t compared_at; /* 0: the first time is not yet chosen */
} HostsMember;

typedef struct Hosts {
        const HostsRecordOptions *options;
        const HostList *list;
        MemberGroup group;
        Member *members;
        HostsMember *more; /* of each member */
        HostsLoop loop;
        StateBoard *board;
        int64_t realtime_offset;
        int64_t waiting_since; /* see hosts_must_wait() */
        int64_t start_at;      /* 0: not yet decided */
        int64_t written_at;    /* the manifest; 0: never */
        size_t next_text;      /* the member that prints first */
        bool is_new_directory, must_write;
        bool is_output_over; /* the machines know that standard output takes no more */
} Hosts;

static void hosts_done(Hosts *hosts) {
        state_board_free(hosts->board);
        for (size_t i = 0; i < hosts->loop.n_begun; i++)
                if (hosts->members[i].link)
                        near_link_close(hosts->members[i].link);
        for (size_t i = 0; hosts->members && hosts->more && i < hosts->list->n; i++) {
                member_done(&hosts->members[i]);
                output_free(hosts->more[i].output);
                text_queue_done(&hosts->more[i].texts[0]);
                text_queue_done(&hosts->more[i].texts[1]);
        }
        free(hosts->members);
        free(hosts->more);
        hosts_loop_done(&hosts->loop);
}

/* Prints what the sinks take. A machine whose text waits is held, so that at most the text of one
 * packet waits here. The streams of the others go on. */
static void hosts_print_texts(Hosts *hosts, size_t i) {
        Member *member = &hosts->members[i];
        TextQueue *texts = hosts->more[i].texts;
        bool is_waiting = false;

        for (int one = 0; one < 2; one++) {
                if (text_queue_get_size(&texts[one]) == 0)
                        continue;
                state_board_clear(hosts->board);
                (void)text_queue_print(&texts[one],
                                &hosts->loop.sinks[one],
                                member->name,
                                member_is_final(member));
                is_waiting = is_waiting || text_queue_has_line(&texts[one]);
        }
        member_hold(member, is_waiting);
}

static void hosts_on_text(Member *member, bool is_error, const void *data, size_t size) {
        Hosts *hosts = member->group->userdata;
        size_t i = (size_t)(member - hosts->members);

        if (text_queue_add(&hosts->more[i].texts[is_error], data, size) < 0)
                member_fail(member, strerror(ENOMEM));
        else
                hosts_print_texts(hosts, i);
}

/* Each in its turn, so that none of them has to wait for machines that print all the time. */
static void hosts_on_room(void *userdata) {
        Hosts *hosts = userdata;
        size_t first = hosts->next_text, n = hosts->loop.n_begun;
        bool is_full = false;

        for (size_t k = 0; k < n; k++) {
                size_t i = (first + k) % n;

                hosts_print_texts(hosts, i);
                if (hosts->members[i].is_held && !is_full)
                        hosts->next_text = i;
                is_full = is_full || hosts->members[i].is_held;
        }
        if (hosts->loop.output_error == 0 || hosts->is_output_over)
                return;
        hosts->is_output_over = true;
        for (size_t i = 0; i < n; i++)
                member_end_output(&hosts->members[i]);
}

/* The time must be ahead for each machine when the packet comes there. A machine chooses how slowly
 * it answers, so it may not choose how long the others wait. */
static void hosts_choose_start(Hosts *hosts) {
        int64_t bound = 0;

        for (size_t i = 0; i < hosts->loop.n_begun; i++) {
                const ClockTrack *clock = &hosts->members[i].clocks.track;

                if (hosts->members[i].state == MEMBER_ARMED)
                        bound = MAX_OF(bound, clock->points[clock->n - 1].bound);
        }
        hosts->start_at = clock_question_now() + HOSTS_LEAD_NSEC +
                          2 * MIN_OF(bound, HOSTS_BOUND_NSEC);
}

/* Whether the start waits for machines that are not armed. The time counts from when the first one
 * was armed. It counts again from when the last one was begun, and before that from each that has
 * connected: a long list goes on as long as it gets somewhere, but dead machines, each of which
 * keeps a place for 30 s, are not awaited. */
static bool hosts_must_wait(Hosts *hosts) {
        size_t n_armed = 0, n_waiting = hosts->loop.n_machines - hosts->loop.n_begun;

        for (size_t i = 0; i < hosts->loop.n_begun; i++) {
                n_armed += hosts->members[i].state == MEMBER_ARMED;
                n_waiting += hosts->members[i].state < MEMBER_ARMED;
        }
        if (n_armed == 0)
                hosts->waiting_since = clock_question_now();
        return n_armed == 0 ||
               (n_waiting > 0 && clock_question_now() - hosts->waiting_since < HOSTS_ARM_NSEC);
}

static void hosts_start_all(Hosts *hosts) {
        if (hosts->start_at != 0 || hosts_must_wait(hosts))
                return;
        hosts_choose_start(hosts);
        for (size_t i = 0; i < hosts->loop.n_begun; i++)
                if (hosts->members[i].state == MEMBER_ARMED)
                        member_start_recording(&hosts->members[i], hosts->start_at);
}

static bool hosts_is_over(const Hosts *hosts) {
        if (hosts->loop.n_begun < hosts->loop.n_machines)
                return false;
        for (size_t i = 0; i < hosts->loop.n_machines; i++)
                if (!member_is_final(&hosts->members[i]) ||
                                text_queue_get_size(&hosts->more[i].texts[0]) > 0 ||
                                text_queue_get_size(&hosts->more[i].texts[1]) > 0)
                        return false;
        return true;
}

/* The recording of the machine has started: what comes from now on is kept. */
static void hosts_publish(Hosts *hosts, Member *member) {
        HostsMember *more = &hosts->more[member - hosts->members];
        Reason reason = {};
        int r = output_publish(more->output, &reason);

        more->is_published = r == 0;
        if (r != 0)
                member_fail(member, reason.text[0] ? reason.text : strerror(r < 0 ? -r : EIO));
}

static void hosts_on_change(Member *member) {
        Hosts *hosts = member->group->userdata;

        if (member->state == MEMBER_ARMING && hosts->loop.n_begun < hosts->loop.n_machines)
                hosts->waiting_since = clock_question_now();
        if (member->state == MEMBER_RECORDING)
                hosts_publish(hosts, member);
        hosts->must_write = hosts->must_write || member->state >= MEMBER_RECORDING;
        state_board_note(hosts->board, member);
        if (member_is_final(member))
                hosts_print_texts(hosts, (size_t)(member - hosts->members));
        if (member->state == MEMBER_ARMED && hosts->start_at != 0)
                member_start_recording(member, hosts->start_at); /* it is late */
        hosts_start_all(hosts);
}

/* Compares the clocks of each machine at a time of its own: the answers of many at one time would
 * wait for each other, and be less exact. */
static void hosts_compare(Hosts *hosts, size_t i) {
        int64_t *compared_at = &hosts->more[i].compared_at, now = clock_question_now();

        if (hosts->members[i].state != MEMBER_RECORDING)
                return;
        if (*compared_at == 0)
                *compared_at = now - CLOCK_QUESTION_PERIOD_NSEC +
                               CLOCK_QUESTION_PERIOD_NSEC / (int64_t)hosts->loop.n_machines *
                                               (int64_t)(i + 1);
        if (now - *compared_at <= CLOCK_QUESTION_PERIOD_NSEC)
                return;
        *compared_at = now;
        member_compare_clocks(&hosts->members[i]);
        hosts->must_write = true;
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

static int hosts_make_directory(Hosts *hosts, Reason *reason) {
        const char *path = hosts->options->directory;

        hosts->is_new_directory = mkdir(path, 0777) == 0;
        if (hosts->is_new_directory)
                return 0;
        if (errno == EEXIST)
                return hosts_check_directory(path, reason);
        return reason_set(reason, KT_E_FAILED, "%s: cannot be made: %s", path, strerror(errno));
}

static int64_t hosts_get_realtime_offset(void) {
        struct timespec now;

        (void)clock_gettime(CLOCK_REALTIME, &now);
        return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - clock_question_now();
}

/* What is in the manifest of a machine. Before the end it says what is true if this process ends
 * now. */
static int hosts_fill_machine(const Hosts *hosts, size_t i, ManifestMachine *machine) {
        const struct HostListEntry *entry = &hosts->list->entries[i];
        const Member *member = &hosts->members[i];
        const NearResult *result =
                        member_is_final(member) ? near_stream_get_result(member->stream) : NULL;
        bool has_file = hosts->more[i].is_published && !member->is_discarded,
             is_complete = has_file && result && result->complete && member->state == MEMBER_DONE;
        Reason message = member->why;

        if (member->state == MEMBER_DONE && !is_complete && result)
                (void)reason_set(&message,
                                KT_E_FAILED,
                                "%s",
                                result->code != 0 ? result->reason.text : result->missing);
        else if (!member_is_final(member))
                (void)reason_set(&message, KT_E_FAILED, "ktracectl ended before its recording");
        machine->host = strdup(entry->name);
        if (has_file && asprintf(&machine->file, "%s.kts", entry->file) < 0)
                machine->file = NULL;
        machine->state = strdup(!has_file ? "failed" : is_complete ? "complete" : "cut");
        machine->message = is_complete || !message.text[0] ? NULL : strdup(message.text);
        machine->status = member->status;
        machine->started = member->started;
        machine->clock = member->clocks.track;
        if (has_file && result) {
                machine->n_events = MIN_OF(result->n_events, (uint64_t)INT64_MAX);
                machine->n_lost = MIN_OF(result->n_lost, (uint64_t)INT64_MAX);
        }
        return machine->host && machine->state && (!has_file || machine->file) ? 0 : -ENOMEM;
}

static int hosts_write_manifest(Hosts *hosts, Reason *reason) {
        _cleanup_(manifest_free_cleanup) Manifest *manifest = manifest_new(hosts->loop.n_machines);
        int r = manifest ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < hosts->loop.n_machines; i++)
                r = hosts_fill_machine(hosts, i, &manifest->machines[i]);
        if (r < 0)
                return r;
        manifest->realtime_offset = hosts->realtime_offset;
        manifest->start = hosts->start_at;
        manifest->end = clock_question_now();
        hosts->must_write = false;
        hosts->written_at = clock_question_now();
        return manifest_write(manifest, hosts->options->directory, reason);
}

/* A failure is reported at the end, if it fails again. */
static void hosts_tick_manifest(Hosts *hosts) {
        Reason ignored = {};

        if (hosts->must_write &&
                        (hosts->written_at == 0 || clock_question_now() - hosts->written_at >
                                                                   HOSTS_WRITE_NSEC))
                (void)hosts_write_manifest(hosts, &ignored);
}

static void hosts_on_tick(void *userdata) {
        Hosts *hosts = userdata;

        for (size_t i = 0; i < hosts->loop.n_begun; i++) {
                hosts_compare(hosts, i);
                member_tick(&hosts->members[i]);
        }
        hosts_start_all(hosts);
        if (!hosts_is_over(hosts)) {
                hosts_tick_manifest(hosts);
                state_board_draw(hosts->board);
                return;
        }
        state_board_clear(hosts->board);
        if (hosts_loop_is_flushed(&hosts->loop))
                (void)sd_event_exit(hosts->loop.event, 0);
}

/* Opens the file of the machine. Its name is made of letters that cannot leave the directory. */
static int hosts_open_member(Hosts *hosts, size_t i, Reason *reason) {
        _cleanup_free_ char *path = NULL;
        int r;

        if (asprintf(&path, "%s/%s.kts", hosts->options->directory, hosts->list->entries[i].file) <
                        0)
                return -ENOMEM;
        r = output_open(path, "kts", &hosts->more[i].output, reason);
        if (r != 0)
                return r;
        output_set_foreign(hosts->more[i].output);
        return member_open(&hosts->members[i], hosts->more[i].output, reason);
}

static void hosts_on_next(void *userdata) {
        Hosts *hosts = userdata;
        Member *member = &hosts->members[hosts->loop.n_begun - 1];

        if (hosts->loop.n_begun == hosts->loop.n_machines)
                hosts->waiting_since = clock_question_now();
        if (hosts->loop.n_signals > 0)
                member_fail(member, "interrupted before its start");
        else
                member_start(member);
}

static bool hosts_is_connecting(size_t machine, void *userdata) {
        Hosts *hosts = userdata;

        return hosts->members[machine].state == MEMBER_CONNECTING;
}

/* Nothing more is awaited from the machines, but what came is completed. */
static void hosts_give_up(Hosts *hosts) {
        for (size_t i = 0; i < hosts->loop.n_begun; i++)
                member_fail(&hosts->members[i], "interrupted; the session ends with this process");
}

/* As with one machine, each signal is passed on. A second one, or a third with a command, ends the
 * wait for the machines; one more also the wait for what came. */
static void hosts_on_signal(int number, void *userdata) {
        Hosts *hosts = userdata;
        unsigned patience = hosts->options->has_command ? 3 : 2;

        for (size_t i = 0; hosts->loop.n_signals < patience && i < hosts->loop.n_begun; i++)
                member_send_signal(&hosts->members[i], (uint8_t)number);
        if (hosts->loop.n_signals == patience)
                hosts_give_up(hosts);
        if (hosts->loop.n_signals > patience)
                (void)sd_event_exit(hosts->loop.event, 0);
}

static int hosts_open(Hosts *hosts, Reason *reason) {
        const HostsRecordOptions *options = hosts->options;
        size_t n = hosts->list->n;
        int r;

        hosts->members = calloc(n, sizeof(*hosts->members));
        hosts->more = calloc(n, sizeof(*hosts->more));
        if (!hosts->members || !hosts->more)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                member_init(&hosts->members[i], &hosts->group, &hosts->list->entries[i]);
        hosts->realtime_offset = hosts_get_realtime_offset();
        hosts->loop.on_next = hosts_on_next;
        hosts->loop.is_connecting = hosts_is_connecting;
        hosts->loop.on_tick = hosts_on_tick;
        hosts->loop.on_signal = hosts_on_signal;
        hosts->loop.on_room = hosts_on_room;
        hosts->loop.userdata = hosts;
        r = hosts_loop_init(&hosts->loop, n, reason);
        hosts->group.event = hosts->loop.event;
        hosts->group.mask = hosts->loop.mask;
        r = r ?: hosts_make_directory(hosts, reason);
        for (size_t i = 0; r == 0 && i < n; i++)
                r = hosts_open_member(hosts, i, reason);
        return r
                               ?: state_board_new(&hosts->loop,
                                                  hosts->members,
                                                  n,
                                                  options->context->quiet,
                                                  &hosts->board);
}

/* Nothing more comes. What is no recording is removed, before the manifest names it. */
static void hosts_settle(Hosts *hosts) {
        for (size_t i = 0; i < hosts->loop.n_begun; i++)
                if (hosts->members[i].link)
                        near_link_close(hosts->members[i].link);
        for (size_t i = 0; i < hosts->loop.n_machines; i++) {
                NearStream *stream = hosts->members[i].stream;

                if (!near_stream_is_done(stream))
                        near_stream_stop(stream);
                if (hosts->more[i].is_published && !hosts->members[i].is_discarded &&
                                near_stream_has_bytes(stream))
                        continue;
                near_stream_discard(stream);
                hosts->more[i].is_published = false;
        }
}

/* Reports what is in the file of a machine. Returns its exit status. */
static int hosts_finish_member(Hosts *hosts, size_t i) {
        Member *member = &hosts->members[i];
        bool has_failed = member->state != MEMBER_DONE, has_command = hosts->options->has_command;
        int written = KT_EXIT_OK;

        if (hosts->more[i].is_published)
                written = near_stream_finish(
                                member->stream, hosts->options->context->quiet, has_failed);
        if (!member_is_final(member))
                message_print("%s: interrupted; the session ends with this process", member->name);
        if (has_failed && member->status > 0 && member->started == 0)
                return member->status;
        if (has_failed)
                return has_command ? KT_EXIT_RECORDING : KT_EXIT_FAILED;
        return near_join_status(has_command, member->status, written);
}

static bool hosts_has_file(const Hosts *hosts) {
        for (size_t i = 0; i < hosts->loop.n_machines; i++)
                if (hosts->more[i].is_published)
                        return true;
        return false;
}

/* The next attempt needs no empty directory. A manifest was written if a file was there before. */
static void hosts_remove_directory(const Hosts *hosts) {
        _cleanup_free_ char *path = NULL;

        if (hosts->written_at != 0 &&
                        asprintf(&path, "%s/" MANIFEST_FILE, hosts->options->directory) >= 0)
                (void)unlink(path);
        if (hosts->is_new_directory)
                (void)rmdir(hosts->options->directory);
}

/* If all machines say the same, this is the status. Else the result is a part. */
static int hosts_join_status(Hosts *hosts) {
        int status = -1;

        for (size_t i = 0; i < hosts->loop.n_machines; i++) {
                int one = hosts_finish_member(hosts, i);

                status = status < 0 || status == one ? one : KT_EXIT_LOST;
        }
        return status;
}

/* The files and the manifest are complete before the first message may wait for its reader. */
static int hosts_finish(Hosts *hosts) {
        Reason reason = {};
        int status, r = 0;

        hosts_settle(hosts);
        if (hosts_has_file(hosts))
                r = hosts_write_manifest(hosts, &reason);
        else
                hosts_remove_directory(hosts);
        hosts_loop_unblock_signals(&hosts->loop);
        status = hosts_join_status(hosts);
        if (r != 0)
                status = message_fail(r, &reason);
        r = hosts_loop_report_output(&hosts->loop);
        if (r == 0 || r == -EPIPE)
                return status;
        return hosts->options->has_command ? KT_EXIT_RECORDING : KT_EXIT_FAILED;
}

static int hosts_conduct(const HostsRecordOptions *options, const HostList *list) {
        Hosts hosts = { .options = options, .list = list };
        Reason reason = {};
        int r, status;

        hosts.group = (MemberGroup){ .n_words = options->context->n_words,
                .words = options->context->words,
                .has_command = options->has_command,
                .on_text = hosts_on_text,
                .on_change = hosts_on_change,
                .userdata = &hosts };
        r = hosts_open(&hosts, &reason);
        if (r != 0) {
                status = message_fail(r, &reason);
                hosts_remove_directory(&hosts);
        } else {
                r = sd_event_loop(hosts.loop.event);
                status = hosts_finish(&hosts);
                if (r < 0)
                        status = message_fail(r, NULL);
        }
        hosts_done(&hosts);
        return status;
}

static int hosts_check_options(const HostsRecordOptions *options) {
        const Context *context = options->context;

        if (options->refused)
                return message_show_usage(context,
                                "-H %s: expected no %s: each machine has a .kts file in the directory of -o",
                                context->host,
                                options->refused);
        if (context->json != JSON_OFF)
                return message_show_usage(context,
                                "-H %s: expected no --json: 'report --json' prints the events of the directory",
                                context->host);
        if (!options->directory || strcmp(options->directory, "-") == 0)
                return message_show_usage(context,
                                "-H %s: expected -o DIRECTORY, for a file of each machine",
                                context->host);
        return KT_EXIT_OK;
}

int hosts_record(const HostsRecordOptions *options) {
        _cleanup_(host_list_free_cleanup) HostList *list = NULL;
        Reason reason = {};
        int status = hosts_check_options(options), r;

        if (status != KT_EXIT_OK)
                return status;
        r = host_list_parse(options->context->host, &list, &reason);
        if (r == KT_E_INVALID_SPEC)
                return message_show_usage(options->context, "%s", reason.text);
        return r != 0 ? message_fail(r, &reason) : hosts_conduct(options, list);
}
