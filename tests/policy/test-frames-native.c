/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* No page frame number reaches the group ktrace: of all events of the kernel that runs. The first
 * argument is the folder of the shipped rules. */

#include <glib.h>

#include "frames.h"

#include "kernel/event.h"
#include "native.h"
#include "policy/grant.h"

static const char *policy_dir;

static Format *load_format(const GrantEvent *event) {
        _cleanup_free_ char *text = NULL;
        Format *format = NULL;
        Reason reason = { "" };
        size_t size;

        g_assert_cmpint(event_read_format(native_tracefs, event->system, event->name, &text, &size),
                        ==,
                        0);
        if (format_parse(text, size, &format, &reason) != 0)
                g_error("%s:%s: %s", event->system, event->name, reason.text);
        return format;
}

static void test_running_kernel(Instance *instance _unused_) {
        _cleanup_(event_list_free_cleanup) EventList *list = NULL;
        g_autoptr(GString) found = g_string_new(NULL);

        g_assert_cmpint(event_list_load(native_tracefs, NULL, &list), ==, 0);
        _cleanup_(grant_free_cleanup) Grant *grant =
                        frames_grant(policy_dir, list->names, list->n_names);
        for (size_t i = 0; i < grant->n_events; i++) {
                _cleanup_(format_free_cleanup) Format *format = load_format(&grant->events[i]);

                frames_check(grant, &grant->events[i], format, found);
        }
        frames_assert_none(found);
}

static void add_tests(void) {
        native_add_test("/frames/running-kernel", test_running_kernel);
}

int main(int argc, char **argv) {
        policy_dir = argc > 1 ? argv[argc - 1] : "/usr/lib/ktrace/policy.d";
        return native_main(argc, argv, add_tests);
}
