/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is to be shipped: the list of ktraced, which knows what was acknowledged. So this program
 * keeps no state of its own, and a kill at any time loses nothing. The list is read in pages, one
 * at a time: a long backlog needs no more memory than a short one. Files are shipped in their
 * order, when nothing is written to them any more. The end of a recording follows its last file. */

#include "ship/outbox.h"

#include <errno.h>
#include <string.h>

#include "interfaces/stream-name.h"

static const char *outbox_get_text(json_object *object, const char *key) {
        json_object *value = json_object_object_get(object, key);

        return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

static uint64_t outbox_get_number(json_object *object, const char *key) {
        json_object *value = json_object_object_get(object, key);

        return json_object_is_type(value, json_type_int) ? json_object_get_uint64(value) : 0;
}

static bool outbox_get_flag(json_object *object, const char *key) {
        return json_object_get_boolean(json_object_object_get(object, key));
}

/* Returns true if the file is complete, has data, and was not acknowledged. */
static bool outbox_fill_file(OutboxItem *item, json_object *file) {
        const char *name = outbox_get_text(file, "name"), *state = outbox_get_text(file, "state");

        item->file = stream_name_parse(name);
        (void)snprintf(item->file_name, sizeof(item->file_name), "%s", name);
        item->bytes = outbox_get_number(file, "bytes");
        item->is_cut = json_object_object_get_ex(file, "readable", NULL);
        item->readable_bytes = outbox_get_number(file, "readable");
        return item->file > item->shipped_file &&
               (strcmp(state, "whole") == 0 || strcmp(state, "cut") == 0);
}

static int outbox_visit_recording(json_object *entry, OutboxHandler visit, void *userdata) {
        json_object *files = json_object_object_get(entry, "files");
        OutboxItem item = {
                .uid = outbox_get_number(entry, "uid"),
                .created_usec = outbox_get_number(entry, "created-usec"),
                .shipped_file = (uint32_t)outbox_get_number(entry, "shipped-file"),
                .description = entry,
        };
        int r = 0;

        (void)snprintf(item.id, sizeof(item.id), "%s", outbox_get_text(entry, "id"));
        (void)snprintf(item.name, sizeof(item.name), "%s", outbox_get_text(entry, "name"));
        for (size_t i = 0; r == 0 && i < json_object_array_length(files); i++) {
                if (!outbox_fill_file(&item, json_object_array_get_idx(files, i)))
                        continue;
                r = visit(&item, userdata);
                item.shipped_file = item.file;
        }
        const char *state = outbox_get_text(entry, "state");
        if (r != 0 || (strcmp(state, "ended") != 0 && strcmp(state, "crashed") != 0))
                return r;
        item.file = 0;
        return visit(&item, userdata);
}

static bool outbox_is_waiting(json_object *entry) {
        return outbox_get_flag(entry, "ship") && !outbox_get_flag(entry, "shipped");
}

/* next: "" for the first page; then the one after it. Each page must go on, or this would never
 * end. */
static int outbox_read_page(ktrace *connection,
                char next[static KT_ID_DIGITS + 1],
                json_object **ret,
                Reason *reason) {
        _cleanup_json_ json_object *answer = NULL;
        char parameters[KT_ID_DIGITS + 32];
        _cleanup_free_ char *text = NULL;
        ktrace_error error = {};

        (void)snprintf(parameters, sizeof(parameters), "{\"after\": \"%s\"}", next);
        if (ktrace_call(connection, NULL, "ListSpool", parameters, &text, &error) < 0)
                return reason_set(reason, KT_E_FAILED, "ktraced: %s", error.text);
        answer = json_tokener_parse(text);
        const char *follows = outbox_get_text(answer, "next");
        json_object *page = json_object_object_get(answer, "recordings");
        if (!json_object_is_type(page, json_type_array) || strlen(follows) > KT_ID_DIGITS ||
                        (*follows && strcmp(follows, next) <= 0))
                return reason_set(reason, KT_E_FAILED, "ktraced: expected a list of recordings");
        (void)snprintf(next, KT_ID_DIGITS + 1, "%s", follows);
        *ret = json_object_get(page);
        return 0;
}

/* The oldest of a page is shipped first. */
static int outbox_compare(const void *a, const void *b) {
        json_object *const *first = a, *const *second = b;
        uint64_t begun = outbox_get_number(*first, "created-usec"),
                 other = outbox_get_number(*second, "created-usec");

        return (begun > other) - (begun < other);
}

typedef int (*OutboxEntryHandler)(json_object *entry, void *userdata);

/* Returns what the first handler returned that stopped it, or an error with a reason. */
static int outbox_visit_waiting(ktrace *connection,
                OutboxEntryHandler visit,
                void *userdata,
                Reason *reason) {
        char next[KT_ID_DIGITS + 1] = "";
        int r = 0;

        do {
                _cleanup_json_ json_object *page = NULL;

                r = outbox_read_page(connection, next, &page, reason);
                if (r == 0)
                        json_object_array_sort(page, outbox_compare);
                for (size_t i = 0; r == 0 && i < json_object_array_length(page); i++) {
                        json_object *entry = json_object_array_get_idx(page, i);

                        if (outbox_is_waiting(entry))
                                r = visit(entry, userdata);
                }
        } while (r == 0 && *next);
        return r;
}

typedef struct OutboxVisit {
        OutboxHandler handler;
        void *userdata;
        bool is_stopped;
} OutboxVisit;

static int outbox_visit_entry(json_object *entry, void *userdata) {
        OutboxVisit *visit = userdata;

        int r = outbox_visit_recording(entry, visit->handler, visit->userdata);
        visit->is_stopped = r != 0;
        return r;
}

int outbox_visit(ktrace *connection, OutboxHandler handler, void *userdata, Reason *reason) {
        OutboxVisit visit = { handler, userdata, false };

        int r = outbox_visit_waiting(connection, outbox_visit_entry, &visit, reason);
        return visit.is_stopped ? 0 : r;
}

static int outbox_add_bytes(const OutboxItem *item, void *userdata) {
        *(uint64_t *)userdata += item->file > 0 ? item->bytes : 0;
        return 0;
}

static int outbox_count_entry(json_object *entry, void *userdata) {
        OutboxCount *count = userdata;

        count->n_recordings++;
        return outbox_visit_recording(entry, outbox_add_bytes, &count->n_bytes);
}

int outbox_count(ktrace *connection, OutboxCount *ret, Reason *reason) {
        *ret = (OutboxCount){};
        return outbox_visit_waiting(connection, outbox_count_entry, ret, reason);
}
