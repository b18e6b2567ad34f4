/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "interfaces/cleanup.h"

/* Bytes on their way to a descriptor. */
typedef struct Outlet Outlet;

/* Above this the source of the bytes should wait. */
#define OUTLET_FULL ((size_t)512 * 1024)

typedef struct OutletHandlers {
        /* Some bytes were written. NULL: not needed. */
        void (*on_written)(Outlet *outlet, size_t size, void *userdata);
        /* The bytes are all written, or the outlet was closed: error 0, or the errno of a failed
         * write. */
        void (*on_empty)(Outlet *outlet, int error, void *userdata);
} OutletHandlers;

/* fd: consumed when is_own, and then it is non-blocking; else it is shared with other processes. */
int outlet_new(sd_event *event,
                int fd,
                bool is_own,
                const OutletHandlers *handlers,
                void *userdata,
                Outlet **ret);
Outlet *outlet_free(Outlet *outlet);
DEFINE_CLEANUP(Outlet, outlet_free);
/* Adds room for `size` bytes at the end; outlet_commit() then sends them. Returns NULL without
 * memory. */
uint8_t *outlet_reserve(Outlet *outlet, size_t size);
void outlet_commit(Outlet *outlet, size_t size);
int outlet_put(Outlet *outlet, const void *data, size_t size);
/* No more bytes will come: closes an own descriptor when all are written. */
void outlet_end(Outlet *outlet);
/* What is not yet written. */
size_t outlet_get_size(const Outlet *outlet);
/* Whether bytes are still accepted. */
bool outlet_is_open(const Outlet *outlet);
