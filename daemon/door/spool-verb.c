/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The verbs of the table of methods that are about recordings on disk: read the parameters and ask
 * the spool floor, which answers when the disk operation is complete. */
#include "door/spool-verb.h"

#include "door/parameter.h"
#include "session/registry.h"
#include "spool/spool-fetch.h"
#include "spool/spool-list.h"
#include "spool/spool-ship.h"

static Spool *spool_verb_get_spool(const MethodCall *call) {
        return registry_get_spool(call->desk->registry);
}

int verb_list_spool(MethodCall *call, Reason *reason) {
        SessionReach reach = desk_get_reach(call->peer);
        const char *after = method_call_get_text(call, "after");

        int r = method_call_wait(call, reason);
        return r ?: spool_list(spool_verb_get_spool(call), call->request, reach, after, reason);
}

int verb_open_spool(MethodCall *call, Reason *reason) {
        const char *id = method_call_get_text(call, "id");
        char file[PARAMETER_FILE_MAX + 1];

        int r = parameter_read_file(method_call_get(call, "options"), file, reason);
        r = r ?: method_call_wait(call, reason);
        return r
                               ?: spool_open(spool_verb_get_spool(call),
                                                  call->request,
                                                  id,
                                                  *file ? file : NULL,
                                                  reason);
}

int verb_remove_spool(MethodCall *call, Reason *reason) {
        SessionReach reach = desk_get_reach(call->peer);
        const char *id = method_call_get_text(call, "id");

        int r = method_call_wait(call, reason);
        return r ?: spool_remove(spool_verb_get_spool(call), call->request, reach, id, reason);
}

int verb_acknowledge_spool(MethodCall *call, Reason *reason) {
        const char *id = method_call_get_text(call, "id");
        const char *file = method_call_get_text(call, "file");

        int r = method_call_wait(call, reason);
        return r ?: spool_acknowledge(spool_verb_get_spool(call), call->request, id, file, reason);
}
