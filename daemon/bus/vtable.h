/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "door/method.h"

/* An interface for sd-bus, made from the table of methods. Must outlive the slot of its object. */
typedef struct Vtable Vtable;

/* others: the properties and signals of the interface; copied. Every method gets this handler. */
int vtable_new(const Method *methods,
                bool is_of_session,
                const sd_bus_vtable *others,
                size_t n_others,
                sd_bus_message_handler_t handler,
                Vtable **ret);
Vtable *vtable_free(Vtable *vtable);
DEFINE_CLEANUP(Vtable, vtable_free);
const sd_bus_vtable *vtable_get(const Vtable *vtable);
