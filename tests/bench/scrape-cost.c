/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* scrape-cost PID PORT N [HEADER]...: reads http://127.0.0.1:PORT/metrics N times, each time over a
 * connection of its own. Prints one JSON object: the CPU seconds that all threads of the server PID
 * have used meanwhile, the seconds it took, and the bytes of one answer with its head. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static _Noreturn void die(const char *what) {
        perror(what);
        exit(1);
}

static double now(clockid_t clock) {
        struct timespec ts;

        if (clock_gettime(clock, &ts) < 0)
                die("clock_gettime");
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* HTTP 1.0: the answer ends with its connection. */
static size_t scrape(const struct sockaddr_in *address, const char *request) {
        static char answer[1 << 20];
        char head[16] = "";
        size_t size = 0;
        ssize_t n;
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0)
                die("connect");
        if (write(fd, request, strlen(request)) != (ssize_t)strlen(request))
                die("write");
        while ((n = read(fd, answer, sizeof(answer))) > 0) {
                if (size == 0)
                        snprintf(head, sizeof(head), "%.*s", (int)n, answer);
                size += (size_t)n;
        }
        close(fd);
        if (n < 0 || !strstr(head, " 200")) {
                fprintf(stderr, "scrape-cost: the answer is \"%s\"\n", head);
                exit(1);
        }
        return size;
}

int main(int argc, char **argv) {
        struct sockaddr_in address = {
                .sin_family = AF_INET,
                .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        };
        char request[4096] = "GET /metrics HTTP/1.0\r\n";
        double cpu, begin;
        size_t size = 0;
        clockid_t server;

        if (argc < 4 || clock_getcpuclockid(atoi(argv[1]), &server) != 0)
                return 2;
        address.sin_port = htons((in_port_t)atoi(argv[2]));
        for (int i = 4; i <= argc; i++) {
                size_t used = strlen(request);

                snprintf(request + used, sizeof(request) - used, "%s\r\n", i < argc ? argv[i] : "");
        }
        begin = now(CLOCK_MONOTONIC);
        cpu = now(server);
        for (long i = atol(argv[3]); i > 0; i--)
                size = scrape(&address, request);
        printf("{\"cpu\":%.9f,\"seconds\":%.6f,\"bytes\":%zu}\n",
                        now(server) - cpu,
                        now(CLOCK_MONOTONIC) - begin,
                        size);
        return 0;
}
