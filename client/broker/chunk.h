/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "broker/hash.h"
#include "interfaces/names.h"

#define CHUNK_BYTES       ((size_t)512 * 1024)
#define CHUNK_VALUE_MAX   160 /* bytes of one property as text */
#define MACHINE_ID_DIGITS 32

/* A piece of a recording on its way. A file of the recording is one or more chunks, numbered from
 * 0. The end of the recording is one chunk after its last file, with a description in JSON. */
typedef struct Chunk {
        char session[KT_ID_DIGITS + 1];
        uint32_t file;     /* the number of the stream; of an end: of the last one */
        uint32_t number;   /* in the file */
        uint32_t previous; /* the stream before this one; 0: none. Others in between are missing */
        bool is_last;      /* of the file, which then has these two */
        char file_hash[HASH_DIGITS_MAX + 1]; /* of the hashes of its chunks, as texts */
        uint64_t file_bytes;
        uint64_t listed_bytes; /* its length there, if a crash has cut its last frame; 0: as above
                                */
        bool is_end;
        char hash[HASH_DIGITS_MAX + 1]; /* of the data */
        uint64_t uid;                   /* the owner of the recording */
        uint64_t created_usec;          /* its begin, CLOCK_REALTIME */
        char name[KT_NAME_MAX + 1];
        uint64_t salt; /* 0: none. Makes the identity unlike that of an equal chunk before */
        const void *data;
        size_t size;
} Chunk;

/* The properties of a chunk travel beside its data, as texts. */
typedef enum ChunkProperty {
        CHUNK_FILE,
        CHUNK_NUMBER,
        CHUNK_PREVIOUS,
        CHUNK_HASH,
        CHUNK_FILE_HASH,
        CHUNK_FILE_BYTES,
        CHUNK_LISTED_BYTES,
        CHUNK_END,
        CHUNK_UID,
        CHUNK_CREATED,
        CHUNK_NAME,
        _CHUNK_PROPERTY_N,
} ChunkProperty;

const char *chunk_property_get_name(ChunkProperty property);
/* "": the chunk does not have this property. */
void chunk_print(const Chunk *chunk, ChunkProperty property, char text[static CHUNK_VALUE_MAX]);
/* Reads one property. Returns 0 or -EBADMSG. */
int chunk_read(Chunk *chunk, ChunkProperty property, const char *text);
/* Its identity within the stream of its host. Chunks with different hashes have different ones. */
void chunk_print_identity(const Chunk *chunk, char text[static CHUNK_VALUE_MAX]);
