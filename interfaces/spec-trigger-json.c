/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Converts triggers of a session spec from and to JSON; a part of spec-json.c. Types are checked
 * here, values in spec-trigger.c. Triggers that were given in an entry of events are written to
 * the spec's own list, which means the same. */

#include "interfaces/spec-trigger-json.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "interfaces/spec-json.h"
#include "interfaces/spec-trigger.h"

static int spec_trigger_json_set_words(SpecTriggerList *list,
                const SpecField *field,
                json_object *words,
                Reason *reason) {
        int r = spec_triggers_begin_words(list, field, reason);

        for (size_t i = 0; r == 0 && i < json_object_array_length(words); i++) {
                json_object *word = json_object_array_get_idx(words, i);

                r = spec_json_is_string(word) ? spec_triggers_add_word(list,
                                                                field,
                                                                json_object_get_string(word),
                                                                reason)
                                              : spec_triggers_refuse_type(list,
                                                                field,
                                                                "a list with other values",
                                                                reason);
        }
        return r;
}

static int spec_trigger_json_set_key(SpecTriggerList *list,
                const char *key,
                json_object *value,
                Reason *reason) {
        const SpecField *field;

        int r = spec_triggers_find_field(list, key, &field, reason);
        if (r != 0)
                return r;
        if (spec_json_is_string(value))
                return spec_triggers_set_string(list, field, json_object_get_string(value), reason);
        if (json_object_is_type(value, json_type_array))
                return spec_trigger_json_set_words(list, field, value, reason);
        if (json_object_is_type(value, json_type_int) && json_object_get_int64(value) >= 0)
                return spec_triggers_set_number(list, field, json_object_get_uint64(value), reason);
        return spec_triggers_refuse_type(list,
                        field,
                        json_object_is_type(value, json_type_int) ? "a negative number"
                                                                  : spec_json_type(value),
                        reason);
}

int spec_triggers_from_json(Spec *spec,
                size_t entry,
                const char *event,
                json_object *list,
                Reason *reason) {
        SpecTriggerList triggers = spec_triggers_begin(spec, entry);
        int r = 0;

        for (size_t i = 0; r == 0 && i < json_object_array_length(list); i++) {
                json_object *trigger = json_object_array_get_idx(list, i);

                r = spec_triggers_add(&triggers, reason);
                if (r != 0)
                        return r;
                if (!json_object_is_type(trigger, json_type_object))
                        return reason_set(reason,
                                        KT_E_INVALID_SPEC,
                                        "%s: expected an object, got %s",
                                        spec_trigger_place(&spec->triggers[spec->n_triggers - 1])
                                                        .text,
                                        spec_json_type(trigger));
                json_object_object_foreach(trigger, key, value) {
                        if (r == 0)
                                r = spec_trigger_json_set_key(&triggers, key, value, reason);
                }
        }
        return r ?: spec_triggers_end(&triggers, event, reason);
}

static int add_words(json_object *object, const char *key, const SpecWords *words) {
        json_object *list;
        int r;

        if (words->n == 0)
                return 0;
        list = json_object_new_array();
        r = spec_json_put(object, key, list);
        for (size_t i = 0; r == 0 && i < words->n; i++)
                r = spec_json_append(list, json_object_new_string(words->items[i]));
        return r;
}

static int add_when(json_object *object, const SpecTrigger *trigger) {
        _cleanup_free_ char *when = NULL;

        if (asprintf(&when,
                            "%s%s%s",
                            trigger->event,
                            trigger->filter ? " if " : "",
                            trigger->filter ?: "") < 0) {
                when = NULL;
                return -ENOMEM;
        }
        return spec_json_put(object, "when", json_object_new_string(when));
}

static int fill_trigger(json_object *object, const SpecTrigger *trigger) {
        const SpecHist *hist = &trigger->hist;

        int r = add_when(object, trigger);
        r = r
                            ?: spec_json_put(object,
                                               "do",
                                               json_object_new_string(spec_action_to_string(
                                                               trigger->action)));
        if (r == 0 && trigger->target)
                r = spec_json_put(object, "event", json_object_new_string(trigger->target));
        if (r == 0 && trigger->count > 0)
                r = spec_json_put(object, "count", json_object_new_uint64(trigger->count));
        r = r ?: add_words(object, "keys", &hist->keys);
        r = r ?: add_words(object, "values", &hist->values);
        r = r ?: add_words(object, "sort", &hist->sort);
        if (r == 0 && hist->size > 0)
                r = spec_json_put(object, "size", json_object_new_uint64(hist->size));
        if (r == 0 && hist->name)
                r = spec_json_put(object, "name", json_object_new_string(hist->name));
        return r;
}

int spec_triggers_to_json(const Spec *spec, json_object **ret) {
        _cleanup_json_ json_object *list = json_object_new_array();
        int r = list ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < spec->n_triggers; i++) {
                json_object *object = json_object_new_object();

                r = spec_json_append(list, object);
                r = r ?: fill_trigger(object, &spec->triggers[i]);
        }
        if (r == 0)
                *ret = TAKE_PTR(list);
        return r;
}
