/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What calls over Varlink cost, as bus-cost tells it of the bus: JSON with the median and the 99th
 * percentile in microseconds.
 *
 *   varlink-cost limits PATH N    calls the daemon's GetLimits()
 *   varlink-cost connect PATH N   connects, calls it and leaves
 *   varlink-cost session PATH N   CreateSession, Start, Stop, Destroy of a session of root's
 *   varlink-cost create PATH N    CreateSession and Destroy
 *   varlink-cost check PATH N     CheckSession of syscalls:* with a filter, to the last byte of the
 *                                 answer
 *   varlink-cost hostile PATH N   until it is killed: four connections with CheckSession of N
 * entries syscalls:*, each with another filter */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "interfaces/json.h"

#define BUFFER_SIZE 1048576
#define N_MAX       100000

typedef int (*Operation)(void);

static const char *path;
static int sock = -1;

static int64_t now(void) {
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int join(void) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        if (strlen(path) >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        strcpy(address.sun_path, path);
        sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (sock < 0 || connect(sock, (struct sockaddr *)&address, sizeof(address)) < 0)
                return -errno;
        return 0;
}

/* Reads the answer to the last byte, as a client does. */
static int exchange(const char *text, const char **ret, size_t *ret_size) {
        static char answer[BUFFER_SIZE];
        size_t size = 0;

        if (send(sock, text, strlen(text) + 1, MSG_NOSIGNAL) < 0)
                return -errno;
        while (size == 0 || answer[size - 1] != '\0') {
                ssize_t n = recv(sock, answer + size, sizeof(answer) - size, 0);

                if (n <= 0)
                        return n < 0 ? -errno : -ECONNRESET;
                size += (size_t)n;
        }
        *ret = answer;
        *ret_size = size - 1;
        return 0;
}

static int parse_answer(const char *answer, size_t size, json_object **ret) {
        int r = json_parse_strict("answer", answer, size, ret, NULL);

        if (r == 0 && json_object_object_get(*ret, "error"))
                r = -EPROTO;
        return r;
}

static int call(const char *text, json_object **ret) {
        const char *answer;
        size_t size;

        int r = exchange(text, &answer, &size);
        return r ?: parse_answer(answer, size, ret);
}

static int call_limits(void) {
        _cleanup_json_ json_object *answer = NULL;

        return call("{\"method\":\"org.ktrace1.GetLimits\"}", &answer);
}

static int call_and_leave(void) {
        int r = join();

        if (r == 0)
                r = call_limits();
        close_cleanup(&sock);
        return r;
}

static int call_create(void) {
        _cleanup_json_ json_object *created = NULL, *destroyed = NULL;
        json_object *id = NULL;
        char text[256];
        int r;

        r = call("{\"method\":\"org.ktrace1.CreateSession\",\"parameters\":{\"spec\":{"
                 "\"scope\":\"own\",\"buffer-kb\":1024,\"events\":[\"raw_syscalls:sys_enter\"]}}}",
                        &created);
        if (r != 0)
                return r;
        id = json_object_object_get(json_object_object_get(created, "parameters"), "id");
        snprintf(text,
                        sizeof(text),
                        "{\"method\":\"org.ktrace1.Destroy\",\"parameters\":{\"session\":\"%s\"}}",
                        json_object_get_string(id));
        return call(text, &destroyed);
}

/* The answer of 100 KB is parsed after the measured time: that takes the client 2 ms. */
static const char *check_answer;
static size_t check_size;

static int call_check(void) {
        return exchange("{\"method\":\"org.ktrace1.CheckSession\",\"parameters\":{\"spec\":{\"scope\":\"own\","
                        "\"events\":[{\"name\":\"syscalls:*\",\"filter\":\"common_pid == 1\"}]}}}",
                        &check_answer,
                        &check_size);
}

static int judge_check(void) {
        _cleanup_json_ json_object *answer = NULL;

        return parse_answer(check_answer, check_size, &answer);
}

static char *make_hostile_call(size_t n) {
        char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);

        if (!out)
                return NULL;
        fputs("{\"method\":\"org.ktrace1.CheckSession\",\"parameters\":{\"spec\":{\"scope\":\"own\",\"events\":[",
                        out);
        for (size_t i = 0; i < n; i++)
                fprintf(out,
                                "%s{\"name\":\"syscalls:*\",\"filter\":\"common_pid == %zu\"}",
                                i > 0 ? "," : "",
                                i + 1);
        fputs("]}}}", out);
        return fclose(out) == 0 ? text : NULL;
}

/* Refusals are answers, too; a connection that was closed is opened again. */
static int be_hostile(size_t n) {
        char *text = make_hostile_call(n);

        for (int i = 0; i < 3 && fork() > 0; i++)
                continue;
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (text) {
                _cleanup_json_ json_object *answer = NULL;
                int r = sock < 0 ? join() : call(text, &answer);

                if (r < 0 && r != -EPROTO) {
                        close_cleanup(&sock);
                        sock = -1;
                        usleep(10000);
                }
        }
        return 1;
}

static int call_session(void) {
        static const char *const verbs[] = { "Start", "Stop", "Destroy" };
        _cleanup_json_ json_object *created = NULL;
        json_object *id = NULL;
        char text[256];
        int r;

        r = call("{\"method\":\"org.ktrace1.CreateSession\",\"parameters\":{\"spec\":{"
                 "\"scope\":\"system\",\"buffer-kb\":1024,\"events\":[\"raw_syscalls:sys_enter\"]}}}",
                        &created);
        if (r == 0)
                id = json_object_object_get(json_object_object_get(created, "parameters"), "id");
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(verbs); i++) {
                _cleanup_json_ json_object *answer = NULL;

                snprintf(text,
                                sizeof(text),
                                "{\"method\":\"org.ktrace1.%s\",\"parameters\":{\"session\":\"%s\"}}",
                                verbs[i],
                                json_object_get_string(id));
                r = call(text, &answer);
        }
        return r;
}

static int compare(const void *a, const void *b) {
        return (*(const double *)a > *(const double *)b) -
               (*(const double *)a < *(const double *)b);
}

/* judge: looks at the answer outside of the measured time; NULL: the operation does. */
static int measure(Operation operation, Operation judge, size_t n) {
        static double usec[N_MAX];

        for (size_t i = 0; i < n; i++) {
                int64_t begin = now();
                int r = operation();

                usec[i] = (double)(now() - begin) / 1000;
                if (r == 0 && judge)
                        r = judge();
                if (r != 0) {
                        fprintf(stderr, "varlink-cost: %s\n", strerror(-r));
                        return 1;
                }
        }
        qsort(usec, n, sizeof(double), compare);
        printf("{\"p50\":%.1f,\"p99\":%.1f}\n", usec[n / 2], usec[n * 99 / 100]);
        return 0;
}

int main(int argc, char **argv) {
        size_t n = argc == 4 ? (size_t)atol(argv[3]) : 0;

        if (n == 0 || n > N_MAX)
                return 2;
        path = argv[2];
        if (strcmp(argv[1], "connect") == 0)
                return measure(call_and_leave, NULL, n);
        if (strcmp(argv[1], "hostile") == 0)
                return be_hostile(n);
        if (join() < 0)
                return 1;
        if (strcmp(argv[1], "limits") == 0)
                return measure(call_limits, NULL, n);
        if (strcmp(argv[1], "session") == 0)
                return measure(call_session, NULL, n);
        if (strcmp(argv[1], "create") == 0)
                return measure(call_create, NULL, n);
        if (strcmp(argv[1], "check") == 0)
                return measure(call_check, judge_check, n);
        return 2;
}
