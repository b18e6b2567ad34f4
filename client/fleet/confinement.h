/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "fleet/fleet-settings.h"

/* Gives up what ktrace-fleet does not need. From here on the process can connect to the broker,
 * read the credentials and the files of the resolver and of TLS, and write to
 * the files that are open. Must be called before the first thread is made. Returns 0 or KT_E_FAILED
 * with a reason. */
int confinement_enter(const FleetSettings *settings, Reason *reason);
