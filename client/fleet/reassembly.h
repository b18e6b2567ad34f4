/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "broker/chunk.h"
#include "interfaces/error.h"

/* Puts the chunks of one recording together. */
typedef struct Reassembly Reassembly;

typedef struct ReassemblyResult {
        uint32_t n_files;    /* complete, and written */
        uint32_t n_gaps;     /* reported */
        uint32_t n_repeated; /* chunks that were stored more than once */
        bool is_ended;       /* the end of the recording has come */
        bool has_no_draft;   /* after a failure: of the temporary file, not of the output */
} ReassemblyResult;

/* fd: gets each file when it is complete and has its hash; borrowed. report: gets a line about each
 * gap. */
int reassembly_new(int fd,
                void (*report)(const char *text, void *userdata),
                void *userdata,
                Reassembly **ret);
Reassembly *reassembly_free(Reassembly *reassembly);
DEFINE_CLEANUP(Reassembly, reassembly_free);
/* Takes the next chunk, in the order of the broker. Returns 0 or -errno. */
int reassembly_add(Reassembly *reassembly, const Chunk *chunk);
/* No chunk follows: what is missing now is a gap. */
int reassembly_finish(Reassembly *reassembly);
ReassemblyResult reassembly_get_result(const Reassembly *reassembly);
