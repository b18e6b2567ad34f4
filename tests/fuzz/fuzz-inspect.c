/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Programs' files as the confined reader sees them. Whatever comes: what is found lies in the file,
 * and a question reads no more than it may. */

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "consumer/inspect/inspect-marker.h"
#include "consumer/inspect/inspect.h"
#include "fuzz.h"

#define N_OFFSETS 8

const char *const fuzz_words[] = { "\177ELF",
        "stapsdt",
        "p",
        "m",
        "-4@%edi 8@-8(%rbp) 4@$5",
        "\x50\xe5\x74\x64", /* PT_GNU_EH_FRAME */
        "\x01\x1b\x03\x3b",
        "\xff\xff\xff\xff",
        "\xff\xff\xff\xff\xff\xff\xff\xff",
        "\xf0\xff\xff\x7f",
        ".note.stapsdt",
        ".stapsdt.base",
        NULL };

static void check_place(const UserPlace *place, size_t size) {
        fuzz_check(place->offset < size);
        fuzz_check(place->function <= place->offset);
        fuzz_check(place->semaphore < size);
        fuzz_check(place->n_args <= USER_ARGS_MAX);
        for (size_t i = 0; i < place->n_args; i++)
                fuzz_check(place->args[i].kind < _USER_ARG_KIND_N);
}

static void ask_offset(InspectFile *file, uint64_t offset, size_t size) {
        UserPlace place = {};
        Reason reason = {};

        int r = inspect_offset(file, offset, &place, &reason);
        fuzz_check(r <= 0 || reason.text[0]);
        if (r != 0)
                return;
        fuzz_check(place.offset == offset && place.n_args == 0 && place.semaphore == 0);
        check_place(&place, size);
}

static void ask_marker(InspectFile *file, size_t size) {
        UserPlace places[USER_PLACES_MAX];
        Reason reason = {};
        size_t n = 0;

        int r = inspect_marker(file, "p:m", places, &n, &reason);
        fuzz_check(r <= 0 || reason.text[0]);
        if (r != 0)
                return;
        fuzz_check(n > 0 && n <= USER_PLACES_MAX);
        for (size_t i = 0; i < n; i++)
                check_place(&places[i], size);
}

static void ask(int fd, size_t size) {
        InspectFile file;
        Reason reason = {};

        if (inspect_open(&file, fd, &reason) != 0)
                return;
        ask_marker(&file, size);
        for (size_t i = 0; i < file.n_segments && i < 4; i++)
                for (uint64_t k = 0; k < N_OFFSETS; k++)
                        ask_offset(&file, file.segments[i].p_offset + k * 5, size);
        ask_offset(&file, file.header.e_entry & 0xfff, size);
        fuzz_check(file.may_read <= INSPECT_READ_MAX);
        inspect_close(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static int fd = -1;

        if (fd < 0)
                fd = memfd_create("program", MFD_CLOEXEC);
        fuzz_check(ftruncate(fd, (off_t)size) == 0);
        fuzz_check(pwrite(fd, data, size, 0) == (ssize_t)size);
        ask(fd, size);
        return 0;
}
