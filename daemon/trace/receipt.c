/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The receipt of a stream: who requested what, which rule of which rules allowed it, what was left
 * out, and which kernel recorded it. metadata.c calls it on the worker thread. The receipt does not
 * list removed fields (they are in "cut" of each event), lost events (in the statistics) or
 * interference (in the end frame). It never shows the filters of a policy, because they may reveal
 * what a reader must not know.
 *
 * To add a line: this file, client/trace/receipt.c, and ktrace-stream(5). */

#include "trace/receipt.h"

#include "base/describe.h"
#include "interfaces/spec-json.h"
#include "kernel/build-id.h"
#include "policy/grant-describe.h"

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
        json_object *spec = NULL, *sinks = json_object_new_array();

        int r = describe_put(receipt, "sinks", sinks);
        r = r ?: grant_describe_sinks(grant, sinks);
        r = r ?: describe_put(receipt, "uid", json_object_new_uint64(trace->owner->uid));
        if (r == 0 && trace->owner->container)
                r = describe_put(receipt,
                                "container",
                                json_object_new_string(trace->owner->container));
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
        if (r == 0 && trace->spec->shares)
                r = describe_put(
                                receipt, "shared", json_object_new_boolean(trace_is_shared(trace)));
        if (r == 0 && trace->exclusive)
                r = describe_put(receipt, "exclusive", json_object_new_string(trace->exclusive));
        /* A kernel may have no build id. */
        if (r == 0 && build_id_read(build_id) == 0)
                r = describe_put(receipt, "kernel-build-id", json_object_new_string(build_id));
        return r;
}
