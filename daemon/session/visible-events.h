/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"
#include "session/session.h"

/* The format of an event, also of a probe that is not in the kernel yet: borrowed until the next
 * call. -ENOENT. */
int registry_get_format(Registry *registry,
                const char *system,
                const char *name,
                const Format **ret);
/* Event verbs: what the subject may use. ret: sorted "system:name", NULL-terminated. */
int registry_list_events(Registry *registry,
                const Subject *subject,
                const char *glob,
                char ***ret,
                Reason *reason);
/* {"name","id","print-format","fields":[{"name","type","offset","size","elements","kind","signed",
 * "pointer","string","common"}]} */
int registry_describe_event(Registry *registry,
                const Subject *subject,
                const char *name,
                json_object **ret,
                Reason *reason);
