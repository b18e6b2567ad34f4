/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "call/proxy.h"
#include "terminal/options.h"

/* Prints one session: its state and counts; with `whole` also its spec, events and grant. JSON
 * always contains everything. */
int describe_session(const Context *context,
                Proxy *proxy,
                const char *name,
                bool whole,
                Reason *reason);
