/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib.h>
#include <sched.h>
#include <string.h>

#include "perfetto/perfetto-task.h"

#define COMMON                                                                         \
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
        "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
        "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char newtask_format[] =
                "name: task_newtask\nID: 20\nformat:\n" COMMON
                "\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n"
                "\tfield:unsigned long clone_flags;\toffset:16;\tsize:8;\tsigned:0;\n\n"
                "print fmt: \"pid=%d\", REC->pid\n";
static const char exec_format[] = "name: sched_process_exec\nID: 21\nformat:\n" COMMON
                                  "\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n\n"
                                  "print fmt: \"pid=%d\", REC->pid\n";

typedef struct Task {
        uint16_t id, common;
        int32_t creator, pid, padding;
        uint64_t flags;
} Task;

static void learn(PerfettoTasks *tasks, const Decode *decode, Task task) {
        Record record = { .data = (const uint8_t *)&task, .size = sizeof(task) };
        const EventLayout *layout = decode_find(decode, &record);

        g_assert_nonnull(layout);
        g_assert_cmpint(perfetto_tasks_learn(tasks, layout, &record), ==, 0);
}

static Decode *new_decode(void) {
        Decode *decode;
        Reason reason = {};

        g_assert_cmpint(decode_new(false, &decode), ==, 0);
        tep_set_long_size(decode->tep, 8);
        g_assert_cmpint(decode_add_event(decode,
                                        "task",
                                        newtask_format,
                                        strlen(newtask_format),
                                        &reason),
                        ==,
                        0);
        g_assert_cmpint(decode_add_event(
                                        decode, "sched", exec_format, strlen(exec_format), &reason),
                        ==,
                        0);
        return decode;
}

/* Finds the message of a thread in the tree: tid, name, tgid. */
static void check_thread(const char *tree, size_t size, uint8_t tid, char name, uint8_t tgid) {
        char expected[] = { 0x12, 7, 0x08, (char)tid, 0x12, 1, name, 0x18, (char)tgid };

        g_assert_nonnull(memmem(tree, size, expected, sizeof(expected)));
}

static void test_tree(void) {
        Decode *decode = new_decode();
        PerfettoTasks tasks = {};
        g_autofree char *tree = NULL;
        size_t size;
        FILE *out = open_memstream(&tree, &size);

        learn(&tasks, decode, (Task){ 20, 0, 10, 11, 0, 0 });            /* a child */
        learn(&tasks, decode, (Task){ 20, 0, 11, 12, 0, CLONE_THREAD }); /* a thread of it */
        learn(&tasks, decode, (Task){ 20, 0, 12, 13, 0, CLONE_THREAD }); /* made by a thread */
        learn(&tasks, decode, (Task){ 20, 0, 13, 14, 0, 0 });            /* a child of a thread */
        learn(&tasks, decode, (Task){ 20, 0, 14, 15, 0, CLONE_THREAD });
        learn(&tasks, decode, (Task){ 21, 0, 15, 15, 0, 0 }); /* another program as process 15 */
        for (int pid = 10; pid <= 15; pid++)
                g_assert_cmpint(decode_add_command(
                                                decode, pid, (char[]){ (char)('a' + pid - 10), 0 }),
                                ==,
                                0);
        g_assert_cmpint(perfetto_tasks_write_tree(&tasks, decode, out), ==, 0);
        fclose(out);
        check_thread(tree, size, 10, 'a', 10);
        check_thread(tree, size, 11, 'b', 11);
        check_thread(tree, size, 12, 'c', 11);
        check_thread(tree, size, 13, 'd', 11);
        check_thread(tree, size, 14, 'e', 14);
        check_thread(tree, size, 15, 'f', 15);
        /* Process 14, a child of 11, with its name as command line. */
        g_assert_nonnull(memmem(tree,
                        size,
                        "\x08\x0e\x10\x0b\x1a\x01"
                        "e\x48\x01",
                        9));
        g_assert_null(memmem(tree, size, "\x0a\x09\x08\x0c", 4)); /* 12 is no process */
        perfetto_tasks_clear(&tasks);
        decode_free(decode);
}

static void test_many(void) {
        Decode *decode = new_decode();
        PerfettoTasks tasks = {};

        for (int pid = 1; pid <= 5000; pid++)
                learn(&tasks, decode, (Task){ 20, 0, pid - 1, pid, 0, 0 });
        learn(&tasks, decode, (Task){ 20, 0, 1, -5, 0, 0 });
        learn(&tasks, decode, (Task){ 20, 0, 1, 0, 0, 0 });
        g_assert_cmpuint(tasks.n_used, ==, 5000);
        perfetto_tasks_clear(&tasks);
        decode_free(decode);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/task/tree", test_tree);
        g_test_add_func("/task/many", test_many);
        return g_test_run();
}
