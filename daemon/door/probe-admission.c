/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* AddProbe, from the call to the plan that defines the probe. For a probe in a program, the file is
 * examined first, so that all later checks apply to what was found in it. The session floor checks
 * and compiles the definition in a later turn of the loop. If policy leaves the decision to polkit,
 * the session floor reports this before it defines anything. Then polkit is asked while request and
 * definition are kept here, and if polkit allows it the same definition is passed down again and is
 * checked again, with the current caller and rules.
 *
 * Used by the doors. If the caller leaves during that time, auth cancels the question, the
 * examination ends, and nothing is defined. */
#include "door/probe-admission.h"
#include "probes/probe-verbs.h"
#include "session/registry.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define ACTION    KT_BUS_NAME ".define-probe"
#define SHOWN_MAX 300 /* bytes of a definition; a dialog is read by humans */

typedef struct Admission {
        Desk *desk; /* used only on a yes: the desk may be freed when the daemon ends */
        Request *request;
        Definition *definition;
} Admission;

static Admission *probe_admission_free(Admission *admission) {
        if (!admission)
                return NULL;
        waiting_free(admission->request);
        definition_free(admission->definition);
        free(admission);
        return NULL;
}

DEFINE_CLEANUP(Admission, probe_admission_free);

static int probe_admission_ask(Admission *admission, Reason *reason);

static void probe_admission_refuse(Admission *admission, int result, const Reason *reason) {
        Request *request = TAKE_PTR(admission->request);

        request->done(request, result, reason); /* frees it */
}

static void probe_admission_on_taken(int result, const Reason *said, void *userdata) {
        _cleanup_(probe_admission_free_cleanup) Admission *admission = userdata;
        Reason reason = *said;

        if (result == 0) {
                admission->request = NULL; /* owned by the session floor now */
                admission->definition = NULL;
                return;
        }
        if (result == KT_E_AUTH_REQUIRED && !admission->request->is_authorized) {
                reason = (Reason){ "" };
                result = probe_admission_ask(admission, &reason);
                if (result == 0) {
                        admission = NULL; /* owned by the question now */
                        return;
                }
        }
        probe_admission_refuse(admission, result, &reason);
}

/* Owns the admission if it returns 0. */
static int probe_admission_admit(Admission *admission) {
        return probe_set_define(registry_get_probes(admission->desk->registry),
                        admission->request,
                        admission->definition,
                        probe_admission_on_taken,
                        admission);
}

static void probe_admission_on_polkit(int result, const Reason *said, void *userdata) {
        _cleanup_(probe_admission_free_cleanup) Admission *admission = userdata;
        Reason reason = *said;

        if (result != KT_E_CANCELLED) /* no answer to record, and the desk may be freed */
                desk_record_polkit(admission->desk, admission->request, ACTION, result, said, NULL);
        admission->request->is_authorized = result == 0;
        if (result == 0)
                result = probe_admission_admit(admission);
        if (result != 0)
                probe_admission_refuse(admission, result, &reason);
        else
                admission = NULL; /* owned by the plan now */
}

static int probe_admission_ask(Admission *admission, Reason *reason) {
        const Request *request = admission->request;
        _cleanup_free_ char *text = NULL;
        Reason shown; /* made printable */
        char owner[16];

        int r = definition_to_text(admission->definition, &text);
        if (r < 0)
                return r;
        if (strlen(text) > SHOWN_MAX)
                return reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "a definition of more than %d bytes cannot be shown to an administrator: take less, or have root define it",
                                SHOWN_MAX);
        reason_set(&shown, 0, "%s", text);
        snprintf(owner, sizeof(owner), "%" PRIu32, (uint32_t)request->subject.uid);
        const PolkitDetail details[] = {
                { "ktrace.probe", shown.text },
                { "ktrace.owner", owner },
                { "polkit.message",
                                definition_is_user(admission->definition)
                                                ? "Authentication is required to define a probe in a program: $(ktrace.probe)"
                                                : "Authentication is required to define a probe in the kernel: $(ktrace.probe)" },
                { "polkit.gettext_domain", "ktrace" },
        };
        const PolkitQuery query = {
                .action = ACTION,
                .peer = request->peer,
                .interactive = waiting_may_prompt(request),
                .details = details,
                .n_details = ELEMENTSOF(details),
        };
        return auth_ask_polkit(admission->desk->auth,
                        &query,
                        probe_admission_on_polkit,
                        admission,
                        reason);
}

static void probe_admission_on_inspected(int result,
                const Reason *said,
                ProbeFile *file,
                void *userdata) {
        _cleanup_(probe_admission_free_cleanup) Admission *admission = userdata;

        probe_file_give(file, admission->request);
        if (result == 0)
                result = probe_admission_admit(admission);
        if (result != 0)
                probe_admission_refuse(admission, result, said);
        else
                admission = NULL; /* owned by the plan now */
}

/* Owns the admission if it returns 0. */
static int probe_admission_begin(Admission *admission, Reason *reason) {
        const Definition *d = admission->definition;

        if (definition_is_user(d) && !d->raw)
                return probe_inspect(registry_get_probes(admission->desk->registry),
                                admission->request,
                                admission->definition,
                                probe_admission_on_inspected,
                                admission,
                                reason);
        return probe_admission_admit(admission);
}

int probe_admission_add(Desk *desk, Request *request, Definition *definition, Reason *reason) {
        Admission *admission = malloc(sizeof(*admission));

        if (!admission)
                return -ENOMEM;
        *admission = (Admission){ desk, request, definition };
        int r = probe_admission_begin(admission, reason);
        if (r != 0)
                free(admission); /* its members stay the caller's */
        return r;
}
