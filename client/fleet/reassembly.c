/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Files from chunks. A file is collected in a temporary file, and written only when it is complete
 * and has its hash (of the hashes of its chunks, which the caller has checked), so that the output
 * has whole streams only. Called by ktrace-fleet.
 *
 * Older versions of ktrace-ship make hashes of another kind. When it is upgraded in the middle of a
 * file, it sends the whole file again, and then the first chunks are of the older kind, and the
 * hash of the file is that of the newer one. So both hashes of each file are made here.
 *
 * ktrace-ship sends the chunks of a session in order. After a failure it goes back, so the broker
 * may have chunks twice, and up to its window of 16 in another order. This file puts them in order
 * and drops repetitions. What is still missing after HELD_MAX further chunks is a gap.
 *
 * Whoever stole the credential of the host can store chunks with correct hashes, also those of
 * files that are to come. Then there are two versions of a chunk. This file cannot know which one
 * is true, so it takes the first, and reports the conflict. It does the same with chunks after the
 * end. The thief could make both versions have the same XXH3, so it compares their SHA-256. What a
 * chunk says of its file is part of its version: else a thief who sends the true data first could
 * hide that the file was cut by a crash. */

#include "fleet/reassembly.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "interfaces/descriptor.h"
#include "interfaces/spec.h"

#define HELD_MAX     32
#define CHUNKS_MAX   65536 /* of a file; ktrace-ship makes 8,192 of the largest */
#define KNOWN_DIGITS 32    /* of the SHA-256 of each chunk that was taken */

/* A chunk that was taken. 56 bytes for each 512 KiB of a recording. */
typedef struct Known {
        uint32_t file, number;
        char hash[KNOWN_DIGITS];
        uint64_t file_bytes, listed_bytes; /* of the last chunk of a file */
} Known;

struct Reassembly {
        int fd;
        void (*report)(const char *text, void *userdata);
        void *userdata;
        FILE *draft;                     /* of the current file */
        Hash *hashes[_HASH_KIND_N];      /* of single chunks */
        Hash *file_hashes[_HASH_KIND_N]; /* of the hashes of this kind */
        uint32_t file;                   /* the current one; 0: none yet */
        uint32_t next;                   /* chunk of it */
        bool is_open;                    /* it is not complete yet */
        uint64_t bytes;
        Chunk held[HELD_MAX]; /* chunks that are too early, with their own data */
        size_t n_held;
        Known *known; /* in the order of file and number */
        size_t n_known, room_known;
        uint32_t n_late; /* messages after the end, or of files before the current one, that
                            repeat nothing */
        ReassemblyResult result;
};

int reassembly_new(int fd,
                void (*report)(const char *text, void *userdata),
                void *userdata,
                Reassembly **ret) {
        _cleanup_(reassembly_free_cleanup) Reassembly *reassembly = calloc(1, sizeof(*reassembly));

        if (!reassembly)
                return -ENOMEM;
        reassembly->fd = fd;
        reassembly->report = report;
        reassembly->userdata = userdata;
        reassembly->draft = tmpfile();
        if (!reassembly->draft)
                return -errno;
        int r = 0;
        for (HashKind kind = 0; r == 0 && kind < _HASH_KIND_N; kind++)
                r = hash_new(kind, &reassembly->hashes[kind])
                                    ?: hash_new(kind, &reassembly->file_hashes[kind]);
        if (r == 0)
                *ret = TAKE_PTR(reassembly);
        return r;
}

Reassembly *reassembly_free(Reassembly *reassembly) {
        if (!reassembly)
                return NULL;
        for (size_t i = 0; i < reassembly->n_held; i++)
                free((void *)reassembly->held[i].data);
        if (reassembly->draft)
                fclose(reassembly->draft);
        for (HashKind kind = 0; kind < _HASH_KIND_N; kind++) {
                hash_free(reassembly->hashes[kind]);
                hash_free(reassembly->file_hashes[kind]);
        }
        free(reassembly->known);
        free(reassembly);
        return NULL;
}

static _printf_(2, 3) void reassembly_report(Reassembly *reassembly, const char *format, ...) {
        char text[256];
        va_list args;

        va_start(args, format);
        (void)vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        reassembly->result.n_gaps++;
        reassembly->report(text, reassembly->userdata);
}

/* Versions of a chunk */

/* The caller has checked the hash that the chunk has. */
static void reassembly_hash(Reassembly *reassembly,
                const Chunk *chunk,
                HashKind kind,
                char digits[static HASH_DIGITS_MAX + 1]) {
        if (hash_find_kind(chunk->hash) == (int)kind)
                memcpy(digits, chunk->hash, HASH_DIGITS_MAX + 1);
        else
                hash_make(reassembly->hashes[kind], chunk->data, chunk->size, digits);
}

/* sha256: of its data */
static int reassembly_remember(Reassembly *reassembly, const Chunk *chunk, const char *sha256) {
        if (reassembly->n_known == reassembly->room_known) {
                size_t room = reassembly->room_known ? 2 * reassembly->room_known : 64;
                Known *known = reallocarray(reassembly->known, room, sizeof(*known));

                if (!known)
                        return -ENOMEM;
                reassembly->known = known;
                reassembly->room_known = room;
        }
        Known *known = &reassembly->known[reassembly->n_known++];
        *known = (Known){ .file = chunk->file,
                .number = chunk->number,
                .file_bytes = chunk->file_bytes,
                .listed_bytes = chunk->listed_bytes };
        memcpy(known->hash, sha256, KNOWN_DIGITS);
        return 0;
}

static int reassembly_compare_known(const void *a, const void *b) {
        const Known *first = a, *second = b;

        if (first->file != second->file)
                return first->file < second->file ? -1 : 1;
        return first->number == second->number ? 0 : first->number < second->number ? -1 : 1;
}

static const Known *reassembly_find_known(const Reassembly *reassembly, const Chunk *chunk) {
        const Known key = { .file = chunk->file, .number = chunk->number };

        return reassembly->n_known == 0 ? NULL
                                        : bsearch(&key,
                                                          reassembly->known,
                                                          reassembly->n_known,
                                                          sizeof(key),
                                                          reassembly_compare_known);
}

/* The place of the chunk is taken. */
static void reassembly_repeat(Reassembly *reassembly, const Chunk *chunk) {
        const Known *known = reassembly_find_known(reassembly, chunk);
        char sha256[HASH_DIGITS_MAX + 1];

        reassembly->result.n_repeated++;
        if (!known) {
                reassembly->n_late++;
                return;
        }
        reassembly_hash(reassembly, chunk, HASH_SHA256, sha256);
        if (memcmp(known->hash, sha256, KNOWN_DIGITS) != 0 ||
                        known->file_bytes != chunk->file_bytes ||
                        known->listed_bytes != chunk->listed_bytes)
                reassembly_report(reassembly,
                                "file %" PRIu32 ": the broker has two versions of chunk %" PRIu32
                                ", the first was taken",
                                chunk->file,
                                chunk->number);
}

/* Files */

static int reassembly_fail_draft(Reassembly *reassembly, int r) {
        reassembly->result.has_no_draft = true;
        return r;
}

static int reassembly_begin(Reassembly *reassembly, uint32_t file) {
        if (ftruncate(fileno(reassembly->draft), 0) < 0 ||
                        lseek(fileno(reassembly->draft), 0, SEEK_SET) < 0)
                return reassembly_fail_draft(reassembly, -errno);
        for (HashKind kind = 0; kind < _HASH_KIND_N; kind++)
                hash_reset(reassembly->file_hashes[kind]);
        reassembly->file = file;
        reassembly->next = 0;
        reassembly->bytes = 0;
        reassembly->is_open = true;
        return 0;
}

/* Not sendfile(2): it refuses files that were opened to append (>>), and some devices. */
static int reassembly_copy(Reassembly *reassembly) {
        int draft = fileno(reassembly->draft);

        return lseek(draft, 0, SEEK_SET) < 0 ? reassembly_fail_draft(reassembly, -errno)
                                             : descriptor_copy(draft, reassembly->fd);
}

static int reassembly_end_file(Reassembly *reassembly, const Chunk *last) {
        int kind = hash_find_kind(last->file_hash);
        char hash[HASH_DIGITS_MAX + 1] = "";

        if (kind >= 0)
                hash_finish(reassembly->file_hashes[kind], hash);
        reassembly->is_open = false;
        if (kind < 0 || strcmp(hash, last->file_hash) != 0 ||
                        reassembly->bytes != last->file_bytes) {
                reassembly_report(reassembly,
                                "file %" PRIu32 " does not have its hash, and is left out",
                                last->file);
                return 0;
        }
        reassembly->result.n_files++;
        if (last->listed_bytes > 0)
                reassembly_report(reassembly,
                                "file %" PRIu32 " was cut by a crash: %" PRIu64 " of %" PRIu64
                                " bytes could be read",
                                last->file,
                                last->file_bytes,
                                last->listed_bytes);
        return reassembly_copy(reassembly);
}

/* Else a hostile broker fills the disk for temporary files, or the memory. */
static bool reassembly_is_too_large(const Reassembly *reassembly, const Chunk *chunk) {
        return reassembly->bytes + chunk->size > SPEC_ROTATE_MAX || reassembly->next >= CHUNKS_MAX;
}

static int reassembly_append(Reassembly *reassembly, const Chunk *chunk) {
        char digits[HASH_DIGITS_MAX + 1];

        if (reassembly_is_too_large(reassembly, chunk)) {
                reassembly_report(reassembly,
                                "file %" PRIu32
                                " is larger than a file of a recording can be, and is left out",
                                chunk->file);
                reassembly->is_open = false;
                return 0;
        }
        int r = descriptor_write_all(fileno(reassembly->draft), chunk->data, chunk->size);
        if (r < 0)
                return reassembly_fail_draft(reassembly, r);
        for (HashKind kind = 0; r == 0 && kind < _HASH_KIND_N; kind++) {
                reassembly_hash(reassembly, chunk, kind, digits);
                hash_add(reassembly->file_hashes[kind], digits, strlen(digits));
                if (kind == HASH_SHA256)
                        r = reassembly_remember(reassembly, chunk, digits);
        }
        if (r < 0)
                return r;
        reassembly->bytes += chunk->size;
        reassembly->next++;
        return chunk->is_last ? reassembly_end_file(reassembly, chunk) : 0;
}

/* Order */

typedef enum ChunkPlace {
        CHUNK_REPEATED,
        CHUNK_NEXT,
        CHUNK_EARLY,
} ChunkPlace;

static ChunkPlace reassembly_place(const Reassembly *reassembly, const Chunk *chunk) {
        bool is_current = chunk->file == reassembly->file && !chunk->is_end;

        /* An older `previous` is that of a machine that has forgotten an acknowledgement. */
        if (chunk->is_end)
                return chunk->previous <= reassembly->file && !reassembly->is_open ? CHUNK_NEXT
                                                                                   : CHUNK_EARLY;
        if (chunk->file < reassembly->file || (is_current && chunk->number < reassembly->next))
                return CHUNK_REPEATED;
        if (reassembly->is_open)
                return is_current && chunk->number == reassembly->next ? CHUNK_NEXT : CHUNK_EARLY;
        if (is_current)
                return CHUNK_REPEATED;
        return chunk->number == 0 && chunk->previous <= reassembly->file ? CHUNK_NEXT : CHUNK_EARLY;
}

static int reassembly_take(Reassembly *reassembly, const Chunk *chunk) {
        int r = 0;

        if (chunk->is_end) {
                reassembly->result.is_ended = true;
                return 0;
        }
        if (chunk->file != reassembly->file)
                r = reassembly_begin(reassembly, chunk->file);
        return r ?: reassembly_append(reassembly, chunk);
}

/* Whether a comes before b. */
static bool reassembly_is_before(const Chunk *a, const Chunk *b) {
        if (a->is_end != b->is_end)
                return b->is_end;
        return a->file != b->file ? a->file < b->file : a->number < b->number;
}

static size_t reassembly_find_first(const Reassembly *reassembly) {
        size_t first = 0;

        for (size_t i = 1; i < reassembly->n_held; i++)
                if (reassembly_is_before(&reassembly->held[i], &reassembly->held[first]))
                        first = i;
        return first;
}

static Chunk reassembly_release(Reassembly *reassembly, size_t i) {
        Chunk chunk = reassembly->held[i];

        reassembly->held[i] = reassembly->held[--reassembly->n_held];
        return chunk;
}

/* Takes held chunks whose turn has come. */
static int reassembly_advance(Reassembly *reassembly) {
        int r = 0;

        while (r == 0 && reassembly->n_held > 0) {
                size_t first = reassembly_find_first(reassembly);
                ChunkPlace place = reassembly_place(reassembly, &reassembly->held[first]);

                if (place == CHUNK_EARLY)
                        return 0;
                Chunk chunk = reassembly_release(reassembly, first);
                if (place == CHUNK_NEXT)
                        r = reassembly_take(reassembly, &chunk);
                else
                        reassembly_repeat(reassembly, &chunk);
                free((void *)chunk.data);
        }
        return r;
}

static void reassembly_drop_file(Reassembly *reassembly, uint32_t file) {
        for (size_t i = reassembly->n_held; i > 0; i--)
                if (!reassembly->held[i - 1].is_end && reassembly->held[i - 1].file == file)
                        free((void *)reassembly_release(reassembly, i - 1).data);
        reassembly->file = file;
}

/* What comes before the first held chunk is missing. A file that lacks a chunk is left out. */
static int reassembly_skip(Reassembly *reassembly) {
        const Chunk *first = &reassembly->held[reassembly_find_first(reassembly)];

        if (reassembly->is_open) {
                reassembly_report(reassembly,
                                "file %" PRIu32 " is incomplete from chunk %" PRIu32
                                " on, and is left out",
                                reassembly->file,
                                reassembly->next);
                reassembly->is_open = false;
                reassembly_drop_file(reassembly, reassembly->file);
        } else if (first->is_end || first->number == 0) {
                reassembly_report(reassembly,
                                "files after %" PRIu32 " up to %" PRIu32 " are missing",
                                reassembly->file,
                                first->previous);
                reassembly->file = first->previous;
        } else {
                reassembly_report(reassembly,
                                "file %" PRIu32 " lacks its first chunks, and is left out",
                                first->file);
                reassembly_drop_file(reassembly, first->file);
        }
        return reassembly_advance(reassembly);
}

static int reassembly_hold(Reassembly *reassembly, const Chunk *chunk) {
        uint8_t *copy = malloc(chunk->size + 1);

        if (!copy)
                return -ENOMEM;
        memcpy(copy, chunk->data, chunk->size);
        reassembly->held[reassembly->n_held] = *chunk;
        reassembly->held[reassembly->n_held++].data = copy;
        return 0;
}

/* ktrace-ship sends nothing new after the end, but it may repeat. */
static void reassembly_take_late(Reassembly *reassembly, const Chunk *chunk) {
        bool is_end = chunk->is_end && chunk->previous <= reassembly->file;

        if (is_end)
                reassembly->result.n_repeated++;
        else if (chunk->is_end || reassembly_place(reassembly, chunk) != CHUNK_REPEATED)
                reassembly->n_late++;
        else
                reassembly_repeat(reassembly, chunk);
}

int reassembly_add(Reassembly *reassembly, const Chunk *chunk) {
        ChunkPlace place = reassembly_place(reassembly, chunk);
        int r = 0;

        if (reassembly->result.is_ended) {
                reassembly_take_late(reassembly, chunk);
                return 0;
        }
        if (place == CHUNK_REPEATED) {
                reassembly_repeat(reassembly, chunk);
                return 0;
        }
        if (place == CHUNK_NEXT) {
                r = reassembly_take(reassembly, chunk);
                return r ?: reassembly_advance(reassembly);
        }
        while (r == 0 && reassembly->n_held == HELD_MAX)
                r = reassembly_skip(reassembly);
        return r ?: reassembly_hold(reassembly, chunk);
}

int reassembly_finish(Reassembly *reassembly) {
        int r = 0;

        while (r == 0 && reassembly->n_held > 0)
                r = reassembly_skip(reassembly);
        if (reassembly->n_late > 0)
                reassembly_report(reassembly,
                                "%" PRIu32 " messages came too late, and are left out",
                                reassembly->n_late);
        return r;
}

ReassemblyResult reassembly_get_result(const Reassembly *reassembly) {
        return reassembly->result;
}
