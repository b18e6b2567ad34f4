/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints the records of a file with several threads. Called by the exporter, whose thread reads the
 * records in time order, prepares their lines, writes the finished text, and prints too when it
 * would have to wait. Owns the batches and the other threads.
 *
 * A batch has some hundred prepared lines and a copy of their records, because the reader uses its
 * blocks again. Batches are filled and written one after the other, and printed by any thread.
 * Everything that depends on the order of records happens while a batch is filled: names of tasks
 * are looked up and stored, tables are compiled, losses are counted, and libtraceevent, which is
 * not made for threads, prints what has no table. The threads only read what a line points to. So
 * the output does not depend on the number of threads.
 *
 * Threads instead of processes: all share the tables and the names, which grow while the file is
 * read, and texts need not be copied through pipes.
 *
 * Memory: two batches for each thread, about 0.6 MB each. A record or a line of several megabytes,
 * which only a hostile file has, enlarges a batch until that is written. */

#include "export/print-jobs.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#define LINES_MAX 1024
#define DATA_SIZE ((size_t)128 * 1024)
#define SLOW_SIZE ((size_t)256 * 1024)
/* A thread stops here. The rest of the batch is printed when this much is written. */
#define TEXT_SIZE ((size_t)512 * 1024)

typedef struct PrintBatch {
        Printer printer; /* the settings, and the text of this batch */
        PrinterLine lines[LINES_MAX];
        size_t n_lines, n_printed;
        uint8_t *data; /* the records */
        size_t data_used, data_size;
        int error;
        bool is_printed; /* the thread that printed it has stopped */
} PrintBatch;

struct PrintJobs {
        Printer *printer; /* borrowed */
        PrintBatch *batches;
        size_t n_batches;
        /* Batches so far; the number of a batch is the remainder by n_batches. Only the caller's
         * thread changes the first and the last. */
        size_t n_filled, n_taken, n_written;
        pthread_t threads[EXPORT_JOBS_MAX];
        unsigned n_threads;
        pthread_mutex_t lock; /* of n_filled, n_taken, is_ending, is_printed */
        pthread_cond_t filled, printed;
        bool is_ending;
};

/* Prints lines until the text is long. */
static void batch_print(PrintBatch *batch) {
        while (batch->n_printed < batch->n_lines && batch->error == 0 &&
                        batch->printer.block.used < TEXT_SIZE)
                batch->error = printer_add(&batch->printer, &batch->lines[batch->n_printed++]);
}

static void batch_reset(PrintBatch *batch) {
        TextBlock *block = &batch->printer.block;

        batch->n_lines = batch->n_printed = batch->data_used = 0;
        batch->is_printed = false;
        batch->printer.slow.used = block->used = 0;
        batch->printer.n_events = batch->printer.n_lost = 0;
        if (block->size > 4 * TEXT_SIZE)
                text_block_clear(block);
        if (batch->printer.slow.size > 4 * SLOW_SIZE)
                text_block_clear(&batch->printer.slow);
        if (batch->data_size > DATA_SIZE) {
                free(batch->data);
                batch->data = NULL;
                batch->data_size = 0;
        }
}

static bool batch_is_full(const PrintBatch *batch) {
        return batch->n_lines == LINES_MAX || batch->data_used >= DATA_SIZE ||
               batch->printer.slow.used >= SLOW_SIZE;
}

static size_t batch_round(size_t size) {
        return (size + 7) & ~(size_t)7;
}

/* A record that is larger than the room becomes the first one of a batch, where nothing points into
 * the data yet. */
static int batch_keep(PrintBatch *batch, Record *record) {
        size_t size = batch_round(record->size);

        if (batch->data_used + size > batch->data_size) {
                size_t wanted = MAX_OF(size, DATA_SIZE);
                uint8_t *data = malloc(wanted);

                if (!data)
                        return -ENOMEM;
                free(batch->data);
                batch->data = data;
                batch->data_size = wanted;
        }
        memcpy(batch->data + batch->data_used, record->data, record->size);
        record->data = batch->data + batch->data_used;
        return 0;
}

static PrintBatch *batch_get(PrintJobs *jobs, size_t n) {
        return &jobs->batches[n % jobs->n_batches];
}

/* The next batch to print, or NULL. The caller holds the lock. */
static PrintBatch *batch_take(PrintJobs *jobs) {
        return jobs->n_taken < jobs->n_filled ? batch_get(jobs, jobs->n_taken++) : NULL;
}

static void *thread_main(void *argument) {
        PrintJobs *jobs = argument;

        pthread_mutex_lock(&jobs->lock);
        while (!jobs->is_ending) {
                PrintBatch *batch = batch_take(jobs);

                if (!batch) {
                        pthread_cond_wait(&jobs->filled, &jobs->lock);
                        continue;
                }
                pthread_mutex_unlock(&jobs->lock);
                batch_print(batch);
                pthread_mutex_lock(&jobs->lock);
                batch->is_printed = true;
                pthread_cond_signal(&jobs->printed);
        }
        pthread_mutex_unlock(&jobs->lock);
        return NULL;
}

/* A missing thread makes it slower, but nothing else. Signals are for the program's own threads. */
static void start_threads(PrintJobs *jobs, unsigned n) {
        sigset_t all, before;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        while (jobs->n_threads < n &&
                        pthread_create(&jobs->threads[jobs->n_threads], NULL, thread_main, jobs) ==
                                        0)
                jobs->n_threads++;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int print_jobs_new(Printer *printer, unsigned n_jobs, PrintJobs **ret) {
        PrintJobs *jobs = calloc(1, sizeof(*jobs));

        if (!jobs)
                return -ENOMEM;
        pthread_mutex_init(&jobs->lock, NULL);
        pthread_cond_init(&jobs->filled, NULL);
        pthread_cond_init(&jobs->printed, NULL);
        jobs->printer = printer;
        n_jobs = MIN_OF(MAX_OF(n_jobs, 1U), EXPORT_JOBS_MAX);
        jobs->n_batches = n_jobs > 1 ? 2 * (size_t)n_jobs : 1;
        jobs->batches = calloc(jobs->n_batches, sizeof(PrintBatch));
        if (!jobs->batches) {
                print_jobs_free(jobs);
                return -ENOMEM;
        }
        for (size_t i = 0; i < jobs->n_batches; i++) {
                jobs->batches[i].printer = *printer;
                jobs->batches[i].printer.block = jobs->batches[i].printer.slow = (TextBlock){ 0 };
                batch_reset(&jobs->batches[i]);
        }
        start_threads(jobs, n_jobs - 1);
        *ret = jobs;
        return 0;
}

PrintJobs *print_jobs_free(PrintJobs *jobs) {
        if (!jobs)
                return NULL;
        pthread_mutex_lock(&jobs->lock);
        jobs->is_ending = true;
        pthread_cond_broadcast(&jobs->filled);
        pthread_mutex_unlock(&jobs->lock);
        for (unsigned i = 0; i < jobs->n_threads; i++)
                pthread_join(jobs->threads[i], NULL);
        for (size_t i = 0; jobs->batches && i < jobs->n_batches; i++) {
                printer_clear(&jobs->batches[i].printer);
                free(jobs->batches[i].data);
        }
        pthread_cond_destroy(&jobs->printed);
        pthread_cond_destroy(&jobs->filled);
        pthread_mutex_destroy(&jobs->lock);
        free(jobs->batches);
        free(jobs);
        return NULL;
}

/* Waits for a batch, and prints others in this time. */
static void wait_for(PrintJobs *jobs, PrintBatch *batch) {
        pthread_mutex_lock(&jobs->lock);
        while (!batch->is_printed) {
                PrintBatch *other = batch_take(jobs);

                if (!other) {
                        pthread_cond_wait(&jobs->printed, &jobs->lock);
                        continue;
                }
                pthread_mutex_unlock(&jobs->lock);
                batch_print(other);
                pthread_mutex_lock(&jobs->lock);
                other->is_printed = true;
        }
        pthread_mutex_unlock(&jobs->lock);
}

/* Also prints lines that are left because the text became long. */
static int write_oldest(PrintJobs *jobs) {
        PrintBatch *batch = batch_get(jobs, jobs->n_written);
        int r;

        wait_for(jobs, batch);
        do {
                batch_print(batch);
                r = printer_flush(&batch->printer);
                r = batch->error ?: r;
        } while (r == 0 && batch->n_printed < batch->n_lines);
        jobs->printer->n_events += batch->printer.n_events;
        jobs->printer->n_lost += batch->printer.n_lost;
        batch_reset(batch);
        jobs->n_written++;
        return r;
}

/* Hands over the current batch. Afterwards the next one is free. */
static int submit(PrintJobs *jobs) {
        pthread_mutex_lock(&jobs->lock);
        jobs->n_filled++;
        pthread_cond_signal(&jobs->filled);
        pthread_mutex_unlock(&jobs->lock);
        return jobs->n_filled - jobs->n_written < jobs->n_batches ? 0 : write_oldest(jobs);
}

/* A single thread prints each line at once, because then the record need not be copied. All limits
 * of a batch hold there too, so that even a line that is too long is cut at the same place. */
static int take_line(PrintJobs *jobs, PrintBatch *batch, PrinterLine *line) {
        size_t size = line->is_whole && line->slow_size == 0 ? batch_round(line->record.size) : 0;
        int r = 0;

        batch->n_lines++;
        if (jobs->n_batches == 1) {
                batch->n_printed++;
                r = printer_add(&batch->printer, line);
                if (r == 0 && batch->printer.block.used >= TEXT_SIZE)
                        r = printer_flush(&batch->printer);
        } else if (size > 0)
                r = batch_keep(batch, &line->record);
        batch->data_used += size;
        if (r < 0)
                return r;
        return batch_is_full(batch) ? submit(jobs) : 0;
}

int print_jobs_record(PrintJobs *jobs, const Record *record, const char *buffer) {
        PrintBatch *batch = batch_get(jobs, jobs->n_filled);
        PrinterLine *line;
        int r = 0;

        if (batch->data_used > 0 && batch->data_used + batch_round(record->size) > DATA_SIZE)
                r = submit(jobs);
        batch = batch_get(jobs, jobs->n_filled);
        line = &batch->lines[jobs->n_batches > 1 ? batch->n_lines : 0];
        r = r ?: printer_prepare(&batch->printer, record, buffer, line);
        return r ?: take_line(jobs, batch, line);
}

int print_jobs_loss(PrintJobs *jobs, const Record *at, int64_t lost, const char *buffer) {
        PrintBatch *batch = batch_get(jobs, jobs->n_filled);
        PrinterLine *line = &batch->lines[jobs->n_batches > 1 ? batch->n_lines : 0];

        printer_prepare_loss(&batch->printer, at, lost, buffer, line);
        return take_line(jobs, batch, line);
}

int print_jobs_finish(PrintJobs *jobs) {
        int r = 0;

        if (batch_get(jobs, jobs->n_filled)->n_lines > 0)
                r = submit(jobs);
        while (r == 0 && jobs->n_written < jobs->n_filled)
                r = write_oldest(jobs);
        return r;
}
