/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "analysis/number-map.h"
#include "analysis/sketch.h"
#include "trace/decode.h"

#define IO_NAME_MAX 32

typedef enum IoKind {
        IO_BLOCK, /* block:block_rq_issue and block_rq_complete */
        IO_NET,   /* net:net_dev_xmit and netif_receive_skb */
} IoKind;

/* The traffic of one device in one direction. */
typedef struct IoRow {
        IoKind kind;
        char device[IO_NAME_MAX + 1]; /* "8,0", or the name of a network device; any bytes */
        const char *direction; /* "read", "write", "discard", "flush", "in", "out", "other" */
        uint64_t n, bytes;
        Sketch nsec; /* block: from issue to completion */
} IoRow;

#define IO_ROWS_MAX 256

/* Block and network activity. All zeros: nothing yet. */
typedef struct IoTable {
        const Decode *decode; /* borrowed; set by the caller */
        NumberMap events;     /* private */
        NumberMap requests;   /* private: that have no completion yet */
        IoRow rows[IO_ROWS_MAX];
        size_t n_rows;
        uint64_t n_other; /* events of further devices */
        bool has_block, has_net;
} IoTable;

/* Takes any record, in time order. Returns 0 or -ENOMEM. */
int io_table_record(IoTable *table, const Record *record);
/* Events were lost: the open requests are forgotten. */
void io_table_loss(IoTable *table);
/* All numbers begin again. The open requests stay. */
void io_table_reset(IoTable *table);
void io_table_clear(IoTable *table);
