/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a verb that writes no output file on several machines, for `ktracectl -H a,b list` and the
 * like. All run at the same time. Their outputs are printed in the order of -H, or as they come for
 * a verb that does not end, each line with its machine; errors and failures are printed when they
 * come. With --json the result is one array.
 *
 * Of a machine, at most RUN_TEXT_MAX bytes and what one read returns wait here; then its connection
 * is held. With --json it fails above JSON_MAX_BYTES, or above its part of RUN_JSON_ALL if this is
 * less. Machines may be hostile: see near-link.c. Owns the links and the texts. */

#include "hosts/hosts-run.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "hosts/host-list.h"
#include "hosts/hosts-loop.h"
#include "interfaces/json.h"
#include "remote/near-link.h"
#include "terminal/message.h"
#include "terminal/table.h"

#define RUN_TEXT_MAX     ((size_t)1024 * 1024)
#define RUN_JSON_ALL     ((size_t)256 * 1024 * 1024)
#define RUN_CONNECT_USEC ((uint64_t)30 * 1000 * 1000)
#define RUN_JSON_VALUES  ((size_t)64 * 1024)

typedef struct HostsRun HostsRun;

typedef struct RunMachine {
        HostsRun *run;
        const struct HostListEntry *entry;
        NearLink *link;
        TextQueue texts[2]; /* of standard output and standard error */
        int status;         /* -1: none yet */
        bool is_final;
        uint64_t began_usec;
        Reason why; /* it has failed */
} RunMachine;

struct HostsRun {
        const Context *context;
        HostList *hosts;
        HostsLoop loop;
        RunMachine *machines;
        size_t n_machines, n_printed;
        sd_event_source *advancer; /* once for all changes of a turn of the loop */
};

static bool run_is_json(const HostsRun *run) {
        return run->context->json != JSON_OFF && !run->context->verb->is_endless;
}

static void run_fail(RunMachine *machine, const char *why) {
        if (machine->is_final)
                return;
        (void)reason_set(&machine->why, KT_E_FAILED, "%s", why);
        machine->is_final = true;
        hosts_loop_print(&machine->run->loop, "%s: %s", machine->entry->name, machine->why.text);
}

/* Whether its output may be printed: it is its turn. */
static bool run_has_turn(const HostsRun *run, size_t i) {
        return !run_is_json(run) && (run->context->verb->is_endless || i <= run->n_printed);
}

static void run_print(RunMachine *machine, int which) {
        (void)text_queue_print(&machine->texts[which],
                        &machine->run->loop.sinks[which],
                        machine->entry->name,
                        machine->is_final);
}

/* Prints what may be printed now. */
static void run_print_all(HostsRun *run) {
        for (size_t i = 0; i < run->loop.n_begun; i++) {
                RunMachine *machine = &run->machines[i];

                run_print(machine, 1);
                if (!run_has_turn(run, i))
                        continue;
                run_print(machine, 0);
                if (i == run->n_printed && machine->is_final &&
                                text_queue_get_size(&machine->texts[0]) == 0)
                        run->n_printed++;
        }
}

/* Whether the machine must not send more: its text has no room. */
static bool run_must_hold(const HostsRun *run, size_t i) {
        const RunMachine *machine = &run->machines[i];

        if (text_queue_has_line(&machine->texts[1]))
                return true;
        if (run_has_turn(run, i))
                return text_queue_has_line(&machine->texts[0]);
        return !run_is_json(run) && text_queue_get_size(&machine->texts[0]) >= RUN_TEXT_MAX;
}

static bool run_is_over(const HostsRun *run) {
        if (run->loop.n_begun < run->n_machines || !hosts_loop_is_flushed(&run->loop))
                return false;
        for (size_t i = 0; i < run->n_machines; i++)
                if (!run->machines[i].is_final ||
                                text_queue_get_size(&run->machines[i].texts[1]) > 0)
                        return false;
        return run_is_json(run) || run->n_printed == run->n_machines;
}

/* Prints, and decides which machines may send more, and when all is done. */
static void run_advance(HostsRun *run) {
        run_print_all(run);
        for (size_t i = 0; i < run->loop.n_begun; i++) {
                RunMachine *machine = &run->machines[i];

                if (machine->link && !machine->is_final && !near_link_is_broken(machine->link))
                        near_link_hold(machine->link, run_must_hold(run, i));
        }
        if (run_is_over(run) || run->loop.output_error != 0)
                (void)sd_event_exit(run->loop.event, 0);
}

static int run_on_turn(sd_event_source *source, void *userdata) {
        run_advance(userdata);
        return 0;
}

static void run_take_output(RunMachine *machine, const Packet *packet) {
        TextQueue *text = &machine->texts[0];
        size_t max = MIN_OF((size_t)JSON_MAX_BYTES, RUN_JSON_ALL / machine->run->n_machines);

        if (text_queue_add(text, packet->data, packet->size) < 0)
                near_link_refuse(machine->link, strerror(ENOMEM));
        else if (run_is_json(machine->run) && text_queue_get_size(text) > max) {
                Reason reason;

                (void)reason_set(&reason, KT_E_FAILED, "more than %zu KiB of JSON", max / 1024);
                near_link_refuse(machine->link, reason.text);
        }
}

static void run_take_errors(RunMachine *machine, const void *data, size_t size) {
        if (text_queue_add(&machine->texts[1], data, size) < 0)
                near_link_refuse(machine->link, strerror(ENOMEM));
}

static void run_on_packet(NearLink *link, const Packet *packet, void *userdata) {
        RunMachine *machine = userdata;

        switch (packet->type) {
        case PACKET_OUTPUT:
                run_take_output(machine, packet);
                break;
        case PACKET_ERRORS:
                run_take_errors(machine, packet->data, packet->size);
                break;
        case PACKET_STREAM:
                near_link_refuse(link, "it sends a stream that was not asked for");
                break;
        case PACKET_EXIT:
                machine->status = packet->data[0];
                machine->is_final = true;
                break;
        default: /* it gets no input and is not asked */
                break;
        }
}

static void run_on_notice(NearLink *link, const uint8_t *data, size_t size, void *userdata) {
        run_take_errors(userdata, data, size);
}

static void run_on_change(NearLink *link, void *userdata) {
        RunMachine *machine = userdata;

        (void)sd_event_source_set_enabled(machine->run->advancer, SD_EVENT_ONESHOT);
}

static uint64_t run_now(void) {
        struct timespec now;

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void run_tick_machine(RunMachine *machine) {
        if (!machine->link)
                return;
        if (machine->is_final) {
                near_link_close(machine->link);
                return;
        }
        if (!near_link_has_hello(machine->link) &&
                        run_now() - machine->began_usec > RUN_CONNECT_USEC)
                near_link_refuse(machine->link, "no connection within 30 s");
        if (near_link_is_over(machine->link) && near_link_try_leave(machine->link))
                run_fail(machine, near_link_explain(machine->link));
}

static void run_on_tick(void *userdata) {
        HostsRun *run = userdata;

        for (size_t i = 0; i < run->loop.n_begun; i++)
                run_tick_machine(&run->machines[i]);
        run_advance(run);
}

/* A second signal ends the wait for machines that do not answer. */
static void run_on_signal(int number, void *userdata) {
        HostsRun *run = userdata;
        uint8_t data = (uint8_t)number;

        for (size_t i = 0; i < run->loop.n_begun; i++) {
                RunMachine *machine = &run->machines[i];

                if (!machine->link || machine->is_final || near_link_is_broken(machine->link))
                        continue;
                if (run->loop.n_signals > 1 || !near_link_has_hello(machine->link))
                        near_link_refuse(machine->link, "interrupted");
                else
                        (void)near_link_send(machine->link, PACKET_SIGNAL, &data, 1);
        }
        if (run->loop.n_signals > 2)
                (void)sd_event_exit(run->loop.event, 0);
}

static void run_on_room(void *userdata) {
        run_advance(userdata);
}

static int run_start_machine(RunMachine *machine, Reason *reason) {
        static const NearLinkHandlers handlers = { run_on_packet, run_on_notice, run_on_change };
        const Context *context = machine->run->context;
        Hello hello = hello_make(context->verb->far_protocol);
        int r;

        /* Whoever reads lines as they come wants them as on one machine. */
        hello.is_terminal = context->verb->is_endless && isatty(STDOUT_FILENO);
        r = near_link_new(machine->run->loop.event,
                        &machine->entry->host,
                        &machine->run->loop.mask,
                        &handlers,
                        machine,
                        &machine->link,
                        reason);

        r = r ?: near_link_send_hello(machine->link, &hello);
        r = r ?: near_link_send_words(machine->link, context->n_words, context->words, reason);
        return r ?: near_link_send(machine->link, PACKET_INPUT, NULL, 0);
}

static void run_on_next(void *userdata) {
        HostsRun *run = userdata;
        RunMachine *machine = &run->machines[run->loop.n_begun - 1];
        Reason reason = {};
        int r;

        machine->began_usec = run_now();
        r = run->loop.n_signals > 0 ? reason_set(&reason, KT_E_CANCELLED, "interrupted")
                                    : run_start_machine(machine, &reason);
        if (r != 0)
                run_fail(machine, reason.text[0] ? reason.text : strerror(r < 0 ? -r : EIO));
}

static bool run_is_connecting(size_t i, void *userdata) {
        const RunMachine *machine = &((HostsRun *)userdata)->machines[i];

        return machine->link && !machine->is_final && !near_link_has_hello(machine->link);
}

static void run_done(HostsRun *run) {
        sd_event_source_disable_unref(run->advancer);
        for (size_t i = 0; i < run->loop.n_begun; i++)
                if (run->machines[i].link)
                        near_link_close(run->machines[i].link);
        for (size_t i = 0; i < run->loop.n_begun; i++) {
                near_link_free(run->machines[i].link);
                text_queue_done(&run->machines[i].texts[0]);
                text_queue_done(&run->machines[i].texts[1]);
        }
        free(run->machines);
        hosts_loop_done(&run->loop);
        host_list_free(run->hosts);
}

static int run_open(HostsRun *run, Reason *reason) {
        int r = host_list_parse(run->context->host, &run->hosts, reason);

        if (r != 0)
                return r;
        run->n_machines = run->hosts->n;
        run->machines = calloc(run->n_machines, sizeof(*run->machines));
        if (!run->machines)
                return -ENOMEM;
        for (size_t i = 0; i < run->n_machines; i++)
                run->machines[i] = (RunMachine){
                        .run = run, .entry = &run->hosts->entries[i], .status = -1
                };
        run->loop.on_next = run_on_next;
        run->loop.is_connecting = run_is_connecting;
        run->loop.on_tick = run_on_tick;
        run->loop.on_signal = run_on_signal;
        run->loop.on_room = run_on_room;
        run->loop.userdata = run;
        r = hosts_loop_init(&run->loop, run->n_machines, reason);
        return r ?: sd_event_add_defer(run->loop.event, &run->advancer, run_on_turn, run);
}

/* An object for the machine: its name, status, and what it printed. NULL without memory. */
static json_object *run_make_result(const RunMachine *machine) {
        const TextQueue *text = &machine->texts[0];
        size_t size = text_queue_get_size(text);
        _cleanup_json_ json_object *output = NULL;
        json_object *object = json_object_new_object();
        Reason reason = {};

        if (!object)
                return NULL;
        (void)json_object_object_add(
                        object, "machine", json_object_new_string(machine->entry->name));
        if (machine->status >= 0)
                (void)json_object_object_add(
                                object, "status", json_object_new_int(machine->status));
        else
                (void)json_object_object_add(
                                object, "error", json_object_new_string(machine->why.text));
        if (size == 0)
                return object;
        if (json_parse_message(machine->entry->name,
                            text->data + text->start,
                            size,
                            RUN_JSON_VALUES,
                            &output,
                            &reason) == 0)
                (void)json_object_object_add(object, "output", TAKE_PTR(output));
        else
                (void)json_object_object_add(object,
                                "text",
                                json_object_new_string_len(text->data + text->start, (int)size));
        return object;
}

/* One array. Only one machine's values are in memory at a time: they take far more than its
 * text. */
static void run_print_json(HostsRun *run) {
        for (size_t i = 0; i < run->n_machines; i++) {
                _cleanup_json_ json_object *result = run_make_result(&run->machines[i]);

                text_queue_done(&run->machines[i].texts[0]);
                (void)fputs(i == 0 ? "[" : ",", stdout);
                table_put_json(run->context, result);
        }
        (void)puts("]");
}

/* If all machines say the same, this is the status. Else the result is a part. */
static int run_finish(HostsRun *run) {
        int status = -1, r;

        hosts_loop_unblock_signals(&run->loop);
        r = hosts_loop_report_output(&run->loop);
        if (r != 0)
                return r == -EPIPE ? 128 + SIGPIPE : KT_EXIT_FAILED;
        if (run_is_json(run))
                run_print_json(run);
        for (size_t i = 0; i < run->n_machines; i++) {
                const RunMachine *machine = &run->machines[i];
                int one = machine->status < 0 ? KT_EXIT_FAILED : machine->status;

                if (!machine->is_final)
                        message_print("%s: interrupted", machine->entry->name);
                status = status < 0 || status == one ? one : KT_EXIT_LOST;
        }
        return status;
}

int hosts_run(const Context *context, bool reads_input) {
        HostsRun run = { .context = context };
        Reason reason = {};
        int r, status;

        if (reads_input)
                return message_show_usage(context,
                                "-H %s: standard input is for one machine: expected a file on each",
                                context->host);
        r = run_open(&run, &reason);
        if (r == 0)
                r = sd_event_loop(run.loop.event);
        if (r == KT_E_INVALID_SPEC)
                status = message_show_usage(context, "%s", reason.text);
        else
                status = r == 0 ? run_finish(&run) : message_fail(r, &reason);
        run_done(&run);
        return status;
}
