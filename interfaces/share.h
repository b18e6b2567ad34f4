/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* How the reader of a shared instance passes records to the viewers' stream workers.
 *
 * Viewers with the same rules and events are a class. A class has a pool: a memfd of blocks, which
 * the reader fills and the workers can only read. A viewer has a pipe of ShareEntry, which names
 * pieces of the pool, and a pipe back, in which its worker writes the number of the last entry that
 * it has finished (a uint64_t). A piece is used again when all its viewers have finished it.
 *
 * A viewer also has a memfd with a ShareMemory. It contains all that a reader must know of the
 * viewer besides its messages (control.h), so that another reader can continue after a kill at any
 * point. The daemon keeps the memory and the pipes. */

#define SHARE_BLOCK_SIZE 4096
/* The worker's end: entries, finished, pool, memory. */
#define SHARE_VIEW_FDS 4
/* The most bytes of a pool that one viewer keeps in use. */
#define SHARE_BYTES_MAX (UINT64_C(4) * 1024 * 1024)
/* The most bytes of one entry. Each entry wakes each of its viewers. */
#define SHARE_ENTRY_MAX ((size_t)256 * 1024)
/* The most viewers of one shared instance. */
#define SHARE_VIEWERS_MAX 64
/* The counters of so many CPUs have room. */
#define SHARE_CPUS_MAX 8192
/* The most pieces that one viewer keeps in use. */
#define SHARE_PIECES_MAX 2048
/* The blocks of a pool. Memory that is never written costs nothing. */
#define SHARE_POOL_BLOCKS (SHARE_VIEWERS_MAX * SHARE_BYTES_MAX / SHARE_BLOCK_SIZE)

/* Sub-buffers of one CPU; all but the last have their full size. */
typedef struct ShareEntry {
        uint64_t number; /* counted from 1 for each viewer. The worker ignores an entry whose number
                            it has had, but sends the last number again */
        uint32_t block;  /* the first one */
        uint32_t size;   /* bytes */
        uint32_t cpu;
        uint32_t n_records;
        uint64_t lost; /* records of this CPU that the viewer had lost until then, in total */
} ShareEntry;

/* What a viewer got of one CPU. The reader counts; the daemon and the worker read. */
typedef struct ShareCounters {
        uint64_t records; /* passed to the worker */
        uint64_t lost;
        uint64_t bytes;    /* passed to the worker */
        uint64_t wanted;   /* of the events that it asked for, before its filters */
        uint64_t unparsed; /* sub-buffers that were cut where they could not be parsed */
        uint64_t unknown;  /* records of events without cuts, which were left out */
        /* The kernel's numbers for this ring: up to here everything was passed on or counted. */
        uint64_t ring_read, ring_lost;
        /* The cut of a MOVE: earlier records of this CPU come from the instance before it. 0: there
         * was no MOVE, it has not found the cut yet, or later records have come. */
        uint64_t from_nsec;
} ShareCounters;

/* A piece that the worker may still read. */
typedef struct SharePiece {
        uint32_t block, n_blocks;
} SharePiece;

/* What the reader does for a viewer at this moment: it sends an entry or counts a loss, and stores
 * new counters. The next reader repeats what a killed one has left under way. */
typedef struct ShareStep {
        uint32_t is_under_way;
        uint32_t cpu;
        ShareEntry entry;    /* number 0: there is none */
        ShareCounters after; /* of the CPU */
} ShareStep;

typedef struct ShareMemory {
        ShareCounters counters[SHARE_CPUS_MAX]; /* all that the worker reads */
        uint32_t is_joined;                     /* it gets what is recorded */
        uint32_t is_broken; /* its worker has sent nonsense: it gets nothing more */
        uint32_t has_moved; /* to another instance, whose reader has not begun: it gets nothing */
        uint32_t reserved;  /* 0 */
        uint64_t move_nsec; /* of the MOVE, until the reader of the other instance begins. 0: none
                             */
        uint64_t n_sent, n_finished; /* entries */
        ShareStep step;
        SharePiece pieces[SHARE_PIECES_MAX]; /* a ring: that of entry i at (i - 1) % its size */
} ShareMemory;

/* A mark for one viewer is written to the instance with this before its text. */
#define SHARE_MARK_FORMAT "\x02%08x"
#define SHARE_MARK_SIZE   9
