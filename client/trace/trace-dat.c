/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Loads a trace.dat of trace-cmd into a Trace: version 6, and version 7 plain or compressed with
 * zstd, as trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5) of trace-cmd 3.1.6 describe them. Called by
 * trace_open(). The top buffer and the instances become the trace's buffers. Options that only
 * other tools need are skipped. The following is not supported, and an error says so: big-endian
 * files, text of latency tracers, times that are shifted to another machine, other compressions. */

#include "trace/trace-dat.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "interfaces/cleanup.h"
#include "trace/dat-section.h"
#include "trace/receipt.h"
#include "trace/trace.h"

#define SECTION_MAX_SIZE ((uint32_t)256 * 1024 * 1024)
#define OPTION_MAX_SIZE  (16 * 1024 * 1024)
#define OPTIONS_MAX      64 /* maximum of option sections */
#define CHUNK_MAX_SIZE   (16 * 1024 * 1024)
#define CPUS_MAX         8192
#define BUFFERS_MAX      1024

enum {
        OPTION_DONE = 0,
        OPTION_DATE = 1,
        OPTION_BUFFER = 3,
        OPTION_TRACECLOCK = 4,
        OPTION_UNAME = 5,
        OPTION_OFFSET = 7,
        OPTION_CPUCOUNT = 8,
        OPTION_VERSION = 9,
        OPTION_TIME_SHIFT = 12,
        OPTION_TSC2NSEC = 14,
        OPTION_BUFFER_TEXT = 22,
};

#define SECTION_IS_COMPRESSED 1

typedef struct DatBuffer {
        uint64_t offset;
        char name[DAT_STRING_MAX];
        uint8_t *cpus; /* version 7: the rest of the buffer's option */
        size_t cpus_size;
} DatBuffer;

typedef struct Dat {
        Trace *trace;
        Decode *decode;
        unsigned version;
        uint32_t page_size;
        bool is_packed; /* the file names a compression */
        bool has_clock; /* version 6: the clock's name follows the table of CPUs */
        uint32_t n_cpus;
        uint64_t sections[_DAT_SECTION_N]; /* version 7: offsets; 0: none */
        DatBuffer *buffers;
        size_t n_buffers;
        Reason *reason;
} Dat;

static int trace_dat_refuse(Dat *dat, const char *what) {
        return reason_set(dat->reason, KT_E_FAILED, "%s", what);
}

static int trace_dat_cut(Dat *dat, const char *where) {
        return dat_cut(dat->reason, where);
}

/* Sets the clock from text such as "local global [mono]". */
static void trace_dat_set_clock(Dat *dat, char *text) {
        char *clock = strchr(text, '[');

        if (!clock)
                return;
        clock++;
        clock[strcspn(clock, "]")] = '\0';
        decode_set_clock(dat->decode, clock);
        /* Only the option DATE gives wall time. ts_mult turns the units of any clock into
         * nanoseconds. */
        if (dat->trace->ts_mult > 0)
                dat->decode->is_usec = true;
}

static int trace_dat_add_buffer(Dat *dat, DatInput *input) {
        DatBuffer *buffers, *buffer;

        if (dat->n_buffers == BUFFERS_MAX)
                return trace_dat_cut(dat, "the buffers");
        buffers = reallocarray(dat->buffers, dat->n_buffers + 1, sizeof(*buffers));
        if (!buffers)
                return -ENOMEM;
        dat->buffers = buffers;
        buffer = &buffers[dat->n_buffers];
        *buffer = (DatBuffer){ 0 };
        if (!dat_get_number(input, 8, &buffer->offset) || !dat_get_string(input, buffer->name))
                return trace_dat_cut(dat, "a buffer's option");
        buffer->cpus_size = input->end - input->place;
        buffer->cpus = (uint8_t *)dat_get_text(input, buffer->cpus_size);
        if (!buffer->cpus)
                return -ENOMEM;
        dat->n_buffers++;
        return 0;
}

static int take_option(Dat *dat, unsigned id, char *text, uint32_t size) {
        DatInput input = { .trace = dat->trace, .data = (const uint8_t *)text, .end = size };
        uint64_t value;
        uint32_t word;

        switch (id) {
        case OPTION_DATE:
                dat->trace->ts_offset += (int64_t)((uint64_t)strtoll(text, NULL, 0) * 1000);
                dat->decode->has_wall = true; /* with DATE, the times are wall time */
                return 0;
        case OPTION_OFFSET:
                dat->trace->ts_offset += strtoll(text, NULL, 0);
                return 0;
        case OPTION_BUFFER:
                return trace_dat_add_buffer(dat, &input);
        case OPTION_TRACECLOCK:
                dat->has_clock = true;
                trace_dat_set_clock(dat, text);
                return 0;
        case OPTION_UNAME: /* "Linux NODE RELEASE MACHINE" */
                decode_set_machine(dat->decode, strrchr(text, ' ') ? strrchr(text, ' ') + 1 : NULL);
                return 0;
        case OPTION_CPUCOUNT:
                if (dat_get_u32(&input, &word) && word <= CPUS_MAX)
                        dat->decode->n_cpus = MAX_OF(dat->decode->n_cpus, word);
                return 0;
        case OPTION_VERSION:
                if (!dat->trace->stream.receipt)
                        dat->trace->stream.receipt = receipt_find(text);
                return 0;
        case OPTION_TIME_SHIFT:
                return trace_dat_refuse(dat,
                                "its times are shifted to those of another machine, which only "
                                "trace-cmd does: use the recording that it was made of");
        case OPTION_TSC2NSEC:
                if (dat_get_u32(&input, &dat->trace->ts_mult) &&
                                dat_get_u32(&input, &dat->trace->ts_shift)) {
                        if (dat->trace->ts_shift > 63)
                                return trace_dat_cut(dat, "its clock's option");
                        dat->decode->is_usec = dat->decode->is_ns = true;
                }
                return 0;
        case OPTION_BUFFER_TEXT:
                return trace_dat_refuse(dat, "it contains the text of a latency tracer, no events");
        default:
                if (id >= DAT_HEADER_INFO && id < _DAT_SECTION_N &&
                                dat_get_number(&input, 8, &value))
                        dat->sections[id] = value;
                return 0;
        }
}

/* Reads options until OPTION_DONE. ret_next: where version 7 has more options, or 0. */
static int trace_dat_read_options(Dat *dat, DatInput *input, uint64_t *ret_next) {
        *ret_next = 0;
        for (;;) {
                _cleanup_free_ char *text = NULL;
                uint64_t id;
                uint32_t size;
                int r;

                if (!dat_get_number(input, 2, &id))
                        return trace_dat_cut(dat, "the options");
                if (dat->version == 6 && id == OPTION_DONE)
                        return 0;
                if (!dat_get_u32(input, &size) || size > OPTION_MAX_SIZE ||
                                !(text = dat_get_text(input, size)))
                        return trace_dat_cut(dat, "the options");
                if (id == OPTION_DONE) {
                        memcpy(ret_next, text, MIN_OF(size, (uint32_t)8));
                        *ret_next = le64toh(*ret_next);
                        return 0;
                }
                r = take_option(dat, (unsigned)id, text, size);
                if (r != 0)
                        return r;
        }
}

static int add_plain_cpu(Dat *dat, unsigned cpu, uint64_t offset, uint64_t size) {
        TraceChunk chunk = { .offset = offset, .size = size };
        uint64_t file_size = dat->trace->size;

        if (size == 0)
                return 0;
        if (offset > file_size || size > file_size - offset) {
                snprintf(dat->trace->missing,
                                sizeof(dat->trace->missing),
                                "cut after %" PRIu64 " bytes: in the data of CPU %u",
                                file_size,
                                cpu);
                if (offset >= file_size)
                        return 0;
                chunk.size = (file_size - offset) / dat->page_size * dat->page_size;
        }
        return trace_add_chunk(dat->trace, cpu, &chunk);
}

static int add_packed_cpu(Dat *dat, unsigned cpu, uint64_t offset) {
        DatInput input = { .trace = dat->trace, .place = offset, .end = dat->trace->size };
        uint32_t n;

        if (offset > dat->trace->size || !dat_get_u32(&input, &n))
                return trace_dat_cut(dat, "a CPU's data");
        for (uint32_t i = 0; i < n; i++) {
                TraceChunk chunk = { 0 };
                uint32_t size;
                int r;

                if (!dat_get_u32(&input, &chunk.packed) || !dat_get_u32(&input, &size) ||
                                size > CHUNK_MAX_SIZE || chunk.packed > CHUNK_MAX_SIZE ||
                                chunk.packed == 0 || chunk.packed > input.end - input.place)
                        return trace_dat_cut(dat, "a CPU's packed data");
                chunk.offset = input.place;
                chunk.size = size;
                r = trace_add_chunk(dat->trace, cpu, &chunk);
                if (r < 0)
                        return r;
                input.place += chunk.packed;
        }
        return 0;
}

static int open_section(Dat *dat,
                uint64_t offset,
                DatInput *ret,
                unsigned *ret_id,
                bool *ret_packed) {
        DatInput input = { .trace = dat->trace, .place = offset, .end = dat->trace->size };
        uint64_t id, flags, size;
        uint32_t description;

        if (offset > input.end || !dat_get_number(&input, 2, &id) ||
                        !dat_get_number(&input, 2, &flags) || !dat_get_u32(&input, &description) ||
                        !dat_get_number(&input, 8, &size))
                return trace_dat_cut(dat, "a section's header");
        input.end = input.place + MIN_OF(size, input.end - input.place);
        *ret = input;
        *ret_id = (unsigned)id;
        *ret_packed = flags & SECTION_IS_COMPRESSED;
        return 0;
}

static int unpack_section(Dat *dat, DatInput *input, uint8_t **ret) {
        _cleanup_free_ uint8_t *data = NULL;
        TraceChunk chunk = { 0 };
        uint32_t size;
        int r;

        if (!dat->is_packed || !dat_get_u32(input, &chunk.packed) || !dat_get_u32(input, &size) ||
                        chunk.packed > input->end - input->place || size > SECTION_MAX_SIZE)
                return trace_dat_cut(dat, "a packed section");
        chunk.offset = input->place;
        chunk.size = size;
        data = malloc((size_t)size + 1);
        if (!data)
                return -ENOMEM;
        r = trace_unpack(dat->trace, &chunk, data);
        if (r == -EBADMSG)
                return trace_dat_cut(dat, "a packed section");
        if (r < 0)
                return r;
        *input = (DatInput){ .trace = dat->trace, .data = data, .end = size };
        *ret = TAKE_PTR(data);
        return 0;
}

static int read_section(Dat *dat, DatSection id) {
        _cleanup_free_ uint8_t *data = NULL;
        DatInput input;
        unsigned found;
        bool is_packed;
        int r;

        r = open_section(dat, dat->sections[id], &input, &found, &is_packed);
        if (r != 0)
                return r;
        if (found != id)
                return trace_dat_cut(dat, "a section's header");
        if (is_packed) {
                r = unpack_section(dat, &input, &data);
                if (r != 0)
                        return r;
        }
        return dat_read_section(id, &input, dat->decode, dat->reason);
}

static int add_buffer_v7(Dat *dat, const DatBuffer *buffer) {
        DatInput input = { .trace = dat->trace, .data = buffer->cpus, .end = buffer->cpus_size };
        char clock[DAT_STRING_MAX];
        uint32_t page_size, n_cpus;
        DatInput section;
        unsigned id;
        bool is_packed;
        int r;

        r = open_section(dat, buffer->offset, &section, &id, &is_packed);
        if (r != 0)
                return r;
        if (id != OPTION_BUFFER || !dat_get_string(&input, clock) ||
                        !dat_get_u32(&input, &page_size) || !dat_get_u32(&input, &n_cpus) ||
                        page_size < 512 || page_size > CHUNK_MAX_SIZE || n_cpus > CPUS_MAX ||
                        (is_packed && !dat->is_packed))
                return trace_dat_cut(dat, "a buffer's option");
        if (buffer->name[0] == '\0')
                dat->decode->n_cpus = MAX_OF(dat->decode->n_cpus, n_cpus);
        dat->page_size = page_size;
        r = trace_add_buffer(dat->trace, buffer->name, page_size);
        for (uint32_t i = 0; i < n_cpus && r == 0; i++) {
                uint64_t offset, size;
                uint32_t cpu;

                if (!dat_get_u32(&input, &cpu) || !dat_get_number(&input, 8, &offset) ||
                                !dat_get_number(&input, 8, &size) || cpu >= CPUS_MAX)
                        return trace_dat_cut(dat, "a buffer's option");
                if (size == 0)
                        continue;
                r = is_packed ? add_packed_cpu(dat, cpu, offset)
                              : add_plain_cpu(dat, cpu, offset, size);
        }
        return r;
}

static int load_v7(Dat *dat, DatInput *input) {
        uint64_t next;
        int r;

        if (!dat_get_number(input, 8, &next))
                return trace_dat_cut(dat, "its header");
        for (unsigned i = 0; next != 0; i++) {
                _cleanup_free_ uint8_t *data = NULL;
                bool is_packed;
                unsigned id;
                DatInput section;

                if (i == OPTIONS_MAX)
                        return trace_dat_cut(dat, "the options: they lead in a circle");
                r = open_section(dat, next, &section, &id, &is_packed);
                if (r == 0 && id != OPTION_DONE)
                        r = trace_dat_cut(dat, "the options");
                if (r == 0 && is_packed)
                        r = unpack_section(dat, &section, &data);
                if (r == 0)
                        r = trace_dat_read_options(dat, &section, &next);
                if (r != 0)
                        return r;
        }
        for (DatSection id = DAT_HEADER_INFO; id <= DAT_CMDLINES; id++) {
                if (dat->sections[id] == 0)
                        continue;
                r = read_section(dat, id);
                if (r != 0)
                        return r;
        }
        for (size_t i = 0; i < dat->n_buffers; i++) {
                r = add_buffer_v7(dat, &dat->buffers[i]);
                if (r != 0)
                        return r;
        }
        return 0;
}

/* Reads the table of offsets and sizes at the end of version 6's head. An instance has its own
 * table. */
static int read_cpu_table(Dat *dat, DatInput *input, const char *name) {
        char word[10];
        uint64_t next;
        int r;

        if (!dat_get(input, word, sizeof(word)))
                return trace_dat_cut(dat, "its header");
        if (memcmp(word, "options", 7) == 0) {
                r = trace_dat_read_options(dat, input, &next);
                if (r != 0)
                        return r;
                if (!dat_get(input, word, sizeof(word)))
                        return trace_dat_cut(dat, "its header");
        }
        if (memcmp(word, "latency", 7) == 0)
                return trace_dat_refuse(dat, "it contains the text of a latency tracer, no events");
        if (memcmp(word, "flyrecord", 9) != 0)
                return trace_dat_cut(dat, "its header");

        r = trace_add_buffer(dat->trace, name, dat->page_size);
        for (uint32_t cpu = 0; cpu < dat->n_cpus && r == 0; cpu++) {
                uint64_t offset, size;

                if (!dat_get_number(input, 8, &offset) || !dat_get_number(input, 8, &size))
                        return trace_dat_cut(dat, "the table of CPUs");
                r = add_plain_cpu(dat, cpu, offset, size);
        }
        return r;
}

static int load_v6(Dat *dat, DatInput *input) {
        _cleanup_free_ char *clock = NULL;
        uint64_t size;
        int r;

        for (DatSection id = DAT_HEADER_INFO; id <= DAT_CMDLINES; id++) {
                r = dat_read_section(id, input, dat->decode, dat->reason);
                if (r != 0)
                        return r;
        }
        if (!dat_get_u32(input, &dat->n_cpus) || dat->n_cpus > CPUS_MAX)
                return trace_dat_cut(dat, "its number of CPUs");
        dat->decode->n_cpus = dat->n_cpus;
        r = read_cpu_table(dat, input, "");
        if (r != 0)
                return r;
        if (dat->has_clock && dat_get_number(input, 8, &size) && size > 0 &&
                        size < DAT_STRING_MAX && (clock = dat_get_text(input, size)))
                trace_dat_set_clock(dat, clock);
        for (size_t i = 0; i < dat->n_buffers; i++) {
                input->place = MIN_OF(dat->buffers[i].offset, input->end);
                r = read_cpu_table(dat, input, dat->buffers[i].name);
                if (r != 0)
                        return r;
        }
        return 0;
}

static int load_head(Dat *dat, DatInput *input) {
        char version[DAT_STRING_MAX], name[DAT_STRING_MAX];
        uint8_t flags[2];

        input->place = 10;
        if (!dat_get_string(input, version) || !dat_get(input, flags, sizeof(flags)) ||
                        !dat_get_u32(input, &dat->page_size))
                return trace_dat_cut(dat, "its header");
        if (strcmp(version, "6") != 0 && strcmp(version, "7") != 0)
                return reason_set(dat->reason,
                                KT_E_FAILED,
                                "a trace.dat of version %s, only 6 and 7 are known",
                                version);
        if (flags[0] != 0)
                return trace_dat_refuse(
                                dat, "a trace.dat of a big-endian machine, which is not read here");
        if ((flags[1] != 4 && flags[1] != 8) || dat->page_size < 512 ||
                        dat->page_size > CHUNK_MAX_SIZE)
                return trace_dat_cut(dat, "its header");
        dat->version = (unsigned)(version[0] - '0');
        tep_set_long_size(dat->decode->tep, flags[1]);
        if (dat->version == 6)
                return 0;

        if (!dat_get_string(input, name) || !dat_get_string(input, version))
                return trace_dat_cut(dat, "its header");
        dat->is_packed = strcmp(name, "none") != 0;
        if (dat->is_packed && strcmp(name, "zstd") != 0)
                return reason_set(dat->reason,
                                KT_E_FAILED,
                                "packed with %s; 'trace-cmd convert --compression zstd' repacks it",
                                name);
        return 0;
}

/* The receipt of a file that was a stream contains the offset to wall time. It is wrong when
 * options change the times. */
static void take_wall_time(Dat *dat) {
        json_object *offset = NULL;

        if (dat->decode->has_wall || !dat->decode->is_ns || dat->trace->ts_offset != 0 ||
                        dat->trace->ts_mult > 0 ||
                        !json_object_object_get_ex(dat->trace->stream.receipt,
                                        "realtime-offset-nsec",
                                        &offset) ||
                        !json_object_is_type(offset, json_type_int))
                return;
        dat->decode->has_wall = true;
        dat->decode->wall_offset_ns = json_object_get_int64(offset);
}

int trace_load_dat(Trace *trace, Reason *reason) {
        Dat dat = { .trace = trace, .reason = reason };
        DatInput input = { .trace = trace, .end = trace->size };
        int r;

        r = stream_take_decode(&trace->stream, &trace->stream.decode);
        if (r < 0)
                return r;
        dat.decode = trace->stream.decode;

        r = load_head(&dat, &input);
        if (r == 0)
                r = dat.version == 6 ? load_v6(&dat, &input) : load_v7(&dat, &input);
        take_wall_time(&dat);
        decode_set_receipt(dat.decode, trace->stream.receipt);
        tep_set_cpus(dat.decode->tep, (int)dat.decode->n_cpus);
        for (size_t i = 0; i < dat.n_buffers; i++)
                free(dat.buffers[i].cpus);
        free(dat.buffers);
        return r;
}
