/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which user the kernel's list of sockets names, and the document with hostile titles. */

#include <arpa/inet.h>
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "interfaces/cleanup.h"
#include "view/page-frame.h"
#include "view/peer.h"

#define HEAD                                                                                          \
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout " \
        "inode\n"
#define REST " 00000000:00000000 00:00000000 00000000"

/* Looks for the owner of 127.0.0.1:40000 that is connected to port 8080. */
static int find(const char *text, uid_t *ret) {
        const struct sockaddr_in peer = {
                .sin_family = AF_INET,
                .sin_port = htons(40000),
                .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        };
        _cleanup_fclose_ FILE *list = fmemopen((void *)text, strlen(text), "r");

        g_assert_nonnull(list);
        return peer_find_uid_in(list, &peer, 8080, ret);
}

static void test_owner(void) {
        uid_t uid = 0;

        /* The first line is our own end. */
        g_assert_cmpint(find(HEAD "   0: 0100007F:1F90 0100007F:9C40 01" REST "  7 0 11 1\n"
                                  "   1: 0100007F:9C40 0100007F:1F90 01" REST "  1000 0 12 1\n",
                                        &uid),
                        ==,
                        0);
        g_assert_cmpuint(uid, ==, 1000);
        g_assert_cmpint(find(HEAD "   0: 0000000000000000FFFF00000100007F:9C40 "
                                  "0000000000000000FFFF00000100007F:1F90 01" REST "  1001 0 12 1\n",
                                        &uid),
                        ==,
                        0);
        g_assert_cmpuint(uid, ==, 1001);
}

static void test_others(void) {
        static const char *const lines[] = {
                "",
                "nothing\n",
                "   0: 0100007F:9C41 0100007F:1F90 01" REST "  1000 0 12 1\n",
                "   0: 0100007F:9C40 0100007F:1F91 01" REST "  1000 0 12 1\n",
                "   0: 0200007F:9C40 0100007F:1F90 01" REST "  1000 0 12 1\n",
                "   0: 0100007F:9C40 0200007F:1F90 01" REST "  1000 0 12 1\n",
                /* Its owner has closed it. */
                "   0: 0100007F:9C40 0100007F:1F90 05" REST "  0 0 0 1\n",
        };
        uid_t uid = 77;

        for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
                g_autofree char *text = g_strconcat(HEAD, lines[i], NULL);

                g_assert_cmpint(find(text, &uid), ==, -ENOENT);
                g_assert_cmpuint(uid, ==, 77);
        }
}

static void test_title(void) {
        _cleanup_free_ char *document = NULL;

        g_assert_cmpint(page_frame_make(PAGE_HTML, "</title><script>&\n\x1b", "abc", &document),
                        ==,
                        0);
        g_assert_nonnull(strstr(document, "<title>&#60;/title>&#60;script>&#38;</title>"));
}

static void test_policy(void) {
        _cleanup_free_ char *html = NULL, *perfetto = NULL;

        g_assert_cmpint(page_frame_make_policy(PAGE_HTML, "abc", &html), ==, 0);
        g_assert_nonnull(strstr(html, "script-src 'nonce-abc';"));
        g_assert_nonnull(strstr(html, "frame-src 'self';"));
        g_assert_cmpint(page_frame_make_policy(PAGE_PERFETTO, "abc", &perfetto), ==, 0);
        g_assert_nonnull(strstr(perfetto, "frame-src https://ui.perfetto.dev;"));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/view/owner", test_owner);
        g_test_add_func("/view/others", test_others);
        g_test_add_func("/view/title", test_title);
        g_test_add_func("/view/policy", test_policy);
        return g_test_run();
}
