/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The document that `view` shows: a frame with the recording's page, or with Perfetto's UI, and a
 * script that keeps a connection to the server as long as the document is open. Called by
 * page-server.c.
 *
 * The recording's page has a policy that forbids it every connection, so that nothing in a hostile
 * recording can leave it. Therefore the connection belongs to the document around it.
 *
 * Perfetto's UI takes a recording by messages between windows: it answers PING with PONG when it is
 * ready (https://perfetto.dev/docs/visualization/embedding-the-ui). */

#include "view/page-frame.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "interfaces/cleanup.h"
#include "page/page-escape.h"

#define PERFETTO "https://ui.perfetto.dev"

static const char html_script[] =
                "const frame = document.getElementById('recording');\n"
                "frame.addEventListener('load', () => frame.contentWindow.focus());\n"
                "frame.src = '/recording';\n";

static const char perfetto_script[] =
                "const ui = '" PERFETTO "';\n"
                "const frame = document.getElementById('recording');\n"
                "const timer = setInterval(() => frame.contentWindow.postMessage('PING', ui), 100);\n"
                "let isSent = false;\n"
                "window.addEventListener('message', async (event) => {\n"
                "    if (event.origin !== ui || event.data !== 'PONG' || isSent)\n"
                "        return;\n"
                "    isSent = true;\n"
                "    clearInterval(timer);\n"
                "    const answer = await fetch('/recording');\n"
                "    const buffer = await answer.arrayBuffer();\n"
                "    const perfetto = { buffer, title: document.title };\n"
                "    frame.contentWindow.postMessage({ perfetto }, ui, [buffer]);\n"
                "});\n"
                "frame.src = ui + '/#!/?mode=embedded';\n";

int page_frame_make(PageKind kind, const char *title, const char *nonce, char **ret) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);

        if (!out)
                return -ENOMEM;
        fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<title>", out);
        page_escape(out, title);
        fprintf(out,
                        "</title>\n"
                        "<style nonce=\"%s\">html, body, iframe { margin: 0; border: 0; "
                        "width: 100%%; height: 100%%; display: block; overflow: hidden }</style>\n"
                        "</head><body>\n"
                        "<iframe id=\"recording\" title=\"the recording\"></iframe>\n"
                        "<script nonce=\"%s\">\n'use strict';\n"
                        "new EventSource('/open');\n%s</script>\n"
                        "</body></html>\n",
                        nonce,
                        nonce,
                        kind == PAGE_PERFETTO ? perfetto_script : html_script);
        if (fclose(out) != 0 || !text)
                return -ENOMEM;
        *ret = TAKE_PTR(text);
        return 0;
}

int page_frame_make_policy(PageKind kind, const char *nonce, char **ret) {
        return asprintf(ret,
                               "default-src 'none'; connect-src 'self'; frame-src %s; "
                               "script-src 'nonce-%s'; style-src 'nonce-%s'; "
                               "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
                               kind == PAGE_PERFETTO ? PERFETTO : "'self'",
                               nonce,
                               nonce) < 0
                               ? -ENOMEM
                               : 0;
}
