/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl bootconfig: prints a session spec in the form that a kernel reads at boot. It writes
 * no file, because the source of a kernel's command line differs between machines. It does not
 * use the daemon. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "spec/bootconfig-kernel.h"
#include "spec/bootconfig-line.h"
#include "spec/bootconfig.h"
#include "spec/spec-file.h"
#include "terminal/message.h"
#include "verbs/verb.h"

enum {
        OPTION_KERNEL = OPTION_VERB,
        OPTION_TOP,
        OPTION_BOOTCONFIG,
        OPTION_PERSISTENT,
        OPTION_DUMP_ON_OOPS,
        OPTION_LIB_DIR,
        OPTION_CONFIG_DIR,
};

static int bootconfig_load_spec(const char *path, SpecFile **ret_file, Spec **ret, Reason *reason) {
        _cleanup_(spec_file_free_cleanup) SpecFile *file = NULL;
        _cleanup_spec_ Spec *spec = spec_new();

        int r = spec ? spec_file_open(path, &file, reason) : -ENOMEM;
        r = r ?: spec_file_read(file, spec, reason);
        if (r != 0)
                return r;
        r = spec_file_refuse(file, spec_complete(spec, reason), reason);
        if (r != 0)
                return r;
        *ret_file = TAKE_PTR(file);
        *ret = TAKE_PTR(spec);
        return 0;
}

static void report_form(const BootKernel *kernel, BootForm form) {
        static const char *const forms[] = {
                [BOOT_TOP] = "words for the command line, into the top buffer",
                [BOOT_INSTANCE] = "words for the command line, into an instance of its own",
                [BOOT_CONFIG] = "a bootconfig file, into an instance of its own",
        };

        message_print("for Linux %u.%u (by %s): %s",
                        kernel->major,
                        kernel->minor,
                        kernel->source,
                        forms[form]);
}

static int bootconfig_go(const Context *context,
                const BootLineOptions *wanted,
                const char *which,
                const char *path) {
        _cleanup_(spec_file_free_cleanup) SpecFile *file = NULL;
        _cleanup_spec_ Spec *spec = NULL;
        _cleanup_free_ char *text = NULL;
        BootKernel kernel = {};
        BootForm form = BOOT_ANY;
        Reason reason = {};

        int r = bootconfig_load_spec(path, &file, &spec, &reason);
        r = r ?: boot_kernel_find(which, &kernel, &reason);
        if (r != 0)
                return message_fail(r, &reason);
        r = boot_make(spec, &kernel, wanted, &form, &text, &reason);
        if (strncmp(reason.text, "--", 2) != 0) /* an option is not in the file */
                r = spec_file_refuse(file, r, &reason);
        r = r || form == BOOT_CONFIG ? r : boot_check_size(text, &kernel, &reason);
        if (r != 0)
                return message_fail(r, &reason);
        if (!context->quiet)
                report_form(&kernel, form);
        fputs(text, stdout);
        return KT_EXIT_OK;
}

static int bootconfig_take(Context *context,
                BootLineOptions *wanted,
                const char **which,
                int option) {
        switch (option) {
        case OPTION_KERNEL:
                *which = optarg;
                return 0;
        case OPTION_TOP:
        case OPTION_BOOTCONFIG:
                if (wanted->form != BOOT_ANY)
                        return message_show_usage(
                                        context, "--top and --bootconfig: one of them, once");
                wanted->form = option == OPTION_TOP ? BOOT_TOP : BOOT_CONFIG;
                return 0;
        case OPTION_PERSISTENT:
                if (!boot_is_size(optarg))
                        return message_show_usage(context,
                                        "--persistent: expected a number with K, M or G such as 12M, got \"%s\"",
                                        optarg);
                wanted->persistent = optarg;
                return 0;
        case OPTION_DUMP_ON_OOPS:
                wanted->dump_on_oops = true;
                return 0;
        case OPTION_LIB_DIR:
                wanted->lib_dir = optarg;
                return 0;
        default:
                wanted->config_dir = optarg;
                return 0;
        }
}

static int bootconfig_run(Context *context, int argc, char **argv) {
        static const struct option options[] = { OPTIONS_GLOBAL,
                { "kernel", required_argument, NULL, OPTION_KERNEL },
                { "top", no_argument, NULL, OPTION_TOP },
                { "bootconfig", no_argument, NULL, OPTION_BOOTCONFIG },
                { "persistent", required_argument, NULL, OPTION_PERSISTENT },
                { "dump-on-oops", no_argument, NULL, OPTION_DUMP_ON_OOPS },
                { "lib-dir", required_argument, NULL, OPTION_LIB_DIR },
                { "config-dir", required_argument, NULL, OPTION_CONFIG_DIR },
                {} };
        BootLineOptions wanted = { .lib_dir = KT_LIB_DIR, .config_dir = KT_CONFIG_DIR };
        const char *which = NULL;
        int option, status = KT_EXIT_OK;

        while (status == KT_EXIT_OK &&
                        (option = options_next(context, argc, argv, "hq", options, &status)) >= 0)
                status = bootconfig_take(context, &wanted, &which, option);
        if (status != KT_EXIT_OK || option == OPTIONS_EXIT)
                return status;
        if (options_count(context, argc, argv, 1, 1, &status) != OPTIONS_END)
                return status;
        return bootconfig_go(context, &wanted, which, argv[optind]);
}

const Verb verb_bootconfig = {
        .name = "bootconfig",
        .arguments = "SPEC.json|-",
        .summary = "Print the words for the kernel to trace its boot, before PID 1",
        .help = "SPEC is a file as for 'create --spec', with \"scope\": \"system\"; - "
                "is standard\n"
                "input. A key that is not possible at boot is refused by name.\n"
                "\n"
                "  --kernel=RELEASE|FILE      the release of another kernel, or its "
                "configuration\n"
                "                             (/boot/config-…); default: the running "
                "kernel\n"
                "  --top                      use the top buffer, even if instances can "
                "be made\n"
                "  --bootconfig               print a file for the tool 'bootconfig' of "
                "the\n"
                "                             kernel's source; needs "
                "CONFIG_BOOT_CONFIG; accepts\n"
                "                             filters\n"
                "  --persistent=SIZE          an instance whose memory survives a "
                "crash; Linux\n"
                "                             6.12\n"
                "  --dump-on-oops             a crash dumps the top buffer into the "
                "kernel's log;\n"
                "                             ktraced does not read it\n"
                "  --config-dir=DIR, --lib-dir=DIR\n"
                "                             the parents of probes.d, instead of "
                "/etc/ktrace and\n"
                "                             /usr/lib/ktrace\n"
                "\n"
                "Add the printed line to the kernel's command line. With GRUB: "
                "GRUB_CMDLINE_LINUX\n"
                "in /etc/default/grub.d/ktrace.cfg, then 'update-grub'. With "
                "systemd-boot:\n"
                "/etc/kernel/cmdline, then 'kernel-install'. At its first start ktraced "
                "moves the\n"
                "records into its spool: 'systemctl enable ktrace-collect.service', "
                "then\n"
                "'ktracectl spool list'. See ktraced(8).\n",
        .run = bootconfig_run,
};
