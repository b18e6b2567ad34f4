/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Decides in which form a field of a granted event reaches the reader. Called by the session floor
 * when it describes the events to the consumer, which cuts them, and by grant-filter.c: a field
 * that is cut cannot be used in filters. Pure.
 *
 * To add a verdict: FieldVerdict in policy.h, this file, and consumer/records/mask-rules.c. */

#include "policy/grant-field.h"

#include <string.h>

#include "interfaces/glob.h"
#include "policy/address.h"
#include "policy/policy.h"

static bool is_in(char *const *globs, size_t n, const char *name) {
        for (size_t i = 0; i < n; i++)
                if (glob_match(globs[i], name))
                        return true;
        return false;
}

/* Returns whether the field that the rule names as a pid exists in the kernel's format. */
static bool is_pid(const Format *format, const char *name) {
        const FormatField *field = format_field_find(format, name);

        return field && field->kind == FIELD_PLAIN && field->size == sizeof(uint32_t) &&
               field->n_elements == 0;
}

static const GrantMember *grant_field_find_member(const GrantEvent *event, const char *name) {
        for (size_t i = 0; i < event->n_members; i++)
                if (is_in(event->members[i].fields, event->members[i].n_fields, name))
                        return &event->members[i];
        return NULL;
}

/* Decides how addresses in a visible field are treated. */
static FieldVerdict judge_addresses(const Grant *grant,
                const GrantEvent *event,
                const Format *format,
                const FormatField *field) {
        bool is_pseudonym = grant->addresses == ADDRESS_PSEUDONYM;

        if (grant->addresses == ADDRESS_KEEP || !field_has_words(field))
                return VERDICT_KEEP;
        /* A fenced session shows only the caller's own processes, which may see their own
         * addresses: only kernel addresses are cut. */
        if (!grant->fenced && field_is_address(format, field))
                return is_pseudonym ? VERDICT_PSEUDONYM : VERDICT_ZERO;
        /* A program's registers and memory contain no kernel addresses: a number that looks like
         * one is only a number. */
        if (event->is_of_program)
                return VERDICT_KEEP;
        return is_pseudonym ? VERDICT_WORDS_PSEUDONYM : VERDICT_WORDS;
}

/* From 6.19 on, a system call's event contains what its pointers point to: file names and buffers
 * of the program. Older kernels have no located fields in these events. */
static bool is_user_memory(const GrantEvent *event, const FormatField *field) {
        return event->system && strcmp(event->system, "syscalls") == 0 &&
               field->kind != FIELD_PLAIN;
}

FieldVerdict grant_judge_field(const Grant *grant,
                const GrantEvent *event,
                const Format *format,
                const FormatField *field,
                const char **ret_pid) {
        const char *name = field->name;

        *ret_pid = NULL;
        if (field->is_common || !(grant->fenced || grant->redacted))
                return VERDICT_KEEP;
        if (is_in(event->cut, event->n_cut, name))
                return VERDICT_ZERO;
        if (!grant->fenced && is_user_memory(event, field))
                return VERDICT_ZERO;
        const GrantMember *member = grant_field_find_member(event, name);
        if (member) {
                /* Kernel addresses are cut even in fields about a member. */
                if (judge_addresses(grant, event, format, field) != VERDICT_KEEP ||
                                !is_pid(format, member->pid_field))
                        return VERDICT_ZERO;
                *ret_pid = member->pid_field;
                return VERDICT_MEMBER;
        }
        bool keeps_all = !event->speaks_of_others && event->n_keep == 0;
        if (!keeps_all && !is_in(event->keep, event->n_keep, name))
                return VERDICT_ZERO;
        return judge_addresses(grant, event, format, field);
}

const char *grant_get_also_of(const Grant *grant, const GrantEvent *event, const Format *format) {
        if (!grant->fenced || !event->also_of || !is_pid(format, event->also_of))
                return NULL;
        for (size_t i = 0; i < format->n_fields; i++)
                if (format->fields[i].kind != FIELD_PLAIN || format->fields[i].size == 0)
                        return NULL;
        return event->also_of;
}

const char *field_verdict_to_string(FieldVerdict verdict) {
        static const char *const names[_VERDICT_N] = {
                [VERDICT_WORDS] = "words",
                [VERDICT_WORDS_PSEUDONYM] = "words-pseudonym",
                [VERDICT_PSEUDONYM] = "pseudonym",
                [VERDICT_MEMBER] = "member",
                [VERDICT_ZERO] = "zero",
        };

        return names[verdict];
}
