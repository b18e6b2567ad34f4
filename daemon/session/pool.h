/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session/registry.h"

/* Instances that are ready for the next sessions: of the default clock and buffer size, with all
 * events off. Each is new and belongs to one session at most. */

int pool_new(Registry *registry, Pool **ret);
/* Removes the instances. The worker must have ended. */
Pool *pool_free(Pool *pool);
DEFINE_CLEANUP(Pool, pool_free);
/* Sessions have begun, changed or ended: the pool is made smaller or is filled when the daemon has
 * nothing else to do. It stays empty until a session has been made. */
void pool_settle(Pool *pool);
bool pool_is_idle(const Pool *pool);
/* Adds to the object "prepared", the ids in the names of the instances, and "prepared-kb", the size
 * of their ring buffers on all CPUs. */
int pool_describe(const Pool *pool, json_object *object);
/* Returns an instance for a session of this spec and sets the session's id to that in the name of
 * the instance. NULL: there is none, and the id stays. */
Instance *pool_take(Pool *pool, const Spec *spec, char id[static KT_ID_DIGITS + 1]);
