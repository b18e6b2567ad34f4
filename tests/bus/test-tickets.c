/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A file that was sent to be looked into is its sender's: no other connection uses its ticket, and
 * nobody twice; and whoever leaves takes it along. */
#include "bus-fixture.h"

#include <fcntl.h>
#include <gio/gunixfdlist.h>
#include <sys/socket.h>
#include <unistd.h>

#define INVALID KT_ERROR_PREFIX "InvalidSpec"

typedef struct Ticket {
        guint32 number;
        int fd;
} Ticket;

static Ticket open_file(GDBusConnection *bus) {
        g_autoptr(GUnixFDList) fds = NULL;
        g_autoptr(GError) error = NULL;
        gint32 index;
        Ticket ticket;

        g_autoptr(GVariant) answer = g_dbus_connection_call_with_unix_fd_list_sync(bus,
                        KT_BUS_NAME,
                        KT_OBJECT,
                        KT_MANAGER_INTERFACE,
                        "OpenProbeFile",
                        NULL,
                        G_VARIANT_TYPE("(uh)"),
                        G_DBUS_CALL_FLAGS_NONE,
                        -1,
                        NULL,
                        &fds,
                        NULL,
                        &error);
        g_assert_no_error(error);
        g_variant_get(answer, "(uh)", &ticket.number, &index);
        ticket.fd = g_unix_fd_list_get(fds, index, &error);
        g_assert_no_error(error);
        return ticket;
}

static void send_file(const Ticket *ticket, const char *path) {
        char byte = 0;
        struct iovec iov = { .iov_base = &byte, .iov_len = 1 };

        union {
                struct cmsghdr header;
                char bytes[CMSG_SPACE(sizeof(int))];
        } control = {
                .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS },
        };
        struct msghdr message = {
                .msg_iov = &iov,
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };
        int fd = open(path, O_RDONLY | O_CLOEXEC);

        g_assert_no_errno(fd);
        memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
        g_assert_cmpint(sendmsg(ticket->fd, &message, MSG_NOSIGNAL), ==, 1);
        close(fd);
}

static GVariant *make_definition(guint32 ticket) {
        g_autofree char *on = g_strdup_printf("%s:0x1", g_getenv("PROBED"));
        GVariantBuilder builder;

        g_variant_builder_init(&builder, G_VARIANT_TYPE_VARDICT);
        g_variant_builder_add(&builder, "{sv}", "name", g_variant_new_string("there"));
        g_variant_builder_add(&builder, "{sv}", "on", g_variant_new_string(on));
        if (ticket > 0)
                g_variant_builder_add(&builder, "{sv}", "file", g_variant_new_uint32(ticket));
        return g_variant_new("(a{sv})", &builder);
}

static void refuse(GDBusConnection *bus, guint32 ticket, const char *name, const char *text) {
        bus_expect_error(bus,
                        KT_OBJECT,
                        KT_MANAGER_INTERFACE,
                        "AddProbe",
                        make_definition(ticket),
                        name,
                        text);
}

/* What is asked about is no place for a probe: that is said of the file only by the one ticket that
 * is good. */
static void refuse_place(GDBusConnection *bus, guint32 ticket) {
        refuse(bus, ticket, KT_ERROR_PREFIX "Failed", "no code of the file lies at offset 0x1");
}

static void test_strangers(void) {
        g_autoptr(GDBusConnection) owner = bus_connect(UID_OWNER);
        g_autoptr(GDBusConnection) again = bus_connect(UID_OWNER);
        g_autoptr(GDBusConnection) stranger = bus_connect(UID_STRANGER);
        g_autoptr(GDBusConnection) root = bus_connect(0);
        Ticket ticket = open_file(owner);

        g_assert_cmpuint(ticket.number, !=, 0);
        send_file(&ticket, g_getenv("PROBED"));
        refuse(again, ticket.number, INVALID, "is not a file of this connection");
        refuse(stranger, ticket.number, INVALID, "is not a file of this connection");
        refuse(root, ticket.number, INVALID, "is not a file of this connection");
        refuse(owner, ticket.number + 1, INVALID, "is not a file of this connection");
        refuse_place(owner, ticket.number);
        refuse(owner, ticket.number, INVALID, "is not a file of this connection");
        close(ticket.fd);
}

/* Nobody's but root's path is opened. */
static void test_no_ticket(void) {
        g_autoptr(GDBusConnection) owner = bus_connect(UID_OWNER);
        g_autoptr(GDBusConnection) root = bus_connect(0);

        refuse(owner, 0, INVALID, "file: missing");
        refuse_place(root, 0);
}

static void test_wrong_files(void) {
        g_autoptr(GDBusConnection) owner = bus_connect(UID_OWNER);

        static const struct {
                const char *path, *why;
        } files[] = {
                { "/proc/self/status", "is not a local one" },
                { "/etc/passwd", "it is not a program or library" },
                { "/", "it is not a regular file" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
                Ticket ticket = open_file(owner);

                send_file(&ticket, files[i].path);
                refuse(owner, ticket.number, KT_ERROR_PREFIX "Failed", files[i].why);
                close(ticket.fd);
        }
        Ticket ticket = open_file(owner);
        close(ticket.fd);
        refuse(owner, ticket.number, KT_ERROR_PREFIX "Failed", "it was not sent");
}

/* Whoever leaves gives their places back: more than two in a row would be refused otherwise. */
static void test_leaving(void) {
        for (unsigned i = 0; i < 6; i++) {
                g_autoptr(GDBusConnection) owner = bus_connect(UID_OWNER);
                Ticket ticket = open_file(owner);

                send_file(&ticket, g_getenv("PROBED"));
                close(ticket.fd);
                g_dbus_connection_close_sync(owner, NULL, NULL);
        }
}

static void add_tests(void) {
        bus_test_add("/bus/tickets/strangers", TRUE, test_strangers);
        bus_test_add("/bus/tickets/no-ticket", TRUE, test_no_ticket);
        bus_test_add("/bus/tickets/wrong-files", TRUE, test_wrong_files);
        bus_test_add("/bus/tickets/leaving", TRUE, test_leaving);
}

int main(int argc, char **argv) {
        return bus_test_main(argc, argv, add_tests);
}
