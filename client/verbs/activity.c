/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Chooses the events of the verbs that record without being told which: calls, summary and top. */

#include "verbs/activity.h"

#include <errno.h>
#include <unistd.h>

#include "call/proxy-session.h"
#include "interfaces/spec-json.h"

/* Makes the spec of the recording with this event instead of its own, or with this probe, too. */
static int activity_make_spec(const SpecOptions *options,
                bool is_command,
                const char *key,
                const char *name,
                json_object **ret,
                Reason *reason) {
        _cleanup_spec_ Spec *spec = NULL;
        json_object *names;

        /* The command does not exist yet: it will be like this process. */
        int r = spec_options_build(options, is_command ? getpid() : 0, NULL, NULL, &spec, reason);
        r = r ?: spec_complete(spec, reason);
        r = r ?: spec_to_json(spec, ret);
        if (r != 0)
                return r;
        names = json_object_new_array();
        if (!names || json_object_object_add(*ret, key, names) != 0) {
                json_object_put(names);
                return -ENOMEM;
        }
        return json_object_array_add(names, json_object_new_string(name)) == 0 ? 0 : -ENOMEM;
}

int activity_add_optional(SpecOptions *options,
                bool is_command,
                int option,
                const char *name,
                Reason *reason) {
        _cleanup_json_ json_object *spec = NULL, *answer = NULL;
        Proxy *proxy = NULL;
        Reason ignored;

        int r = activity_make_spec(options,
                        is_command,
                        option == OPTION_PROBE ? "probes" : "events",
                        name,
                        &spec,
                        &ignored);
        r = r ?: proxy_open(&proxy, &ignored);
        r = r ?: proxy_check(proxy, spec, &answer, &ignored);
        proxy_free(proxy);
        if (r != 0)
                return r == -ENOMEM ? r : 0;
        if (!json_object_get_boolean(json_object_object_get(answer, "allowed")))
                return 0;
        return spec_options_take(options, option, name, reason);
}

int activity_add_events(SpecOptions *options, bool is_command, bool is_all, Reason *reason) {
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
                           : activity_add_optional(options, is_command, 'e', of_threads[i], reason);
        for (size_t i = 0; r == 0 && is_all && i < ELEMENTSOF(of_all); i++)
                r = spec_options_take(options, 'e', of_all[i], reason);
        return r;
}
