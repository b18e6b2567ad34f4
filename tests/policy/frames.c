/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fnmatch.h>
#include <glib.h>
#include <string.h>

#include "frames.h"
#include "interfaces/spec-list.h"
#include "interfaces/spec.h"
#include "policy/grant-field.h"
#include "policy/grant.h"

/* A part of a field's name between underscores and digits. */
static const char *const suspicious_words[] = { "addr",
        "base",
        "dma",
        "end",
        "page",
        "pages",
        "pmd",
        "pte",
        "pud",
        "start" };
/* Anywhere in a field's name or type. */
static const char *const suspicious_parts[] = { "folio",
        "frame",
        "iova",
        "netmem",
        "paddr",
        "pfn",
        "phys",
        "pte_t",
        "zone" };

#define DISK    "a place in a file or on a device"
#define NETWORK "an address or a number of the network"
#define USER    "an address in the process's own memory"
#define COUNT   "a number of pages, or an index of a memory zone"

/* Fields that look like physical memory and are none. */
static const struct {
        const char *field, *reason;
} examined[] = {
        { "btrfs:*.*end", DISK },
        { "btrfs:*.*start", DISK },
        { "btrfs:*.*_ns", "a time" },
        { "btrfs:*.physical", DISK },
        { "btrfs:*.pages_skipped", COUNT },
        { "compaction:*.highest_zoneidx", COUNT },
        { "compaction:*.idx", COUNT },
        { "ext4:*.*end", DISK },
        { "ext4:*.*start", DISK },
        { "ext4:*.start_pos", DISK },
        { "ext4:*.first_page", DISK },
        { "ext4:*.pages_skipped", COUNT },
        { "ext4:*.pages_written", COUNT },
        { "exceptions:*.address", USER },
        { "filelock:*.fl_*", DISK },
        { "huge_memory:*.addr", USER },
        { "icmp:*.?addr", NETWORK },
        { "io_uring:*.addr*", "what the process wrote into its own request" },
        { "kmem:*.totalreserve_pages", COUNT },
        { "migrate:*.addr", USER },
        { "migrate:*.large_folio_split", COUNT },
        { "mmap:*.addr", USER },
        { "mmap:*.*end", USER },
        { "mmap:*.*start", USER },
        { "mptcp:*.*_end", NETWORK },
        { "neigh:*.*addr", NETWORK },
        { "oom:*.zone_idx", COUNT },
        { "page_pool:*.netmem", "a kernel address, which is replaced by its value" },
        { "power:*.start", "whether the device begins or has ended" },
        { "rseq:*.start_ip", USER },
        { "sched:*.vm_*", USER },
        { "sock:*.?addr*", NETWORK },
        { "syscalls:*.*", "an argument or the result of the process's own call" },
        { "tcp:*.?addr*", NETWORK },
        { "timer:*.baseclk", "a time" },
        { "tlb:*.pages", COUNT },
        { "udp:*.?addr", NETWORK },
        { "vmscan:*.highest_zoneidx", COUNT },
        { "writeback:*.*pages*", COUNT },
        { "writeback:*.page_cgroup_ino", "an inode's number" },
        { "writeback:*.range_*", DISK },
        { "xfs:*.*addr", DISK },
        { "xfs:*.pe_size", COUNT },
        { "xfs:*.start", DISK },
};

static bool has_suspicious_word(const char *name) {
        g_auto(GStrv) words = g_strsplit_set(name, "_0123456789", -1);

        for (char **word = words; *word; word++)
                for (size_t i = 0; i < G_N_ELEMENTS(suspicious_words); i++)
                        if (strcmp(*word, suspicious_words[i]) == 0)
                                return true;
        return false;
}

static bool is_suspicious(const FormatField *field) {
        if (field->is_common || field->is_string || field->size < 4)
                return false;
        for (size_t i = 0; i < G_N_ELEMENTS(suspicious_parts); i++)
                if (strstr(field->name, suspicious_parts[i]) ||
                                strstr(field->type, suspicious_parts[i]))
                        return true;
        return has_suspicious_word(field->name);
}

static bool is_examined(const GrantEvent *event, const FormatField *field) {
        g_autofree char *name =
                        g_strdup_printf("%s:%s.%s", event->system, event->name, field->name);

        for (size_t i = 0; i < G_N_ELEMENTS(examined); i++)
                if (fnmatch(examined[i].field, name, 0) == 0)
                        return true;
        return false;
}

void frames_check(const Grant *grant, const GrantEvent *event, const Format *format, GString *ret) {
        for (size_t i = 0; i < format->n_fields; i++) {
                const FormatField *field = &format->fields[i];
                const char *pid;

                if (!is_suspicious(field) || is_examined(event, field))
                        continue;
                FieldVerdict verdict = grant_judge_field(grant, event, format, field, &pid);
                if (verdict != VERDICT_ZERO && !(verdict == VERDICT_PSEUDONYM && field->is_pointer))
                        g_string_append_printf(ret,
                                        "\n%s:%s: %s %s",
                                        event->system,
                                        event->name,
                                        field->type,
                                        field->name);
        }
}

void frames_assert_none(const GString *found) {
        if (found->len > 0)
                g_error("fields that may show physical memory to the group ktrace: cut them in "
                        "policy/50-default.json, or list them in tests/policy/frames.c with the "
                        "reason why they do not:%s",
                                found->str);
}

/* The machine may have no group ktrace, so the rule is given to everyone. */
static Policy *load_policy(const char *policy_dir) {
        static const char group[] = "[{ \"group\": \"ktrace\" }]";
        g_autofree char *path = g_build_filename(policy_dir, "50-default.json", NULL);
        g_autofree char *text = NULL, *copy = NULL;
        Policy *policy = NULL;
        Reason reason = { "" };

        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
        g_assert_nonnull(strstr(text, group));
        g_autoptr(GString) changed = g_string_new(text);
        g_string_replace(changed, group, "[\"any\"]", 1);
        int fd = g_file_open_tmp("ktrace-frames-XXXXXX", &copy, NULL);
        g_assert_no_errno(fd);
        close(fd);
        g_assert_true(g_file_set_contents(copy, changed->str, -1, NULL));
        int r = policy_load_file(copy, &policy, &reason);
        g_assert_cmpstr(reason.text, ==, "");
        g_assert_cmpint(r, ==, 0);
        g_assert_no_errno(unlink(copy));
        return policy;
}

Grant *frames_grant(const char *policy_dir, const char *const *names, size_t n_names) {
        const Subject subject = { .uid = 1000, .gids = (gid_t[]){ 1000 }, .n_gids = 1 };
        const PolicyEvents events = { .names = names, .n_names = n_names };
        _cleanup_(policy_free_cleanup) Policy *policy = load_policy(policy_dir);
        _cleanup_spec_ Spec *spec = spec_new();
        Reason reason = { "" };
        Grant *grant = NULL;

        g_assert_cmpint(spec_set_string(spec, "scope", "system", &reason), ==, 0);
        g_assert_cmpint(spec_add_event(spec, "*:*", NULL, &reason), ==, 0);
        int r = policy_decide(policy, &subject, spec, &events, &grant, &reason);
        g_assert_cmpstr(reason.text, ==, "");
        g_assert_cmpint(r, ==, 0);
        g_assert_nonnull(strstr(grant->rule, "group-ktrace"));
        return grant;
}
