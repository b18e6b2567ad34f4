/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "interfaces/error.h"

typedef struct PageServer PageServer;

typedef enum PageKind {
        PAGE_HTML,     /* the recording as a page */
        PAGE_PERFETTO, /* the recording for ui.perfetto.dev, which the browser loads */
} PageKind;

typedef struct PageOptions {
        PageKind kind;
        int fd;            /* the recording; borrowed */
        const char *title; /* for the window, borrowed; any bytes */
} PageOptions;

/* Serves a page with the recording to browsers of this user, on a free port of 127.0.0.1. Returns
 * 0, -errno, or KT_E_FAILED with a reason. */
int page_server_new(const PageOptions *options, PageServer **ret, Reason *reason);
PageServer *page_server_free(PageServer *server);
DEFINE_CLEANUP(PageServer, page_server_free);
uint16_t page_server_get_port(const PageServer *server);
/* Returns when the page was open in a browser and has been closed. A reload does not count. */
void page_server_wait(PageServer *server);
