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
#include "policy/grant-sink.h"

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

/* NULL: no memory. */
static json_object *make_cut(const char *field, const char *how, const char *pid) {
        _cleanup_json_ json_object *cut = json_object_new_object();

        int r = cut ? 0 : -ENOMEM;
        r = r ?: describe_put_new(cut, "field", json_object_new_string(field));
        r = r ?: describe_put_new(cut, "how", json_object_new_string(how));
        if (r == 0 && pid)
                r = describe_put_new(cut, "pid", json_object_new_string(pid));
        return r == 0 ? TAKE_PTR(cut) : NULL;
}

/* A glob grants hundreds of events with the same few cuts, such as the field "ret" of each system
 * call. An object of json-c has a table of 800 bytes, so equal cuts are one object. */
static int describe_cut(json_object *cuts,
                json_object *known,
                const char *field,
                const char *how,
                const char *pid) {
        size_t size = strlen(field) + strlen(how) + strlen(pid ?: "");
        json_object *cut = NULL;
        char key[512];

        bool is_shared = known && size + strlen("  ") < sizeof(key);
        if (is_shared) /* snprintf is slower than all the rest */
                (void)stpcpy(stpcpy(stpcpy(stpcpy(stpcpy(key, how), " "), field), " "), pid ?: "");
        if (is_shared && json_object_object_get_ex(known, key, &cut))
                return describe_append(cuts, json_object_get(cut));
        cut = make_cut(field, how, pid);
        int r = describe_append(cuts, cut);
        return r || !is_shared ? r : describe_put(known, key, json_object_get(cut));
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
                json_object *known,
                json_object *cuts) {
        for (size_t i = 0; i < format->n_fields; i++) {
                const FormatField *field = &format->fields[i];
                const char *pid;

                if (field->is_common || format_field_find(format, field->name) != field)
                        continue;
                FieldVerdict verdict = judge_name(grant, event, format, field, &pid);
                int r = verdict == VERDICT_KEEP ? 0
                                                : describe_cut(cuts,
                                                                  known,
                                                                  field->name,
                                                                  field_verdict_to_string(verdict),
                                                                  pid);
                if (r < 0)
                        return r;
        }
        return 0;
}

int grant_describe_sinks(const Grant *grant, json_object *sinks) {
        int r = 0;

        for (GrantSink sink = 0; r == 0 && sink < _GRANT_SINK_N; sink++)
                if (grant->sinks & (1U << sink))
                        r = describe_append(
                                        sinks, json_object_new_string(grant_sink_to_string(sink)));
        return r;
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
