/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A stream into numbered files: each is whole, no frame is twice or in part, and what the disk
 * refuses comes later. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "consumer/queue.h"
#include "consumer/spool-sink.h"

#define MAX_BYTES        ((uint64_t)400 * 1024)
#define FRAME_DATA_BYTES (60 * 1024)

typedef struct Fixture {
        SpoolSink sink;
        int files[8]; /* copies, by number */
        unsigned n_news;
        uint8_t next; /* each frame's bytes */
} Fixture;

/* With as many command names as there may be. */
static int make_tail(Queue *tail,
                const char *code,
                const char *reason,
                size_t names_max,
                void *userdata _unused_) {
        FrameHeader header = { .type = FRAME_END },
                    commands = { .type = FRAME_COMMANDS, .size = names_max - sizeof(header) };
        g_autofree char *names = g_malloc0(names_max);
        g_autofree char *text =
                        g_strdup_printf("{\"code\":\"%s\",\"reason\":\"%s\"}", code, reason);

        g_assert_cmpuint(names_max, >=, 72 * 1024);
        g_assert_cmpint(queue_put(tail, &commands, names, commands.size), ==, 0);
        header.size = strlen(text);
        return queue_put(tail, &header, text, header.size);
}

static void on_news(void *userdata) {
        Fixture *f = userdata;

        f->n_news++;
}

/* Its thread never ends, so it must not lie in a fixture: the memory is used again. */
static Syncer syncer;

static void set_up(Fixture *f, gconstpointer data _unused_) {
        static const SpoolSinkHandlers handlers = { make_tail, on_news };
        const ControlMessage setup = { .setup = { .n_cpus = 2,
                                                       .subbuf_size = 4096,
                                                       .spool_file_bytes = MAX_BYTES,
                                                       .spool_sync_sec = CONTROL_SYNC_ROTATE } };

        g_assert_cmpint(spool_sink_init(&f->sink, &setup, "{}", 2, &syncer, &handlers, f), ==, 0);
}

static void tear_down(Fixture *f, gconstpointer data _unused_) {
        spool_sink_close(&f->sink);
        for (size_t i = 0; i < G_N_ELEMENTS(f->files); i++)
                if (f->files[i] > 0)
                        close(f->files[i]);
}

static void add(Fixture *f, unsigned number) {
        g_autofree char *name = g_strdup_printf("/tmp/ktrace-sink.XXXXXX");
        int fd = mkstemp(name);

        g_assert_cmpint(fd, >=, 0);
        unlink(name);
        f->files[number] = dup(fd);
        g_assert_cmpint(spool_sink_add(&f->sink, number, fd), ==, 0);
}

static SpoolPut put(Fixture *f) {
        static uint8_t bytes[FRAME_DATA_BYTES];
        uint8_t head[sizeof(FrameHeader)];
        FrameHeader header = { .type = FRAME_DATA, .size = sizeof(bytes) };
        const struct iovec iov[] = { { head, sizeof(head) }, { bytes, sizeof(bytes) } };

        memset(bytes, f->next, sizeof(bytes));
        frame_header_encode(head, &header);
        SpoolPut result = spool_sink_put(&f->sink, FRAME_DATA, iov, 2);
        f->next += result == SPOOL_PUT_DONE;
        return result;
}

/* Its data frames, which are whole and in order from *next on. is_closed: it has its end. */
static void check(const Fixture *f, unsigned number, uint8_t *next, bool is_closed) {
        uint64_t at = sizeof(StreamHeader);
        FrameHeader header = {};
        uint8_t head[sizeof(FrameHeader)], byte;
        struct stat status;
        Reason reason;

        g_assert_no_errno(fstat(f->files[number], &status));
        g_assert_cmpuint(status.st_size, <=, MAX_BYTES);
        g_assert_cmpint(pread(f->files[number], head, sizeof(StreamHeader), 0),
                        ==,
                        sizeof(StreamHeader));
        g_assert_cmpint(stream_header_decode(head, sizeof(StreamHeader), &reason), ==, 0);
        while (at < (uint64_t)status.st_size) {
                g_assert_cmpint(pread(f->files[number], head, sizeof(head), (off_t)at),
                                ==,
                                sizeof(head));
                g_assert_cmpint(frame_header_decode(head, &header, &reason), ==, 0);
                g_assert_cmpuint(header.type == FRAME_METADATA, ==, at == sizeof(StreamHeader));
                at += sizeof(head) + header.size;
                if (header.type != FRAME_DATA)
                        continue;
                g_assert_cmpint(pread(f->files[number], &byte, 1, (off_t)at - 1), ==, 1);
                g_assert_cmpuint(byte, ==, (*next)++);
        }
        g_assert_cmpuint(at, ==, status.st_size);
        g_assert_cmpuint(header.type == FRAME_END, ==, is_closed);
}

static void test_rotate(Fixture *f, gconstpointer data _unused_) {
        ControlMessage news;
        uint8_t next = 0;

        g_assert_cmpint(put(f), ==, SPOOL_PUT_LATER); /* none is there yet */
        add(f, 1);
        add(f, 2);
        while (put(f) == SPOOL_PUT_DONE)
                ;
        spool_sink_report(&f->sink, &news);
        g_assert_cmpuint(news.spooled.number, ==, 2);
        g_assert_true(news.spooled.wants_next && !news.spooled.has_next);
        g_assert_cmpuint(news.spooled.closed_bytes, >, MAX_BYTES / 2);
        g_assert_cmpint(put(f), ==, SPOOL_PUT_LATER);
        add(f, 3);
        g_assert_cmpint(put(f), ==, SPOOL_PUT_DONE);
        check(f, 1, &next, true);
        check(f, 2, &next, true);
        check(f, 3, &next, false);
        g_assert_cmpuint(next, ==, f->next);
}

/* None follows: what comes is dropped, but what was read already has room. */
static void test_last(Fixture *f, gconstpointer data _unused_) {
        uint8_t next = 0;

        add(f, 1);
        while (put(f) == SPOOL_PUT_DONE)
                ;
        g_assert_cmpint(spool_sink_add(&f->sink, 0, -1), ==, 0);
        g_assert_cmpint(put(f), ==, SPOOL_PUT_DROPPED);
        spool_sink_end(&f->sink);
        g_assert_cmpint(put(f), ==, SPOOL_PUT_DONE);
        g_assert_cmpint(put(f), ==, SPOOL_PUT_DROPPED);
        check(f, 1, &next, false);
        g_assert_cmpuint(next, ==, f->next);
}

static void limit(rlim_t bytes) {
        struct rlimit file;

        g_assert_no_errno(getrlimit(RLIMIT_FSIZE, &file));
        file.rlim_cur = MIN(bytes, file.rlim_max);
        g_assert_no_errno(setrlimit(RLIMIT_FSIZE, &file));
}

/* A disk that takes part of a frame has none of it, and the whole later. */
static void test_full(Fixture *f, gconstpointer data _unused_) {
        uint8_t next = 0;

        (void)signal(SIGXFSZ, SIG_IGN);
        add(f, 1);
        limit(100 * 1024);
        g_assert_cmpint(put(f), ==, SPOOL_PUT_DONE);
        unsigned n_news = f->n_news;
        g_assert_cmpint(put(f), ==, SPOOL_PUT_LATER);
        g_assert_cmpint(put(f), ==, SPOOL_PUT_LATER);
        g_assert_cmpint(f->sink.error, ==, EFBIG);
        g_assert_cmpint(f->sink.fatal, ==, 0);
        g_assert_cmpuint(f->n_news, ==, n_news + 1); /* reported once */
        check(f, 1, &next, false);
        g_assert_cmpuint(next, ==, 1);
        limit(RLIM_INFINITY);
        g_assert_cmpint(put(f), ==, SPOOL_PUT_DONE);
        g_assert_cmpint(f->sink.error, ==, 0);
        next = 0;
        check(f, 1, &next, false);
        g_assert_cmpuint(next, ==, 2);
}

static void test_small(void) {
        const ControlMessage setup = {
                .setup = { .n_cpus = 2, .subbuf_size = 4096, .spool_file_bytes = 256 * 1024 }
        };
        SpoolSink sink;

        g_assert_cmpint(spool_sink_init(&sink, &setup, "", 10, NULL, NULL, NULL), ==, 0);
        g_assert_cmpint(spool_sink_init(&sink, &setup, "", 200 * 1024, NULL, NULL, NULL),
                        ==,
                        -EFBIG);
}

/* The error stays: the data that was written before is lost. A pipe cannot be synced. */
static void test_error(void) {
        int fds[2];

        g_assert_cmpint(syncer_get_error(&syncer), ==, 0);
        g_assert_cmpint(pipe(fds), ==, 0);
        syncer_push(&syncer, fds[0], true, true);
        syncer_push(&syncer, fds[1], false, true);
        syncer_wait(&syncer);
        g_assert_cmpint(syncer_get_error(&syncer), ==, EINVAL);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_assert_cmpint(syncer_start(&syncer), ==, 0);
        g_test_add("/spool-sink/rotate", Fixture, NULL, set_up, test_rotate, tear_down);
        g_test_add("/spool-sink/last", Fixture, NULL, set_up, test_last, tear_down);
        g_test_add("/spool-sink/full", Fixture, NULL, set_up, test_full, tear_down);
        g_test_add_func("/spool-sink/small", test_small);
        g_test_add_func("/spool-sink/error", test_error);
        return g_test_run();
}
