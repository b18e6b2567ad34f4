/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Takes whole files of marked recordings from ktraced to the broker, one after the other, and
 * acknowledges each when all its chunks are stored. It is called by main, and does not end: a
 * signal ends the process at any point. What was not acknowledged then is sent again by the next
 * one, and the broker drops what it has already.
 *
 * Memory: the chunks that are on their way, because the broker compares them with what it has
 * already, and what libnats and libktrace need. Data that waits is on the disk of ktraced.
 *
 * After a failure the file is read again. Its chunks that are stored already are not sent again,
 * only added to the hash of the file. That is a hash of the hashes of its chunks, so that each byte
 * is hashed once.
 *
 * The watchdog of systemd is notified before each step that may wait, but at most once a second:
 * each notification costs a socket and a message. So the longest time between two of them is that
 * of one call. The longest call connects to the broker: libnats tries each of the servers.
 * WatchdogSec= of the unit is longer. */

#include "ship/shipper.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "broker/broker.h"
#include "service/log.h"
#include "ship/outbox.h"
#include "ship/rate.h"

#define CALL_TIMEOUT_USEC UINT64_C(30000000)
#define PIPE_BYTES        (2 * (int)CHUNK_BYTES) /* the most that users may have as shipped */
#define READ_TIMEOUT_MSEC 30000                  /* of a recording: no data comes */
#define IDLE_TIMES        12 /* without marked recordings, it looks this many times less often */
#define ALIVE_SEC         1  /* between two signs of life */
#define ROOM_CHUNKS       (BROKER_WINDOW + 1) /* those on their way, and the next one */

/* How far a file has come, over several tries. */
typedef struct Progress {
        char id[KT_ID_DIGITS + 1];
        uint32_t file;
        uint32_t n_stored; /* chunks */
        uint64_t salt;
} Progress;

typedef struct Shipper {
        const ShipSettings *settings;
        const char *credentials_dir;
        ktrace *connection; /* NULL: none now */
        Broker *broker;     /* NULL: none now */
        Hash *hash, *file_hash;
        Progress progress;
        Rate rate;
        Backoff backoff;
        uint64_t n_files, n_bytes; /* shipped */
        char trouble[512];         /* as logged last; "": none */
        time_t alive_sec;          /* CLOCK_MONOTONIC: the last sign of life; 0: none yet */

        /* of this turn */
        bool has_failed, has_lost_broker;
        char failed_id[KT_ID_DIGITS + 1]; /* the rest of this recording waits for the next turn */
} Shipper;

static void shipper_on_wait(void *userdata) {
        Shipper *shipper = userdata;
        struct timespec now = {};

        (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now); /* cannot fail with this clock */
        if (now.tv_sec < shipper->alive_sec + ALIVE_SEC)
                return;
        shipper->alive_sec = now.tv_sec;
        (void)sd_notify(0, "WATCHDOG=1");
}

/* Both ends */

static int shipper_connect(Shipper *shipper, Reason *reason) {
        ktrace_error error = {};

        if (shipper->connection)
                return 0;
        shipper_on_wait(shipper);
        if (ktrace_open(0, &shipper->connection, &error) < 0) {
                shipper->connection = NULL;
                return reason_set(reason, KT_E_FAILED, "cannot reach ktraced: %s", error.text);
        }
        ktrace_set_timeout(shipper->connection, CALL_TIMEOUT_USEC);
        return 0;
}

static int shipper_connect_broker(Shipper *shipper, Reason *reason) {
        const ShipSettings *settings = shipper->settings;
        const BrokerOptions options = {
                .servers = (const char *const *)settings->servers.strings,
                .n_servers = settings->servers.n,
                .credentials_dir = shipper->credentials_dir,
                .machine_id = settings->machine_id,
                .timeout_usec = settings->timeout_usec,
                .on_wait = shipper_on_wait,
                .userdata = shipper,
        };

        shipper_on_wait(shipper);
        int r = shipper->broker ? 0 : broker_open(&options, &shipper->broker, reason);
        shipper->has_lost_broker = r != 0;
        return r;
}

static int shipper_acknowledge(Shipper *shipper,
                const OutboxItem *item,
                const char *file,
                Reason *reason) {
        _cleanup_json_ json_object *arguments = json_object_new_object();
        ktrace_error error = {};

        if (!arguments ||
                        json_object_object_add(arguments, "id", json_object_new_string(item->id)) <
                                        0 ||
                        json_object_object_add(arguments, "file", json_object_new_string(file)) < 0)
                return -ENOMEM;
        shipper_on_wait(shipper);
        int r = ktrace_call(shipper->connection,
                        NULL,
                        "AcknowledgeSpool",
                        json_object_to_json_string(arguments),
                        NULL,
                        &error);
        return r == 0 ? 0 : reason_set(reason, KT_E_FAILED, "ktraced: %s", error.text);
}

/* One file */

static void shipper_begin(Shipper *shipper, const OutboxItem *item) {
        Progress *progress = &shipper->progress;

        if (strcmp(progress->id, item->id) == 0 && progress->file == item->file)
                return;
        *progress = (Progress){ .file = item->file };
        memcpy(progress->id, item->id, sizeof(progress->id));
}

static Chunk shipper_make_chunk(const Shipper *shipper, const OutboxItem *item) {
        Chunk chunk = {
                .file = item->file,
                .previous = item->shipped_file,
                .uid = item->uid,
                .created_usec = item->created_usec,
                .salt = shipper->progress.salt,
        };

        memcpy(chunk.session, item->id, sizeof(chunk.session));
        /* A name that cannot be shown is not worth a failure. */
        if (chunk_read(&chunk, CHUNK_NAME, item->name) < 0)
                chunk.name[0] = '\0';
        return chunk;
}

/* The disk of ktraced may hang, and then its reader does. Returns 1 if data can be read, 0 at the
 * end, or -errno. */
static int shipper_wait_for_data(int fd) {
        struct pollfd wait = { .fd = fd, .events = POLLIN };
        int n;

        do
                n = poll(&wait, 1, READ_TIMEOUT_MSEC);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        return n == 0 ? -ETIMEDOUT : (wait.revents & POLLIN) != 0;
}

/* Returns how many bytes were read: fewer than a chunk only at the end. */
static ssize_t shipper_read(Shipper *shipper, int fd, uint8_t *data) {
        size_t used = 0;

        while (used < CHUNK_BYTES) {
                shipper_on_wait(shipper);
                int r = shipper_wait_for_data(fd);
                if (r <= 0)
                        return r < 0 ? r : (ssize_t)used;
                ssize_t n = read(fd, data + used, CHUNK_BYTES - used);

                if (n <= 0)
                        return n < 0 ? -errno : (ssize_t)used;
                used += (size_t)n;
        }
        return (ssize_t)used;
}

/* Returns 0 or -errno. It looks whether more data follows, and does not read it: so the data of
 * this chunk is in the CPU's cache when it is hashed and sent. */
static int shipper_read_chunk(Shipper *shipper, int fd, uint8_t *room, Chunk *chunk) {
        ssize_t n = shipper_read(shipper, fd, room);
        int more = n == (ssize_t)CHUNK_BYTES ? shipper_wait_for_data(fd) : 0;

        if (n < 0 || more < 0)
                return n < 0 ? (int)n : more;
        chunk->data = room;
        chunk->size = (size_t)n;
        chunk->is_last = more == 0;
        return 0;
}

/* Chunks before n_stored are stored already. */
static int shipper_put(Shipper *shipper, Chunk *chunk, Reason *reason) {
        if (chunk->number < shipper->progress.n_stored)
                return 0;
        rate_wait(&shipper->rate, chunk->size, shipper_on_wait, shipper);
        shipper_on_wait(shipper);
        int r = broker_put(shipper->broker, chunk, reason);
        shipper->has_lost_broker = r != 0;
        return r;
}

static int shipper_flush(Shipper *shipper, Reason *reason) {
        int r = broker_flush(shipper->broker, reason);

        shipper->has_lost_broker = r != 0;
        return r;
}

/* The pipe also ends early when its writer is killed, or when the disk fails. So a file counts only
 * if it has the length of the list. A crash may have cut its last frame, which is not passed on.
 * Then the list says how many bytes can be read, as soon as they were read to their end once. */
static int shipper_check_length(const OutboxItem *item, Chunk *last, Reason *reason) {
        if (last->file_bytes == item->bytes)
                return 0;
        if (item->is_cut && last->file_bytes == item->readable_bytes) {
                last->listed_bytes = item->bytes;
                log_print(LOG_NOTICE,
                                "%s: %s: a crash has cut it: %" PRIu64 " of %" PRIu64
                                " bytes can be read",
                                item->id,
                                item->file_name,
                                last->file_bytes,
                                item->bytes);
                return 0;
        }
        return reason_set(reason,
                        KT_E_FAILED,
                        "%s: %s: read %" PRIu64 " bytes, expected %" PRIu64 ": trying again",
                        item->id,
                        item->file_name,
                        last->file_bytes,
                        item->bytes);
}

static int shipper_send_chunk(Shipper *shipper,
                const OutboxItem *item,
                Chunk *chunk,
                Reason *reason) {
        int r = 0;

        hash_make(shipper->hash, chunk->data, chunk->size, chunk->hash);
        hash_add(shipper->file_hash, chunk->hash, strlen(chunk->hash));
        chunk->file_bytes += chunk->size;
        if (chunk->is_last) {
                hash_finish(shipper->file_hash, chunk->file_hash);
                r = shipper_check_length(item, chunk, reason);
        }
        r = r ?: shipper_put(shipper, chunk, reason);
        chunk->number++;
        return r;
}

static int shipper_send(Shipper *shipper, const OutboxItem *item, int fd, Reason *reason) {
        Chunk chunk = shipper_make_chunk(shipper, item);
        _cleanup_free_ uint8_t *rooms = malloc(ROOM_CHUNKS * CHUNK_BYTES);
        bool is_late = false;
        int r = 0;

        if (!rooms)
                return -ENOMEM;
        hash_reset(shipper->file_hash);
        while (r == 0 && !chunk.is_last) {
                uint8_t *room = rooms + chunk.number % ROOM_CHUNKS * CHUNK_BYTES;

                r = shipper_read_chunk(shipper, fd, room, &chunk);
                is_late = r == -ETIMEDOUT;
                r = r ?: shipper_send_chunk(shipper, item, &chunk, reason);
        }
        if (is_late)
                return reason_set(reason,
                                KT_E_FAILED,
                                "%s: %s: ktraced sends no data for %d s: trying again",
                                item->id,
                                item->file_name,
                                READ_TIMEOUT_MSEC / 1000);
        return r ?: shipper_flush(shipper, reason);
}

/* The end of a recording: what ktraced knows of it, without its files. */
static int shipper_send_end(Shipper *shipper, const OutboxItem *item, Reason *reason) {
        Chunk chunk = shipper_make_chunk(shipper, item);

        json_object_object_del(item->description, "files");
        const char *text =
                        json_object_to_json_string_ext(item->description, JSON_C_TO_STRING_PLAIN);
        if (!text)
                return -ENOMEM;
        chunk.file = item->shipped_file;
        chunk.is_end = true;
        chunk.data = text;
        chunk.size = strlen(text);
        hash_make(shipper->hash, chunk.data, chunk.size, chunk.hash);
        int r = chunk.size > CHUNK_BYTES ? -EMSGSIZE : shipper_put(shipper, &chunk, reason);
        return r ?: shipper_flush(shipper, reason);
}

static int shipper_send_file(Shipper *shipper, const OutboxItem *item, Reason *reason) {
        _cleanup_close_ int fd = -1;
        ktrace_error error = {};

        int r = ktrace_open_spool(shipper->connection, item->id, item->file_name, &fd, &error);
        if (r < 0)
                return reason_set(reason, KT_E_FAILED, "ktraced: %s", error.text);
        /* The more fits into the pipe, the fewer wakeups a chunk takes. A refusal does no harm. */
        (void)fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES);
        return shipper_send(shipper, item, fd, reason);
}

/* The broker has other data under an identity of ours. It is stored under another one. */
static int shipper_take_salt(Shipper *shipper, const Reason *reason) {
        log_print(LOG_WARNING, "%s: sending it with another identity", reason->text);
        if (getrandom(&shipper->progress.salt, sizeof(shipper->progress.salt), 0) !=
                        sizeof(shipper->progress.salt))
                return errno ? -errno : -EIO;
        return -EAGAIN;
}

static int shipper_ship(Shipper *shipper, const OutboxItem *item, Reason *reason) {
        shipper_begin(shipper, item);
        int r = shipper_connect_broker(shipper, reason);
        if (r != 0)
                return r;
        uint32_t n_before = shipper->progress.n_stored;
        uint64_t n_acknowledged = broker_get_acknowledged(shipper->broker);

        r = item->file > 0 ? shipper_send_file(shipper, item, reason)
                           : shipper_send_end(shipper, item, reason);
        shipper->progress.n_stored =
                        n_before +
                        (uint32_t)(broker_get_acknowledged(shipper->broker) - n_acknowledged);
        if (r == -EEXIST)
                return shipper_take_salt(shipper, reason);
        r = r
                            ?: shipper_acknowledge(shipper,
                                               item,
                                               item->file > 0 ? item->file_name : "end",
                                               reason);
        if (r != 0)
                return r;
        shipper->n_files += item->file > 0;
        shipper->n_bytes += item->file > 0 ? item->bytes : 0;
        return 0;
}

/* Turns */

static void shipper_report(Shipper *shipper, uint64_t waiting_bytes) {
        (void)sd_notifyf(0,
                        "STATUS=%" PRIu64 " files (%" PRIu64 " MB) shipped, %" PRIu64
                        " MB wait, position %" PRIu64 "%s%s",
                        shipper->n_files,
                        shipper->n_bytes / 1000000,
                        waiting_bytes / 1000000,
                        shipper->broker ? broker_get_position(shipper->broker) : 0,
                        shipper->trouble[0] ? ": " : "",
                        shipper->trouble);
}

/* The same trouble is logged once. */
static void shipper_log(Shipper *shipper, int r, const Reason *reason) {
        const char *text = reason->text[0] ? reason->text : r < 0 ? strerror(-r) : "failed";

        if (strcmp(shipper->trouble, text) != 0)
                log_print(LOG_WARNING, "%s", text);
        (void)snprintf(shipper->trouble, sizeof(shipper->trouble), "%s", text);
}

/* A recording that cannot be read does not delay the others. Without the broker, all must wait. */
static int shipper_visit(const OutboxItem *item, void *userdata) {
        Shipper *shipper = userdata;
        Reason reason = {};

        if (strcmp(item->id, shipper->failed_id) == 0)
                return 0;
        shipper_on_wait(shipper);
        int r = shipper_ship(shipper, item, &reason);
        if (r == 0) {
                shipper->trouble[0] = '\0';
                backoff_reset(&shipper->backoff);
                return 0;
        }
        if (r != -EAGAIN)
                shipper_log(shipper, r, &reason);
        shipper->has_failed = true;
        memcpy(shipper->failed_id, item->id, sizeof(shipper->failed_id));
        /* Answers that are still to come must not count for the next file. */
        shipper->broker = broker_free(shipper->broker);
        return shipper->has_lost_broker;
}

/* Returns the time until the next turn. */
static uint64_t shipper_turn(Shipper *shipper) {
        OutboxCount count = {};
        Reason reason = {};

        shipper->has_failed = shipper->has_lost_broker = false;
        shipper->failed_id[0] = '\0';
        int r = shipper_connect(shipper, &reason);
        r = r ?: outbox_count(shipper->connection, &count, &reason);
        if (r == 0) {
                shipper_report(shipper, count.n_bytes);
                r = outbox_visit(shipper->connection, shipper_visit, shipper, &reason);
                shipper_report(shipper, 0);
        }
        if (r != 0) {
                shipper_log(shipper, r, &reason);
                shipper->has_failed = true;
        }
        if (shipper->has_failed) {
                ktrace_close(shipper->connection);
                shipper->connection = NULL;
                return backoff_next_usec(&shipper->backoff);
        }
        return shipper->settings->interval_usec * (count.n_recordings > 0 ? 1 : IDLE_TIMES);
}

int shipper_run(const ShipSettings *settings, const char *credentials_dir) {
        Shipper shipper = {
                .settings = settings,
                .credentials_dir = credentials_dir,
                .rate = { .bytes_per_sec = settings->bytes_per_sec },
        };

        int r = hash_new(HASH_XXH3, &shipper.hash);
        r = r ?: hash_new(HASH_XXH3, &shipper.file_hash);
        if (r < 0)
                return r;
        (void)sd_notify(0, "READY=1");
        for (;;) {
                uint64_t usec = shipper_turn(&shipper);

                (void)malloc_trim(0); /* a long list takes megabytes for a moment */
                rate_sleep(usec, shipper_on_wait, &shipper);
        }
}
