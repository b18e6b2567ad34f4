/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#include "view/page-server.h"

#define PAGE_NONCE_DIGITS 32

/* Makes the document that contains the recording's page. nonce: PAGE_NONCE_DIGITS characters that
 * cannot be guessed; its scripts and styles have it. Returns 0 or -ENOMEM. */
int page_frame_make(PageKind kind, const char *title, const char *nonce, char **ret);
/* The value of Content-Security-Policy for the document. Returns 0 or -ENOMEM. */
int page_frame_make_policy(PageKind kind, const char *nonce, char **ret);
