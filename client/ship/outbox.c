/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is to be shipped: the list of ktraced, which knows what was acknowledged. So this program
 * keeps no state of its own, and a kill at any time loses nothing. Files are shipped in their
 * order, when nothing is written to them any more. The end of a recording follows its last file. */

#include "ship/outbox.h"

#include <errno.h>
#include <string.h>

#include "interfaces/stream-name.h"

struct Outbox {
        json_object *recordings; /* only marked ones */
};

Outbox *outbox_free(Outbox *outbox) {
        if (!outbox)
                return NULL;
        json_object_put(outbox->recordings);
        free(outbox);
        return NULL;
}

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

static int outbox_take_marked(Outbox *outbox, json_object *list) {
        outbox->recordings = json_object_new_array();
        if (!outbox->recordings)
                return -ENOMEM;
        for (size_t i = 0; i < json_object_array_length(list); i++) {
                json_object *entry = json_object_array_get_idx(list, i);

                if (!outbox_get_flag(entry, "ship") || outbox_get_flag(entry, "shipped"))
                        continue;
                if (json_object_array_add(outbox->recordings, json_object_get(entry)) < 0) {
                        json_object_put(entry);
                        return -ENOMEM;
                }
        }
        return 0;
}

int outbox_read(ktrace *connection, Outbox **ret, Reason *reason) {
        _cleanup_(outbox_free_cleanup) Outbox *outbox = calloc(1, sizeof(*outbox));
        _cleanup_json_ json_object *answer = NULL;
        _cleanup_free_ char *text = NULL;
        ktrace_error error = {};

        if (!outbox)
                return -ENOMEM;
        int r = ktrace_call(connection, NULL, "ListSpool", NULL, &text, &error);
        if (r < 0)
                return reason_set(reason, KT_E_FAILED, "ktraced: %s", error.text);
        answer = json_tokener_parse(text);
        json_object *list = json_object_object_get(answer, "recordings");
        if (!json_object_is_type(list, json_type_array))
                return reason_set(reason, KT_E_FAILED, "ktraced: expected a list of recordings");
        r = outbox_take_marked(outbox, list);
        if (r == 0)
                *ret = TAKE_PTR(outbox);
        return r;
}

/* Returns true if nobody writes the file, it has data, and it was not acknowledged. */
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

static int outbox_visit_recording(json_object *entry,
                int (*visit)(const OutboxItem *item, void *userdata),
                void *userdata) {
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

int outbox_visit(const Outbox *outbox,
                int (*visit)(const OutboxItem *item, void *userdata),
                void *userdata) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < json_object_array_length(outbox->recordings); i++)
                r = outbox_visit_recording(
                                json_object_array_get_idx(outbox->recordings, i), visit, userdata);
        return r;
}

static int outbox_add_bytes(const OutboxItem *item, void *userdata) {
        *(uint64_t *)userdata += item->file > 0 ? item->bytes : 0;
        return 0;
}

uint64_t outbox_count_bytes(const Outbox *outbox) {
        uint64_t bytes = 0;

        (void)outbox_visit(outbox, outbox_add_bytes, &bytes);
        return bytes;
}

bool outbox_is_empty(const Outbox *outbox) {
        return json_object_array_length(outbox->recordings) == 0;
}
