/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* publish-cost URL MACHINE-ID PASSWORD FILE...: publishes the files to the stream of the machine,
 * in chunks as large as those of ktrace-ship, with libnats alone: js_PublishMsgAsync, at most as
 * many chunks on their way, no identities and no hashes. It is what ktrace-ship is compared with.
 * Prints one JSON object: seconds of CPU time and of the clock, and bytes. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "broker/broker.h"
#include "broker/nats-link.h"

static double now(void) {
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double used(void) {
        struct rusage u;

        getrusage(RUSAGE_SELF, &u);
        return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
               (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void check(natsStatus s, const char *what) {
        if (s == NATS_OK)
                return;
        fprintf(stderr, "publish-cost: %s: %s\n", what, nats_GetLastError(NULL));
        exit(1);
}

static jsCtx *connect_stream(const char *url, const char *id, const char *password) {
        natsConnection *connection = NULL;
        natsOptions *options = NULL;
        char inbox[NATS_SUBJECT_MAX];
        jsCtx *stream = NULL;
        jsOptions js;

        snprintf(inbox, sizeof(inbox), "_INBOX_%s", id);
        check(natsOptions_Create(&options), "options");
        check(natsOptions_SetURL(options, url), url);
        check(natsOptions_SetUserInfo(options, id, password), "user");
        check(natsOptions_SetCustomInboxPrefix(options, inbox), "inbox");
        check(natsConnection_Connect(&connection, options), url);
        jsOptions_Init(&js);
        js.PublishAsync.MaxPending = BROKER_WINDOW;
        check(natsConnection_JetStream(&stream, connection, &js), "JetStream");
        return stream;
}

static size_t publish(jsCtx *stream, const char *subject, const char *path) {
        static char data[CHUNK_BYTES];
        size_t all = 0;
        ssize_t n;
        int fd = open(path, O_RDONLY | O_CLOEXEC);

        if (fd < 0) {
                perror(path);
                exit(1);
        }
        while ((n = read(fd, data, sizeof(data))) > 0) {
                check(js_PublishAsync(stream, subject, data, (int)n, NULL), "publish");
                all += (size_t)n;
        }
        close(fd);
        return all;
}

int main(int argc, char **argv) {
        char subject[NATS_SUBJECT_MAX];
        size_t bytes = 0;

        if (argc < 5)
                return 2;
        jsCtx *stream = connect_stream(argv[1], argv[2], argv[3]);
        nats_link_print_subject(argv[2], "0000000000000000", subject);
        double began = now(), used_before = used();
        for (int i = 4; i < argc; i++)
                bytes += publish(stream, subject, argv[i]);
        check(js_PublishAsyncComplete(stream, NULL), "answers");
        printf("{\"cpu\": %.6f, \"seconds\": %.6f, \"bytes\": %zu}\n",
                        used() - used_before,
                        now() - began,
                        bytes);
        return 0;
}
