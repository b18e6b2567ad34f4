/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* OpenBlackBox: a snapshot of the black box (session/black-box-call.c). The method table calls it.
 * It names no session: there is one black box. */
#include "door/black-box-verb.h"

#include "door/parameter.h"
#include "session/black-box-call.h"
#include "session/registry.h"

int verb_open_black_box(MethodCall *call, Reason *reason) {
        int r = parameter_read_flag(method_call_get(call, "options"), NULL, NULL, reason);
        r = r ?: method_call_wait(call, reason);
        return r ?: black_box_call_open(call->desk->registry->black_box, call->request, reason);
}
