/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "interfaces/json.h"

#define COUNTERS_CODES 13

/* What the daemon has done for all users since its start. Each number only grows. */
typedef struct Counters {
        uint64_t since_usec; /* CLOCK_REALTIME */
        uint64_t n_created;
        uint64_t n_ended[COUNTERS_CODES]; /* by the code of the end */
        uint64_t n_denied, n_limited;     /* calls: denied; refused by a limit */
        uint64_t n_lost;                  /* events */
        uint64_t written_bytes, discarded_bytes;
        uint64_t n_failed_workers;
} Counters;

void counters_begin(Counters *counters);
/* code: of a session's end, ktrace-stream(5). */
void counters_count_end(Counters *counters, const char *code);
/* result: of a refused call. */
void counters_count_refusal(Counters *counters, int result);
/* Adds the numbers to the object. Fails with -ENOMEM. */
int counters_describe(const Counters *counters, json_object *object);
