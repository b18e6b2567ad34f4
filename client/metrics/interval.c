/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The times between readings, as the settings and the sets have them. */

#include "metrics/interval.h"

#include "interfaces/duration.h"

#define INTERVAL_FORM "a time from 1s to 1h, such as \"10s\" or \"2min\""

int interval_read(uint64_t *ret, json_object *o, const Place *place) {
        const char *text;
        uint64_t usec;

        if (!json_object_is_type(o, json_type_string))
                return place_refuse_value(place, o, INTERVAL_FORM);
        int r = place_read_string(place, o, DURATION_TEXT_MAX, &text);
        if (r != 0)
                return r;
        if (duration_parse(text, &usec) < 0 || usec < INTERVAL_MIN_USEC || usec > INTERVAL_MAX_USEC)
                return place_refuse_value(place, o, INTERVAL_FORM);
        *ret = usec;
        return 0;
}
