/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Numbers the names of functions and calls, because speedscope's format refers to them by number.
 * Called by export-speedscope.c. */

#include "export/frame-table.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>

#include "trace/json-string.h"

#define BLOCK_SIZE ((size_t)64 * 1024)

typedef struct Frame {
        size_t number;
        char name[];
} Frame;

struct FrameTable {
        void *names; /* of tsearch() */
        Frame **frames;
        size_t n, n_allocated;
};

static int frame_compare(const void *a, const void *b) {
        return strcmp(((const Frame *)a)->name, ((const Frame *)b)->name);
}

FrameTable *frame_table_new(void) {
        return calloc(1, sizeof(FrameTable));
}

static void frame_keep(void *frame _unused_) {
}

FrameTable *frame_table_free(FrameTable *table) {
        if (!table)
                return NULL;
        tdestroy(table->names, frame_keep);
        for (size_t i = 0; i < table->n; i++)
                free(table->frames[i]);
        free(table->frames);
        free(table);
        return NULL;
}

int frame_table_add(FrameTable *table, const char *name, size_t *ret_number) {
        _cleanup_free_ Frame *frame = malloc(sizeof(*frame) + strlen(name) + 1);
        Frame *const *found;

        if (!frame)
                return -ENOMEM;
        strcpy(frame->name, name);
        if (table->n == table->n_allocated) {
                size_t n = table->n_allocated * 2 + 64;
                Frame **frames = reallocarray(table->frames, n, sizeof(*frames));

                if (!frames)
                        return -ENOMEM;
                table->frames = frames;
                table->n_allocated = n;
        }
        frame->number = table->n;
        found = tsearch(frame, &table->names, frame_compare);
        if (!found)
                return -ENOMEM;
        *ret_number = (*found)->number;
        if (*found == frame)
                table->frames[table->n++] = TAKE_PTR(frame);
        return 0;
}

int frame_table_print(const FrameTable *table, TextBlock *block, FILE *out) {
        int r = 0;

        text_block_add_char(block, '[');
        for (size_t i = 0; r == 0 && i < table->n; i++) {
                text_block_add_format(block, "%s\n{\"name\":", i > 0 ? "," : "");
                json_string_add(block, table->frames[i]->name, strlen(table->frames[i]->name));
                text_block_add_char(block, '}');
                if (block->used >= BLOCK_SIZE)
                        r = text_block_write(block, out);
        }
        text_block_add_char(block, ']');
        return r;
}
