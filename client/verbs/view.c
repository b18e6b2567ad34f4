/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `ktracectl view`: shows a recorded trace in the browser. It converts the trace to a file in
 * memory and serves it on 127.0.0.1 until the page is closed. Reads only the file and never calls
 * the daemon. */

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "export/export.h"
#include "recording/input.h"
#include "recording/isolation.h"
#include "terminal/message.h"
#include "verbs/verb.h"
#include "view/page-server.h"

enum {
        OPTION_UI = OPTION_VERB,
        OPTION_NO_BROWSER,
};

static const struct {
        const char *name;
        PageKind kind;
        ExportFormat format;
} uis[] = {
        { "html", PAGE_HTML, EXPORT_HTML },
        { "perfetto", PAGE_PERFETTO, EXPORT_PERFETTO },
};

typedef struct ViewWork {
        const Context *context;
        ExportSource source;
        ExportFormat format;
        FILE *out;
} ViewWork;

/* In the isolated process. */
static int view_work(void *argument) {
        const ViewWork *work = argument;
        ExportSummary summary;
        Reason reason = {};

        int r = export_source(&work->source, work->format, work->out, &summary, &reason);
        if (r == 0 && fflush(work->out) != 0)
                r = -errno;
        if (r != 0)
                return input_report_failure(work->source.name, NULL, r, &reason);
        return input_report_summary(work->context, work->source.name, &summary);
}

/* Returns KT_EXIT_OK or KT_EXIT_LOST with the page in *ret, or the exit status. */
static int view_convert(ViewWork *work, const char *path, FILE **ret) {
        _cleanup_fclose_ FILE *out = NULL;
        _cleanup_close_ int in = -1, fd = -1;
        Reason reason = {};

        int r = input_open(path, &in, &work->source.name, &reason);
        if (r == 0) {
                fd = memfd_create("ktrace-view", MFD_CLOEXEC);
                out = fd < 0 ? NULL : fdopen(fd, "w+");
                r = out ? 0 : -errno;
        }
        if (r != 0)
                return input_report_failure(work->source.name, NULL, r, &reason);
        fd = -1; /* owned by out */
        work->source.fd = in;
        work->out = out;
        int status = isolation_run(work->source.name, view_work, work);
        *ret = TAKE_PTR(out);
        return status;
}

static bool view_has_desktop(void) {
        return getenv("DISPLAY") || getenv("WAYLAND_DISPLAY");
}

/* The address is printed in any case, so a failure is not reported. */
static void view_open_browser(char *address) {
        char program[] = "xdg-open";
        char *argv[] = { program, address, NULL };
        posix_spawn_file_actions_t actions;
        pid_t child;

        (void)posix_spawn_file_actions_init(&actions); /* cannot fail on Linux */
        (void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        (void)posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
        (void)signal(SIGCHLD, SIG_IGN); /* it may run as long as the browser */
        (void)posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
}

static int view_serve(const Context *context, const PageOptions *options, bool opens_browser) {
        _cleanup_(page_server_free_cleanup) PageServer *server = NULL;
        char address[64];
        Reason reason = {};

        int r = page_server_new(options, &server, &reason);
        if (r != 0)
                return message_fail(r, &reason);
        (void)snprintf(address,
                        sizeof(address),
                        "http://127.0.0.1:%u/",
                        page_server_get_port(server));
        if (printf("%s\n", address) < 0 || fflush(stdout) != 0)
                return message_fail(-errno, &reason);
        if (opens_browser && view_has_desktop())
                view_open_browser(address);
        else if (!context->quiet)
                message_print("open this address in your browser; view ends when the page is closed");
        page_server_wait(server);
        return KT_EXIT_OK;
}

static const char *view_get_title(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash && slash[1] ? slash + 1 : path;
}

static int view_run(Context *context, int argc, char **argv) {
        static const struct option options[] = { OPTIONS_GLOBAL,
                { "ui", required_argument, NULL, OPTION_UI },
                { "no-browser", no_argument, NULL, OPTION_NO_BROWSER },
                {} };
        ViewWork work = { .context = context, .source.seal = isolation_seal };
        _cleanup_fclose_ FILE *page = NULL;
        const char *ui = uis[0].name;
        bool opens_browser = true;
        int option, status;
        size_t i = 0;

        while ((option = options_next(context, argc, argv, "hq", options, &status)) >= 0)
                if (option == OPTION_UI)
                        ui = optarg;
                else
                        opens_browser = false;
        if (option != OPTIONS_END)
                return status;
        if (argc - optind != 1)
                return message_show_usage(context, "expected one FILE, or '-' for standard input");
        while (i < ELEMENTSOF(uis) && strcmp(uis[i].name, ui) != 0)
                i++;
        if (i == ELEMENTSOF(uis))
                return message_show_usage(
                                context, "--ui: expected html or perfetto, got \"%s\"", ui);
        work.format = uis[i].format;
        status = view_convert(&work, argv[optind], &page);
        if (status != KT_EXIT_OK && status != KT_EXIT_LOST)
                return status;
        int served = view_serve(context,
                        &(PageOptions){ .kind = uis[i].kind,
                                        .fd = fileno(page),
                                        .title = view_get_title(argv[optind]) },
                        opens_browser);
        return served == KT_EXIT_OK ? status : served;
}

const Verb verb_view = {
        .name = "view",
        .arguments = "FILE",
        .summary = "show a recorded trace in the browser",
        .help = "Prints an address of this machine, and opens it in the browser on a desktop. Only\n"
                "your own processes can connect. It ends when the page is closed.\n"
                "\n"
                "  --ui UI              html: the page of 'convert --to html' (default).\n"
                "                       perfetto: Perfetto's UI, which the browser loads from\n"
                "                       ui.perfetto.dev; it gets the recording\n"
                "  --no-browser         only print the address\n"
                "\n"
                "FILE is as for 'report'. The page is kept in memory while it is shown.\n",
        .at_home = "it shows recordings that are here: copy the file, or record with -H",
        .run = view_run,
};
