/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* -M for the verbs that make sessions: the scope is the cgroup of the container. */

#include "verbs/container-scope.h"

#include "container/container.h"

int container_scope_take(SpecOptions *options, const Context *context, Reason *reason) {
        _cleanup_free_ char *cgroup = NULL;
        int r = context->container ? container_find(context->container, &cgroup, reason) : 0;

        return r != 0 || !cgroup ? r
                                 : spec_options_set_container(
                                                   options, context->container, cgroup, reason);
}
