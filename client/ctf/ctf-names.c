/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Names of events and fields in the Common Trace Format (CTF), as LTTng 2.8 and later have them.
 * Called by ctf-metadata.c and export-ctf.c.
 *
 * Trace Compass selects the names that it expects by `tracer_name` in the metadata. Its analyses of
 * the kernel (threads, CPUs, interrupts, system calls) find nothing in events with other names. So
 * the events that they use are renamed here. Other events of these subsystems keep the kernel's
 * name. All other events are SUBSYSTEM:EVENT, so probes of users cannot be mistaken for the
 * kernel's events. */

#include "ctf/ctf-names.h"

#include <ctype.h>

#include "interfaces/utf8.h"

/* Subsystems whose events LTTng has, too. The first matching row counts. */
static const struct {
        const char *system, *prefix, *replacement;
} renamed[] = {
        { "syscalls", "sys_enter_", "syscall_entry_" },
        { "syscalls", "sys_exit_", "syscall_exit_" },
        { "irq", "softirq_", "irq_softirq_" },
        { "timer", "hrtimer_", "timer_hrtimer_" },
        { "kmem", "mm_page_", "kmem_mm_page_" },
        { "block", "", "" },
        { "irq", "", "" },
        { "kmem", "", "" },
        { "net", "", "" },
        { "power", "", "" },
        { "sched", "", "" },
        { "signal", "", "" },
        { "skb", "", "" },
        { "task", "", "" },
        { "timer", "", "" },
        { "workqueue", "", "" },
        { "writeback", "", "" },
};

void ctf_names_add_text(TextBlock *block, const char *text, size_t size) {
        for (size_t i = 0, n; i < size; i += n) {
                n = utf8_length(text + i, size - i);
                if (text[i] == '"' || text[i] == '\\')
                        text_block_add_char(block, '\\');
                /* The readers' grammars do not agree on escapes for other bytes. */
                if (n == 0 || iscntrl((unsigned char)text[i])) {
                        text_block_add_char(block, '?');
                        n = 1;
                } else
                        text_block_add(block, text + i, n);
        }
}

void ctf_names_add_event(TextBlock *block, const struct tep_event *event) {
        const char *name = event->name;

        for (size_t i = 0; i < ELEMENTSOF(renamed); i++) {
                size_t n = strlen(renamed[i].prefix);

                if (strcmp(event->system, renamed[i].system) != 0 ||
                                strncmp(name, renamed[i].prefix, n) != 0)
                        continue;
                text_block_add(block, renamed[i].replacement, strlen(renamed[i].replacement));
                ctf_names_add_text(block, name + n, strlen(name + n));
                return;
        }
        ctf_names_add_text(block, event->system, strlen(event->system));
        text_block_add_char(block, ':');
        ctf_names_add_text(block, name, strlen(name));
}

/* The kernel says pid for the number of a thread. LTTng says tid. */
static bool ends_with_pid(const char *name, size_t size) {
        return size >= 3 && memcmp(name + size - 3, "pid", 3) == 0 &&
               (size == 3 || name[size - 4] == '_');
}

void ctf_names_add_field(TextBlock *block, const struct tep_event *event, const char *name) {
        size_t size = strlen(name);
        bool is_tid = strcmp(event->system, "sched") == 0 && ends_with_pid(name, size);

        for (size_t i = 0; i < size; i++)
                text_block_add_char(block,
                                is_tid && i == size - 3           ? 't'
                                : isalnum((unsigned char)name[i]) ? name[i]
                                                                  : '_');
}

bool ctf_names_is_state(const struct tep_event *event, const EventLayoutField *field) {
        return strcmp(event->system, "sched") == 0 && strcmp(event->name, "sched_switch") == 0 &&
               field->kind == EVENT_LAYOUT_NUMBER && field->size == 8 &&
               strcmp(field->name, "prev_state") == 0;
}

/* In trace events, bit 8 says that the task was preempted, and bit 7 that an idle kernel thread
 * sleeps (task_state_index() in include/linux/sched.h). LTTng and its readers have other bits for
 * these: TASK_STATE_MAX, and TASK_UNINTERRUPTIBLE with TASK_NOLOAD. */
uint64_t ctf_names_get_state(uint64_t state) {
        uint64_t converted = state & ~UINT64_C(0x180);

        converted |= state & 0x100 ? 0x10000 : 0;
        converted |= state & 0x80 ? 0x402 : 0;
        return converted;
}
