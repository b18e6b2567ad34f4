/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/spec.h"

/* What the files of the spec's setters have of each other; for nobody else. */

/* Not ctype.h: it follows the locale. */
static inline bool spec_is_digit(char c) {
        return c >= '0' && c <= '9';
}

static inline bool spec_is_alphanumeric(char c) {
        return spec_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Of Spec.set_keys. */
static inline uint32_t spec_field_bit(const SpecField *field) {
        return UINT32_C(1) << (field - spec_fields);
}

/* spec-kernel.c */
int spec_set_cpus(Spec *spec, const char *value, Reason *reason);
int spec_set_tracer(Spec *spec, const char *value, Reason *reason);
int spec_set_instance(Spec *spec, const char *value, Reason *reason);
int spec_add_function(Spec *spec, const char *glob, Reason *reason);
void spec_free_functions(Spec *spec);
/* What these keys cannot be together. */
int spec_check_kernel(const Spec *spec, Reason *reason);

/* spec-spool.c */
int spec_check_spool(const Spec *spec, Reason *reason);
int spec_spool_from_json(Spec *spec, const SpecField *field, json_object *object, Reason *reason);
int spec_spool_to_json(const Spec *spec, json_object **ret);

int spec_refuse_twice(const SpecField *field, Reason *reason);
/* key: "where", "events[0].filter" */
int spec_check_filter(const char *key, const char *filter, Reason *reason);
void spec_free_entries(SpecEvent *list, size_t n);
