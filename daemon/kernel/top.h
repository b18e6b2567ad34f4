/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel/instance.h"

/* The kernel's top-level buffer, which all users share. Used only for what our words on the
 * kernel's command line recorded there. It must never be removed, resized or cleared. */
int top_open(const Tracefs *tracefs, Instance **ret);
/* True if the tracer is "nop": functions are not traced with it. */
int top_is_idle(const Instance *top, bool *ret);
/* Reads the enabled events of this instance or of the top-level buffer: one "SYSTEM:EVENT" per
 * line. */
int top_read_enabled(const Instance *instance, char **ret);
/* Turns off one event ("SYSTEM:EVENT"). Uses a single file, so that a sandbox needs to allow only
 * that one. */
int top_turn_off(const Instance *instance, const char *event);
