/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Records of system calls, for unit tests. The formats are those of the kernel, with one
 * argument. */

#include "call-fixture.h"

#include <glib.h>
#include <string.h>

#define COMMON                                                                         \
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
        "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
        "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define NUMBER "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"

static void add_event(Decode *decode,
                const char *system,
                const char *name,
                int id,
                const char *fields) {
        g_autofree char *text = g_strdup_printf("name: %s\nID: %d\nformat:\n" COMMON
                                                "%s\nprint fmt: \"\"\n",
                        name,
                        id,
                        fields);
        Reason reason = {};

        g_assert_cmpint(decode_add_event(decode, system, text, strlen(text), &reason), ==, 0);
}

static void add_call(Decode *decode, const char *name, int number) {
        g_autofree char *entry = g_strdup_printf("sys_enter_%s", name);
        g_autofree char *exit = g_strdup_printf("sys_exit_%s", name);

        add_event(decode,
                        "syscalls",
                        entry,
                        number + 10,
                        NUMBER "\tfield:unsigned int fd;\toffset:16;\tsize:8;\tsigned:0;\n");
        add_event(decode,
                        "syscalls",
                        exit,
                        number + 10 + EXITS,
                        NUMBER "\tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n");
}

Decode *call_fixture_new(void) {
        Decode *decode;

        g_assert_cmpint(decode_new(false, &decode), ==, 0);
        decode_set_machine(decode, "x86_64");
        add_call(decode, "read", READ);
        add_call(decode, "clone", CLONE);
        add_call(decode, "execve", EXECVE);
        add_call(decode, "newuname", NEWUNAME);
        add_call(decode, "exit_group", EXIT_GROUP);
        add_call(decode, "rt_sigreturn", RT_SIGRETURN);
        add_event(decode,
                        "raw_syscalls",
                        "sys_enter",
                        RAW,
                        "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n"
                        "\tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n");
        add_event(decode,
                        "raw_syscalls",
                        "sys_exit",
                        RAW + EXITS,
                        "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n"
                        "\tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n");
        add_event(decode,
                        "sched",
                        "sched_process_exec",
                        PROCESS_EXEC,
                        "\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n"
                        "\tfield:pid_t old_pid;\toffset:16;\tsize:4;\tsigned:1;\n");
        add_event(decode,
                        "sched",
                        "sched_process_exit",
                        PROCESS_EXIT,
                        "\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n");
        static const char open[] =
                        "\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n";
        add_event(decode, "ktrace_catalogue", "file_open", FILE_OPEN, open);
        add_event(decode, "ktrace_u1000", "file_open", FILE_OPEN_OWN, open);
        return decode;
}

Record call_fixture_record(uint8_t bytes[static 64],
                const Event *event,
                int id,
                int64_t number,
                int64_t value) {
        uint16_t type = (uint16_t)id;

        memset(bytes, 0, 64);
        memcpy(bytes, &type, sizeof(type));
        memcpy(bytes + 4, &event->tid, 4);
        memcpy(bytes + 8, &number, 8);
        memcpy(bytes + 16, &value, 8);
        return (Record){ .ts = event->ts, .data = bytes, .size = 64, .cpu = event->cpu };
}
