/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Converts parts of a grant to JSON: the requests, the fields that the reader gets in another form
 * than the kernel wrote, and the cost for other processes. Answers, the metadata of streams and
 * saved sessions use the same form. */

#include "policy/grant-describe.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/describe.h"
#include "policy/grant-field.h"

int grant_describe_requests(const Grant *grant, json_object *requests) {
        for (size_t i = 0; i < grant->n_requests; i++) {
                const GrantRequest *request = &grant->requests[i];
                json_object *object = json_object_new_object();

                int r = describe_append(requests, object);
                r = r ?: describe_put(object, "pattern", json_object_new_string(request->pattern));
                r = r
                                    ?: describe_put(object,
                                                       "matched",
                                                       json_object_new_uint64(request->n_matched));
                r = r
                                    ?: describe_put(object,
                                                       "granted",
                                                       json_object_new_uint64(request->n_granted));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int describe_cut(json_object *cuts, const char *field, const char *how, const char *pid) {
        json_object *entry = json_object_new_object();

        int r = describe_append(cuts, entry);
        r = r ?: describe_put_new(entry, "field", json_object_new_string(field));
        r = r ?: describe_put_new(entry, "how", json_object_new_string(how));
        return r || !pid ? r : describe_put_new(entry, "pid", json_object_new_string(pid));
}

/* The consumer identifies fields by name: if two fields share a name, the verdict covers both. */
static FieldVerdict judge_name(const Grant *grant,
                const GrantEvent *event,
                const Format *format,
                const FormatField *first,
                const char **ret_pid) {
        FieldVerdict verdict = grant_judge_field(grant, event, format, first, ret_pid);

        for (const FormatField *field = first + 1; field < format->fields + format->n_fields;
                        field++) {
                const char *pid;

                if (strcmp(field->name, first->name) == 0 &&
                                grant_judge_field(grant, event, format, field, &pid) != verdict)
                        verdict = VERDICT_ZERO;
        }
        if (verdict != VERDICT_MEMBER)
                *ret_pid = NULL;
        return verdict;
}

int grant_describe_cuts(const Grant *grant,
                const GrantEvent *event,
                const Format *format,
                json_object *cuts) {
        for (size_t i = 0; i < format->n_fields; i++) {
                const FormatField *field = &format->fields[i];
                const char *pid;

                if (field->is_common || format_field_find(format, field->name) != field)
                        continue;
                FieldVerdict verdict = judge_name(grant, event, format, field, &pid);
                int r = verdict == VERDICT_KEEP ? 0
                                                : describe_cut(cuts,
                                                                  field->name,
                                                                  field_verdict_to_string(verdict),
                                                                  pid);
                if (r < 0)
                        return r;
        }
        return 0;
}

int grant_describe_cost(const Grant *grant, json_object *notes) {
        char note[256];

        if (!grant->fenced)
                return 0;
        snprintf(note,
                        sizeof(note),
                        "while the session runs, every process of this machine spends about %d "
                        "to %d ns on each hit of %s %zu event%s",
                        HIT_NSEC_MIN,
                        HIT_NSEC_MAX,
                        grant->n_events == 1 ? "its" : "one of its",
                        grant->n_events,
                        grant->n_events == 1 ? "" : "s");
        return describe_append(notes, json_object_new_string(note));
}
