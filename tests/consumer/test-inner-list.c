/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The pids of a container in the consumer: several messages, their limit, their end, broken ones.
 */

#include "consumer/inner-list.h"

#include <errno.h>
#include <glib.h>

#include "base/fd.h"

/* n: as the message says it. has: entries in the file. */
static int take(InnerList *list, uint32_t n, size_t has, size_t more_bytes) {
        g_autofree ControlInnerPid *pids = g_malloc0(has * sizeof(*pids) + more_bytes + 1);
        const ControlMessage message = { .type = CONTROL_INNER_PIDS, .inner_pids.n = n };

        for (size_t i = 0; i < has; i++)
                pids[i] = (ControlInnerPid){ .tid = (uint32_t)i + 1, .inner = 7, .depth = 1 };
        _cleanup_close_ int fd = fd_memfd_sealed("t", pids, has * sizeof(*pids) + more_bytes);
        g_assert_cmpint(fd, >=, 0);
        return inner_list_take(list, &message, fd);
}

static int take_joined(InnerList *list) {
        const ControlMessage message = { .type = CONTROL_INNER_PIDS, .inner_pids.n = 1 };
        const ControlInnerPid joined = { .tid = 5 };

        _cleanup_close_ int fd = fd_memfd_sealed("t", &joined, sizeof(joined));
        g_assert_cmpint(fd, >=, 0);
        return inner_list_take(list, &message, fd);
}

static void test_messages(void) {
        InnerList list = {};

        g_assert_cmpint(take(&list, 2, 2, 0), ==, 0);
        g_assert_cmpint(take(&list, 1, 1, 0), ==, 0);
        g_assert_cmpuint(list.n, ==, 3);
        g_assert_cmpuint(list.pids[1].tid, ==, 2);
        g_assert_cmpuint(list.pids[2].inner, ==, 7);
        inner_list_clear(&list);
        g_assert_cmpuint(list.n, ==, 0);
}

/* Further pids are left out. A task that joined cannot be left out, because an older pid would be
 * shown for it. */
static void test_limit(void) {
        InnerList list = {};

        g_assert_cmpint(take(&list, 9, 9, 0), ==, 0);
        g_assert_cmpint(take(&list, CONTROL_INNER_PIDS_MAX, CONTROL_INNER_PIDS_MAX, 0), ==, 0);
        g_assert_cmpuint(list.n, ==, CONTROL_INNER_PIDS_MAX);
        g_assert_cmpuint(list.n_shown, ==, CONTROL_INNER_PIDS_MAX);
        for (uint32_t i = list.n; i < CONTROL_INNER_LIST_MAX; i++)
                g_assert_cmpint(take_joined(&list), ==, 0);
        g_assert_cmpuint(list.n, ==, CONTROL_INNER_LIST_MAX);
        g_assert_cmpuint(list.n_shown, ==, CONTROL_INNER_PIDS_MAX);
        g_assert_cmpint(take(&list, 1, 1, 0), ==, 0);
        g_assert_cmpuint(list.n, ==, CONTROL_INNER_LIST_MAX);
        g_assert_cmpint(take_joined(&list), ==, 0);
        g_assert_cmpuint(list.n, ==, 0);
        g_assert_true(list.is_over);
        inner_list_clear(&list);
}

/* Nothing follows the daemon's word that they are no longer valid. */
static void test_end(void) {
        InnerList list = {};

        g_assert_cmpint(take(&list, 2, 2, 0), ==, 0);
        inner_list_end(&list);
        g_assert_cmpuint(list.n, ==, 0);
        g_assert_cmpint(take(&list, 2, 2, 0), ==, 0);
        g_assert_cmpuint(list.n, ==, 0);
        inner_list_clear(&list);
}

static void test_broken(void) {
        InnerList list = {};

        g_assert_cmpint(take(&list, 2, 1, 0), ==, -EBADMSG);
        g_assert_cmpint(take(&list, 1, 2, 0), ==, -EBADMSG);
        g_assert_cmpint(take(&list, 1, 1, 1), ==, -EBADMSG);
        g_assert_cmpint(take(&list, UINT32_MAX, 1, 0), ==, -EBADMSG);
        g_assert_cmpuint(list.n, ==, 0);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/inner-list/messages", test_messages);
        g_test_add_func("/inner-list/limit", test_limit);
        g_test_add_func("/inner-list/end", test_end);
        g_test_add_func("/inner-list/broken", test_broken);
        return g_test_run();
}
