/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Makes a recording's receipt from the frames of its stream: the receipt itself and the lists of
 * removed fields (both in the metadata), the statistics, and the end. The exporters call it, so
 * each output format contains the receipt. `report --receipt` calls it, too. It does not verify
 * what the stream says. */

#include <errno.h>
#include <string.h>

#include "interfaces/json.h"
#include "trace/receipt.h"

static int receipt_put(json_object *object, const char *key, json_object *value) {
        if (value && json_object_object_add(object, key, value) == 0)
                return 0;
        json_object_put(value);
        return -ENOMEM;
}

/* Adds a value of `from` to `object`; both own it then. Without such a key it adds nothing. */
static int share(json_object *object, json_object *from, const char *key) {
        json_object *value = NULL;

        if (!json_object_object_get_ex(from, key, &value) || !value)
                return 0;
        return receipt_put(object, key, json_object_get(value));
}

/* Makes {"sched:sched_switch": ...} of the events that have this key. It skips marks (ftrace): no
 * user requested them, and the only field that is removed from them is an address of the daemon. */
static int gather(json_object *object, json_object *metadata, const char *key, const char *name) {
        json_object *events = json_object_object_get(metadata, "events"),
                    *gathered = json_object_new_object();
        size_t n = json_object_is_type(events, json_type_array) ? json_object_array_length(events)
                                                                : 0;

        int r = receipt_put(object, name, gathered);
        for (size_t i = 0; r == 0 && i < n; i++) {
                json_object *event = json_object_array_get_idx(events, i), *value = NULL;
                const char *system = stream_string(event, "system"),
                           *event_name = stream_string(event, "name");
                char label[512];

                if (!system || !event_name || !json_object_object_get_ex(event, key, &value) ||
                                strcmp(system, "ftrace") == 0 ||
                                (json_object_is_type(value, json_type_array) &&
                                                json_object_array_length(value) == 0))
                        continue;
                (void)snprintf(label, sizeof(label), "%s:%s", system, event_name);
                r = receipt_put(gathered, label, json_object_get(value));
        }
        return r;
}

static int receipt_put_end(json_object *object, const Stream *stream) {
        json_object *end = json_object_new_object();

        int r = receipt_put(object, "end", end);
        r = r ?: receipt_put(end, "code", json_object_new_string(stream->end_code));
        return r ?: receipt_put(end, "reason", json_object_new_string(stream->end_reason));
}

static int receipt_fill_object(json_object *object, const Stream *stream, bool is_whole) {
        static const char *const shared[] = {
                "session", "machine", "kernel", "realtime-offset-nsec", "boot-offset-nsec"
        };
        json_object *receipt = json_object_object_get(stream->metadata, "receipt");
        int r = 0;

        json_object_object_foreach(receipt, key, value) {
                r = r ?: receipt_put(object, key, json_object_get(value));
        }
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(shared); i++)
                r = share(object, stream->metadata, shared[i]);
        r = r ?: gather(object, stream->metadata, "filter", "filters");
        r = r ?: gather(object, stream->metadata, "cut", "redactions");
        r = r ?: gather(object, stream->metadata, "also-of", "also-of");
        if (r == 0 && is_whole && stream->statistics)
                r = receipt_put(object, "statistics", json_object_get(stream->statistics));
        if (r == 0 && is_whole && stream->clock)
                r = receipt_put(object, "clock", json_object_get(stream->clock));
        if (r == 0 && is_whole && stream->is_ended)
                r = receipt_put_end(object, stream);
        return r;
}

int receipt_make(const Stream *stream, bool is_whole, json_object **ret) {
        _cleanup_json_ json_object *object = NULL;

        *ret = NULL;
        if (stream->receipt) {
                *ret = json_object_get(stream->receipt);
                return 0;
        }
        if (!json_object_is_type(
                            json_object_object_get(stream->metadata, "receipt"), json_type_object))
                return 0;
        object = json_object_new_object();
        if (!object)
                return -ENOMEM;
        int r = receipt_fill_object(object, stream, is_whole);
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r;
}

int receipt_lacks_switches(const Stream *stream, bool *ret) {
        _cleanup_json_ json_object *receipt = NULL;

        int r = receipt_make(stream, false, &receipt);
        if (r < 0)
                return r;
        *ret = json_object_get_boolean(json_object_object_get(receipt, "fenced")) &&
               !json_object_object_get(
                               json_object_object_get(receipt, "also-of"), "sched:sched_switch");
        return 0;
}

json_object *receipt_find(const char *text) {
        const char *mark = strstr(text, RECEIPT_MARK);
        _cleanup_json_ json_object *object = NULL;
        Reason reason = { 0 };

        if (mark)
                mark += strlen(RECEIPT_MARK);
        /* A receipt from another program or a damaged one is ignored: the trace is readable without
         * it. */
        if (!mark || json_parse_strict("receipt", mark, strlen(mark), &object, &reason) != 0 ||
                        !json_object_is_type(object, json_type_object))
                return NULL;
        return TAKE_PTR(object);
}
