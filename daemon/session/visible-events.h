/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"
#include "session/session.h"

/* Gets the format of an event, also of a probe that is not in the kernel yet. It is borrowed until
 * the next call. Fails with -ENOENT. */
int registry_get_format(Registry *registry,
                const char *system,
                const char *name,
                const Format **ret);
/* Returns the events that the subject may use, as sorted "system:name", NULL-terminated. */
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
