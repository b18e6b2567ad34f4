/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The program in the examples of ktrace-cookbook(7).
 *
 *   app N        looks for app.conf, and handles N requests: each appends a line to app.log and
 *                sleeps 20 ms
 *   app serve    handles requests until a signal ends it
 *   app crash    handles one request, and aborts
 *
 * Each request is a call of handle_request (id, path) and a marker app:request (id, path). */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "marker.h"

int handle_request(int id, const char *path);

__attribute__((noipa)) int handle_request(int id, const char *path) {
        char line[64];
        int fd = open("app.log", O_WRONLY | O_CREAT | O_APPEND, 0644);
        int n = snprintf(line, sizeof(line), "request %d: %s\n", id, path);

        MARKER("app", "request", "0", "-4@%0 8@%1", "r"(id), "r"(path));
        if (fd < 0 || write(fd, line, (size_t)n) != n || close(fd) < 0)
                return -1;
        usleep(20000);
        return n;
}

int main(int argc, char **argv) {
        const char *word = argc == 2 ? argv[1] : "";
        int is_server = strcmp(word, "serve") == 0;
        int is_to_crash = strcmp(word, "crash") == 0;
        int conf, n_requests = is_to_crash ? 1 : atoi(word);

        if (!is_server && n_requests <= 0) {
                fprintf(stderr, "usage: %s N | serve | crash\n", argv[0]);
                return 2;
        }
        conf = open("app.conf", O_RDONLY);
        if (conf >= 0)
                close(conf);
        for (int i = 1; is_server || i <= n_requests; i++)
                if (handle_request(i, "/index.html") < 0) {
                        perror("app.log");
                        return 1;
                }
        if (is_to_crash)
                abort();
        return 0;
}
