/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which headers of a stored message count as those of the server. */
#include <errno.h>
#include <glib.h>

#include "broker/nats-link.h"

#define SUBJECT "ktrace.0123456789abcdef0123456789abcdef.0123456789abcdef"

static natsMsg *make(const char *subject) {
        natsMsg *message = NULL;

        g_assert_cmpint(natsMsg_Create(&message, subject, NULL, "x", 1), ==, NATS_OK);
        return message;
}

static void add(natsMsg *message, const char *header, const char *value) {
        g_assert_cmpint(natsMsgHeader_Add(message, header, value), ==, NATS_OK);
}

static void test_plain(void) {
        natsMsg *message = make(SUBJECT);

        g_assert_cmpint(nats_link_check_place(message, SUBJECT), ==, -EBADMSG);
        add(message, "Nats-Sequence", "7");
        g_assert_cmpint(nats_link_check_place(message, SUBJECT), ==, -EBADMSG);
        add(message, "Nats-Subject", SUBJECT);
        g_assert_cmpint(nats_link_check_place(message, SUBJECT), ==, 0);
        g_assert_cmpint(nats_link_check_place(message, "ktrace.a.b"), ==, -EBADMSG);
        natsMsg_Destroy(message);
}

/* The server adds its headers to those of the publisher, and libnats returns the first. */
static void test_spoofed(gconstpointer header) {
        natsMsg *message = make(SUBJECT);

        add(message, header, "spoofed");
        add(message, "Nats-Sequence", "7");
        add(message, "Nats-Subject", SUBJECT);
        g_assert_cmpint(nats_link_check_place(message, SUBJECT), ==, -EBADMSG);
        natsMsg_Destroy(message);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/nats-link/plain", test_plain);
        g_test_add_data_func("/nats-link/spoofed-sequence", "Nats-Sequence", test_spoofed);
        g_test_add_data_func("/nats-link/spoofed-subject", "Nats-Subject", test_spoofed);
        g_assert_cmpint(nats_Open(-1), ==, NATS_OK);
        int r = g_test_run();
        nats_Close();
        return r;
}
