/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Streams: the decoder of frame headers, and the client's reader behind it, which meets files that
 * anybody made. Formats go to libtraceevent, behind the guard that stands before it. */

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

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
        r = export_file(in, "t.kts", formats[size % ELEMENTSOF(formats)], out, &summary, &reason);
        fclose(out);
        if (r > 0)
                fuzz_check(reason.text[0] != '\0' && !strchr(reason.text, '\n'));
        return 0;
}
