/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/decode.h"

/* The ids of events: for system calls their numbers, plus 10. */
enum {
        READ = 0,
        RT_SIGRETURN = 15,
        CLONE = 56,
        EXECVE = 59,
        NEWUNAME = 63,
        EXIT_GROUP = 231,
        RAW = 1000,
        PROCESS_EXEC = 1001,
        PROCESS_EXIT = 1002,
        FILE_OPEN = 1003,     /* of the catalogue; text at 16, behind its location at 8 */
        FILE_OPEN_OWN = 1004, /* a user's probe with the same name */
};

#define EXITS 512 /* added to the id of an entry */

typedef struct Event {
        uint32_t cpu;
        uint64_t ts;
        int tid;
} Event;

/* A trace of an x86_64 machine with the calls above, raw_syscalls and events of the scheduler. */
Decode *call_fixture_new(void);
/* A record with two numbers at 8 and 16, in bytes. */
Record call_fixture_record(uint8_t bytes[static 64],
                const Event *event,
                int id,
                int64_t number,
                int64_t value);
