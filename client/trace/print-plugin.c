/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Tables for events that a plugin of libtraceevent prints in its own way, as trace-cmd shows them:
 * sched_switch and sched_wakeup, which are in nearly every trace. Called by print-table. Versions
 * of the plugin know different letters for task states, so the installed plugin is asked for each
 * bit. At last both print two samples. If one text differs, the plugin prints the event. */

#include "trace/print-plugin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/print-run.h"

#define STATE_BITS  32
#define SAMPLE_SIZE 256

static int print_plugin_add_text(PrintTable *table, const char *text) {
        return print_table_add_literal(table, text, strlen(text));
}

static PrintStep *print_plugin_add_field(PrintTable *table, PrintKind kind, const char *name) {
        struct tep_format_field *field = tep_find_field(table->event, name);
        PrintStep *step = field ? print_table_add(table, kind) : NULL;

        if (!step)
                return NULL;
        step->format = (TextNumber){ .base = 10, .bytes = 8, .precision = -1 };
        step->offset = (uint32_t)field->offset;
        step->size = (uint32_t)field->size;
        return step;
}

/* An absent field is not an error of memory, but the answer is the same: the plugin prints. */
static int print_plugin_add_number(PrintTable *table, const char *name, TextNumber format) {
        PrintStep *step = print_plugin_add_field(table, PRINT_NUMBER, name);
        struct tep_print_arg arg = { .type = TEP_PRINT_FIELD };

        if (!step)
                return -EOPNOTSUPP;
        step->format = format;
        arg.field.name = (char *)name;
        arg.field.field = tep_find_field(table->event, name);
        return expression_compile(table->event, &arg, &step->number);
}

/* COMM:PID [PRIO] */
static int print_plugin_add_task(PrintTable *table,
                const char *comm,
                const char *pid,
                const char *prio,
                uint8_t prio_bytes) {
        static const TextNumber plain = { .base = 10, .bytes = 8, .precision = -1 };
        TextNumber priority = {
                .base = 10, .bytes = prio_bytes, .is_signed = true, .precision = -1
        };
        int r;

        if (!print_plugin_add_field(table, PRINT_STRING, comm))
                return -EOPNOTSUPP;
        r = print_plugin_add_text(table, ":");
        r = r ?: print_plugin_add_number(table, pid, plain);
        r = r ?: print_plugin_add_text(table, " [");
        r = r ?: print_plugin_add_number(table, prio, priority);
        return r ?: print_plugin_add_text(table, "]");
}

/* Appends what the plugin prints. */
static int ask_plugin(struct tep_event *event, uint8_t *data, uint32_t size, TextBlock *block) {
        struct tep_record record = {
                .size = (int)size, .record_size = (int)size, .data = data, .ref_count = 1
        };
        struct trace_seq seq;
        int r;

        trace_seq_init(&seq);
        r = event->handler(&seq, &record, event, event->context);
        if (r == 0 && seq.state == TRACE_SEQ__GOOD)
                text_block_add(block, seq.buffer, seq.len);
        else
                r = -EOPNOTSUPP;
        trace_seq_destroy(&seq);
        return r;
}

/* The letter of one state; a space if the plugin does not print it. */
static char ask_state(PrintTable *table, const struct tep_format_field *field, unsigned bit) {
        uint8_t data[SAMPLE_SIZE] = { 0 };
        TextBlock text = { 0 };
        const char *start;
        char letter = ' ';

        data[(uint32_t)field->offset + bit / 8] = (uint8_t)(1u << bit % 8);
        if (ask_plugin(table->event, data, SAMPLE_SIZE, &text) == 0) {
                text_block_add_char(&text, '\0');
                start = text.used > 0 ? strstr(text.data, "] ") : NULL;
                if (start && start[2] != '\0' && start[2] != 'R' && start[3] == ' ')
                        letter = start[2];
        }
        text_block_clear(&text);
        return letter;
}

static int add_state(PrintTable *table) {
        const struct tep_format_field *field = tep_find_field(table->event, "prev_state");
        PrintStep *step = print_plugin_add_field(table, PRINT_STATE, "prev_state");
        struct tep_print_arg arg = { .type = TEP_PRINT_FIELD };

        if (!step || (field->size != 4 && field->size != 8))
                return -EOPNOTSUPP;
        arg.field.name = (char *)"prev_state";
        step->text = calloc(1, STATE_BITS);
        if (!step->text)
                return -ENOMEM;
        step->text_size = STATE_BITS;
        for (unsigned bit = 0; bit < STATE_BITS; bit++) {
                if ((step->text[bit] = ask_state(table, field, bit)) != ' ')
                        step->states |= UINT32_C(1) << bit;
        }
        return expression_compile(table->event, &arg, &step->number);
}

static int compile_switch(PrintTable *table) {
        int r = print_plugin_add_task(table, "prev_comm", "prev_pid", "prev_prio", 4);

        r = r ?: print_plugin_add_text(table, " ");
        r = r ?: add_state(table);
        r = r ?: print_plugin_add_text(table, " ==> ");
        return r ?: print_plugin_add_task(table, "next_comm", "next_pid", "next_prio", 4);
}

static int compile_wakeup(PrintTable *table) {
        static const TextNumber success = {
                .base = 10, .bytes = 8, .is_signed = true, .precision = -1
        };
        static const TextNumber cpu = {
                .base = 10, .bytes = 8, .is_zero = true, .width = 3, .precision = -1
        };
        int r = print_plugin_add_task(table, "comm", "pid", "prio", 8);

        if (tep_find_field(table->event, "success")) {
                r = r ?: print_plugin_add_text(table, " success=");
                r = r ?: print_plugin_add_number(table, "success", success);
        }
        if (tep_find_field(table->event, "target_cpu")) {
                r = r ?: print_plugin_add_text(table, " CPU:");
                r = r ?: print_plugin_add_number(table, "target_cpu", cpu);
        }
        return r;
}

/* Whether the table and the plugin print the same for a record of such bytes. */
static bool agrees(const PrintTable *table, uint8_t first, uint8_t last) {
        uint8_t data[SAMPLE_SIZE + 64] = { 0 };
        TextBlock ours = { 0 }, theirs = { 0 };
        bool is_equal;

        for (unsigned i = 0; i < SAMPLE_SIZE; i++)
                data[i] = (uint8_t)(first + i % (unsigned)(last - first + 1));
        is_equal = ask_plugin(table->event, data, SAMPLE_SIZE, &theirs) == 0;
        print_run(table, data, SAMPLE_SIZE, &ours);
        is_equal = is_equal && ours.used == theirs.used &&
                   (ours.used == 0 || memcmp(ours.data, theirs.data, ours.used) == 0);
        text_block_clear(&ours);
        text_block_clear(&theirs);
        return is_equal;
}

int print_plugin_compile(PrintTable *table, const EventLayout *layout) {
        bool is_switch = strcmp(table->event->name, "sched_switch") == 0;
        int r;

        if (strcmp(table->event->system, "sched") != 0 || layout->min_size > SAMPLE_SIZE ||
                        (!is_switch && strcmp(table->event->name, "sched_wakeup") != 0 &&
                                        strcmp(table->event->name, "sched_wakeup_new") != 0))
                return -EOPNOTSUPP;
        r = is_switch ? compile_switch(table) : compile_wakeup(table);
        if (r == 0 && (!agrees(table, 'a', 'z') || !agrees(table, 0xff, 0xff)))
                r = -EOPNOTSUPP;
        table->learns_names = r == 0;
        return r;
}
