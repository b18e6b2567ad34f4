/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/cleanup.h"

/* The connections of all sockets of the HTTP server. All functions may be called by any thread. */
typedef struct HttpGuests HttpGuests;
typedef struct HttpGuest HttpGuest;

HttpGuests *http_guests_new(void);
/* All guests have left. */
HttpGuests *http_guests_free(HttpGuests *guests);
DEFINE_CLEANUP(HttpGuests, http_guests_free);

/* fd: borrowed until http_guests_remove. Returns NULL if memory is short. */
HttpGuest *http_guests_add(HttpGuests *guests, int fd);
void http_guests_remove(HttpGuests *guests, HttpGuest *guest);
/* The guest now waits for an answer, or has it. */
void http_guests_begin(HttpGuests *guests, HttpGuest *guest);
void http_guests_end(HttpGuests *guests, HttpGuest *guest);
