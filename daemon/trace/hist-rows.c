/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Makes JSON from the rows of a histogram. The confined reader (hist-reader.c) has read them from
 * the kernel's table, as numbers and pieces of text. A traced process chooses the bytes of a text.
 * So each piece is checked to lie inside the message, and is made printable. These functions are
 * pure. */

#include "trace/hist-rows.h"

#include <errno.h>
#include <string.h>

#include "interfaces/utf8.h"

/* A byte that is not printable text becomes \xNN, and a backslash is doubled. */
static json_object *hist_rows_make_text(const char *text, size_t size) {
        _cleanup_free_ char *out = malloc(4 * size + 1);
        char *to = out;

        if (!out)
                return NULL;
        for (size_t i = 0; i < size;) {
                size_t n = utf8_length(text + i, size - i);
                unsigned char byte = (unsigned char)text[i];

                if (n == 0 || byte < 0x20 || byte == 0x7f || byte == '\\') {
                        to += sprintf(to, byte == '\\' ? "\\\\" : "\\x%02x", byte);
                        i++;
                        continue;
                }
                memcpy(to, text + i, n);
                to += n;
                i += n;
        }
        *to = '\0';
        return json_object_new_string(out);
}

static json_object *make_number(uint64_t number, bool is_signed) {
        return is_signed ? json_object_new_int64((int64_t)number) : json_object_new_uint64(number);
}

/* Takes ownership of value; returns false without memory. */
static bool hist_rows_add(json_object *object, const char *name, json_object *value) {
        return value && json_object_object_add(object, name, value) == 0;
}

static json_object *make_pair(const char *first,
                json_object *first_value,
                const char *second,
                json_object *second_value) {
        _cleanup_json_ json_object *object = json_object_new_object();

        if (!object) {
                json_object_put(first_value);
                json_object_put(second_value);
                return NULL;
        }
        bool done = hist_rows_add(object, first, first_value);
        done = hist_rows_add(object, second, second_value) && done;
        return done ? TAKE_PTR(object) : NULL;
}

static json_object *make_range(uint64_t from, uint64_t to) {
        return make_pair("from", json_object_new_uint64(from), "to", json_object_new_uint64(to));
}

/* The kernel rounds up: 2^9 stands for 257 to 512. */
static json_object *make_power(uint64_t power) {
        uint64_t last = power < 64 ? UINT64_C(1) << power : UINT64_MAX;
        uint64_t first = power == 0   ? 0
                         : power < 65 ? (UINT64_C(1) << (power - 1)) + 1
                                      : UINT64_MAX;

        return make_range(first, last);
}

static json_object *hist_rows_make_lines(const char *text, size_t size) {
        _cleanup_json_ json_object *lines = json_object_new_array();
        const char *end = text + size;

        while (lines && text < end) {
                const char *line_end = memchr(text, '\n', (size_t)(end - text)) ?: end;
                json_object *line = hist_rows_make_text(text, (size_t)(line_end - text));

                if (!line || json_object_array_add(lines, line) < 0)
                        return NULL;
                text = line_end < end ? line_end + 1 : end;
        }
        return TAKE_PTR(lines);
}

/* Uses the names of strace and ktracectl: "write" for the kernel's "sys_write". A number that is
 * not a system call has no name. */
static json_object *make_syscall(uint64_t nr, const char *text, size_t size) {
        static const char prefix[] = "sys_";
        const size_t n = sizeof(prefix) - 1;
        json_object *number = make_number(nr, true);

        if (size > n && strncmp(text, prefix, n) == 0)
                return make_pair("nr", number, "name", hist_rows_make_text(text + n, size - n));
        json_object *object = json_object_new_object();
        if (object && hist_rows_add(object, "nr", number))
                return object;
        json_object_put(object);
        return NULL;
}

static json_object *hist_rows_make_key(const HistColumn *column,
                const ControlMessage *message,
                unsigned i) {
        const ControlKey *key = &message->entry.keys[i];
        const char *text = message->entry.text + key->text_at;

        if (key->text_at > CONTROL_KEYS_MAX || key->text_size > CONTROL_KEYS_MAX - key->text_at)
                return NULL;
        switch ((HistKind)column->kind) {
        case HIST_NUMBER:
        case HIST_HEX:
                return make_number(key->number, column->is_signed);
        case HIST_LOG2:
                return make_power(key->number);
        case HIST_BUCKETS:
                return make_range(key->number, key->last);
        case HIST_STRING:
                return hist_rows_make_text(text, key->text_size);
        case HIST_STACKTRACE:
                return hist_rows_make_lines(text, key->text_size);
        case HIST_EXECNAME:
                return make_pair("pid",
                                make_number(key->number, true),
                                "comm",
                                hist_rows_make_text(text, key->text_size));
        case HIST_SYSCALL:
                return make_syscall(key->number, text, key->text_size);
        case HIST_SYM:
                return make_pair("address",
                                make_number(key->number, false),
                                "symbol",
                                hist_rows_make_text(text, key->text_size));
        case _HIST_KIND_N:
                break;
        }
        return NULL;
}

json_object *hist_rows_make_entry(const HistLayout *layout, const ControlMessage *message) {
        _cleanup_json_ json_object *row = json_object_new_object();
        json_object *keys = json_object_new_object(), *values = json_object_new_object();
        bool done = row && hist_rows_add(row, "keys", keys);

        done = done &&
               hist_rows_add(row, "hitcount", json_object_new_uint64(message->entry.hitcount));
        if (!done || !hist_rows_add(row, "values", values))
                return NULL;
        for (unsigned i = 0; done && i < layout->n_keys; i++)
                done = hist_rows_add(keys,
                                layout->keys[i].name,
                                hist_rows_make_key(&layout->keys[i], message, i));
        for (unsigned i = 0; done && i < layout->n_values; i++)
                done = hist_rows_add(values,
                                layout->values[i].name,
                                make_number(message->entry.values[i], layout->values[i].is_signed));
        return done ? TAKE_PTR(row) : NULL;
}

static json_object *hist_rows_make_words(const SpecWords *words) {
        _cleanup_json_ json_object *list = json_object_new_array();

        for (size_t i = 0; list && i < words->n; i++)
                if (json_object_array_add(list, json_object_new_string(words->items[i])) < 0)
                        return NULL;
        return TAKE_PTR(list);
}

json_object *hist_rows_describe(const SpecTrigger *trigger,
                const HistText *text,
                bool is_of_consumer) {
        _cleanup_json_ json_object *object = json_object_new_object();
        const char *name = trigger->hist.name ?: trigger->event;
        bool done = object && hist_rows_add(object, "name", json_object_new_string(name));

        done = done && hist_rows_add(object, "event", json_object_new_string(trigger->event));
        done = done && hist_rows_add(object, "keys", hist_rows_make_words(&trigger->hist.keys));
        done = done && hist_rows_add(object, "values", hist_rows_make_words(&trigger->hist.values));
        done = done && hist_rows_add(object, "sort", hist_rows_make_words(&trigger->hist.sort));
        done = done && hist_rows_add(object, "size", json_object_new_uint64(text->n_rows));
        done = done &&
               hist_rows_add(object,
                               "counted-by",
                               json_object_new_string(is_of_consumer ? "consumer" : "kernel"));
        return done ? TAKE_PTR(object) : NULL;
}

json_object *hist_rows_make_head(const SpecTrigger *trigger,
                const HistText *text,
                bool is_of_consumer,
                const ControlMessage *totals,
                size_t n_listed) {
        _cleanup_json_ json_object *head = hist_rows_describe(trigger, text, is_of_consumer);
        bool done = head &&
                    hist_rows_add(head, "hits", json_object_new_uint64(totals->totals.hits));

        done = done &&
               hist_rows_add(head, "entries", json_object_new_uint64(totals->totals.entries));
        done = done && hist_rows_add(head, "told", json_object_new_uint64(n_listed));
        done = done &&
               hist_rows_add(head, "dropped", json_object_new_uint64(totals->totals.dropped));
        if (totals->totals.lost > 0)
                done = done &&
                       hist_rows_add(head, "lost", json_object_new_uint64(totals->totals.lost));
        done = done && hist_rows_add(head,
                                       "paused",
                                       json_object_new_boolean(totals->totals.is_paused != 0));
        return done ? TAKE_PTR(head) : NULL;
}
