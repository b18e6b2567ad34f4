/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads a label of a metric: the keys of ktrace-metrics.d(5), KEYS OF A LABEL. Called by
 * set-read.c, which checks the labels of a metric together. */

#include "metrics/label-read.h"

#include <errno.h>
#include <string.h>

#include "interfaces/array.h"
#include "interfaces/ascii.h"
#include "interfaces/quote.h"
#include "interfaces/spec.h"

static int read_label_name(void *target, json_object *o, const Place *place) {
        SetLabel *label = target;

        int r = place_read_copy(place, o, SPEC_HIST_NAME_MAX, &label->name);
        if (r != 0)
                return r;
        if (!set_is_word(label->name, false))
                return place_refuse_value(
                                place, o, "letters, digits and '_', beginning with a letter");
        if (strncmp(label->name, "__", 2) == 0 || strcmp(label->name, "le") == 0)
                return place_refuse_value(
                                place, o, "another name: Prometheus uses \"le\" and \"__*\"");
        return 0;
}

static int read_label_field(void *target, json_object *o, const Place *place) {
        SetLabel *label = target;

        int r = place_read_copy(place, o, SPEC_HIST_NAME_MAX, &label->field);
        if (r == 0 && !set_is_word(set_get_field(label->field), false))
                r = place_refuse_value(place, o, "the name of a field");
        return r;
}

static int read_label_decoder(void *target, json_object *o, const Place *place) {
        static const char *const decoders[_DECODER_N] = {
                [DECODER_NUMBER] = "number",
                [DECODER_SYSCALL] = "syscall",
                [DECODER_ERRNO] = "errno",
                [DECODER_DEVICE] = "device",
                [DECODER_CGROUP] = "cgroup",
                [DECODER_UNIT] = "unit",
                [DECODER_COMM] = "comm",
                [DECODER_TABLE] = "table",
                [DECODER_BITS] = "bits",
                [DECODER_CPU] = "cpu",
        };
        SetLabel *label = target;
        const char *text;

        int r = place_read_string(place, o, SPEC_HIST_NAME_MAX, &text);
        if (r != 0)
                return r;
        for (int decoder = 0; decoder < _DECODER_N; decoder++)
                if (strcmp(text, decoders[decoder]) == 0) {
                        label->decoder = decoder;
                        return 0;
                }
        return place_refuse_value(place,
                        o,
                        "number, syscall, errno, device, cgroup, unit, comm, table, bits or cpu");
}

/* Reads "5", "-1" or "0x10". */
static bool parse_number(const char *text, int64_t *ret) {
        char *end;

        if (*text == '\0' || (!ascii_is_digit(*text) && *text != '-'))
                return false;
        errno = 0;
        *ret = strtoll(text, &end, 0);
        return *end == '\0' && errno == 0;
}

static int read_label_names(void *target, json_object *o, const Place *place) {
        SetLabel *label = target;

        if (!json_object_is_type(o, json_type_object) || json_object_object_length(o) == 0 ||
                        json_object_object_length(o) > SET_NAMES_MAX)
                return place_refuse_value(place, o, "an object of 1 to %d numbers", SET_NAMES_MAX);
        if (label->names)
                return place_refuse(place, "expected table or bits, got both");
        json_object_object_foreach(o, key, value) {
                Place at = place_of_key(place, key);
                int64_t number;

                if (!parse_number(key, &number))
                        return place_refuse(&at,
                                        "expected a number such as \"5\" or \"0x10\", got %s",
                                        quote(key).text);
                int r = array_grow(&label->names, label->n_names, sizeof(SetName));
                if (r < 0)
                        return r;
                SetName *name = &label->names[label->n_names++];
                name->number = number;
                r = place_read_copy(&at, value, METRIC_VALUE_MAX, &name->text);
                if (r != 0)
                        return r;
        }
        return 0;
}

static int label_set_default_field(SetLabel *label) {
        const char *field = label->decoder == DECODER_COMM  ? SET_COMM_FIELD
                            : label->decoder == DECODER_CPU ? "common_cpu"
                                                            : NULL;

        if (label->field || !field)
                return 0;
        label->field = strdup(field);
        return label->field ? 0 : -ENOMEM;
}

static int label_check(SetLabel *label, json_object *o, const Place *place) {
        Place at_name = place_of_key(place, "name"), at_field = place_of_key(place, "field");
        static const char *const lists[] = { "table", "bits" };

        int r = label_set_default_field(label);
        if (r < 0)
                return r;
        if (!label->name)
                return place_refuse(&at_name, "is missing");
        if (!label->field)
                return place_refuse(&at_field, "is missing: the field to count by");
        if (label->decoder == DECODER_COMM && strcmp(label->field, SET_COMM_FIELD) != 0)
                return place_refuse(&at_field,
                                "expected no field for comm, got %s: the kernel only knows the name "
                                "of the current task",
                                quote(label->field).text);
        for (size_t i = 0; i < ELEMENTSOF(lists); i++) {
                bool is_used = label->decoder == (i == 0 ? DECODER_TABLE : DECODER_BITS);
                bool is_given = json_object_object_get_ex(o, lists[i], NULL);
                Place at = place_of_key(place, lists[i]);

                if (is_used && !is_given)
                        return place_refuse(&at, "is missing: the names of the numbers");
                if (is_given && !is_used)
                        return place_refuse(&at, "requires \"decode\": \"%s\"", lists[i]);
        }
        return 0;
}

int label_read(SetLabel *label, json_object *o, const Place *place) {
        static const PlaceKey keys[] = {
                { "name", read_label_name },
                { "field", read_label_field },
                { "decode", read_label_decoder },
                { "table", read_label_names },
                { "bits", read_label_names },
        };

        int r = place_read_object(place, o, keys, ELEMENTSOF(keys), label);
        return r ?: label_check(label, o, place);
}
