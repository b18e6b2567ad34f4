/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The answers of io.systemd.Metrics (systemd's src/shared/varlink-io.systemd.Metrics.c) and of
 * org.varlink.service. Called by report-server.c for each message.
 *
 * systemd-report reads 1024 metrics of all services together, and the interface has no histograms.
 * So this output has counters and gauges, and of these the families that fit into
 * REPORT_METRICS_MAX as a whole, in the order of the sets. Every local user may read them, so
 * families that identify users are left out. A metric's name begins with the name of the socket:
 * org.ktrace1.SessionsActive is ktrace_sessions_active of the other outputs. */

#include "exporter/report-answer.h"

#include <ctype.h>
#include <errno.h>

#include "exporter/number-text.h"
#include "exporter/report-server.h"
#include "interfaces/varlink-message.h"
#include "trace/json-string.h"

#define REPORT_INTERFACE "io.systemd.Metrics"
#define REPORT_NAMES     "org.ktrace1."
#define REPORT_PREFIX    "ktrace_" /* of the names of the other outputs; not repeated */
#define REPORT_VALUES    64        /* JSON values of a call */

static const char report_description[] =
                "# Metrics of this service\n"
                "interface " REPORT_INTERFACE "\n"
                "\n"
                "# The type of a family of metrics\n"
                "type MetricFamilyType (\n"
                "  counter,\n"
                "  gauge,\n"
                "  string\n"
                ")\n"
                "\n"
                "# The service has no metrics\n"
                "error NoSuchMetric()\n"
                "\n"
                "# Lists the metrics, one in each reply; requires \"more\"\n"
                "method List() -> (\n"
                "  name: string,\n"
                "  value: any,\n"
                "  object: ?string,\n"
                "  fields: ?[string]any\n"
                ")\n"
                "\n"
                "# Describes the families of metrics, one in each reply; requires \"more\"\n"
                "method Describe() -> (\n"
                "  name: string,\n"
                "  description: string,\n"
                "  type: MetricFamilyType\n"
                ")\n";

/* A call while it is answered. */
typedef struct ReportCall {
        TextBlock *block;
        ReportLists *lists;
        const VarlinkMessage *message;
} ReportCall;

/* A list while it is made. */
typedef struct ReportList {
        TextBlock *block;
        bool is_described; /* families instead of metrics */
        bool has_reply;
} ReportList;

static void report_add(TextBlock *block, const char *text) {
        text_block_add(block, text, strlen(text));
}

static void report_add_text(TextBlock *block, const char *before, const char *text) {
        report_add(block, before);
        json_string_add(block, text, strlen(text));
}

/* Ends a message. */
static void report_finish(TextBlock *block, const char *text) {
        text_block_add(block, text, strlen(text) + 1);
}

/* parameter: NULL for an error without one. */
static void report_fail(TextBlock *block,
                const char *error,
                const char *parameter,
                const char *value) {
        report_add_text(block, "{\"error\":", error);
        report_add(block, ",\"parameters\":{");
        if (parameter) {
                report_add_text(block, "", parameter);
                report_add_text(block, ":", value);
        }
        report_finish(block, "}}");
}

/* io.systemd.Metrics */

/* ktrace_run_queue_seconds becomes org.ktrace1.RunQueueSeconds. */
static void report_add_name(TextBlock *block, const char *name) {
        bool is_start = true;

        if (strncmp(name, REPORT_PREFIX, strlen(REPORT_PREFIX)) == 0)
                name += strlen(REPORT_PREFIX);
        report_add(block, "\"" REPORT_NAMES);
        for (; *name; name++) {
                if (*name != '_')
                        text_block_add_char(block, (char)(is_start ? toupper(*name) : *name));
                is_start = *name == '_';
        }
        report_add(block, "\"");
}

static void report_add_metric(TextBlock *block,
                const MetricFamily *family,
                const MetricPoint *point) {
        report_add(block, "{\"parameters\":{\"name\":");
        report_add_name(block, family->name);
        report_add(block, ",\"value\":");
        number_text_add(block, point->number, family->scale);
        for (size_t i = 0; i < family->n_labels; i++) {
                report_add_text(block, i == 0 ? ",\"fields\":{" : ",", family->labels[i]);
                report_add_text(block, ":", point->labels[i]);
        }
        report_add(block, family->n_labels > 0 ? "}}" : "}");
}

static void report_add_description(TextBlock *block, const MetricFamily *family) {
        report_add(block, "{\"parameters\":{\"name\":");
        report_add_name(block, family->name);
        report_add_text(block, ",\"description\":", family->help);
        report_add_text(block, ",\"type\":", metric_type_to_string(family->type));
        report_add(block, "}");
}

/* Only the last reply may lack "continues", and which one is the last is known after it. */
static void report_begin_reply(ReportList *list) {
        if (list->has_reply)
                report_finish(list->block, ",\"continues\":true}");
        list->has_reply = true;
}

static void report_add_family(ReportList *list, const MetricFamily *family) {
        if (list->is_described) {
                report_begin_reply(list);
                report_add_description(list->block, family);
                return;
        }
        for (size_t i = 0; i < family->n_points; i++) {
                report_begin_reply(list);
                report_add_metric(list->block, family, &family->points[i]);
        }
}

static void report_add_families(ReportList *list, const MetricSnapshot *snapshot) {
        size_t n_families = snapshot ? snapshot->n_families : 0, room = REPORT_METRICS_MAX;

        for (size_t i = 0; i < n_families; i++) {
                const MetricFamily *family = &snapshot->families[i];

                if (family->type == METRIC_HISTOGRAM || family->is_private ||
                                family->n_points == 0 || family->n_points > room)
                        continue;
                room -= family->n_points;
                report_add_family(list, family);
        }
        if (list->has_reply)
                report_finish(list->block, "}");
        else
                report_fail(list->block, REPORT_INTERFACE ".NoSuchMetric", NULL, NULL);
}

static void report_list(const ReportCall *call, bool is_described) {
        TextBlock *text = &call->lists->texts[is_described];

        if (text->used == 0) {
                ReportList list = { .block = text, .is_described = is_described };

                report_add_families(&list, call->lists->snapshot);
        }
        text_block_add(call->block, text->data, text->used);
        if (text->is_short_of_memory || text->is_cut) {
                call->block->is_short_of_memory = true;
                text_block_clear(text); /* the next call tries again */
        }
}

void report_lists_clear(ReportLists *lists) {
        for (size_t i = 0; i < ELEMENTSOF(lists->texts); i++)
                text_block_clear(&lists->texts[i]);
        lists->snapshot = metric_snapshot_unref(lists->snapshot);
}

void report_lists_set_snapshot(ReportLists *lists, MetricSnapshot *snapshot) {
        /* Our reference keeps the address from being used by another snapshot. */
        if (snapshot == lists->snapshot) {
                metric_snapshot_unref(snapshot);
                return;
        }
        report_lists_clear(lists);
        lists->snapshot = snapshot;
}

/* org.varlink.service */

static void report_get_info(TextBlock *block) {
        report_finish(block,
                        "{\"parameters\":{\"vendor\":\"ktraced\",\"product\":\"ktrace-metrics\","
                        "\"version\":\"" KT_VERSION "\",\"url\":\"\","
                        "\"interfaces\":[\"" VARLINK_SERVICE "\",\"" REPORT_INTERFACE "\"]}}");
}

static void report_describe_interface(TextBlock *block, const char *name) {
        const char *description = strcmp(name, REPORT_INTERFACE) == 0  ? report_description
                                  : strcmp(name, VARLINK_SERVICE) == 0 ? varlink_service_description
                                                                       : NULL;

        if (!description) {
                report_fail(block, VARLINK_SERVICE_ERROR("InterfaceNotFound"), "interface", name);
                return;
        }
        report_add_text(block, "{\"parameters\":{\"description\":", description);
        report_finish(block, "}}");
}

/* Calls */

static void report_refuse_parameter(const ReportCall *call, const char *name) {
        report_fail(call->block, VARLINK_SERVICE_ERROR("InvalidParameter"), "parameter", name);
}

/* Returns a parameter other than `allowed`, or NULL. */
static const char *report_find_unknown(const ReportCall *call, const char *allowed) {
        if (!call->message->parameters)
                return NULL;
        json_object_object_foreach(call->message->parameters, key, value) {
                (void)value;
                if (!allowed || strcmp(key, allowed) != 0)
                        return key;
        }
        return NULL;
}

/* Prints an error and returns false if the call of a method without parameters has some. */
static bool report_has_no_parameters(const ReportCall *call) {
        const char *unknown = report_find_unknown(call, NULL);

        if (unknown)
                report_refuse_parameter(call, unknown);
        return !unknown;
}

static void report_call_description(const ReportCall *call) {
        const char *unknown = report_find_unknown(call, "interface");
        json_object *name = json_object_object_get(call->message->parameters, "interface");

        if (unknown || !json_object_is_type(name, json_type_string))
                report_refuse_parameter(call, unknown ?: "interface");
        else
                report_describe_interface(call->block, json_object_get_string(name));
}

/* The caller's text: an unknown interface, or an unknown method. */
static void report_refuse_method(const ReportCall *call, const char *method) {
        _cleanup_free_ char *interface = strndup(method, (size_t)(strrchr(method, '.') - method));

        if (!interface)
                call->block->is_short_of_memory = true;
        else if (strcmp(interface, REPORT_INTERFACE) == 0 ||
                        strcmp(interface, VARLINK_SERVICE) == 0)
                report_fail(call->block, VARLINK_SERVICE_ERROR("MethodNotFound"), "method", method);
        else
                report_fail(call->block,
                                VARLINK_SERVICE_ERROR("InterfaceNotFound"),
                                "interface",
                                interface);
}

static void report_call_metrics(const ReportCall *call, bool is_described) {
        if (!report_has_no_parameters(call))
                return;
        if (call->message->more)
                report_list(call, is_described);
        else
                report_fail(call->block, VARLINK_SERVICE_ERROR("ExpectedMore"), NULL, NULL);
}

static void report_call(const ReportCall *call) {
        const char *method = call->message->method;

        if (strcmp(method, REPORT_INTERFACE ".List") == 0)
                report_call_metrics(call, false);
        else if (strcmp(method, REPORT_INTERFACE ".Describe") == 0)
                report_call_metrics(call, true);
        else if (strcmp(method, VARLINK_SERVICE ".GetInterfaceDescription") == 0)
                report_call_description(call);
        else if (strcmp(method, VARLINK_SERVICE ".GetInfo") != 0)
                report_refuse_method(call, method);
        else if (report_has_no_parameters(call))
                report_get_info(call->block);
}

int report_answer_print(TextBlock *block, ReportLists *lists, const char *message, size_t size) {
        VarlinkMessage parsed = {};
        int r = varlink_message_parse(message, size, REPORT_VALUES, &parsed, NULL);

        if (r != 0)
                return r < 0 ? r : -EBADMSG;
        ReportCall call = { .block = block, .lists = lists, .message = &parsed };
        /* No method changes anything, so a call without an answer has no effect. */
        if (!parsed.oneway)
                report_call(&call);
        varlink_message_clear(&parsed);
        return block->is_short_of_memory || block->is_cut ? -ENOMEM : 0;
}
