/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl serve: the far side of -H. The other ktracectl starts it over ssh (remote/ssh.c). */

#include "remote/far.h"
#include "verbs/verb.h"

static int serve_run(Context *context, int argc, char **argv) {
        int status;

        if (options_parse(context, argc, argv, 0, 0, &status) != OPTIONS_END)
                return status;
        return far_run(context);
}

const Verb verb_serve = {
        .name = "serve",
        .arguments = "",
        .summary = "The far side of -H, which ssh starts",
        .help = "Standard input and output carry packets, not text.\n",
        .at_home = "it is the far side of -H: expected another verb",
        .run = serve_run,
};
