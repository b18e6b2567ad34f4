/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Messages in the stream of a host, which whoever has its credential can store: a property that is
 * taken has one form, a name can be shown, and whatever chunks come in whatever order, nothing is
 * written but files with their hash. */

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/chunk.h"
#include "fleet/reassembly.h"
#include "fuzz.h"
#include "interfaces/utf8.h"

#define LINE_MAX 256

const char *const fuzz_words[] = { "\na1\nb0\nc0\nz\n",
        "\na1\nb0\nc0\nl\n",
        "\na2\nb0\nc1\nz\n",
        "b1\nz\n",
        "b2\nl\n",
        "h1\n",
        "g7\n",
        "kbox\n",
        "a4294967295\n",
        "b4294967295\n",
        "c4294967295\n",
        "f9223372036854775807\n",
        NULL };

typedef struct Stream {
        Reassembly *reassembly;
        Hash *hash, *file_hash;
        Chunk chunk;
        uint64_t bytes; /* of a file whose hash this target makes */
} Stream;

static void ignore_report(const char *text, void *userdata) {
        (void)userdata;
        fuzz_check(*text != '\0');
}

static void take_property(Stream *stream, ChunkProperty property, const char *text) {
        char printed[CHUNK_VALUE_MAX];
        Chunk chunk = stream->chunk;

        if (chunk_read(&chunk, property, text) < 0)
                return;
        chunk_print(&chunk, property, printed);
        /* 0 is as none, and the length of a file is in its last chunk only. */
        fuzz_check(strcmp(printed, text) == 0 || *printed == '\0');
        fuzz_check(utf8_find_unprintable(chunk.name, strlen(chunk.name)) == 0);
        stream->chunk = chunk;
}

/* The data is the line. The reader has checked its hash before. */
static void take_chunk(Stream *stream, const char *line, bool is_last) {
        Chunk *chunk = &stream->chunk;

        chunk->data = line;
        chunk->size = strlen(line);
        chunk->is_last = is_last;
        hash_make(stream->hash, chunk->data, chunk->size, chunk->hash);
        if (chunk->number == 0) {
                hash_reset(stream->file_hash);
                stream->bytes = 0;
        }
        hash_add(stream->file_hash, chunk->hash, strlen(chunk->hash));
        stream->bytes += chunk->size;
        if (is_last) {
                hash_finish(stream->file_hash, chunk->file_hash);
                chunk->file_bytes = stream->bytes;
        }
        fuzz_check(reassembly_add(stream->reassembly, chunk) == 0);
        *chunk = (Chunk){ .file = chunk->file, .previous = chunk->previous };
}

/* a to k: a property with its text; l: a chunk with this data; z: the last one of its file. */
static void take_line(Stream *stream, const char *line) {
        if (*line >= 'a' && *line < 'a' + _CHUNK_PROPERTY_N)
                take_property(stream, (ChunkProperty)(*line - 'a'), line + 1);
        else if (*line == 'l' || *line == 'z')
                take_chunk(stream, line, *line == 'z');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        Stream stream = {};
        FILE *out = tmpfile();
        struct stat status;

        fuzz_check(out && hash_new(HASH_XXH3, &stream.hash) == 0);
        fuzz_check(hash_new(HASH_XXH3, &stream.file_hash) == 0);
        fuzz_check(reassembly_new(fileno(out), ignore_report, NULL, &stream.reassembly) == 0);
        for (size_t i = 0; i < size;) {
                const uint8_t *end = memchr(data + i, '\n', size - i);
                size_t n = end ? (size_t)(end - data) - i : size - i;
                char line[LINE_MAX];

                (void)snprintf(line,
                                sizeof(line),
                                "%.*s",
                                (int)MIN_OF(n, sizeof(line) - 1),
                                data + i);
                take_line(&stream, line);
                i += n + 1;
        }
        fuzz_check(reassembly_finish(stream.reassembly) == 0);
        fuzz_check(fstat(fileno(out), &status) == 0);
        fuzz_check((status.st_size > 0) == (reassembly_get_result(stream.reassembly).n_files > 0));
        reassembly_free(stream.reassembly);
        hash_free(stream.hash);
        hash_free(stream.file_hash);
        fclose(out);
        return 0;
}
