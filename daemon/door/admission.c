/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* CreateSession when policy leaves the decision to polkit. The session floor reports this before it
 * creates anything. Then polkit is asked while request and spec are kept here, and if polkit allows
 * it the same request is passed down again. Everything is checked again at that time: the caller
 * (still connected, its current seat and unit), the rules, the events, the quota. The session floor
 * compares the new grant with the one that polkit was asked about.
 *
 * Used by the doors. Owns request and spec while polkit is asked. If the caller leaves during that
 * time, auth cancels the question and nothing is created. */
#include "door/admission.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "interfaces/spec-scope.h"
#include "interfaces/spec-summary.h"
#include "session/create.h"

#define EVENTS_SHOWN     5
#define EVENTS_SHOWN_MAX 160 /* bytes; a dialog is read by humans */

typedef struct Admission {
        Desk *desk; /* used only on a yes: the desk may be freed when the daemon ends */
        Request *request;
        Spec *spec;
} Admission;

static Admission *admission_free(Admission *admission) {
        if (!admission)
                return NULL;
        waiting_free(admission->request);
        spec_free(admission->spec);
        free(admission);
        return NULL;
}

DEFINE_CLEANUP(Admission, admission_free);

static int admission_admit(Admission *admission, Reason *reason) {
        int r = desk_renew_subject(admission->desk, admission->request);

        if (r != 0)
                return r;
        admission->request->is_authorized = true;
        admission->request->ask = NULL;
        r = session_create(admission->desk->registry, admission->request, admission->spec, reason);
        if (r != 0)
                return r;
        admission->request = NULL; /* owned by the session floor now */
        admission->spec = NULL;
        return 0;
}

static void admission_on_polkit(int result, const Reason *said, void *userdata) {
        _cleanup_(admission_free_cleanup) Admission *admission = userdata;
        Reason reason = *said;

        if (result != KT_E_CANCELLED) /* no answer to record, and the desk may be freed */
                desk_record_polkit(admission->desk,
                                admission->request,
                                admission->request->wanted->polkit_action,
                                result,
                                said,
                                admission->spec);
        if (result == 0)
                result = admission_admit(admission, &reason);
        if (result == 0)
                return;
        Request *request = TAKE_PTR(admission->request);
        request->done(request, result, &reason); /* frees it */
}

/* Describes the events for a dialog: "sched:*, raw_syscalls:sys_enter and 7 more". */
static void admission_describe_events(const Spec *spec, Reason *ret) {
        char text[EVENTS_SHOWN_MAX + SPEC_EVENT_NAME_MAX + 8] = "";
        size_t length = 0, n = 0;

        while (n < MIN_OF(spec->n_events, (size_t)EVENTS_SHOWN) && length < EVENTS_SHOWN_MAX) {
                length += (size_t)snprintf(text + length,
                                sizeof(text) - length,
                                "%s%s",
                                n > 0 ? ", " : "",
                                spec->events[n].name);
                n++;
        }
        if (n < spec->n_events)
                reason_set(ret, 0, "%s and %zu more", text, spec->n_events - n);
        else
                reason_set(ret, 0, "%s", text);
}

/* The message of polkit's dialog; $(…) refers to the details. */
static const char *get_message(SpecScope scope) {
        if (scope == SCOPE_SYSTEM)
                return "Authentication is required to trace the whole system: $(ktrace.events)";
        return "Authentication is required for a kernel trace of scope $(ktrace.scope): "
               "$(ktrace.events)";
}

static int admission_ask_polkit(Admission *admission, Reason *reason) {
        const Request *request = admission->request;
        const Spec *spec = admission->spec;
        _cleanup_free_ char *scope = NULL;
        Reason scope_text, events;
        char owner[16];

        int r = spec_format_scope(spec, &scope);
        if (r < 0)
                return r;
        reason_set(&scope_text, 0, "%.200s", scope);
        admission_describe_events(spec, &events);
        /* The text must cover the whole request, because the decision is about all of it. */
        spec_summarize_rest(spec, &events);
        snprintf(owner, sizeof(owner), "%" PRIu32, (uint32_t)request->subject.uid);
        const PolkitDetail details[] = {
                { "ktrace.scope", scope_text.text },
                { "ktrace.events", events.text },
                { "ktrace.owner", owner },
                { "polkit.message", get_message(spec->scope) },
                { "polkit.gettext_domain", "ktrace" },
        };
        const PolkitQuery query = {
                .action = request->wanted->polkit_action,
                .peer = request->peer,
                .interactive = waiting_may_prompt(request),
                .details = details,
                .n_details = ELEMENTSOF(details),
        };
        return auth_ask_polkit(
                        admission->desk->auth, &query, admission_on_polkit, admission, reason);
}

/* Request.ask: owns request and spec if it returns 0. */
static int admission_ask(Request *request, Spec *spec, Reason *reason) {
        Desk *desk = ((const Waiting *)request->userdata)->desk;

        if (!desk) /* the daemon ends */
                return KT_E_CANCELLED;
        Admission *admission = malloc(sizeof(*admission));
        if (!admission)
                return -ENOMEM;
        *admission = (Admission){ desk, request, spec };
        int r = admission_ask_polkit(admission, reason);
        if (r != 0)
                free(admission); /* its members stay the caller's */
        return r;
}

int admission_create(Desk *desk, Request *request, Spec *spec, Reason *reason) {
        request->ask = admission_ask;
        return session_create(desk->registry, request, spec, reason);
}
