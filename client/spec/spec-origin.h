/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "spec/spec-options.h"

/* Each function adds the origins of one part of the spec and returns 0 or -ENOMEM. The texts of
 * origins belong to the options. */

/* The parts that the --spec file has made. */
int spec_origin_add_file(Origins *origins, const Spec *spec);
/* i: its place in the spec's list of events or of probes. */
int spec_origin_add_event(Origins *origins, size_t i, const SpecOptionsEvent *event);
/* i: its place in the spec's list of triggers. text: the option's. */
int spec_origin_add_trigger(Origins *origins, size_t i, const char *text);
/* The keys of the spec that are no lists of objects. Without a --spec file, also those that no
 * option sets, because an error may be about a missing key. */
int spec_origin_add_keys(Origins *origins, const SpecOptions *options);
