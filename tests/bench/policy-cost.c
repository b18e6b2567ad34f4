/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* policy-cost WHAT: microseconds that a decision of policy takes, the least of some rounds. WHAT:
 * rules (a spec of one event, of 1,000 rules the last is the caller's), list (which of 2,000 events
 * the same caller may see), glob (a spec of a glob that 700 events match), filter (the same with a
 * filter: 700 formats parsed, as from the kernel's text), read (1,000 rules from their text). */

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "policy/rule.h"

#include "interfaces/spec-list.h"
#include "policy/grant.h"
#include "policy/rule-read.h"

#define N_ROUNDS 15
#define N_RULES  1000
#define N_EVENTS 2000

static const char description[] =
                "name: sys_enter_openat\nID: 1\nformat:\n"
                "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
                "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
                "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
                "\tfield:int dfd;\toffset:16;\tsize:8;\tsigned:0;\n"
                "\tfield:const char * filename;\toffset:24;\tsize:8;\tsigned:0;\n"
                "\tfield:int flags;\toffset:32;\tsize:8;\tsigned:0;\n"
                "\tfield:umode_t mode;\toffset:40;\tsize:8;\tsigned:0;\n\n"
                "print fmt: \"dfd: 0x%08lx, filename: 0x%08lx, flags: 0x%08lx, mode: 0x%08lx\", "
                "((unsigned long)(REC->dfd)), ((unsigned long)(REC->filename)), "
                "((unsigned long)(REC->flags)), ((unsigned long)(REC->mode))\n";

static char *names[N_EVENTS];
static char *rules_text;
static size_t rules_size;
static Policy policy;
static const Subject subject = { .uid = 1000, .gids = (gid_t[]){ 1000, 27 }, .n_gids = 2 };

static int get_format(const char *system, const char *name, const Format **ret, void *userdata) {
        static Format *format;

        (void)system;
        (void)name;
        (void)userdata;
        format = format_free(format);
        int r = format_parse(description, strlen(description), &format, NULL);
        *ret = format;
        return r;
}

static const PolicyEvents events = { .names = (const char *const *)names,
        .n_names = N_EVENTS,
        .get_format = get_format };

/* In the order of their names. */
static int make_names(void) {
        for (int i = 0; i < N_EVENTS; i++)
                if ((i < 1300 ? asprintf(&names[i], "group%02d:event%04d", i / 20, i)
                              : asprintf(&names[i], "syscalls:sys_enter_%04d", i)) < 0)
                        return -1;
        return 0;
}

static int read_rules(RuleList *list) {
        _cleanup_json_ json_object *file = NULL;

        int r = json_parse_strict("x.json", rules_text, rules_size, &file, NULL);
        return r ?: rule_list_add_json(list, "x.json", file, NULL);
}

static int make_rules(void) {
        static const char first[] = "{\"rules\":[", last[] = "]}";
        FILE *out = open_memstream(&rules_text, &rules_size);

        if (!out)
                return -1;
        fputs(first, out);
        for (int i = 1; i <= N_RULES; i++)
                fprintf(out,
                                "%s{\"name\":\"r%d\",\"subjects\":[{\"uid\":%d}],\"scopes\":[\"own\"],"
                                "\"events\":[\"group*:*\",{\"name\":\"syscalls:*\",\"cut\":[\"mode\"]}]}",
                                i > 1 ? "," : "",
                                i,
                                999 + (i == N_RULES) + (i < N_RULES ? 2 * i : 0));
        fputs(last, out);
        if (fclose(out) != 0)
                return -1;
        return read_rules(&policy.list);
}

static int decide(const char *event, const char *filter) {
        Spec *spec = spec_new();
        Grant *grant = NULL;

        int r = spec ? spec_set_string(spec, "scope", "own", NULL) : -1;
        r = r ?: spec_add_event(spec, event, filter, NULL);
        r = r ?: policy_decide(&policy, &subject, spec, &events, &grant, NULL);
        grant_free(grant);
        spec_free(spec);
        return r;
}

static int do_rules(void) {
        return decide("group07:event0150", NULL);
}

static int do_glob(void) {
        return decide("syscalls:*", NULL);
}

static int do_filter(void) {
        return decide("syscalls:*", "flags & 64 && dfd > 2");
}

static int do_list(void) {
        PolicyView view = policy_get_view(&policy, &subject);
        size_t n = 0;

        for (int i = 0; i < N_EVENTS; i++) {
                char system[16];

                snprintf(system, sizeof(system), "%.*s", (int)strcspn(names[i], ":"), names[i]);
                n += policy_view_has(&view, system, strchr(names[i], ':') + 1);
        }
        return n == N_EVENTS ? 0 : -1;
}

static int do_read(void) {
        RuleList list = {};

        int r = read_rules(&list);
        rule_list_clear(&list);
        return r;
}

static double measure(int (*action)(void)) {
        struct timespec begin, end;

        (void)clock_gettime(CLOCK_MONOTONIC, &begin);
        if (action() != 0)
                return -1;
        (void)clock_gettime(CLOCK_MONOTONIC, &end);
        return (double)(end.tv_sec - begin.tv_sec) * 1e6 +
               (double)(end.tv_nsec - begin.tv_nsec) / 1e3;
}

int main(int argc, char **argv) {
        static const struct {
                const char *name;
                int (*action)(void);
        } actions[] = {
                { "rules", do_rules },
                { "list", do_list },
                { "glob", do_glob },
                { "filter", do_filter },
                { "read", do_read },
        };

        double least = -1;
        size_t i = 0;

        if (argc != 2 || make_names() != 0 || make_rules() != 0)
                return 2;
        while (i < ELEMENTSOF(actions) && strcmp(actions[i].name, argv[1]) != 0)
                i++;
        for (int round = 0; i < ELEMENTSOF(actions) && round < N_ROUNDS; round++) {
                double usec = measure(actions[i].action);

                if (usec < 0)
                        return 1;
                least = least < 0 || usec < least ? usec : least;
        }
        printf("%.1f\n", least);
        return least < 0;
}
