/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* library-cost FILE EVENT FIELD...: reads all records of a recording with libktrace, and these
 * fields of each by their handles. Prints how many records the event has. */
#include <inttypes.h>
#include <stdio.h>

#include <ktrace.h>

#define FIELDS_MAX 8

int main(int argc, char **argv) {
        const ktrace_field *fields[FIELDS_MAX];
        const ktrace_record *record;
        uint64_t n = 0, number;
        volatile uint64_t sum = 0;
        ktrace_error error = {};
        ktrace_reader *reader;
        int n_fields = argc - 3;

        if (argc < 4 || n_fields > FIELDS_MAX)
                return 2;
        int r = ktrace_reader_open(argv[1], &reader, &error);
        for (int i = 0; r == 0 && i < n_fields; i++)
                r = ktrace_reader_find_field(reader, argv[2], argv[3 + i], &fields[i]);
        while (r == 0 && (r = ktrace_reader_next(reader, 0, &record, &error)) > 0) {
                for (r = 0; r < n_fields; r++) {
                        if (ktrace_record_get_number(record, fields[r], &number) < 0)
                                break;
                        sum += number;
                }
                n += r == n_fields;
                r = 0;
        }
        if (r < 0) {
                fprintf(stderr, "library-cost: %d %s\n", r, error.text);
                return 1;
        }
        printf("%" PRIu64 "\n", n);
        ktrace_reader_free(reader);
        return 0;
}
