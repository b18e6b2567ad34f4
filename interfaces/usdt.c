/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads the notes that list a program's markers (USDT, sys/sdt.h). A note of type 3 and owner
 * "stapsdt" holds three addresses, then provider, name and arguments, each with its NUL. Used by
 * the client, which shows the markers, and by the confined reader, which checks the client's
 * choice. Pure; the bytes are untrusted. */

#include "interfaces/usdt.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define OWNER     "stapsdt"
#define NOTE_TYPE 3

static size_t align4(size_t n) {
        return (n + 3) & ~(size_t)3;
}

/* Returns the text at *at and moves *at past its NUL. */
static const char *take_text(const uint8_t *data, size_t size, size_t *at, size_t max) {
        const char *text = (const char *)data + *at;
        size_t length = strnlen(text, size - *at);

        if (length == size - *at || length > max)
                return NULL;
        *at += length + 1;
        return text;
}

static uint64_t take_address(const uint8_t *data, bool is_64, size_t *at) {
        uint64_t wide = 0;
        uint32_t narrow;

        if (is_64)
                memcpy(&wide, data + *at, sizeof(wide));
        else {
                memcpy(&narrow, data + *at, sizeof(narrow));
                wide = narrow;
        }
        *at += is_64 ? sizeof(wide) : sizeof(narrow);
        return wide;
}

static int usdt_read_description(const uint8_t *data, size_t size, bool is_64, UsdtNote *ret) {
        size_t at = 0;

        if (size < 3 * (is_64 ? sizeof(uint64_t) : sizeof(uint32_t)))
                return -EBADMSG;
        ret->location = take_address(data, is_64, &at);
        ret->base = take_address(data, is_64, &at);
        ret->semaphore = take_address(data, is_64, &at);
        ret->provider = take_text(data, size, &at, USDT_NAME_MAX);
        ret->name = ret->provider ? take_text(data, size, &at, USDT_NAME_MAX) : NULL;
        ret->args = ret->name ? take_text(data, size, &at, USDT_ARGS_MAX) : NULL;
        return ret->args ? 1 : -EBADMSG;
}

int usdt_note_next(const uint8_t *data, size_t size, bool is_64, size_t *offset, UsdtNote *ret) {
        while (*offset < size) {
                size_t left = size - *offset;
                const uint8_t *note = data + *offset;
                Elf64_Nhdr header; /* the same in both classes */

                if (left < sizeof(header))
                        return -EBADMSG;
                memcpy(&header, note, sizeof(header));
                left -= sizeof(header);
                /* Each size is checked separately, because their sum could overflow. */
                if (header.n_namesz > left || align4(header.n_namesz) > left ||
                                header.n_descsz > left - align4(header.n_namesz))
                        return -EBADMSG;
                size_t at = sizeof(header) + align4(header.n_namesz);
                size_t whole = at + align4(header.n_descsz);

                *offset = whole < size - *offset ? *offset + whole : size;
                if (header.n_type == NOTE_TYPE && header.n_namesz == sizeof(OWNER) &&
                                memcmp(note + sizeof(header), OWNER, sizeof(OWNER)) == 0)
                        return usdt_read_description(note + at, header.n_descsz, is_64, ret);
        }
        return 0;
}
