/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probes/probe-set.h"

/* Makes form and origin of a probe on an event by that event's format. KT_E_NO_SUCH_EVENT,
 * KT_E_INVALID_SPEC. */
int probe_origin_compile(Probe *probe, Reason *reason);
/* Is it a probe that is called so, and not an event of the kernel's own? */
bool probe_origin_is_probe(const char *event);
/* One that stands in a program? */
bool probe_origin_is_in_program(const ProbeOrigin *origin);
/* A number or text of an event's record, and nothing that is read besides. */
bool probe_field_is_plain(const ProbeField *field);
/* May the subject make a probe of this event? What it may not have and what is not there get one
 * answer. */
int probe_origin_check_view(const Tracefs *tracefs,
                const PolicyView *view,
                const char *key,
                const char *event,
                Reason *reason);
/* Has the grant each field that the probe takes, whole? KT_E_ACCESS_DENIED. */
int probe_origin_judge(const Tracefs *tracefs,
                const Grant *grant,
                const Probe *probe,
                Reason *reason);
