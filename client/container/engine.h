/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/error.h"

/* Asks an engine, "podman" or "docker", for the id of a container. *ret is NULL if the engine does
 * not know it; *note then says why. Returns 0 or -errno. */
int engine_find_id(const char *program, const char *name, char **ret, Reason *note);
