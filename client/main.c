/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl: finds the verb, passes it the rest of the command line and exits with its status. Owns
 * the table of verbs and the pager. Does not open the bus. */

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "call/proxy.h"
#include "hosts/hosts-run.h"
#include "interfaces/nearest.h"
#include "remote/near.h"
#include "terminal/help.h"
#include "terminal/message.h"
#include "terminal/pager.h"
#include "verbs/verb.h"

#define HELP_COLUMN 37 /* column of the summaries */

static const Verb *const verbs[] = {
        &verb_record,
        &verb_report,
        &verb_calls,
        &verb_convert,
        &verb_summary,
        &verb_top,
        &verb_view,
        &verb_events,
        &verb_list,
        &verb_status,
        &verb_show,
        &verb_create,
        &verb_start,
        &verb_stop,
        &verb_destroy,
        &verb_watch,
        &verb_stream,
        &verb_snapshot,
        &verb_last,
        &verb_blackbox,
        &verb_spool,
        &verb_fleet,
        &verb_mark,
        &verb_hist,
        &verb_metrics,
        &verb_set,
        &verb_clear,
        &verb_probes,
        &verb_saved,
        &verb_policy,
        &verb_bootconfig,
        &verb_verify,
        &verb_serve,
};

static void write_help(FILE *out) {
        fprintf(out,
                        "ktracectl [OPTION...] VERB [ARGUMENT...]\n\n"
                        "Record what the kernel does for your own processes, as any user.\n\n"
                        "Verbs:\n");
        for (size_t i = 0; i < ELEMENTSOF(verbs); i++) {
                int width = fprintf(out, "  %s %s", verbs[i]->name, verbs[i]->arguments);

                fprintf(out,
                                "%s%*s%c%s\n",
                                width >= HELP_COLUMN ? "\n" : "",
                                width >= HELP_COLUMN ? HELP_COLUMN : HELP_COLUMN - width,
                                "",
                                toupper(verbs[i]->summary[0]),
                                verbs[i]->summary + 1);
        }
        fprintf(out,
                        "\nOptions, before or after the verb:\n"
                        "  --json[=pretty|short|off]  listings as JSON\n"
                        "  --no-pager                 do not pipe listings into a pager\n"
                        "  --no-ask-password          never ask for a password; calls that need one fail\n"
                        "  --no-legend                no headings and no counts\n"
                        "  --varlink                  call ktraced over its own socket, without the bus\n"
                        "  -H, --host=[USER@]HOST     trace on another machine, over ssh;\n"
                        "                             several: A,B or @FILE\n"
                        "  -M, --machine=CONTAINER    trace the processes of a container\n"
                        "  -q, --quiet                print only errors and results\n"
                        "  -h, --help                 this text; after a verb: the help of the verb\n"
                        "  --version\n"
                        "\nEnvironment: DBUS_SYSTEM_BUS_ADDRESS names the bus, KTRACE_VARLINK_ADDRESS the socket\n"
                        "(unix:PATH); KTRACE_SSH the program for -H; SYSTEMD_PAGER, PAGER.\n"
                        "\nExit status: 0 done; 1 failed; 2 wrong usage; 3 denied; 4 events were lost;\n"
                        "'record' with a command returns the command's (see 'ktracectl record --help').\n"
                        "\nTo begin with:\n"
                        "  ktracectl record -e 'sched:sched_process_*' -- ls\n"
                        "  ktracectl report trace.dat\n"
                        "  ktracectl calls -- ls\n"
                        "  ktracectl summary -- ls\n"
                        "  ktracectl view trace.dat\n");
}

static void ktracectl_print_help(void) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);

        if (!out)
                return;
        write_help(out);
        if (fclose(out) == 0)
                help_print(stdout, text);
}

static const Verb *verb_find(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                if (strcmp(verbs[i]->name, name) == 0)
                        return verbs[i];
        return NULL;
}

/* Finds a verb that differs by one or two letters. */
static const char *verb_guess(const char *name) {
        Nearest near = { name, (uint32_t)MIN_OF(strlen(name), 3UL), NULL };

        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                nearest_consider(&near, verbs[i]->name);
        return near.name;
}

static int verb_run(Context *context, int argc, char **argv) {
        Pager pager = PAGER_INIT;
        int status;

        if (context->verb->paged && context->pager)
                pager_open(&pager, argc, argv);
        context->is_paged = pager_is_open(&pager);
        status = context->verb->run(context, argc, argv);
        /* At the latest, a full disk causes an error here when the output is redirected. */
        if ((fflush(stdout) != 0 || ferror(stdout)) && !pager_is_open(&pager) && status == 0) {
                message_print("cannot write to standard output: %s", strerror(errno));
                status = KT_EXIT_FAILED;
        }
        pager_close(&pager);
        return status;
}

/* When a descriptor from 0 to 2 is closed, the next opened file would get its number, and messages
 * would be written to the recording. So /dev/null fills the gap. It is opened for the opposite
 * direction, so that reads of standard input and writes of output fail. The command of `record`
 * does not inherit it. */
static int fill_closed_descriptors(void) {
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
                if (fcntl(fd, F_GETFD) >= 0)
                        continue;
                /* open() returns the lowest free number, which is this one. */
                if (open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC) < 0)
                        return -errno;
        }
        return 0;
}

/* Whether a verb without an output of its own reads standard input: it names it with "-". */
static bool ktracectl_reads_input(const Context *context) {
        for (int i = 1; i < context->n_words; i++) {
                const char *word = context->words[i], *value = strchr(word, '=');

                if (strcmp(word, "-") == 0 || (value && strcmp(value, "=-") == 0))
                        return true;
        }
        return false;
}

static int ktracectl_run_there(const Context *context) {
        if (context_has_many_hosts(context))
                return hosts_run(context, ktracectl_reads_input(context));
        return near_run(&(NearOptions){
                        .context = context, .reads_input = ktracectl_reads_input(context) });
}

/* Runs a whole command line, with words before the verb. */
static int ktracectl_run(Context *context, int argc, char **argv) {
        static const struct option options[] = { OPTIONS_GLOBAL, {} };
        int option, status;

        context->run_here = ktracectl_run;
        context->run_there = ktracectl_run_there;
        context->n_words = argc;
        context->words = argv;
        optind = 0; /* 0 resets also the hidden state of getopt */
        option = options_next(context, argc, argv, "+hq", options, &status);
        if (option == OPTIONS_EXIT)
                return status;
        if (option != OPTIONS_END) {
                ktracectl_print_help();
                return KT_EXIT_OK;
        }
        if (optind >= argc)
                return message_show_usage(context, "no verb was given");
        argv += optind;
        argc -= optind;
        context->verb = verb_find(argv[0]);
        if (!context->verb) {
                const char *guess = verb_guess(argv[0]);

                return message_show_usage(context,
                                "%s: no such verb%s%s%s",
                                argv[0],
                                guess ? ", did you mean '" : "",
                                guess ?: "",
                                guess ? "'?" : "");
        }
        optind = 0;
        return verb_run(context, argc, argv);
}

int main(int argc, char **argv) {
        Context context = { .legend = true, .pager = true, .ask_password = true };

        if (fill_closed_descriptors() < 0)
                return KT_EXIT_FAILED;
        (void)setlocale(LC_ALL, "");
        return ktracectl_run(&context, argc, argv);
}
