/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The part of a stream that answers for it: who asked for what, which rule of which rules allowed
 * it, what was left out, which kernel wrote it. Called by metadata.c on the worker thread. What is
 * cut of each event stands at the event ("cut"), losses in the statistics, interference in the end
 * frame; a policy's own filters are nowhere, since they may tell what a reader must not know.
 *
 * To add a line: this file, client/receipt.c, and ktrace-stream(5). */

#include "trace/receipt.h"

#include "base/describe.h"
#include "interfaces/spec-json.h"
#include "kernel/build-id.h"

static const char *describe_addresses(const Grant *grant) {
        static const char *const names[_ADDRESS_MODE_N] = {
                [ADDRESS_ZERO] = "zero",
                [ADDRESS_PSEUDONYM] = "pseudonym",
                [ADDRESS_KEEP] = "keep",
        };

        return names[grant->fenced || grant->redacted ? grant->addresses : ADDRESS_KEEP];
}

int receipt_fill(const Trace *trace, json_object *receipt) {
        char build_id[BUILD_ID_DIGITS_MAX + 1];
        const Grant *grant = trace->grant;
        json_object *spec = NULL;

        int r = describe_put(receipt, "uid", json_object_new_uint64(trace->owner->uid));
        r = r ?: describe_put(receipt, "rule", json_object_new_string(grant->rule));
        r = r
                            ?: describe_put(receipt,
                                               "policy-sha256",
                                               json_object_new_string(trace->policy_digest));
        if (r == 0 && trace->boot_words)
                r = describe_put(receipt,
                                "kernel-command-line",
                                json_object_new_string(trace->boot_words));
        r = r ?: spec_to_json(trace->spec, &spec);
        r = r ?: describe_put(receipt, "spec", spec);
        r = r ?: describe_put(receipt, "fenced", json_object_new_boolean(grant->fenced));
        r = r
                            ?: describe_put(receipt,
                                               "addresses",
                                               json_object_new_string(describe_addresses(grant)));
        /* A kernel may have been linked without. */
        if (r == 0 && build_id_read(build_id) == 0)
                r = describe_put(receipt, "kernel-build-id", json_object_new_string(build_id));
        return r;
}
