/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "interfaces/error.h"

#define CPU_LIST_MAX      8192 /* CPUs: the maximum that Linux supports */
#define CPU_LIST_TEXT_MAX 1024 /* bytes of a list */

/* A set of CPU numbers. */
typedef struct CpuList {
        uint64_t words[CPU_LIST_MAX / 64];
} CpuList;

/* Parses text such as "0-3,5". KT_E_INVALID_SPEC: the reason begins with key. */
int cpu_list_parse(const char *key, const char *text, CpuList *ret, Reason *reason);
bool cpu_list_has(const CpuList *list, unsigned cpu);
/* The highest number. */
unsigned cpu_list_get_last(const CpuList *list);
