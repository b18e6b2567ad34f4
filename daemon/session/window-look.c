/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds out which windows of a session are open. The triggers of a session open and close them in
 * the kernel, which does not report it. The door requests a look when a client needs the answer. A
 * plan of its own beside the session's plans reads the kernel's files on the worker thread, because
 * opening them waits for the kernel's event_mutex. The plan only reads, so it does not disturb
 * interference.c. */

#include "session/window-look.h"

#include <errno.h>

#include "base/describe.h"
#include "interfaces/defence.h"
#include "interfaces/spec-trigger.h"
#include "session/registry.h"
#include "session/session-describe.h"
#include "trace/trace-fence.h"
#include "trace/trace-triggers-look.h"
#include "trace/trace-triggers.h"

struct Look {
        Session *session; /* NULL: the session is gone */
        Request *request;
        Trace *trace;
        Plan plan;
        TraceWindows windows;
        TAILQ_ENTRY(Look) looks;
};

void windows_clear(TraceWindows *windows) {
        free(windows->has_window);
        free(windows->is_open);
        free(windows->left);
        *windows = (TraceWindows){};
}

static void look_free(Look *look) {
        windows_clear(&look->windows);
        free(look);
}

bool session_has_windows(const Session *session) {
        return session->state == SESSION_RUNNING && session->end == END_NOT &&
               session->spec->n_triggers > 0;
}

/* Triggers continue after the guard has fired. What they did then may be about other users. */
static int window_look_step_look(void *context, Reason *reason) {
        Look *look = context;
        bool has_fired;

        int r = trace_look_at_windows(look->trace, &look->windows);
        if (r == 0 && trace_is_judged(look->trace) && defence_is_on("guard-hist"))
                r = trace_verify_latch(look->trace, &has_fired, reason);
        return r;
}

static const PlanStep steps[] = {
        { "look-at-windows", window_look_step_look, NULL },
};

static void window_look_on_plan(Plan *plan, int result, const Reason *reason) {
        Look *look = plan->userdata;
        Session *session = look->session;
        _cleanup_json_ json_object *object = NULL;

        if (!session) {
                look_free(look);
                return;
        }
        TAILQ_REMOVE(&session->looks, look, looks);
        if (result == 0) {
                windows_clear(&session->windows);
                session->windows = look->windows;
                session->windows.is_known = true;
                look->windows = (TraceWindows){};
                result = session_describe(session, &object);
        }
        if (result == 0)
                look->request->list = TAKE_PTR(object);
        request_answer(&look->request, result, reason);
        look_free(look);
}

int session_look(Session *session, Request *request, Reason *reason _unused_) {
        Look *look = calloc(1, sizeof(*look));

        if (!look)
                return -ENOMEM;
        look->windows = (TraceWindows){ .has_window = calloc(
                                                        session->grant->n_events + 1, sizeof(bool)),
                .is_open = calloc(session->grant->n_events + 1, sizeof(bool)),
                .left = calloc(session->spec->n_triggers + 1, sizeof(uint64_t)) };
        if (!look->windows.has_window || !look->windows.is_open || !look->windows.left) {
                look_free(look);
                return -ENOMEM;
        }
        look->session = session;
        look->request = request;
        look->trace = &session->trace;
        look->plan = (Plan){ .uid = session->owner.uid,
                .context = look,
                .done = window_look_on_plan,
                .userdata = look };
        plan_init(&look->plan, steps, ELEMENTSOF(steps), NULL);
        TAILQ_INSERT_TAIL(&session->looks, look, looks);
        worker_submit(session->registry->worker, &look->plan);
        return 0;
}

void session_forget_looks(Session *session) {
        Look *look;

        while ((look = TAILQ_FIRST(&session->looks))) {
                TAILQ_REMOVE(&session->looks, look, looks);
                request_answer_cancelled(&look->request, session->end_reason);
                look->session = NULL;
                plan_cancel(&look->plan);
        }
}

static int append_window(json_object *windows, const char *event, bool is_open) {
        json_object *object = json_object_new_object();

        int r = describe_append(windows, object);
        r = r ?: describe_put(object, "event", json_object_new_string(event));
        return r ?: describe_put(object, "open", json_object_new_boolean(is_open));
}

static int append_left(const Session *session, json_object *list, size_t i) {
        json_object *object;

        if (session->spec->triggers[i].count == 0 ||
                        session->spec->triggers[i].action == ACTION_NOTIFY)
                return 0;
        object = json_object_new_object();
        int r = describe_append(list, object);
        r = r ?: describe_put(object, "trigger", json_object_new_uint64(i));
        return r ?: describe_put(object, "left", json_object_new_uint64(session->windows.left[i]));
}

int windows_describe(const Session *session, json_object *object) {
        const TraceWindows *known = &session->windows;
        json_object *windows = json_object_new_array(), *left = json_object_new_array();

        int r = describe_put(object, "windows", windows), r2 = describe_put(object, "left", left);
        r = r ?: r2;
        if (r < 0 || !known->is_known || !session_has_windows(session))
                return r;
        if (known->has_tracing)
                r = append_window(windows, "", known->is_tracing);
        for (size_t i = 0; r == 0 && i < session->grant->n_events; i++) {
                char name[512];

                if (!known->has_window[i])
                        continue;
                (void)snprintf(name,
                                sizeof(name),
                                "%s:%s",
                                session->grant->events[i].system,
                                session->grant->events[i].name);
                r = append_window(windows, name, known->is_open[i]);
        }
        for (size_t i = 0; r == 0 && i < session->spec->n_triggers; i++)
                r = append_left(session, left, i);
        return r;
}
