/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Lists of CPUs in the notation of the kernel's sysfs: numbers and ranges, separated by commas.
 * Used for the spec's key `cpus` and by clients that read only some CPUs. It does not check that
 * a CPU exists. */

#include <inttypes.h>
#include <string.h>

#include "interfaces/cpu-list.h"
#include "interfaces/quote.h"

/* Reads a number of at most four digits. NULL: there is no such number. */
static const char *parse_cpu(const char *p, unsigned *ret) {
        size_t n = strspn(p, "0123456789");
        unsigned cpu = 0;

        if (n == 0 || n > 4)
                return NULL;
        for (size_t i = 0; i < n; i++)
                cpu = cpu * 10 + (unsigned)(p[i] - '0');
        if (cpu >= CPU_LIST_MAX)
                return NULL;
        *ret = cpu;
        return p + n;
}

int cpu_list_parse(const char *key, const char *text, CpuList *ret, Reason *reason) {
        CpuList list = {};
        const char *p = text;

        for (;;) {
                unsigned first, last;

                p = parse_cpu(p, &first);
                last = first;
                if (p && *p == '-')
                        p = parse_cpu(p + 1, &last);
                if (!p || (*p && *p != ','))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "%s: %s is not a list of CPUs: write numbers below %d "
                                        "and ranges of them, such as 0-3,5",
                                        key,
                                        quote(text).text,
                                        CPU_LIST_MAX);
                if (last < first)
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "%s: %u-%u runs backwards: write %u-%u",
                                        key,
                                        first,
                                        last,
                                        last,
                                        first);
                for (unsigned cpu = first; cpu <= last; cpu++)
                        list.words[cpu / 64] |= UINT64_C(1) << cpu % 64;
                if (!*p)
                        break;
                p++;
        }
        *ret = list;
        return 0;
}

bool cpu_list_has(const CpuList *list, unsigned cpu) {
        return cpu < CPU_LIST_MAX && list->words[cpu / 64] >> cpu % 64 & 1;
}

unsigned cpu_list_get_last(const CpuList *list) {
        for (unsigned cpu = CPU_LIST_MAX; cpu-- > 0;)
                if (cpu_list_has(list, cpu))
                        return cpu;
        return 0;
}
