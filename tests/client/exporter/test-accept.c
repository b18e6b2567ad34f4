/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which format a header Accept selects. */

#include <glib.h>

#include "exporter/accept-header.h"

#define NOTHING (-1)

static const struct {
        const char *accept;
        int format;
} cases[] = {
        { NULL, TEXT_PROMETHEUS },
        { "", TEXT_PROMETHEUS },
        { "  ", TEXT_PROMETHEUS },
        { "*/*", TEXT_PROMETHEUS },
        { "text/plain", TEXT_PROMETHEUS },
        { "TEXT/Plain ; Version=0.0.4", TEXT_PROMETHEUS },
        { "text/*", TEXT_PROMETHEUS },
        { "application/openmetrics-text", TEXT_OPENMETRICS },
        { "application/openmetrics-text; version=\"1.0.0\"; charset=utf-8", TEXT_OPENMETRICS },
        { "application/json", TEXT_JSON },
        { "application/*", TEXT_OPENMETRICS },
        /* Prometheus 2.42 */
        { "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
          "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                        TEXT_OPENMETRICS },
        /* Prometheus 3 */
        { "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
          "application/openmetrics-text;version=0.0.1;q=0.4,"
          "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,"
          "*/*;q=0.1",
                        TEXT_OPENMETRICS },
        /* Prometheus 2.55 with protobuf */
        { "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"
          "encoding=delimited;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
                        TEXT_PROMETHEUS },
        /* A browser */
        { "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8",
                        TEXT_PROMETHEUS },
        /* Weights */
        { "text/plain;q=0.5, application/openmetrics-text", TEXT_OPENMETRICS },
        { "text/plain;q=0.501, application/openmetrics-text;q=0.5", TEXT_PROMETHEUS },
        { "text/plain;q=0, */*", TEXT_OPENMETRICS },
        { "*/*, text/plain;q=0, application/*;q=0", NOTHING },
        { "*/*;q=0", NOTHING },
        { "text/plain;q=1.000", TEXT_PROMETHEUS },
        { "text/plain;q=2", NOTHING },
        { "text/plain;q=0.5x", NOTHING },
        { "text/plain;q=0.12345", NOTHING },
        { "text/plain;q=", NOTHING },
        { "text/plain;q=-1", NOTHING },
        /* Unknown */
        { "text/html", NOTHING },
        { "text/plain;version=1.0.0", NOTHING },
        { "application/openmetrics-text;version=0.0.1", NOTHING },
        { "image/*", NOTHING },
        { "*/plain", NOTHING },
        /* Malformed */
        { ",", NOTHING },
        { ",,;;==,/,;q=,\"", NOTHING },
        { "text", NOTHING },
        { "text/", NOTHING },
        { "/plain", NOTHING },
        { "text/plain;", TEXT_PROMETHEUS },
        { ";;,text/plain;;;q=0.1;,", TEXT_PROMETHEUS },
        { "text/plain;version=\"", NOTHING },
};

static void test_choose(void) {
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                TextFormat format = TEXT_PROMETHEUS;
                int got = accept_header_choose(cases[i].accept, &format) ? (int)format : NOTHING;

                if (got != cases[i].format)
                        g_error("%s: %d instead of %d", cases[i].accept, got, cases[i].format);
        }
}

static void test_gzip(void) {
        g_assert_false(accept_header_has_gzip(NULL));
        g_assert_false(accept_header_has_gzip(""));
        g_assert_false(accept_header_has_gzip("deflate, br"));
        g_assert_false(accept_header_has_gzip("gzip;q=0"));
        g_assert_false(accept_header_has_gzip("gzipped"));
        g_assert_true(accept_header_has_gzip("gzip"));
        g_assert_true(accept_header_has_gzip("deflate, GZIP;q=0.5"));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/metrics-accept/choose", test_choose);
        g_test_add_func("/metrics-accept/gzip", test_gzip);
        return g_test_run();
}
