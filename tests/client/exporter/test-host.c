/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which headers Host are allowed on a loopback address, and that others do not matter. */

#include <glib.h>

#include "exporter/host-header.h"
#include "interfaces/socket-address.h"

static const char *const allowed[] = {
        NULL,
        "127.0.0.1",
        "127.0.0.1:9466",
        "192.0.2.7:1",
        "localhost",
        "LocalHost:9466",
        "localhost:",
        "[::1]",
        "[::1]:9466",
        "[2001:db8::1]:80",
};

static const char *const refused[] = {
        "",
        "attacker.example",
        "attacker.example:9466",
        "localhost.attacker.example",
        "localhost.",
        "127.0.0.1.attacker.example",
        "127.0.0.1:9466.attacker.example",
        "127.0.0.1:9466:",
        "127.0.0.1@attacker.example",
        "127.1",
        "0x7f000001",
        "::1",
        "[::1",
        "[",
        "[]",
        "[localhost]",
        "[127.0.0.1]",
        "[::1]attacker.example",
        "[::1].attacker.example:9466",
        "[1111:2222:3333:4444:5555:6666:7777:8888:9999:1111:2222:3333:4444]",
};

static bool is_allowed(const char *own, const char *host) {
        SocketAddress address;

        g_assert_true(socket_address_parse(own, &address));
        return host_header_is_allowed(host, &address.any);
}

static void test_loopback(void) {
        static const char *const own[] = {
                "127.0.0.1:9466", "127.1.2.3:9466", "[::1]:9466", "[::ffff:127.0.0.1]:9466"
        };

        for (size_t i = 0; i < G_N_ELEMENTS(own); i++) {
                for (size_t j = 0; j < G_N_ELEMENTS(allowed); j++)
                        if (!is_allowed(own[i], allowed[j]))
                                g_error("%s is refused on %s", allowed[j], own[i]);
                for (size_t j = 0; j < G_N_ELEMENTS(refused); j++)
                        if (is_allowed(own[i], refused[j]))
                                g_error("%s is allowed on %s", refused[j], own[i]);
        }
}

static void test_others(void) {
        static const char *const own[] = {
                "192.0.2.7:9466", "[2001:db8::1]:9466", "[::ffff:192.0.2.7]:9466", "/run/metrics"
        };

        for (size_t i = 0; i < G_N_ELEMENTS(own); i++) {
                g_assert_true(is_allowed(own[i], NULL));
                g_assert_true(is_allowed(own[i], "monitored.example:9466"));
        }
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/metrics-host/loopback", test_loopback);
        g_test_add_func("/metrics-host/others", test_others);
        return g_test_run();
}
