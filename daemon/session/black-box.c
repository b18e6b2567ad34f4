/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The black box: the session of root with the name KT_BLACK_BOX, and the history of tasks
 * (history/history.c), which is kept from when the session starts until it ends. The registry owns
 * it. A session of another user with this name is never read. black-box-call.c reads it. */

#include "session/black-box.h"

#include <errno.h>
#include <string.h>

#include "base/describe.h"
#include "interfaces/names.h"
#include "session/session-state.h"

Session *black_box_find(const BlackBox *box) {
        Session *session;

        TAILQ_FOREACH(session, &box->registry->sessions, sessions)
                if (session->owner.uid == 0 && !session->owner.container &&
                                session->end == END_NOT && session->state != SESSION_CREATING &&
                                session->state != SESSION_GONE &&
                                strcmp(session_get_name(session), KT_BLACK_BOX) == 0)
                        return session;
        return NULL;
}

void black_box_begin(BlackBox *box) {
        box->has_begun = true;
        black_box_settle(box);
}

void black_box_settle(BlackBox *box) {
        if (box && box->has_begun && !box->registry->is_closing)
                history_want(box->history, box->registry->tracefs, black_box_find(box) != NULL);
}

bool black_box_is_idle(const BlackBox *box) {
        return TAILQ_EMPTY(&box->calls) && history_is_idle(box->history);
}

int black_box_describe(const BlackBox *box, json_object *object) {
        const char *id = history_get_id(box->history);

        return id ? describe_put(object, "history", json_object_new_string(id)) : 0;
}

int black_box_new(Registry *registry, const HistoryHandlers *handlers, BlackBox **ret) {
        BlackBox *box = calloc(1, sizeof(*box));

        if (!box)
                return -ENOMEM;
        box->registry = registry;
        TAILQ_INIT(&box->calls);
        int r = history_new(&registry->options.launcher, registry->worker, handlers, &box->history);
        if (r < 0) {
                free(box);
                return r;
        }
        *ret = box;
        return 0;
}

BlackBox *black_box_free(BlackBox *box) {
        if (!box)
                return NULL;
        history_free(box->history); /* answers the calls that wait for it */
        free(box);
        return NULL;
}
