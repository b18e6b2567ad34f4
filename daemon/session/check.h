/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"
#include "session/session.h"

/* The fence, the kernel and the limits: what is decided after policy and before anything is made.
 * CheckSession reports what it says. */
int registry_judge_rest(Registry *registry,
                const Subject *subject,
                const Spec *spec,
                const Grant *grant,
                Reason *reason);
/* What session_create would say to this, without making anything and without asking polkit:
 * {"allowed","rule","polkit","scope","processes","events":[{"name","filter","redacted":[{"field",
 * "how"}]}],"requests":[…],"limits":{…},"notes":[…],"reasons":[…]}. Where it is not allowed,
 * reasons tells all that stands against it. */
int registry_check(Registry *registry,
                Request *request,       /* of the caller, who is told: answers with request->list */
                const Subject *subject, /* about whom is asked */
                Spec *spec /* consumed on 0 */,
                Reason *reason);
