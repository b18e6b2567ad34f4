/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Chooses the events of the verbs that need no option -e: calls, summary and top. */

#include "verbs/activity.h"

#include <errno.h>
#include <unistd.h>

#include "call/proxy-session.h"
#include "interfaces/spec-json.h"
#include "interfaces/spec-list.h"

/* Makes the spec of the recording with this event or probe, too. One rule must allow the whole. */
static int activity_make_spec(const SpecOptions *options,
                bool is_command,
                bool is_probe,
                const char *name,
                json_object **ret,
                Reason *reason) {
        _cleanup_spec_ Spec *spec = NULL;

        /* The command does not exist yet: it will be like this process. */
        int r = spec_options_build(options, is_command ? getpid() : 0, NULL, NULL, &spec, reason);
        if (r == 0)
                r = is_probe ? spec_add_probe(spec, name, NULL, reason)
                             : spec_add_event(spec, name, NULL, reason);
        r = r ?: spec_complete(spec, reason);
        return r ?: spec_to_json(spec, ret);
}

/* This machine does not have it, or the policy does not allow it. */
static bool is_absent(int error) {
        return error == KT_E_ACCESS_DENIED || error == KT_E_NO_SUCH_EVENT ||
               error == KT_E_NO_SUCH_FUNCTION || error == KT_E_NO_SUCH_PROBE;
}

int activity_add_optional(SpecOptions *options,
                const Context *context,
                bool is_command,
                int option,
                const char *name,
                Reason *reason) {
        _cleanup_json_ json_object *spec = NULL, *answer = NULL;
        Proxy *proxy = NULL;

        int r = activity_make_spec(
                        options, is_command, option == OPTION_PROBE, name, &spec, reason);
        r = r ?: proxy_open(context->door, &proxy, reason);
        r = r ?: proxy_check(proxy, spec, &answer, reason);
        proxy_free(proxy);
        if (r != 0)
                return is_absent(r) ? 0 : r;
        if (!json_object_get_boolean(json_object_object_get(answer, "allowed")))
                return 0;
        return spec_options_take(options, option, name, reason);
}

int activity_add_events(SpecOptions *options,
                const Context *context,
                bool is_command,
                bool is_all,
                Reason *reason) {
        static const char *const of_threads[] = { "sched:sched_switch",
                "sched:sched_process_exit" };
        static const char *const of_all[] = { "sched:sched_waking",
                "sched:sched_wakeup_new",
                "block:block_rq_issue",
                "block:block_rq_complete",
                "net:net_dev_xmit",
                "net:netif_receive_skb" };
        int r = spec_options_take(options, 'e', "syscalls:*", reason);

        for (size_t i = 0; r == 0 && i < ELEMENTSOF(of_threads); i++)
                r = is_all ? spec_options_take(options, 'e', of_threads[i], reason)
                           : activity_add_optional(options,
                                             context,
                                             is_command,
                                             'e',
                                             of_threads[i],
                                             reason);
        for (size_t i = 0; r == 0 && is_all && i < ELEMENTSOF(of_all); i++)
                r = spec_options_take(options, 'e', of_all[i], reason);
        return r;
}
