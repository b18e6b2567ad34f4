/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The one table of a session spec's keys: for D-Bus, JSON files, the help and the man page. Also
 * formats the error for an unknown key. The table holds the bounds of a value; its setter checks
 * everything else, in spec.c, spec-scope.c, spec-list.c, spec-kernel.c and spec-trigger.c. */

#include "interfaces/spec-field.h"

#include <stdio.h>
#include <string.h>

#include "interfaces/cpu-list.h"
#include "interfaces/nearest.h"
#include "interfaces/quote.h"
#include "interfaces/spec.h"

#define CLOCK_MAX       32
#define MODE_MAX        16
#define LIFETIME_MAX    (sizeof("unit:") - 1 + SPEC_UNIT_MAX)
#define TRACER_MAX      32
#define COMPRESSION_MAX 8
#define SHARE_MAX       8
/* "command:", and seven digits and a comma per pid. */
#define SCOPE_MAX (8 + SPEC_PIDS_MAX * 8)

const SpecField spec_fields[] = {
        { "name",
                        SPEC_STRING,
                        1,
                        KT_NAME_MAX,
                        NULL,
                        "A label for the session: letters, digits, '.', '_' and '-', but not 16 "
                        "hexadecimal digits, because ids look like that. No other session of "
                        "the same owner may have it. Default: none." },
        { "mode",
                        SPEC_STRING,
                        1,
                        MODE_MAX,
                        NULL,
                        "How the buffer is read. 'stream': a consumer reads it continuously. If "
                        "the consumer is too slow, new events are dropped and counted. "
                        "'flight': the kernel overwrites the oldest events, and a snapshot "
                        "reads what the buffer contains. Default: stream." },
        { "scope",
                        SPEC_STRING,
                        1,
                        SCOPE_MAX,
                        NULL,
                        "Which processes are recorded. 'command:PID': one process, which the "
                        "client holds until tracing is ready, and its children. 'own': all "
                        "processes of the caller. 'pids:PID,PID,…': these processes, at most "
                        "1024, and their children. 'unit:NAME': the processes of a systemd unit "
                        "of the caller or of the system. 'cgroup:PATH': the processes of this "
                        "cgroup and those below it, with a path as in /proc/PID/cgroup. "
                        "'system': all processes. No default, the key is required." },
        { "events",
                        SPEC_EVENTS,
                        1,
                        SPEC_EVENTS_MAX,
                        NULL,
                        "The events to record, each with its name and, optionally, a filter. A "
                        "name is 'SYSTEM:EVENT' or a glob of it ('*', '?', '[…]'). 'EVENT' "
                        "alone means this event of any system. An event with 'enabled' false is "
                        "not recorded until a trigger or 'ktracectl set' turns it on. No "
                        "default: at least one event, probe or trigger is required." },
        { "probes",
                        SPEC_EVENTS,
                        1,
                        SPEC_PROBES_MAX,
                        NULL,
                        "The probes to record, each with its name in the catalogue or among the "
                        "caller's own and, optionally, a filter. 'ktracectl probes list' shows "
                        "the names. Default: none." },
        { "triggers",
                        SPEC_TRIGGERS,
                        0,
                        SPEC_TRIGGERS_MAX,
                        NULL,
                        "What the kernel does at an event: objects with 'when' ('SYSTEM:EVENT' "
                        "or 'SYSTEM:EVENT if FILTER'), 'do' (start, stop, snapshot, enable, "
                        "disable, stacktrace, hist or notify) and, optionally, 'count'; see "
                        "ktrace-session(5). Default: none." },
        { "where",
                        SPEC_STRING,
                        1,
                        SPEC_FILTER_MAX,
                        NULL,
                        "A filter for all events. An event is recorded only if its own filter "
                        "and this one both match. Default: none." },
        { "buffer-kb",
                        SPEC_NUMBER,
                        SPEC_BUFFER_KB_MIN,
                        SPEC_BUFFER_KB_MAX,
                        "KiB per CPU",
                        "The size of the kernel's ring buffer for each CPU. Default: 1024, or "
                        "the limit if that is lower." },
        { "clock",
                        SPEC_STRING,
                        1,
                        CLOCK_MAX,
                        NULL,
                        "The kernel's trace clock for the times of events, with a name from the "
                        "file trace_clock of tracefs. For the caller's own processes: mono, "
                        "mono_raw, boot or tai. Default: mono." },
        { "lifetime",
                        SPEC_STRING,
                        1,
                        LIFETIME_MAX,
                        NULL,
                        "When the session ends by itself. 'client': when its creator leaves the "
                        "bus. 'linger': never, but at most after max-linger-sec of the policy "
                        "rule. 'linger:TIME': this long after its creator has left, at most 7d. "
                        "TIME is a whole number with us, ms, s, min, h or d; without a unit it "
                        "is in seconds. 'unit:NAME': when the systemd unit has no processes. "
                        "Default: client." },
        { "allow-setuid",
                        SPEC_BOOLEAN,
                        0,
                        1,
                        NULL,
                        "Only with scope 'command', and where policy allows it: the command may "
                        "run set-user-ID programs. The trace ends at the first change of the "
                        "command's credentials, before it uses them. Default: false, the "
                        "command must have no_new_privs." },
        { "cpus",
                        SPEC_STRING,
                        1,
                        CPU_LIST_TEXT_MAX,
                        NULL,
                        "The CPUs to record, such as '0-3,5'. Traces of the caller's own "
                        "processes need all CPUs. Default: all." },
        { "stacktrace",
                        SPEC_BOOLEAN,
                        0,
                        1,
                        NULL,
                        "Records the kernel's stack with each event, as an event "
                        "ftrace:kernel_stack. A stack contains kernel addresses, so a rule must "
                        "grant these; see 'unredacted'. Default: false." },
        { "tracer",
                        SPEC_STRING,
                        1,
                        TRACER_MAX,
                        NULL,
                        "Records calls of kernel functions: 'function', or 'function_graph', "
                        "which also records when they return. For administrators, in scope "
                        "system. A rule must grant kernel addresses; see 'unredacted'. Default: "
                        "nop, no tracer." },
        { "functions",
                        SPEC_WORDS,
                        1,
                        SPEC_FUNCTIONS_MAX,
                        NULL,
                        "The functions that the tracer records: names or globs. '*' is every "
                        "function and slows down the whole machine. Default: none; a tracer "
                        "requires the key." },
        { "instance",
                        SPEC_STRING,
                        1,
                        SPEC_INSTANCE_MAX,
                        NULL,
                        "The session reads this instance of tracefs, which the kernel or a "
                        "module has made. For administrators. A rule must grant kernel "
                        "addresses; see 'unredacted'. The instance keeps its size and clock, "
                        "and its events stay on. At the end only the events of the session are "
                        "turned off. The instance is never removed. Events are optional. "
                        "Default: none." },
        { "locked",
                        SPEC_BOOLEAN,
                        0,
                        1,
                        NULL,
                        "After the first start, only an administrator may start, stop, clear or "
                        "change the session. Its owner can read it, mark it and destroy it. "
                        "Default: false." },
        { "spool",
                        SPEC_SPOOL,
                        0,
                        5,
                        NULL,
                        "Records to the machine's disk, so no client has to stay connected. An "
                        "object with 'max-bytes' (of all files), 'rotate-bytes' (of one file), "
                        "'keep' (when the recording is full, 'newest' removes the oldest file, "
                        "and 'oldest' ends the session), 'sync' ('none', 'rotate' or "
                        "seconds) and 'ship' (true: ktrace-ship sends it to another machine, "
                        "and each file stays until it has arrived). All of them are optional. 'ktracectl spool' reads the "
                        "recording. Only with mode stream. Default: none." },
        { "compression",
                        SPEC_STRING,
                        1,
                        COMPRESSION_MAX,
                        NULL,
                        "How the data in streams is compressed: 'zstd' or 'none'. While a ring "
                        "fills faster than it is read, its data is not compressed, so that no "
                        "event is lost by it. Snapshots are not compressed. Default: zstd with "
                        "'spool', none without." },
        { "share",
                        SPEC_STRING,
                        1,
                        SHARE_MAX,
                        NULL,
                        "Whether the session may share an instance with other sessions, in scope "
                        "system. 'auto': it does if nothing that it requests needs an instance of "
                        "its own. An event then costs a traced process the same for one session as "
                        "for many. 'never': it does not. Default: never." },
        { "unredacted",
                        SPEC_BOOLEAN,
                        0,
                        1,
                        NULL,
                        "Requests records as the kernel wrote them, with all fields and kernel "
                        "addresses. Only policy rules that grant this are considered. Most of "
                        "them require authentication as an administrator. Default: false, the "
                        "first rule that matches decides." },
};

const size_t n_spec_fields = ELEMENTSOF(spec_fields);

uint32_t spec_field_bit(const SpecField *field) {
        return UINT32_C(1) << (field - spec_fields);
}

const SpecField *spec_field_find(const char *key) {
        for (size_t i = 0; i < n_spec_fields; i++)
                if (strcmp(spec_fields[i].name, key) == 0)
                        return &spec_fields[i];
        return NULL;
}

int spec_refuse_key(const char *key, Reason *reason) {
        Nearest near = { key, 3, NULL };
        char known[384] = "";

        for (size_t i = 0; i < n_spec_fields; i++) {
                size_t used = strlen(known);

                nearest_consider(&near, spec_fields[i].name);
                snprintf(known + used,
                                sizeof(known) - used,
                                "%s%s",
                                i ? ", " : "",
                                spec_fields[i].name);
        }
        if (near.name && near.least < strlen(near.name))
                return reason_set(reason,
                                KT_E_UNKNOWN_KEY,
                                "unknown key %s: did you mean \"%s\"?",
                                quote(key).text,
                                near.name);
        return reason_set(reason,
                        KT_E_UNKNOWN_KEY,
                        "unknown key %s: the known ones are %s",
                        quote(key).text,
                        known);
}

int spec_refuse_type(const SpecField *field, const char *got, Reason *reason) {
        static const char *const wanted[] = {
                [SPEC_STRING] = "a string",
                [SPEC_NUMBER] = "a number",
                [SPEC_BOOLEAN] = "true or false",
                [SPEC_EVENTS] = "a list",
                [SPEC_TRIGGERS] = "a list of objects",
                [SPEC_WORDS] = "a list of strings",
                [SPEC_SPOOL] = "an object",
        };

        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "%s: expected %s, got %s",
                        field->name,
                        wanted[field->type],
                        got);
}
