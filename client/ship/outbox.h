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

/* Stops the visit if it returns other than 0. */
typedef int (*OutboxHandler)(const OutboxItem *item, void *userdata);

/* Calls handler with each thing that is to be shipped, in the order of a recording. ktraced is
 * asked again for each page of its list. Returns 0, also when stopped, or -errno or KT_E_* with a
 * reason. */
int outbox_visit(ktrace *connection, OutboxHandler handler, void *userdata, Reason *reason);

typedef struct OutboxCount {
        uint64_t n_recordings; /* that are marked, and have not arrived whole */
        uint64_t n_bytes;      /* of whole files that are to be shipped */
} OutboxCount;

int outbox_count(ktrace *connection, OutboxCount *ret, Reason *reason);
