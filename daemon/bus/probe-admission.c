/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* AddProbe where policy leaves the last word to polkit. The session floor says so before anything
 * is defined; then polkit is asked, request and definition lie here, and on its yes the same
 * definition goes down once more and is judged anew, by the caller and the rules as they are then.
 *
 * Used by probe-methods.c. A caller who leaves meanwhile gets nothing: auth withdraws the question.
 */
#include "probe-admission.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define ACTION    KT_BUS_NAME ".define-probe"
#define SHOWN_MAX 300 /* bytes of a definition; a dialog is read by humans */

typedef struct Admission {
        Door *door; /* not touched but on a yes: the door may be gone when the daemon ends */
        Request *request;
        Definition *definition;
} Admission;

static Admission *admission_free(Admission *admission) {
        if (!admission)
                return NULL;
        call_free(admission->request);
        definition_free(admission->definition);
        free(admission);
        return NULL;
}

DEFINE_CLEANUP(Admission, admission_free);

static int admit(Admission *admission, Reason *reason) {
        int r = call_renew_subject(admission->door, admission->request);

        if (r != 0)
                return r;
        admission->request->is_authorized = true;
        r = registry_add_probe(admission->door->registry,
                        admission->request,
                        admission->definition,
                        reason);
        if (r != 0)
                return r;
        admission->request = NULL; /* the session floor's now */
        admission->definition = NULL;
        return 0;
}

static void on_polkit(int result, const Reason *said, void *userdata) {
        _cleanup_(admission_free_cleanup) Admission *admission = userdata;
        Reason reason = *said;

        if (result != KT_E_CANCELLED) /* nobody has answered, and the door may be gone */
                call_record_polkit(admission->door, admission->request, ACTION, result, said, NULL);
        if (result == 0)
                result = admit(admission, &reason);
        if (result == 0)
                return;
        Request *request = TAKE_PTR(admission->request);
        request->done(request, result, &reason); /* frees it */
}

static int ask(Admission *admission, sd_bus_message *m, Reason *reason) {
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
                                "Authentication is required to define a probe in the kernel: $(ktrace.probe)" },
                { "polkit.gettext_domain", "ktrace" },
        };
        const PolkitQuery query = {
                .action = ACTION,
                .peer = request->peer,
                .uid = request->subject.uid,
                .interactive = sd_bus_message_get_allow_interactive_authorization(m) > 0,
                .details = details,
                .n_details = ELEMENTSOF(details),
        };
        return polkit_ask(auth_get_polkit(admission->door->auth),
                        &query,
                        on_polkit,
                        admission,
                        reason);
}

int probe_admission_add(Door *door,
                sd_bus_message *m,
                Request *request,
                Definition *definition,
                Reason *reason) {
        _cleanup_free_ Admission *admission = NULL; /* not what is in it, before it is taken */

        int r = registry_add_probe(door->registry, request, definition, reason);
        if (r != KT_E_AUTH_REQUIRED)
                return r;
        admission = malloc(sizeof(*admission));
        if (!admission)
                return -ENOMEM;
        *admission = (Admission){ door, request, definition };
        *reason = (Reason){ "" };
        r = ask(admission, m, reason);
        if (r == 0)
                admission = NULL; /* the question's now */
        return r;
}
