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

#define CLOCK_MAX    32
#define MODE_MAX     16
#define LIFETIME_MAX (sizeof("unit:") - 1 + SPEC_UNIT_MAX)
#define TRACER_MAX   32
/* "command:", and seven digits and a comma per pid. */
#define SCOPE_MAX (8 + SPEC_PIDS_MAX * 8)

const SpecField spec_fields[] = {
        { "name",
                        SPEC_STRING,
                        1,
                        KT_NAME_MAX,
                        NULL,
                        "A label for the session, unique among those of its owner: letters, "
                        "digits, '.', '_' and '-', and not 16 hexadecimal digits, for that is "
                        "how ids look. Default: none, the session is addressed by its id." },
        { "mode",
                        SPEC_STRING,
                        1,
                        MODE_MAX,
                        NULL,
                        "How the buffer is read. 'stream': a consumer reads all along; when it "
                        "falls behind, new events are dropped and counted. 'flight': nobody "
                        "reads, the kernel overwrites the oldest events, and snapshots take what "
                        "is there. Default: stream." },
        { "scope",
                        SPEC_STRING,
                        1,
                        SCOPE_MAX,
                        NULL,
                        "Whose events are recorded. 'command:PID': one process that the client "
                        "holds back until tracing is armed, and its children. 'own': every "
                        "process of the caller. 'pids:PID,PID,…': these processes, at most "
                        "1024, and their children. 'unit:NAME': the processes of a systemd unit "
                        "of the caller or of the system. 'cgroup:PATH': those in this cgroup "
                        "and below, the path as in /proc/PID/cgroup. 'system': everything. No "
                        "default: it must be given." },
        { "events",
                        SPEC_EVENTS,
                        1,
                        SPEC_EVENTS_MAX,
                        NULL,
                        "The events to record, each with its name and, if wanted, a filter. "
                        "A name is 'SYSTEM:EVENT' or a glob of it ('*', "
                        "'?', '[…]'); 'EVENT' alone means this event of any system. One "
                        "with 'enabled' false is not recorded before a trigger or 'ktracectl set' "
                        "turns it on. No default: at least one, a probe or a trigger must be "
                        "given." },
        { "probes",
                        SPEC_EVENTS,
                        1,
                        SPEC_PROBES_MAX,
                        NULL,
                        "Probes to record besides the events, by their names in the catalogue or "
                        "of one's own, each with a filter if wanted; 'ktracectl probes list' shows "
                        "them. Default: none." },
        { "triggers",
                        SPEC_TRIGGERS,
                        0,
                        SPEC_TRIGGERS_MAX,
                        NULL,
                        "What happens at an event, in the kernel and at that moment: objects "
                        "with 'when' ('SYSTEM:EVENT' or 'SYSTEM:EVENT if FILTER'), 'do' (start, "
                        "stop, snapshot, enable, disable, stacktrace, hist or notify) and, if "
                        "wanted, 'count'; ktrace-session(5). Default: none." },
        { "where",
                        SPEC_STRING,
                        1,
                        SPEC_FILTER_MAX,
                        NULL,
                        "A filter for all events, besides their own: only what both let through is "
                        "recorded. Default: none." },
        { "buffer-kb",
                        SPEC_NUMBER,
                        SPEC_BUFFER_KB_MIN,
                        SPEC_BUFFER_KB_MAX,
                        "KiB per CPU",
                        "The size of the kernel's ring buffer for each CPU. Default: 1024, or less where a "
                        "limit is less." },
        { "clock",
                        SPEC_STRING,
                        1,
                        CLOCK_MAX,
                        NULL,
                        "The kernel's trace clock that stamps the events, as tracefs names it in "
                        "trace_clock; of one's own processes mono, mono_raw, boot or tai. Default: "
                        "mono." },
        { "lifetime",
                        SPEC_STRING,
                        1,
                        LIFETIME_MAX,
                        NULL,
                        "When the session goes away by itself. 'client': when its creator "
                        "leaves the bus. 'linger': never, it stays until it is destroyed, but no "
                        "longer than a rule's max-linger-sec. "
                        "'linger:TIME': this long after its creator has left, at most 7d; TIME "
                        "is a whole number with us, ms, s, min, h or d, seconds without. "
                        "'unit:NAME': when the systemd unit has no process any more. Default: "
                        "client." },
        { "allow-setuid",
                        SPEC_BOOLEAN,
                        0,
                        1,
                        NULL,
                        "With scope 'command' and where policy allows: the command may run "
                        "set-user-ID programs. The trace ends at the first change of its "
                        "credentials, before anything is done with them. Default: false, the "
                        "command must have no_new_privs." },
        { "cpus",
                        SPEC_STRING,
                        1,
                        CPU_LIST_TEXT_MAX,
                        NULL,
                        "The CPUs to record on, as '0-3,5'. Not for traces of one's own processes: "
                        "whose the records are is known only where all CPUs are. Default: all." },
        { "stacktrace",
                        SPEC_BOOLEAN,
                        0,
                        1,
                        NULL,
                        "With each event the kernel's stack that led to it, an event "
                        "ftrace:kernel_stack; these are addresses of the kernel, thus only with what "
                        "'unredacted' asks for. Default: false." },
        { "tracer",
                        SPEC_STRING,
                        1,
                        TRACER_MAX,
                        NULL,
                        "Records calls of functions of the kernel: 'function', or 'function_graph' "
                        "with their returns, as the kernel has them; for administrators, with what "
                        "'unredacted' asks for, in scope system. Default: nop, none." },
        { "functions",
                        SPEC_WORDS,
                        1,
                        SPEC_FUNCTIONS_MAX,
                        NULL,
                        "Which functions the tracer records: names or globs. '*' is every function "
                        "and slows down the whole machine. Default: none, and no tracer without." },
        { "instance",
                        SPEC_STRING,
                        1,
                        SPEC_INSTANCE_MAX,
                        NULL,
                        "An instance of tracefs that the kernel or a module has made, to be read in "
                        "place of one of the session's own; for administrators, with what "
                        "'unredacted' asks for. It keeps its size and clock; events that it has on "
                        "stay on, those of the session go off with it; it is never removed. No "
                        "events need be given. Default: none." },
        { "locked",
                        SPEC_BOOLEAN,
                        0,
                        1,
                        NULL,
                        "From its first start on the session takes no Start, Stop, Clear or change "
                        "but from an administrator; its owner can read it, mark it and destroy it. "
                        "Default: false." },
        { "spool",
                        SPEC_SPOOL,
                        0,
                        4,
                        NULL,
                        "Recorded onto the disk of the machine, so that no client has to be there: "
                        "an object with 'max-bytes' (of all its files), 'rotate-bytes' (of one), "
                        "'keep' ('newest': when it is full the oldest files go; 'oldest': the session "
                        "ends) and 'sync' ('none', 'rotate' or seconds), all of which may be left out; "
                        "read by 'ktracectl spool'. With mode stream only. Default: none." },
        { "unredacted",
                        SPEC_BOOLEAN,
                        0,
                        1,
                        NULL,
                        "Records as the kernel wrote them, with all fields and kernel addresses: "
                        "only the rules of policy that grant this are asked, which mostly want an "
                        "administrator's yes. Default: false, what the first rule gives." },
};

const size_t n_spec_fields = ELEMENTSOF(spec_fields);

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
                        "%s: %s is wanted, not %s",
                        field->name,
                        wanted[field->type],
                        got);
}
