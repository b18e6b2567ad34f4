/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "session.h"

/* What the kernel has recorded before there was a daemon, by our words on its command line, on its
 * way into an entry of the spool. */
typedef struct Boot Boot;

/* Once a boot; does nothing without the words. The tracefs is open. */
void registry_adopt_boot(Registry *registry);
/* What is under way is the next daemon's. The worker is gone. NULL. */
Boot *boot_free(Boot *boot);
