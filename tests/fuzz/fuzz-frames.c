/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Streams: the decoder of frame headers, and the client's reader behind it, which meets files that
 * anybody made. Formats go to libtraceevent, behind the guard that stands before it. */

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ktrace.h>

#include "export/export.h"
#include "fuzz.h"
#include "interfaces/frame.h"

const char *const fuzz_words[] = { "KTSTREAM",
        "\x01",
        "\x02",
        "\x03",
        "\x04",
        "\x05",
        "\xff\xff",
        "\"subbuf-size\":4096",
        "\"cpus\"",
        "\"events\"",
        "\"format\"",
        "\"clock\"",
        "\"version\"",
        "\tfield:",
        ";\toffset:",
        ";\tsize:",
        "print fmt: ",
        "REC->",
        "%s",
        "__data_loc",
        "sched_switch",
        "prev_pid",
        "next_pid",
        "kernel_stack",
        "raw_syscalls",
        "sys_enter",
        "sys_exit",
        "\"inner-pids\":[[1,1,1,0,9],[1,0,0,9,9]]",
        "task_newtask",
        "sched_process_exit",
        "sys_exit_clone",
        "clone_flags",
        NULL };

/* libtraceevent forgets memory when it gives up on a format: not ours to count. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void) {
        return "leak:libtraceevent";
}

static void check_headers(const uint8_t *data, size_t size) {
        FrameHeader header, again;
        uint8_t bytes[sizeof(header)];
        Reason reason = {};

        (void)stream_header_decode(data, size, &reason);
        for (size_t at = 0; size - at >= sizeof(header); at += sizeof(header)) {
                if (frame_header_decode(data + at, &header, &reason) != 0)
                        continue;
                fuzz_check(header.size <= FRAME_SIZE_MAX);
                frame_header_encode(bytes, &header);
                fuzz_check(frame_header_decode(bytes, &again, &reason) == 0);
                fuzz_check(memcmp(&header, &again, sizeof(header)) == 0);
        }
}

/* Touches each byte that the library shows. */
static void read_record(const ktrace_record *record) {
        const char *text = ktrace_record_get_task(record);
        uint64_t sum = strlen(text), number;
        const ktrace_field *field;
        const void *bytes;
        size_t n;

        (void)ktrace_record_get_text(record, &text);
        for (sum += strlen(text); *text; text++)
                fuzz_check((unsigned char)*text >= ' ' || *text == '\t' || *text == '\n');
        for (size_t i = 0; (field = ktrace_record_get_field(record, i)); i++) {
                fuzz_check(ktrace_record_find_field(record, ktrace_field_get_name(field)));
                (void)ktrace_record_get_number(record, field, &number);
                if (ktrace_record_get_string(record, field, &text, &n) == 0)
                        fuzz_check(!memchr(text, 0, n));
                if (ktrace_record_get_bytes(record, field, &bytes, &n) == 0)
                        for (size_t k = 0; k < n; k++)
                                sum += ((const uint8_t *)bytes)[k];
        }
        fuzz_check(sum < UINT64_MAX);
}

/* As a file, or as a stream that arrives at once. */
static void read_with_library(int file, const uint8_t *data, size_t size) {
        const ktrace_record *record;
        ktrace_reader *reader;
        ktrace_error error;
        int ends[2] = { -1, -1 };

        if (size < 32768 && size % 2 == 0) {
                fuzz_check(pipe2(ends, O_CLOEXEC) == 0);
                fuzz_check(write(ends[1], data, size) == (ssize_t)size);
                close(ends[1]);
        }
        int r = ktrace_reader_open_fd(ends[0] >= 0 ? ends[0] : file, &reader, &error);
        while (r == 0 && ktrace_reader_next(reader, 0, &record, &error) == 1)
                read_record(record);
        fuzz_check(r == 0 || error.text[0] != '\0');
        if (r == 0)
                ktrace_reader_free(reader);
        if (ends[0] >= 0)
                close(ends[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static const ExportFormat formats[] = { EXPORT_TEXT,
                EXPORT_JSON,
                EXPORT_DAT,
                EXPORT_CSV,
                EXPORT_CTF,
                EXPORT_CALLS,
                EXPORT_CHROME,
                EXPORT_FOLDED,
                EXPORT_SPEEDSCOPE,
                EXPORT_SUMMARY,
                EXPORT_PERFETTO,
                EXPORT_HTML };
        _cleanup_close_ int in = memfd_create("in", MFD_CLOEXEC);
        FILE *out = fopen("/dev/null", "w");
        ExportSummary summary;
        Reason reason = {};
        int r;

        check_headers(data, size);
        fuzz_check(in >= 0 && out && write(in, data, size) == (ssize_t)size);
        read_with_library(in, data, size);
        r = export_file(in, "t.kts", formats[size % ELEMENTSOF(formats)], out, &summary, &reason);
        fclose(out);
        if (r > 0)
                fuzz_check(reason.text[0] != '\0' && !strchr(reason.text, '\n'));
        return 0;
}
