/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints records with names where the kernel's print format has numbers: system calls with their
 * arguments and errors, signals, states of tasks. Called for text on a terminal. Only events that
 * are known here are printed so.
 *
 * raw_syscalls do not say whether the program used the 64-bit calls or the 32-bit ones of the same
 * kernel, which have other numbers. No field of them proves it: registers of a 64-bit program are
 * the same when it makes a 32-bit call. So the number stays, and the name is the one of a 64-bit
 * call. syscalls:* need no proof: the kernel leaves 32-bit calls out of them. */

#include "export/text-names.h"

#include <inttypes.h>
#include <string.h>

#include "interfaces/cleanup.h"
#include "names/argument.h"
#include "names/flags.h"

static uint64_t text_names_number(const EventLayoutField *field, const Record *record) {
        return event_layout_number(record->data + field->offset, field->size, field->is_signed);
}

/* Arguments are registers. A string is the memory that such a register points to (Linux 6.19). */
static bool text_names_is_number(const EventLayoutField *field) {
        return field->kind == EVENT_LAYOUT_NUMBER || field->kind == EVENT_LAYOUT_POINTER;
}

static void text_names_add_string(const EventLayoutField *field,
                const Record *record,
                TextBlock *block) {
        uint32_t offset, size;

        event_layout_locate(field, record->data, record->size, &offset, &size);
        text_block_add_char(block, '"');
        text_block_add(block,
                        (const char *)record->data + offset,
                        strnlen((const char *)record->data + offset, size));
        text_block_add_char(block, '"');
}

static void text_names_add_arguments(const Decode *decode,
                const TextNamesEntry *entry,
                const char *call,
                TextBlock *block) {
        const EventLayout *layout = entry->layout;
        const Record *record = entry->record;
        char text[ARGUMENT_TEXT_MAX];
        const char *separator = "";

        text_block_add_char(block, '(');
        for (size_t i = 0; i < layout->n_fields; i++) {
                const EventLayoutField *field = &layout->fields[i];

                if (strcmp(field->name, "__syscall_nr") == 0 || strcmp(field->name, "nr") == 0 ||
                                field->kind == EVENT_LAYOUT_ARRAY)
                        continue;
                text_block_add(block, separator, strlen(separator));
                text_block_add(block, field->name, strlen(field->name));
                text_block_add_char(block, '=');
                separator = ", ";
                if (!text_names_is_number(field)) {
                        text_names_add_string(field, record, block);
                        continue;
                }
                if (entry->path && strcmp(field->name, "filename") == 0) {
                        text_block_add_format(block, "\"%s\"", entry->path);
                        continue;
                }
                argument_print(call,
                                field->name,
                                field->type,
                                text_names_number(field, record),
                                decode->is_native,
                                text,
                                sizeof(text));
                text_block_add(block, text, strlen(text));
        }
        text_block_add_char(block, ')');
}

void text_names_add_result(const char *call, int64_t result, TextBlock *block) {
        char text[ARGUMENT_TEXT_MAX];

        argument_print_result(call, result, text, sizeof(text));
        text_block_add(block, " = ", 3);
        text_block_add(block, text, strlen(text));
}

/* "NR 257 [openat if 64-bit]" */
void text_names_add_number(const Decode *decode, int64_t number, TextBlock *block) {
        const char *name = syscall_get_name(decode->syscalls, number);

        text_block_add(block, "NR ", 3);
        text_block_add_signed(block, number);
        if (name)
                text_block_add_format(
                                block, decode->long_size == 8 ? " [%s if 64-bit]" : " [%s]", name);
}

/* The six registers. */
static void text_names_add_registers(const EventLayoutField *args,
                const Record *record,
                TextBlock *block) {
        text_block_add(block, " (", 2);
        for (uint32_t i = 0; i + args->element <= args->size; i += args->element) {
                if (i > 0)
                        text_block_add(block, ", ", 2);
                text_block_add_hex(block,
                                event_layout_number(record->data + args->offset + i,
                                                args->element,
                                                false));
        }
        text_block_add_char(block, ')');
}

static bool text_names_print_raw(const Decode *decode,
                const EventLayout *layout,
                const Record *record,
                TextBlock *block) {
        const EventLayoutField *id = event_layout_find_field(layout, "id"),
                               *args = event_layout_find_field(layout, "args"),
                               *result = event_layout_find_field(layout, "ret");

        if (!id || !text_names_is_number(id))
                return false;
        if (args && args->kind == EVENT_LAYOUT_ARRAY && !args->is_dynamic && args->element > 0) {
                text_names_add_number(decode, (int64_t)text_names_number(id, record), block);
                text_names_add_registers(args, record, block);
                return true;
        }
        if (!result || !text_names_is_number(result))
                return false;
        text_names_add_number(decode, (int64_t)text_names_number(id, record), block);
        text_names_add_result(NULL, (int64_t)text_names_number(result, record), block);
        return true;
}

void text_names_add_entry(const Decode *decode, const TextNamesEntry *entry, TextBlock *block) {
        const char *call = entry->layout->event->name, *name;

        if (strcmp(entry->layout->event->system, "raw_syscalls") == 0) {
                (void)text_names_print_raw(decode, entry->layout, entry->record, block);
                return;
        }
        call += strncmp(call, "sys_enter_", 10) == 0 ? 10 : 0;
        name = entry->name ?: call;
        text_block_add(block, name, strlen(name));
        text_names_add_arguments(decode, entry, call, block);
}

bool text_names_print(const Decode *decode,
                const EventLayout *layout,
                const Record *record,
                TextBlock *block) {
        const char *system = layout->event->system, *name = layout->event->name;
        const EventLayoutField *result;

        if (strcmp(system, "raw_syscalls") == 0)
                return text_names_print_raw(decode, layout, record, block);
        if (strcmp(system, "syscalls") != 0)
                return false;
        if (strncmp(name, "sys_enter_", 10) == 0) {
                text_names_add_entry(decode,
                                &(TextNamesEntry){ .layout = layout, .record = record },
                                block);
                return true;
        }
        result = event_layout_find_field(layout, "ret");
        if (strncmp(name, "sys_exit_", 9) != 0 || !result || !text_names_is_number(result))
                return false;
        text_block_add(block, name + 9, strlen(name + 9));
        text_names_add_result(name + 9, (int64_t)text_names_number(result, record), block);
        return true;
}

/* The bits of TASK_REPORT in include/linux/sched.h, and the next one, since Linux 4.14. */
static const char *text_names_state(uint64_t state) {
        static const struct {
                uint64_t bit;
                const char *name;
        } states[] = { { 0x01, "sleeping" },
                { 0x02, "waiting, not interruptible" },
                { 0x04, "stopped" },
                { 0x08, "stopped by a tracer" },
                { 0x10, "ended" },
                { 0x20, "zombie" },
                { 0x40, "parked" },
                { 0x80, "idle" },
                { 0x100, "preempted" } };

        if (state == 0)
                return "runnable";
        for (size_t i = 0; i < ELEMENTSOF(states); i++)
                if (state == states[i].bit)
                        return states[i].name;
        return NULL;
}

void text_names_explain(const EventLayout *layout, const Record *record, TextBlock *block) {
        const char *system = layout->event->system, *name = layout->event->name, *state;
        const EventLayoutField *field;
        char text[ARGUMENT_TEXT_MAX];

        if (strcmp(system, "signal") == 0) {
                field = event_layout_find_field(layout, "sig");
                if (!field || !text_names_is_number(field))
                        return;
                flags_print(FLAG_SET_SIGNAL, text_names_number(field, record), text, sizeof(text));
                text_block_add_format(block, " [sig %s]", text);
        } else if (strcmp(system, "sched") == 0 && strcmp(name, "sched_switch") == 0) {
                field = event_layout_find_field(layout, "prev_state");
                state = field && text_names_is_number(field)
                                        ? text_names_state(text_names_number(field, record))
                                        : NULL;
                if (state)
                        text_block_add_format(block, " [%s]", state);
        }
}
