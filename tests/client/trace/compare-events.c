/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* compare-events EVENTS [N]: prints N random records of each event below a folder such as
 * /sys/kernel/tracing/events by its table and by libtraceevent. TAP. */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print-compare.h"
#include "trace/print-table.h"

/* libtraceevent 1.7 loses memory of formats that it cannot parse to the end. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void) {
        return "leak:libtraceevent";
}

static unsigned n_events, n_compiled;
static unsigned long n_records;

static void compare_event(Decode *decode, const char *path, const char *system, unsigned n) {
        static char text[65536];
        Reason reason = { 0 };
        FILE *in = fopen(path, "re");
        size_t size = in ? fread(text, 1, sizeof(text) - 1, in) : 0;
        const char *id;
        uint8_t head[8] = { 0 };

        if (in)
                fclose(in);
        text[size] = '\0';
        id = strstr(text, "\nID: ");
        if (!id || decode_add_event(decode, system, text, size, &reason) != 0)
                return;
        memcpy(head, &(uint16_t){ (uint16_t)atoi(id + 5) }, 2);
        const EventLayout *layout = decode_find(decode, &(Record){ .data = head, .size = 8 });
        if (!layout)
                return;
        n_events++;
        unsigned n_compared = print_compare(decode, layout, n);
        n_compiled += n_compared > 0;
        n_records += n_compared;
        if (n_compared == 0)
                printf("# not compiled: %s:%s\n", system, layout->event->name);
}

static void compare_folder(Decode *decode, const char *path, const char *system, unsigned n) {
        DIR *folder = opendir(path);

        for (struct dirent *entry; folder && (entry = readdir(folder));) {
                char below[4096];

                if (entry->d_name[0] == '.')
                        continue;
                snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
                if (strcmp(entry->d_name, "format") == 0)
                        compare_event(decode, below, system, n);
                else if (entry->d_type == DT_DIR)
                        compare_folder(decode, below, strrchr(path, '/') + 1, n);
        }
        if (folder)
                closedir(folder);
}

int main(int argc, char **argv) {
        Decode *decode;

        if (argc < 2 || decode_new(true, &decode) < 0)
                return 2;
        compare_folder(decode, argv[1], "", argc > 2 ? (unsigned)atoi(argv[2]) : 1000);
        /* Most formats must compile, or the test compares nothing. */
        printf("# %lu records of %u events; libtraceevent prints %u others\n%sok 1 - the same text for all events\n1..1\n",
                        n_records,
                        n_compiled,
                        n_events - n_compiled,
                        n_compiled * 2 > n_events ? "" : "not ");
        decode_free(decode);
        return n_compiled * 2 > n_events ? 0 : 1;
}
