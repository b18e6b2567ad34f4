/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel/instance.h"

/* The kernel's own buffer, which is everybody's: for what our words on its command line have had
 * recorded there, and nothing else. Never to be removed, changed in size or cleared. */
int top_open(const Tracefs *tracefs, Instance **ret);
/* "nop": nobody traces functions with it. */
int top_is_idle(const Instance *top, bool *ret);
/* What is on, of this instance or of the top buffer: "SYSTEM:EVENT", a line each. */
int top_read_enabled(const Instance *instance, char **ret);
/* This one event ("SYSTEM:EVENT"), by a single file, so that a sandbox need open no other. */
int top_turn_off(const Instance *instance, const char *event);
