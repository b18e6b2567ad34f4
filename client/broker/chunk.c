/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Chunks of recordings, as texts for any broker. Read by ktrace-fleet from messages that may be
 * hostile, so each property has one form. */

#include "broker/chunk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "interfaces/utf8.h"

static const char *const names[_CHUNK_PROPERTY_N] = {
        [CHUNK_FILE] = "Ktrace-File",
        [CHUNK_NUMBER] = "Ktrace-Chunk",
        [CHUNK_PREVIOUS] = "Ktrace-Previous-File",
        [CHUNK_HASH] = "Ktrace-Hash",
        [CHUNK_FILE_HASH] = "Ktrace-File-Hash",
        [CHUNK_FILE_BYTES] = "Ktrace-File-Bytes",
        [CHUNK_LISTED_BYTES] = "Ktrace-Listed-Bytes",
        [CHUNK_END] = "Ktrace-End",
        [CHUNK_UID] = "Ktrace-Uid",
        [CHUNK_CREATED] = "Ktrace-Created",
        [CHUNK_NAME] = "Ktrace-Name",
};

const char *chunk_property_get_name(ChunkProperty property) {
        return names[property];
}

static void chunk_print_number(char text[static CHUNK_VALUE_MAX], uint64_t number) {
        (void)snprintf(text, CHUNK_VALUE_MAX, "%" PRIu64, number);
}

void chunk_print(const Chunk *chunk, ChunkProperty property, char text[static CHUNK_VALUE_MAX]) {
        const uint64_t numbers[_CHUNK_PROPERTY_N] = {
                [CHUNK_FILE] = chunk->file,
                [CHUNK_NUMBER] = chunk->number,
                [CHUNK_PREVIOUS] = chunk->previous,
                [CHUNK_FILE_BYTES] = chunk->file_bytes,
                [CHUNK_LISTED_BYTES] = chunk->listed_bytes,
                [CHUNK_END] = 1,
                [CHUNK_UID] = chunk->uid,
                [CHUNK_CREATED] = chunk->created_usec,
        };

        *text = '\0';
        switch (property) {
        case CHUNK_NAME:
                (void)snprintf(text, CHUNK_VALUE_MAX, "%s", chunk->name);
                return;
        case CHUNK_HASH:
                (void)snprintf(text, CHUNK_VALUE_MAX, "%s", chunk->hash);
                return;
        case CHUNK_FILE_HASH:
                if (chunk->is_last)
                        (void)snprintf(text, CHUNK_VALUE_MAX, "%s", chunk->file_hash);
                return;
        case CHUNK_FILE_BYTES:
                if (chunk->is_last)
                        chunk_print_number(text, numbers[property]);
                return;
        case CHUNK_LISTED_BYTES:
                if (chunk->listed_bytes > 0)
                        chunk_print_number(text, numbers[property]);
                return;
        case CHUNK_END:
                if (chunk->is_end)
                        chunk_print_number(text, numbers[property]);
                return;
        default:
                chunk_print_number(text, numbers[property]);
                return;
        }
}

static int chunk_read_number(const char *text, uint64_t max, uint64_t *ret) {
        uint64_t number = 0;
        size_t n = strspn(text, "0123456789");

        if (n == 0 || n > 19 || text[n] || (n > 1 && *text == '0'))
                return -EBADMSG;
        for (size_t i = 0; i < n; i++)
                number = number * 10 + (uint64_t)(text[i] - '0');
        if (number > max)
                return -EBADMSG;
        *ret = number;
        return 0;
}

static int chunk_read_small(const char *text, uint32_t *ret) {
        uint64_t number = 0;
        int r = chunk_read_number(text, UINT32_MAX, &number);

        if (r == 0)
                *ret = (uint32_t)number;
        return r;
}

static int chunk_read_hash(const char *text, char hash[static HASH_DIGITS_MAX + 1]) {
        if (hash_find_kind(text) < 0)
                return -EBADMSG;
        (void)snprintf(hash, HASH_DIGITS_MAX + 1, "%s", text);
        return 0;
}

/* It is shown on terminals. */
static int chunk_read_name(Chunk *chunk, const char *text) {
        size_t size = strlen(text);

        if (size > KT_NAME_MAX || utf8_find_unprintable(text, size) > 0)
                return -EBADMSG;
        (void)snprintf(chunk->name, sizeof(chunk->name), "%s", text);
        return 0;
}

int chunk_read(Chunk *chunk, ChunkProperty property, const char *text) {
        switch (property) {
        case CHUNK_FILE:
                return chunk_read_small(text, &chunk->file);
        case CHUNK_NUMBER:
                return chunk_read_small(text, &chunk->number);
        case CHUNK_PREVIOUS:
                return chunk_read_small(text, &chunk->previous);
        case CHUNK_HASH:
                return chunk_read_hash(text, chunk->hash);
        case CHUNK_FILE_HASH:
                chunk->is_last = true;
                return chunk_read_hash(text, chunk->file_hash);
        case CHUNK_FILE_BYTES:
                return chunk_read_number(text, INT64_MAX, &chunk->file_bytes);
        case CHUNK_LISTED_BYTES:
                return chunk_read_number(text, INT64_MAX, &chunk->listed_bytes);
        case CHUNK_END:
                chunk->is_end = true;
                return strcmp(text, "1") == 0 ? 0 : -EBADMSG;
        case CHUNK_UID:
                return chunk_read_number(text, UINT32_MAX, &chunk->uid);
        case CHUNK_CREATED:
                return chunk_read_number(text, INT64_MAX, &chunk->created_usec);
        case CHUNK_NAME:
                return chunk_read_name(chunk, text);
        default:
                return -EBADMSG;
        }
}

void chunk_print_identity(const Chunk *chunk, char text[static CHUNK_VALUE_MAX]) {
        (void)snprintf(text,
                        CHUNK_VALUE_MAX,
                        "%s/%s%" PRIu32 "/%" PRIu32 "/%.32s/%" PRIx64,
                        chunk->session,
                        chunk->is_end ? "end" : "",
                        chunk->file,
                        chunk->number,
                        chunk->hash,
                        chunk->salt);
}
