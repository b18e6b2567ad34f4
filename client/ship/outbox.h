/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"
#include "interfaces/json.h"
#include "interfaces/ktrace.h"
#include "interfaces/names.h"

/* The marked recordings of this machine, as ktraced lists them. */
typedef struct OutboxItem {
        char id[KT_ID_DIGITS + 1];
        char name[KT_NAME_MAX + 1];
        uint64_t uid, created_usec;
        uint32_t shipped_file; /* the last that was acknowledged */
        uint32_t file;         /* the next one; 0: none, only the end */
        char file_name[64];
        uint64_t bytes; /* of the file */
        bool is_cut;    /* only readable_bytes of it can be read */
        uint64_t readable_bytes;
        json_object *description; /* for the end: the entry without its files; borrowed */
} OutboxItem;

typedef struct Outbox Outbox;

/* Asks ktraced. Returns 0, or -errno or KT_E_* with a reason. */
int outbox_read(ktrace *connection, Outbox **ret, Reason *reason);
Outbox *outbox_free(Outbox *outbox);
DEFINE_CLEANUP(Outbox, outbox_free);
/* Calls visit with each thing that is to be shipped, in the order of a recording, until it returns
 * other than 0. */
int outbox_visit(const Outbox *outbox,
                int (*visit)(const OutboxItem *item, void *userdata),
                void *userdata);
/* How many bytes of whole files are to be shipped, and whether there are marked recordings. */
uint64_t outbox_count_bytes(const Outbox *outbox);
bool outbox_is_empty(const Outbox *outbox);
