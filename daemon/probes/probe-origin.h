/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probes/probe-set.h"

/* Compiles the form and the origin of a probe on an event from the format of that event. Fails with
 * KT_E_NO_SUCH_EVENT, KT_E_INVALID_SPEC. */
int probe_origin_compile(Probe *probe, Reason *reason);
/* Returns whether the name is that of a probe, not of an event of the kernel itself. */
bool probe_origin_is_probe(const char *event);
/* Returns whether the origin is a probe in a program. */
bool probe_origin_is_in_program(const ProbeOrigin *origin);
/* Returns whether the field is a number or a text in the event's record, so that the probe reads no
 * other memory for it. */
bool probe_field_is_plain(const ProbeField *field);
/* Checks whether the subject may make a probe of this event. A forbidden event and a missing event
 * get the same answer. */
int probe_origin_check_view(const Tracefs *tracefs,
                const PolicyView *view,
                const char *key,
                const char *event,
                Reason *reason);
/* Checks that the grant contains, uncut, each field that the probe takes. KT_E_ACCESS_DENIED. */
int probe_origin_judge(const Tracefs *tracefs,
                const Grant *grant,
                const Probe *probe,
                Reason *reason);
