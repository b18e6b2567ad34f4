/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <traceevent/event-parse.h>

#include "interfaces/cpu-list.h"
#include "interfaces/error.h"
#include "names/syscall.h"
#include "trace/commands.h"
#include "trace/event-layout.h"
#include "trace/print-table.h"
#include "trace/text-block.h"

/* Text is printed of so many bytes of a record. */
#define DECODE_RECORD_MAX 65536

/* One record of a sub-buffer. data is borrowed and valid until the next record. */
typedef struct Record {
        uint64_t ts;
        const uint8_t *data;
        uint32_t size;
        uint32_t cpu;
} Record;

/* Formats, command names and clock of one trace: the data needed to print a Record. */
typedef struct Decode {
        struct tep_handle *tep;
        struct tep_plugin_list *plugins;
        EventLayout **layouts; /* by event id */
        PrintTable **tables;   /* by event id; made for the first record */
        size_t n_layouts;
        Commands commands;
        struct InnerPids *inner; /* NULL: the trace has no container */
        uint64_t n_slow;         /* records that libtraceevent printed */
        char clock[32];
        char machine[32];   /* as uname(2) has it; "": unknown */
        unsigned long_size; /* of the traced kernel */
        unsigned n_cpus;
        SyscallTable syscalls; /* of the traced machine */
        bool is_native;        /* it has the architecture that this program was built for */
        bool is_usec;          /* print times as seconds.micros, by trace-cmd's rule */
        bool is_ns;            /* the clock counts nanoseconds */
        bool has_wall;         /* wall_offset_ns converts the clock to CLOCK_REALTIME */
        int64_t wall_offset_ns;
        bool hides_tasks; /* task 0 is any task that the reader may not see */
        bool lists_tasks; /* the kernel recorded the tasks on a list. A task leaves it when it ends,
                             so the last switch away from it is missing */
        uint8_t *scratch; /* the current record, followed by zeros */
        uint32_t scratch_used;
        struct trace_seq seq;
} Decode;

/* with_plugins: also load libtraceevent's plugins, as trace-cmd does (text output needs them). */
int decode_new(bool with_plugins, Decode **ret);
Decode *decode_free(Decode *decode);
DEFINE_CLEANUP(Decode, decode_free);

/* machine: as uname(2) has it. */
void decode_set_machine(Decode *decode, const char *machine);
void decode_set_clock(Decode *decode, const char *clock);
/* receipt: of the recording; NULL: it has none, and shows all tasks. */
void decode_set_receipt(Decode *decode, json_object *receipt);
/* Adds one event's format file. An event that libtraceevent cannot read stays unknown.
 * KT_E_FAILED with reason: the format is not valid. */
int decode_add_event(Decode *decode,
                const char *system,
                const char *text,
                size_t size,
                Reason *reason);
/* The latest name of a pid replaces earlier ones. */
int decode_add_command(Decode *decode, int pid, const char *name);
/* Lines of "PID NAME", as in trace.dat. The first name of a pid stays. */
int decode_add_commands(Decode *decode, char *lines);

/* KT_E_INVALID_SPEC: the trace has none of these CPUs. */
int decode_check_cpus(const Decode *decode, const CpuList *cpus, Reason *reason);
int decode_record_pid(const Record *record);
/* PID_MAX_LIMIT of include/linux/threads.h. Larger numbers of threads are damage. */
#define TID_MAX 4194304
bool decode_knows_command(const Decode *decode, int pid);
const char *decode_command(const Decode *decode, int pid);
/* NULL: no such event. */
const EventLayout *decode_find(const Decode *decode, const Record *record);
/* Finds how to print a record that fits its layout, by the kernel's print format or a plugin.
 * Called in the order of records: it stores the task names that a plugin would store, and a plugin
 * may remember earlier records. *ret_table is for print_run(). If it is NULL, libtraceevent has
 * appended the text to `slow`. Returns 0 or -ENOMEM. */
int decode_prepare(Decode *decode,
                const EventLayout *layout,
                const Record *record,
                TextBlock *slow,
                const PrintTable **ret_table);
/* Counts the print formats in use that are compiled, and those that libtraceevent runs. */
void decode_count_formats(const Decode *decode, unsigned *ret_compiled, unsigned *ret_others);
/* Appends the text of a record, always by libtraceevent. */
void decode_print_slowly(Decode *decode, const Record *record, bool is_pretty, TextBlock *block);
