/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Formats in, text out. Called by the trace readers and the exporters. Owns the handle of
 * libtraceevent, which parses the formats, and its plugins. Prints records by tables
 * (print-table.c), and the rest by libtraceevent. Relies on the common fields, which have had
 * the same place in every kernel since 2.6.31 (common_type at 0, common_pid at 4); other formats
 * are refused. libtraceevent does not check all data of a file: event-layout.c and print-guard.c
 * do. */

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

#include "trace/decode.h"
#include "trace/format-guard.h"
#include "trace/inner-pids.h"

/* The bytes after a record are zero, as far as a 16-bit length can reach. */
#define SCRATCH_SLACK (2 * 65536 + 64)
#define SCRATCH_SIZE  (DECODE_RECORD_MAX + SCRATCH_SLACK)

int decode_new(bool with_plugins, Decode **ret) {
        _cleanup_(decode_free_cleanup) Decode *decode = NULL;

        decode = calloc(1, sizeof(*decode));
        if (!decode)
                return -ENOMEM;
        decode->long_size = 8;
        decode->is_usec = decode->is_ns = true;
        trace_seq_init(&decode->seq);
        decode->scratch = calloc(1, SCRATCH_SIZE);
        decode->tep = tep_alloc();
        if (!decode->scratch || !decode->tep)
                return -ENOMEM;

        /* Its warnings concern the kernel's formats, which the user cannot correct. */
        tep_set_loglevel(TEP_LOG_NONE);
        tep_set_file_bigendian(decode->tep, TEP_LITTLE_ENDIAN);
        tep_set_local_bigendian(
                        decode->tep, tep_is_bigendian() ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
        tep_set_long_size(decode->tep, 8);
        /* libtraceevent also loads plugins from $HOME. */
        if (with_plugins && getauxval(AT_SECURE) == 0)
                decode->plugins = tep_load_plugins(decode->tep);
        *ret = TAKE_PTR(decode);
        return 0;
}

Decode *decode_free(Decode *decode) {
        if (!decode)
                return NULL;
        for (size_t i = 0; i < decode->n_layouts; i++) {
                event_layout_free(decode->layouts[i]);
                print_table_free(decode->tables[i]);
        }
        free(decode->layouts);
        free(decode->tables);
        commands_clear(&decode->commands);
        inner_pids_free(decode->inner);
        if (decode->plugins)
                tep_unload_plugins(decode->plugins, decode->tep);
        if (decode->tep)
                tep_free(decode->tep);
        trace_seq_destroy(&decode->seq);
        free(decode->scratch);
        free(decode);
        return NULL;
}

void decode_set_machine(Decode *decode, const char *machine) {
        snprintf(decode->machine, sizeof(decode->machine), "%s", machine ?: "");
        decode->syscalls = syscall_table_from_machine(machine);
        decode->is_native = decode->syscalls != SYSCALL_TABLE_NONE &&
                            decode->syscalls == SYSCALL_TABLE_NATIVE;
}

void decode_set_clock(Decode *decode, const char *clock) {
        static const char *const usec[] = {
                "local", "global", "uptime", "perf", "tai", "tsc2nsec"
        };
        bool known = strncmp(clock, "mono", 4) == 0;

        snprintf(decode->clock, sizeof(decode->clock), "%s", clock);
        for (size_t i = 0; i < ELEMENTSOF(usec); i++)
                known = known || strcmp(clock, usec[i]) == 0;
        decode->is_usec = known;
        decode->is_ns = (known && strcmp(clock, "uptime") != 0) || strcmp(clock, "boot") == 0;
}

static bool common_is_known(struct tep_event *event) {
        const struct tep_format_field *type = tep_find_common_field(event, "common_type");
        const struct tep_format_field *flags = tep_find_common_field(event, "common_flags");
        const struct tep_format_field *pid = tep_find_common_field(event, "common_pid");

        return type && type->offset == 0 && type->size == 2 && pid && pid->offset == 4 &&
               pid->size == 4 && flags && flags->offset == 2 && flags->size == 1;
}

static int store_layout(Decode *decode, int id, EventLayout *layout) {
        if ((size_t)id >= decode->n_layouts) {
                size_t n = ((size_t)id + 256) & ~(size_t)255;
                EventLayout **layouts = reallocarray(decode->layouts, n, sizeof(*layouts));
                PrintTable **tables = reallocarray(decode->tables, n, sizeof(*tables));

                decode->layouts = layouts ?: decode->layouts;
                decode->tables = tables ?: decode->tables;
                if (!layouts || !tables)
                        return -ENOMEM;
                memset(layouts + decode->n_layouts, 0, (n - decode->n_layouts) * sizeof(*layouts));
                memset(tables + decode->n_layouts, 0, (n - decode->n_layouts) * sizeof(*tables));
                decode->n_layouts = n;
        }
        event_layout_free(decode->layouts[id]);
        decode->layouts[id] = layout; /* consumes layout */
        return 0;
}

int decode_add_event(Decode *decode,
                const char *system,
                const char *text,
                size_t size,
                Reason *reason) {
        _cleanup_(event_layout_free_cleanup) EventLayout *layout = NULL;
        _cleanup_free_ char *safe = NULL;
        struct tep_event *event;
        int id, r;

        r = format_guard_make_safe(text, size, &safe, &id);
        if (r < 0)
                return r == -EBADMSG ? 0 : r;
        /* With two events of one id, libtraceevent keeps both and may find either. */
        if ((size_t)id < decode->n_layouts && decode->layouts[id])
                return 0;

        (void)tep_parse_event(decode->tep, safe, strlen(safe), system);
        event = tep_find_event(decode->tep, id);
        if (!event)
                return 0;
        if (!common_is_known(event))
                return reason_set(reason,
                                KT_E_FAILED,
                                "the common fields of %s:%s are not where kernels have them",
                                system,
                                event->name);
        r = event_layout_new(event, &layout, reason);
        if (r != 0)
                return r;
        r = store_layout(decode, id, layout);
        if (r == 0)
                layout = NULL;
        return r;
}

int decode_add_command(Decode *decode, int pid, const char *name) {
        return pid <= 0 ? 0 : commands_set(&decode->commands, pid, name, true);
}

int decode_add_commands(Decode *decode, char *lines) {
        char *line;
        int r = 0;

        while (r == 0 && (line = strsep(&lines, "\n"))) {
                char *name;
                long pid = strtol(line, &name, 10);

                if (line[0] == '\0')
                        continue;
                if (name == line || pid != (int)pid)
                        break;
                name += strspn(name, " \t");
                if (name[0] == '\0')
                        break;
                r = commands_set(&decode->commands, (int)pid, name, false);
        }
        return r;
}

int decode_check_cpus(const Decode *decode, const CpuList *cpus, Reason *reason) {
        for (unsigned cpu = 0; cpu < decode->n_cpus; cpu++)
                if (cpu_list_has(cpus, cpu))
                        return 0;
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "--cpu: the trace has %u CPUs and none of these: expected numbers from 0 to %u",
                        decode->n_cpus,
                        decode->n_cpus > 0 ? decode->n_cpus - 1 : 0);
}

int decode_record_pid(const Record *record) {
        return record->size < 8 ? -1 : (int)(int32_t)event_layout_number(record->data + 4, 4, true);
}

bool decode_knows_command(const Decode *decode, int pid) {
        return pid <= 0 || commands_find(&decode->commands, pid);
}

void decode_set_receipt(Decode *decode, json_object *receipt) {
        const char *scope = json_object_get_string(
                        json_object_object_get(json_object_object_get(receipt, "spec"), "scope"));

        decode->hides_tasks = json_object_get_boolean(json_object_object_get(receipt, "fenced"));
        decode->lists_tasks = scope && strcmp(scope, "system") != 0;
}

const char *decode_command(const Decode *decode, int pid) {
        if (pid == 0 && decode->hides_tasks)
                return "<hidden>";
        return commands_find(&decode->commands, pid) ?: COMMANDS_UNKNOWN;
}

const EventLayout *decode_find(const Decode *decode, const Record *record) {
        size_t id;

        if (record->size < 8)
                return NULL;
        id = event_layout_number(record->data, 2, false);
        return id < decode->n_layouts ? decode->layouts[id] : NULL;
}

static uint8_t *scratch_load(Decode *decode, const Record *record, uint32_t size) {
        if (size < decode->scratch_used)
                memset(decode->scratch + size, 0, decode->scratch_used - size);
        memcpy(decode->scratch, record->data, size);
        decode->scratch_used = size;
        return decode->scratch;
}

void decode_print_slowly(Decode *decode, const Record *record, bool is_pretty, TextBlock *block) {
        uint32_t size = MIN_OF(record->size, (uint32_t)DECODE_RECORD_MAX);
        struct tep_record r = {
                .ts = record->ts,
                .cpu = (int)record->cpu,
                .size = (int)size,
                .record_size = (int)size,
                .data = scratch_load(decode, record, size),
                .ref_count = 1,
        };

        trace_seq_reset(&decode->seq);
        tep_print_event(decode->tep,
                        &decode->seq,
                        &r,
                        "%s",
                        is_pretty ? TEP_PRINT_INFO : TEP_PRINT_INFO_RAW);
        if (decode->seq.state == TRACE_SEQ__GOOD)
                text_block_add(block, decode->seq.buffer, decode->seq.len);
}

/* Stores names of tasks that had none, as the plugin of libtraceevent does. */
static int learn_names(Decode *decode, const EventLayout *layout, const Record *record) {
        int r = 0;

        for (size_t i = 0; i < layout->n_names && r == 0; i++) {
                const EventLayoutField *name = layout->names[i].name, *pid = layout->names[i].pid;
                int number = (int)event_layout_number(record->data + pid->offset, pid->size, true);
                char text[64];

                if (commands_find(&decode->commands, number) || name->is_dynamic)
                        continue;
                snprintf(text,
                                sizeof(text),
                                "%.*s",
                                (int)name->size,
                                (const char *)record->data + name->offset);
                r = commands_set(&decode->commands, number, text, false);
        }
        return r;
}

int decode_prepare(Decode *decode,
                const EventLayout *layout,
                const Record *record,
                TextBlock *slow,
                const PrintTable **ret_table) {
        PrintTable **table = &decode->tables[layout->event->id];
        uint32_t size = MIN_OF(record->size, (uint32_t)DECODE_RECORD_MAX);
        bool is_pretty;
        int r;

        if (!*table) {
                r = print_table_new(layout, table);
                if (r < 0)
                        return r;
        }
        is_pretty = print_guard_admits(&(*table)->guard, record->data, size);
        if (!is_pretty || !(*table)->is_compiled) {
                decode_print_slowly(decode, record, is_pretty, slow);
                decode->n_slow++;
                *ret_table = NULL;
                return 0;
        }
        *ret_table = *table;
        return (*table)->learns_names ? learn_names(decode, layout, record) : 0;
}

void decode_count_formats(const Decode *decode, unsigned *ret_compiled, unsigned *ret_others) {
        *ret_compiled = *ret_others = 0;
        for (size_t i = 0; i < decode->n_layouts; i++)
                if (decode->tables[i])
                        ++*(decode->tables[i]->is_compiled ? ret_compiled : ret_others);
}
