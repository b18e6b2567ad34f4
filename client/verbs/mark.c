/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl mark: writes a line of text into a session's events. */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call/proxy-session.h"
#include "call/proxy.h"
#include "terminal/message.h"
#include "verbs/verb.h"

/* Joins the words with blanks, as echo does. */
static int mark_join(char **words, char **ret) {
        size_t size = 1;

        for (char **word = words; *word; word++)
                size += strlen(*word) + 1;
        char *text = malloc(size), *end = text;
        if (!text)
                return -ENOMEM;
        for (char **word = words; *word; word++)
                end += sprintf(end, "%s%s", word == words ? "" : " ", *word);
        *ret = text;
        return 0;
}

static int mark_run(Context *context, int argc, char **argv) {
        _cleanup_(proxy_free_cleanup) Proxy *proxy = NULL;
        _cleanup_free_ char *session = NULL, *text = NULL;
        Reason reason = {};
        int status, r;

        if (options_parse(context, argc, argv, 2, INT_MAX, &status) != OPTIONS_END)
                return status;
        r = mark_join(argv + optind + 1, &text);
        r = r ?: proxy_open(context->door, &proxy, &reason);
        r = r ?: proxy_resolve(proxy, argv[optind], &session, &reason);
        r = r ?: proxy_order(proxy, session, "Mark", text, &reason);
        return r == 0 ? KT_EXIT_OK : message_fail(r, &reason);
}

const Verb verb_mark = {
        .name = "mark",
        .arguments = "SESSION TEXT...",
        .summary = "Write a line of text among the events of a running session",
        .help = "Up to 1000 bytes. The words are joined by spaces. Shown as event "
                "print.\n",
        .run = mark_run,
};
