/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The third role of ktrace-consumer: a process that reads the kernel's `hist` files for the daemon,
 * once or at an interval. The text of these files contains strings that traced processes have
 * chosen (hist-parse.c), so a process without privileges must parse it. The daemon opens the files,
 * because opening them requires its privileges. Then this process closes the sandbox and sends the
 * results in messages of one fixed size.
 *
 * The table comes from one reading: the kernel writes a file's text at once (seq_file,
 * single_open), however many read(2) calls fetch it. The kernel holds event_mutex while it writes,
 * so a table that is read at an interval should be small. A text that did not change is not parsed
 * again. */

#include "consumer/hist-reader.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "consumer/hist-parse.h"
#include "consumer/order.h"
#include "consumer/sandbox.h"

#define CPU_SEC       10                 /* for one reading */
#define TEXT_MAX      ((size_t)64 << 20) /* for one file */
#define TRIGGER_MAX   8192               /* a command of 4095 bytes, as the kernel completes it */
#define NSEC_PER_MSEC UINT64_C(1000000)

/* A key's hits as last reported. */
typedef struct Seen {
        uint64_t key, hitcount;
} Seen;

typedef struct SeenList {
        Seen *all; /* sorted by key */
        size_t n, room;
} SeenList;

typedef struct Table {
        uint32_t index;
        int fd;
        HistLayout layout;
        HistChoice choice;
        char *trigger;
        char *text; /* of the last reading; only when read at an interval */
        size_t text_size;
        SeenList seen, now;
} Table;

typedef struct Reader {
        int control_fd;
        uint32_t interval_msec;
        Table tables[CONTROL_TABLES_MAX];
        size_t n_tables;
} Reader;

/* What report_entry() needs to report an entry. */
typedef struct EntryReport {
        const Reader *reader;
        const Table *table;
        uint64_t n_listed;
} EntryReport;

/* Reading once */

/* Copies whole lines without their indentation. */
static size_t put_stack(char *to, size_t room, const HistKey *key) {
        const char *at = key->text, *end = key->text + key->size;
        size_t size = 0;

        while (at < end) {
                const char *line_end = memchr(at, '\n', (size_t)(end - at)) ?: end;

                while (at < line_end && *at == ' ')
                        at++;
                size_t n = (size_t)(line_end - at);
                if (size + n + 1 > room)
                        break;
                memcpy(to + size, at, n);
                to[size + n] = '\n';
                size += n + 1;
                at = line_end < end ? line_end + 1 : end;
        }
        return size > 0 ? size - 1 : 0;
}

static size_t hist_reader_put_text(char *to, size_t room, const HistKey *key) {
        size_t size = MIN_OF(key->size, room);

        memcpy(to, key->text, size);
        return size;
}

/* Strings are copied first. A stack gets the remaining room. */
static void put_texts(ControlMessage *message, const HistEntry *entry, const HistLayout *layout) {
        size_t used = 0;

        for (int pass = 0; pass < 2; pass++)
                for (unsigned i = 0; i < layout->n_keys; i++) {
                        ControlKey *key = &message->entry.keys[i];
                        bool is_stack = layout->keys[i].kind == HIST_STACKTRACE;
                        char *to = message->entry.text + used;
                        size_t room = sizeof(message->entry.text) - used;

                        if (is_stack != (pass == 1) || !entry->keys[i].text)
                                continue;
                        key->text_at = (uint32_t)used;
                        key->text_size = (uint32_t)(is_stack ? put_stack(to, room, &entry->keys[i])
                                                             : hist_reader_put_text(to,
                                                                               room,
                                                                               &entry->keys[i]));
                        used += key->text_size;
                }
}

static int report_entry(const HistEntry *entry, void *userdata) {
        EntryReport *report = userdata;
        ControlMessage message = { .type = CONTROL_ENTRY };

        if (report->n_listed++ >= CONTROL_ENTRIES_MAX)
                return 0;
        message.entry.table = report->table->index;
        message.entry.hitcount = entry->hitcount;
        memcpy(message.entry.values, entry->values, sizeof(entry->values));
        for (unsigned i = 0; i < report->table->layout.n_keys; i++) {
                message.entry.keys[i].number = entry->keys[i].number;
                message.entry.keys[i].last = entry->keys[i].last;
        }
        put_texts(&message, entry, &report->table->layout);
        return order_answer(report->reader->control_fd, &message);
}

static int hist_reader_read_text(const Table *table, char **ret, size_t *ret_size) {
        if (lseek(table->fd, 0, SEEK_SET) < 0)
                return -errno;
        int r = fd_read_all(table->fd, TEXT_MAX, ret, ret_size);
        return r == -ENODEV ? -ENOENT : r; /* the event was removed */
}

static int report_table(const Reader *reader, const Table *table) {
        _cleanup_free_ char *text = NULL;
        EntryReport report = { .reader = reader, .table = table };
        HistTotals totals;
        size_t size = 0;

        int r = hist_reader_read_text(table, &text, &size);
        if (r == 0)
                r = hist_parse(text, size, &table->choice, report_entry, &report, &totals);
        if (r < 0)
                return r;
        ControlMessage message = {
                .type = CONTROL_TOTALS,
                .totals = {
                        .table = table->index,
                        .is_paused = totals.is_paused,
                        .hits = totals.hits,
                        .entries = totals.entries,
                        .dropped = totals.dropped,
                },
        };
        return order_answer(reader->control_fd, &message);
}

/* Reading at an interval */

static int note_entry(const HistEntry *entry, void *userdata) {
        SeenList *list = userdata;

        if (list->n == list->room) {
                size_t room = list->room ? list->room * 2 : 64;
                Seen *grown = reallocarray(list->all, room, sizeof(*grown));

                if (!grown)
                        return -ENOMEM;
                list->all = grown;
                list->room = room;
        }
        list->all[list->n++] = (Seen){ entry->keys[0].number, entry->hitcount };
        return 0;
}

static int compare_seen(const void *a, const void *b) {
        const Seen *x = a, *y = b;

        return x->key < y->key ? -1 : x->key > y->key;
}

/* The kernel may have added a key twice, from two CPUs at the same time. */
static void join_same(SeenList *list) {
        size_t n = 0;

        qsort(list->all, list->n, sizeof(*list->all), compare_seen);
        for (size_t i = 0; i < list->n; i++)
                if (n > 0 && list->all[n - 1].key == list->all[i].key)
                        list->all[n - 1].hitcount += list->all[i].hitcount;
                else
                        list->all[n++] = list->all[i];
        list->n = n;
}

static uint64_t find_seen(const SeenList *list, uint64_t key, size_t *at) {
        while (*at < list->n && list->all[*at].key < key)
                (*at)++;
        return *at < list->n && list->all[*at].key == key ? list->all[*at].hitcount : 0;
}

static int report_risen(const Reader *reader, const Table *table, uint64_t dropped) {
        size_t at = 0;

        for (size_t i = 0; i < table->now.n; i++) {
                const Seen *now = &table->now.all[i];
                uint64_t before = find_seen(&table->seen, now->key, &at);
                ControlMessage message = {
                        .type = CONTROL_ROSE,
                        .rose = {
                                .table = table->index,
                                .key = now->key,
                                /* The count is lower when the table was cleared since the last
                                 * reading. */
                                .delta = now->hitcount - (now->hitcount < before ? 0 : before),
                                .dropped = dropped,
                        },
                };

                if (message.rose.delta == 0)
                        continue;
                int r = order_answer(reader->control_fd, &message);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int watch_table(const Reader *reader, Table *table) {
        _cleanup_free_ char *text = NULL;
        HistTotals totals;
        size_t size = 0;

        int r = hist_reader_read_text(table, &text, &size);
        if (r < 0)
                return r;
        if (table->text && table->text_size == size && memcmp(table->text, text, size) == 0)
                return 0;
        table->now.n = 0;
        r = hist_parse(text, size, &table->choice, note_entry, &table->now, &totals);
        if (r < 0)
                return r;
        join_same(&table->now);
        r = report_risen(reader, table, totals.dropped);
        SeenList seen = table->seen;
        table->seen = table->now;
        table->now = seen;
        free(table->text);
        table->text = TAKE_PTR(text);
        table->text_size = size;
        return r;
}

/* Both */

static int hist_reader_read_all(Reader *reader) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < reader->n_tables; i++)
                r = reader->interval_msec > 0 ? watch_table(reader, &reader->tables[i])
                                              : report_table(reader, &reader->tables[i]);
        return r;
}

static uint64_t get_msec(void) {
        struct timespec now;

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / NSEC_PER_MSEC;
}

/* Returns 0 when the interval is over, and 1 when the daemon asks for a reading at once and a
 * reply. */
static int wait_for_time(const Reader *reader, uint64_t due_msec) {
        struct pollfd wait = { .fd = reader->control_fd, .events = POLLIN };
        ControlMessage message;
        uint64_t now = get_msec();

        int n = poll(&wait, 1, now < due_msec ? (int)(due_msec - now) : 0);
        if (n < 0)
                return errno == EINTR ? 0 : -errno;
        if (n == 0)
                return 0;
        int r = order_take(reader->control_fd, CONTROL_FLUSH, &message, NULL, 0);
        return r ?: 1;
}

static int run_for_ever(Reader *reader) {
        uint64_t due_msec = get_msec();
        int r = 0;

        while (r >= 0) {
                int asked = wait_for_time(reader, due_msec);
                uint64_t begin_msec = get_msec();

                r = asked < 0 ? asked : hist_reader_read_all(reader);
                if (r == 0 && asked > 0)
                        order_report(reader->control_fd, CONTROL_FLUSHED, 0, "");
                /* The pause starts at the end of a reading and is at least as long as the reading
                 * took, because the kernel cannot change events during a reading. */
                uint64_t end_msec = get_msec();
                due_msec = end_msec +
                           MAX_OF((uint64_t)reader->interval_msec, end_msec - begin_msec);
        }
        return r;
}

static bool is_sound(const HistLayout *layout) {
        if (layout->n_keys == 0 || layout->n_keys > HIST_KEYS_MAX ||
                        layout->n_values > HIST_VALUES_MAX)
                return false;
        for (unsigned i = 0; i < layout->n_keys; i++)
                if (layout->keys[i].kind >= _HIST_KIND_N ||
                                !memchr(layout->keys[i].name, '\0', HIST_NAME_MAX))
                        return false;
        for (unsigned i = 0; i < layout->n_values; i++)
                if (!memchr(layout->values[i].name, '\0', HIST_NAME_MAX))
                        return false;
        return true;
}

static int take_table(Reader *reader) {
        Table *table = &reader->tables[reader->n_tables];
        ControlMessage message;
        int fds[2];

        int r = order_take(reader->control_fd, CONTROL_TABLE, &message, fds, ELEMENTSOF(fds));
        if (r < 0)
                return r;
        _cleanup_close_ int trigger_fd = fds[1];
        *table = (Table){ .index = message.table.index, .fd = fds[0] };
        if (table->index != reader->n_tables++ || !is_sound(&message.table.layout))
                return -EBADMSG;
        table->layout = message.table.layout;
        r = fd_read_all(trigger_fd, TRIGGER_MAX, &table->trigger, &table->choice.trigger_size);
        if (r < 0)
                return r;
        table->choice.trigger = table->trigger;
        table->choice.n_tables = message.table.n_in_file;
        table->choice.layout = &table->layout;
        return 0;
}

static int hist_reader_set_limits(void) {
        const struct rlimit cpu = { CPU_SEC, CPU_SEC };

        /* No stream waits for this process, so it gives up the raised priority. */
        (void)setpriority(PRIO_PROCESS, 0, 0);
        return setrlimit(RLIMIT_CPU, &cpu) < 0 ? -errno : 0;
}

static int hist_reader_begin(Reader *reader) {
        ControlMessage message;

        int r = order_take(reader->control_fd, CONTROL_TABLES, &message, NULL, 0);
        if (r < 0)
                return r;
        uint32_t n = message.tables.n;
        if (n == 0 || n > CONTROL_TABLES_MAX)
                return -EBADMSG;
        reader->interval_msec = message.tables.interval_msec;
        r = reader->interval_msec == 0 ? hist_reader_set_limits() : 0;
        if (r < 0)
                return r;
        order_report(reader->control_fd, CONTROL_READY, 0, "");
        while (r == 0 && reader->n_tables < n)
                r = take_table(reader);
        return r ?: sandbox_close(SANDBOX_HIST_READER);
}

static const char *hist_reader_explain(int r) {
        switch (-r) {
        case EBADMSG:
                return "the kernel's table cannot be read: a string in it may have been meant to look like "
                       "the table";
        case EFBIG:
                return "the table's text is too long: a smaller size or fewer keys are needed";
        case ENOENT:
                return "the histogram is no longer there";
        default:
                return strerror(-r);
        }
}

static void reader_clear(Reader *reader) {
        for (size_t i = 0; i < reader->n_tables; i++) {
                Table *table = &reader->tables[i];

                close_cleanup(&table->fd);
                free(table->trigger);
                free(table->text);
                free(table->seen.all);
                free(table->now.all);
        }
}

void hist_reader_run(int control_fd) {
        Reader reader = { .control_fd = control_fd };

        int r = hist_reader_begin(&reader);
        if (r == 0)
                r = reader.interval_msec > 0 ? run_for_ever(&reader)
                                             : hist_reader_read_all(&reader);
        if (r == 0)
                order_report(control_fd, CONTROL_ANSWER, 0, "");
        else if (r != -ECANCELED)
                order_report(control_fd,
                                CONTROL_REFUSED,
                                r == -ENOENT ? ENODATA : -r,
                                hist_reader_explain(r));
        reader_clear(&reader);
}
