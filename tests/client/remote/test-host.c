/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of hosts: what ssh gets, and which character is refused. */

#include <glib.h>
#include <string.h>

#include "remote/host.h"

static void test_good(void) {
        static const struct {
                const char *text, *target, *port, *container;
        } names[] = {
                { "web1", "web1", NULL },
                { "root@web1", "root@web1", NULL },
                { "web1:22", "web1", "22" },
                { "root@web1.example:65535", "root@web1.example", "65535" },
                { "[::1]:2222", "::1", "2222" },
                { "root@[fe80::1%eth0]", "root@fe80::1%eth0", NULL },
                { "fe80::1", "fe80::1", NULL },
                { "a@b@web1", "a@b@web1", NULL },
                { "m\xc3\xbcnchen", "m\xc3\xbcnchen", NULL },
                { "root@web1:22/box-1", "root@web1", "22", "box-1" },
                { "[::1]/box", "::1", NULL, "box" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                Host host = {};
                Reason reason = {};

                g_assert_cmpint(host_parse(names[i].text, &host, &reason), ==, 0);
                g_assert_cmpstr(host.target, ==, names[i].target);
                g_assert_cmpstr(host.port, ==, names[i].port);
                g_assert_cmpstr(host.container, ==, names[i].container);
                host_done(&host);
        }
}

static void test_bad(void) {
        static const struct {
                const char *text, *words;
        } names[] = {
                { "", "got \"\"" },
                { "-oProxyCommand=x", "at character 1:" },
                { "root@-oProxyCommand", "'-' at character 6:" },
                { "[-o]", "'-'" },
                { "a b", "a blank at character 2:" },
                { "a\tb", "a blank at character 2:" },
                { "a\nb", "a control character at character 2:" },
                { "a\x1b[m", "a control character at character 2:" },
                { "a\xc2\x9bm", "a control character at character 2:" },
                { "a\xe2\x80\xae"
                  "b",
                                "a control character at character 2:" },
                { "a\xe2\x81\xa6"
                  "b",
                                "a control character at character 2:" },
                { "a\xff", "a byte that is not UTF-8 at character 2:" },
                { "m\xc3\xbcn\xc3", "a byte that is not UTF-8 at character 5:" },
                { "web1/", "expected the name of a container" },
                { "web1/../x", "-H: container ../x: unexpected character 1" },
                { "web1/-oX", "unexpected character 1" },
                { "web1/a\x1b", "unexpected character 2" },
                { "/box", "got \"\"" },
                { "-oX/box", "at character 1:" },
                { "@web1", "no user before '@'" },
                { "root@", "no host" },
                { ":22", "no host" },
                { "web1:", "no port" },
                { "web1:0", "no port" },
                { "web1:65536", "at character 10:" },
                { "web1:2x", "at character 7:" },
                { "web1:99999999999999999999", "at character 10:" },
                { "[::1", "'[' without ']'" },
                { "[]", "no address" },
                { "[::1]22", "text after ']'" },
                { "web[1]", "a bracket at character 4:" },
                { "a;b", "an unexpected character at character 2:" },
                { "$(a)", "an unexpected character at character 1:" },
                { "a\"b", "an unexpected character at character 2:" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                Host host = {};
                Reason reason = {};

                g_assert_cmpint(host_parse(names[i].text, &host, &reason), ==, KT_E_INVALID_SPEC);
                if (!strstr(reason.text, names[i].words))
                        g_error("%s: %s", names[i].text, reason.text);
                g_assert_null(host.target);
        }
}

static void test_long(void) {
        g_autofree char *name = g_strnfill(HOST_MAX + 1, 'a');
        Host host = {};
        Reason reason = {};

        g_assert_cmpint(host_parse(name, &host, &reason), ==, KT_E_INVALID_SPEC);
        name[HOST_MAX] = '\0';
        g_assert_cmpint(host_parse(name, &host, &reason), ==, 0);
        host_done(&host);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/host/good", test_good);
        g_test_add_func("/host/bad", test_bad);
        g_test_add_func("/host/long", test_long);
        return g_test_run();
}
