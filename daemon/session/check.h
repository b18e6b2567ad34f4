/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"
#include "session/session.h"

/* Checks the fence, the kernel and the limits: all that is decided after policy and before anything
 * is made. CheckSession reports the result. */
int registry_judge_rest(Registry *registry,
                const Subject *subject,
                const Spec *spec,
                const Grant *grant,
                Reason *reason);
/* Reports what session_create would answer, without making anything and without asking polkit:
 * {"allowed","rule","polkit","scope","processes","events":[{"name","filter","redacted":[{"field",
 * "how"}]}],"requests":[…],"limits":{…},"notes":[…],"reasons":[…]}. If the spec is not allowed,
 * `reasons` lists every problem. */
int registry_check(Registry *registry,
                Request *request,       /* of the caller; answered with request->list */
                const Subject *subject, /* the user whose rights are checked */
                Spec *spec /* consumed on 0 */,
                Reason *reason);
