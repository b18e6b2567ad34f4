/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <traceevent/event-parse.h>

#include "interfaces/cpu-list.h"
#include "interfaces/error.h"
#include "shape.h"

/* One record as it comes out of a sub-buffer; data is borrowed and valid until the next one. */
typedef struct Record {
        uint64_t ts;
        const uint8_t *data;
        uint32_t size;
        uint32_t cpu;
} Record;

/* Formats, command names and clock of one trace: what turns a Record into words. */
typedef struct Decode {
        struct tep_handle *tep;
        struct tep_plugin_list *plugins;
        Shape **shapes; /* by event id */
        size_t n_shapes;
        char clock[32];
        unsigned long_size; /* of the traced kernel */
        unsigned n_cpus;
        bool is_usec;  /* times are printed as seconds.micros, as trace-cmd decides it */
        bool is_ns;    /* the clock counts nanoseconds */
        bool has_wall; /* wall_offset_ns leads from the clock to CLOCK_REALTIME */
        int64_t wall_offset_ns;
        uint8_t *scratch; /* the record at hand, followed by zeros */
        uint32_t scratch_used;
        struct trace_seq seq;
} Decode;

/* with_plugins: libtraceevent's own plugins too, as trace-cmd loads them (text needs them). */
int decode_new(bool with_plugins, Decode **ret);
Decode *decode_free(Decode *decode);
DEFINE_CLEANUP(Decode, decode_free);

void decode_set_clock(Decode *decode, const char *clock);
/* One event's format file. An event that libtraceevent cannot read is left unknown. KT_E_FAILED
 * with reason when it is not to be believed. */
int decode_add_event(Decode *decode,
                const char *system,
                const char *text,
                size_t size,
                Reason *reason);
/* The newest name of a pid wins. */
int decode_add_command(Decode *decode, int pid, const char *name);

/* KT_E_INVALID_SPEC: the trace has none of these CPUs. */
int decode_check_cpus(const Decode *decode, const CpuList *cpus, Reason *reason);
int decode_record_pid(const Record *record);
bool decode_knows_command(const Decode *decode, int pid);
const char *decode_command(Decode *decode, int pid);
/* NULL: no such event. */
const Shape *decode_find(const Decode *decode, const Record *record);
/* The record's text as the kernel's print format (or a plugin) has it, valid until the next call;
 * the record must fit. */
const char *decode_print(Decode *decode,
                const Shape *shape,
                const Record *record,
                size_t *ret_size);
