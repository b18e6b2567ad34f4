/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How a field of a granted event reaches the reader. Called by the session floor when it describes
 * the events to the consumer, which does the cutting. Pure. */

#include <string.h>

#include "policy.h"

/* Whether eight bytes of it can hold an address: `unsigned long` fields do (ip, call_site, caller),
 * so the type alone tells nothing. */
static bool has_words(const FormatField *field) {
        if (field->is_string || field->is_common)
                return false;
        return field->kind != FIELD_PLAIN || field->size == 0 || field->size >= sizeof(uint64_t);
}

FieldVerdict grant_judge_field(const Grant *grant, const FormatField *field) {
        if (!grant->fenced || !has_words(field))
                return VERDICT_KEEP;
        return VERDICT_WORDS;
}
