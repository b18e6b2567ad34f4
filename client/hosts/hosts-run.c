/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a verb that writes no output file on several machines, for `ktracectl -H a,b list` and the
 * like. All run at the same time. Their outputs are printed in the order of -H, each line with its
 * machine; errors are printed when they come. With --json the result is one array.
 *
 * A machine whose turn has not come keeps at most RUN_TEXT_MAX bytes here; then its connection is
 * held. With --json it fails above JSON_MAX_BYTES. Machines may be hostile: see near-link.c. Owns
 * the links and the texts. */

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
#define RUN_CONNECT_USEC ((uint64_t)30 * 1000 * 1000)
#define RUN_JSON_VALUES  ((size_t)64 * 1024)

typedef struct HostsRun HostsRun;

typedef struct RunMachine {
        HostsRun *run;
        const struct HostListEntry *entry;
        NearLink *link;
        char *text; /* that is not yet printed */
        size_t n_text;
        TextLine lines[2];
        int status; /* -1: none yet */
        bool is_final;
        char why[sizeof(((Reason *)0)->text)]; /* it has failed */
} RunMachine;

struct HostsRun {
        const Context *context;
        HostList *hosts;
        HostsLoop loop;
        RunMachine *machines;
        size_t n_machines, n_begun, n_printed;
        sd_event_source *starter;
        uint64_t began_usec;
};

static bool run_is_json(const HostsRun *run) {
        return run->context->json != JSON_OFF;
}

static void run_fail(RunMachine *machine, const char *why) {
        if (machine->is_final)
                return;
        (void)snprintf(machine->why, sizeof(machine->why), "%s", why);
        machine->is_final = true;
}

static void run_print(RunMachine *machine) {
        (void)text_line_add(&machine->lines[0],
                        &machine->run->loop.sinks[0],
                        machine->entry->name,
                        machine->text,
                        machine->n_text);
        machine->n_text = 0;
        if (machine->is_final)
                (void)text_line_end(&machine->lines[0],
                                &machine->run->loop.sinks[0],
                                machine->entry->name);
}

/* Prints what may be printed now, and decides which machines may send more. */
static void run_advance(HostsRun *run) {
        bool is_full = hosts_loop_is_full(&run->loop);

        while (!run_is_json(run) && !is_full && run->n_printed < run->n_begun) {
                run_print(&run->machines[run->n_printed]);
                if (!run->machines[run->n_printed].is_final)
                        break;
                run->n_printed++;
        }
        for (size_t i = 0; i < run->n_begun; i++) {
                RunMachine *machine = &run->machines[i];

                if (machine->link && !machine->is_final && !near_link_is_broken(machine->link))
                        near_link_hold(machine->link,
                                        is_full || (!run_is_json(run) &&
                                                                   machine->n_text >=
                                                                                   RUN_TEXT_MAX));
        }
        if (run->n_begun < run->n_machines || !hosts_loop_is_flushed(&run->loop))
                return;
        for (size_t i = 0; i < run->n_machines; i++)
                if (!run->machines[i].is_final)
                        return;
        if (run_is_json(run) || run->n_printed == run->n_machines)
                (void)sd_event_exit(run->loop.event, 0);
}

static void run_take_output(RunMachine *machine, const Packet *packet) {
        char *text = realloc(machine->text, machine->n_text + packet->size);

        if (!text) {
                near_link_refuse(machine->link, strerror(ENOMEM));
                return;
        }
        machine->text = text;
        memcpy(text + machine->n_text, packet->data, packet->size);
        machine->n_text += packet->size;
        if (run_is_json(machine->run) && machine->n_text > JSON_MAX_BYTES)
                near_link_refuse(machine->link, "more than 4 MiB of JSON");
}

static void run_take_errors(RunMachine *machine, const void *data, size_t size) {
        (void)text_line_add(&machine->lines[1],
                        &machine->run->loop.sinks[1],
                        machine->entry->name,
                        data,
                        size);
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

        run_advance(machine->run);
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
                        run_now() - machine->run->began_usec > RUN_CONNECT_USEC)
                near_link_refuse(machine->link, "no connection within 30 s");
        if (near_link_is_over(machine->link) && near_link_try_leave(machine->link))
                run_fail(machine, near_link_explain(machine->link));
}

static void run_on_tick(void *userdata) {
        HostsRun *run = userdata;

        for (size_t i = 0; i < run->n_begun; i++)
                run_tick_machine(&run->machines[i]);
        run_advance(run);
}

/* A second signal ends the wait for machines that do not answer. */
static void run_on_signal(int number, void *userdata) {
        HostsRun *run = userdata;
        uint8_t data = (uint8_t)number;

        for (size_t i = 0; i < run->n_begun; i++) {
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
        Hello hello = hello_make();
        int r = near_link_new(machine->run->loop.event,
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

/* One at a time, so that machines that are connected are not left waiting. */
static int run_on_next(sd_event_source *source, void *userdata) {
        HostsRun *run = userdata;
        RunMachine *machine = &run->machines[run->n_begun++];
        Reason reason = {};
        int r = run->loop.n_signals > 0 ? reason_set(&reason, KT_E_CANCELLED, "interrupted")
                                        : run_start_machine(machine, &reason);

        if (r != 0)
                run_fail(machine, reason.text[0] ? reason.text : strerror(r < 0 ? -r : EIO));
        return sd_event_source_set_enabled(
                        source, run->n_begun < run->n_machines ? SD_EVENT_ON : SD_EVENT_OFF);
}

static void run_done(HostsRun *run) {
        sd_event_source_disable_unref(run->starter);
        for (size_t i = 0; i < run->n_begun; i++)
                if (run->machines[i].link)
                        near_link_close(run->machines[i].link);
        for (size_t i = 0; i < run->n_begun; i++) {
                near_link_free(run->machines[i].link);
                free(run->machines[i].text);
                text_line_done(&run->machines[i].lines[0]);
                text_line_done(&run->machines[i].lines[1]);
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
        run->began_usec = run_now();
        run->loop.on_tick = run_on_tick;
        run->loop.on_signal = run_on_signal;
        run->loop.on_room = run_on_room;
        run->loop.userdata = run;
        r = hosts_loop_init(&run->loop, run->n_machines, reason);
        return r ?: sd_event_add_defer(run->loop.event, &run->starter, run_on_next, run);
}

/* An object for the machine: its name, status, and what it printed. NULL without memory. */
static json_object *run_make_result(const RunMachine *machine) {
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
                (void)json_object_object_add(object, "error", json_object_new_string(machine->why));
        if (machine->n_text == 0)
                return object;
        if (json_parse_message(machine->entry->name,
                            machine->text,
                            machine->n_text,
                            RUN_JSON_VALUES,
                            &output,
                            &reason) == 0)
                (void)json_object_object_add(object, "output", TAKE_PTR(output));
        else
                (void)json_object_object_add(object,
                                "text",
                                json_object_new_string_len(machine->text, (int)machine->n_text));
        return object;
}

static void run_print_json(const HostsRun *run) {
        _cleanup_json_ json_object *results = json_object_new_array();

        for (size_t i = 0; results && i < run->n_machines; i++)
                (void)json_object_array_add(results, run_make_result(&run->machines[i]));
        if (results)
                table_print_json(run->context, results);
}

/* If all machines say the same, this is the status. Else the result is a part. */
static int run_finish(const HostsRun *run) {
        int status = -1;

        if (run_is_json(run))
                run_print_json(run);
        for (size_t i = 0; i < run->n_machines; i++) {
                const RunMachine *machine = &run->machines[i];
                int one = machine->status < 0 ? KT_EXIT_FAILED : machine->status;

                if (machine->status < 0)
                        message_print("%s: %s",
                                        machine->entry->name,
                                        machine->why[0] ? machine->why : "interrupted");
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
