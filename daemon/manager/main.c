/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The main program of ktraced: parses the options and runs the manager. See ktraced(8). */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "base/log.h"
#include "interfaces/names.h"
#include "manager/collect.h"
#include "manager/manager.h"
#include "policy/policy.h"

enum {
        OPTION_HELP = 'h',
        OPTION_CONFIG_DIR = 256,
        OPTION_LIB_DIR,
        OPTION_STATE_DIR,
        OPTION_RUNTIME_DIR,
        OPTION_TRACEFS,
        OPTION_CONSUMER,
        OPTION_CONSUMER_USER,
        OPTION_CHECK_POLICY,
        OPTION_COLLECT,
        OPTION_VERSION,
};

static const struct option options[] = {
        { "config-dir", required_argument, NULL, OPTION_CONFIG_DIR },
        { "lib-dir", required_argument, NULL, OPTION_LIB_DIR },
        { "state-dir", required_argument, NULL, OPTION_STATE_DIR },
        { "runtime-dir", required_argument, NULL, OPTION_RUNTIME_DIR },
        { "tracefs", required_argument, NULL, OPTION_TRACEFS },
        { "consumer", required_argument, NULL, OPTION_CONSUMER },
        { "consumer-user", required_argument, NULL, OPTION_CONSUMER_USER },
        { "check-policy", optional_argument, NULL, OPTION_CHECK_POLICY },
        { "collect", no_argument, NULL, OPTION_COLLECT },
        { "help", no_argument, NULL, OPTION_HELP },
        { "version", no_argument, NULL, OPTION_VERSION },
        { 0 },
};

static void ktraced_print_help(void) {
        Configuration preset;

        configuration_init(&preset);
        printf("ktraced [OPTION…]\n"
               "\n"
               "Records kernel events for users, as the policy allows. Its interface "
               "is\n"
               "org.ktrace1 on D-Bus. systemd usually starts it at the first request.\n"
               "\n"
               "  --config-dir=DIR      the administrator's configuration and rules\n"
               "                        (%s)\n"
               "  --lib-dir=DIR         configuration and rules as shipped (%s)\n"
               "  --state-dir=DIR       state that is kept over a reboot (%s)\n"
               "  --runtime-dir=DIR     state that is not (%s)\n"
               "  --tracefs=DIR         the mount point of tracefs (%s)\n"
               "  --consumer=FILE       the stream worker (%s)\n"
               "  --consumer-user=USER  the user that it runs as, never root (%s)\n"
               "  --check-policy[=FILE] check the rules, or this file of rules, and "
               "exit\n"
               "  --collect             save what a crash left in pstore, and exit\n"
               "  -h, --help            this text\n"
               "  --version             the version\n"
               "\n"
               "The bus is the system bus, or the bus of DBUS_SYSTEM_BUS_ADDRESS.\n"
               "See ktraced(8).\n",
                        preset.config_dir,
                        preset.lib_dir,
                        preset.state_dir,
                        preset.runtime_dir,
                        preset.tracefs,
                        preset.consumer,
                        preset.consumer_user);
}

/* Returns an exit status. */
static int collect(const Configuration *configuration) {
        /* The paths of systemd-pstore.service, which moves the files from one to the other. */
        static const char *const sources[] = { "/sys/fs/pstore", "/var/lib/systemd/pstore", NULL };
        const CollectOptions wanted = {
                .sources = sources,
                .state_dir = configuration->state_dir,
                .runtime_dir = configuration->runtime_dir,
        };
        size_t n = 0;

        log_open(LOG_TARGET_AUTO);
        int r = collect_run(&wanted, &n);
        if (r < 0) {
                log_errno(r, LOG_ERR, NULL, "cannot collect the records of a crash");
                return KT_EXIT_FAILED;
        }
        if (n > 0)
                log_notice("files of a crash of the machine: %zu", n);
        return KT_EXIT_OK;
}

static void print_warning(const char *text, void *userdata _unused_) {
        fprintf(stderr, "warning: %s\n", text);
}

static void print_no_rules(const Configuration *configuration, const char *file) {
        if (file)
                fprintf(stderr, "warning: %s: the file has no rules\n", file);
        else
                fprintf(stderr,
                                "warning: no rules in %s/" KT_POLICY_SUBDIR
                                " and %s/" KT_POLICY_SUBDIR ": only root may record\n",
                                configuration->config_dir,
                                configuration->lib_dir);
}

/* Checks the files that a start or a reload would read; any user who can read them may do this.
 * file: check only this one, or NULL. Returns an exit status. */
static int check_policy(Configuration *configuration, const char *file) {
        _cleanup_(policy_free_cleanup) Policy *policy = NULL;
        Reason reason = { "" };
        int r;

        if (file)
                r = policy_load_file(file, &policy, &reason);
        else {
                r = configuration_load(configuration, &reason);
                r = r
                                    ?: policy_load(configuration->lib_dir,
                                                       configuration->config_dir,
                                                       &policy,
                                                       &reason);
        }
        if (r != 0) {
                fprintf(stderr,
                                "%s\n",
                                *reason.text ? reason.text
                                : r < 0      ? strerror(-r)
                                             : error_get(r)->text);
                return KT_EXIT_FAILED;
        }
        policy_visit_warnings(policy, print_warning, NULL);
        if (policy_get_n_rules(policy) == 0)
                print_no_rules(configuration, file);
        if (file)
                printf("%s: good; rules: %zu\n", file, policy_get_n_rules(policy));
        else
                printf("good; rules: %zu; SHA-256 of the files: %s\n",
                                policy_get_n_rules(policy),
                                policy_get_digest(policy));
        return KT_EXIT_OK;
}

/* Returns an exit status, or -1 to continue. */
static int parse_options(Configuration *configuration, int argc, char **argv) {
        const char *file = NULL;
        bool check = false, collects = false;
        int option;

        while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1)
                switch (option) {
                case OPTION_CONFIG_DIR:
                        configuration->config_dir = optarg;
                        break;
                case OPTION_LIB_DIR:
                        configuration->lib_dir = optarg;
                        break;
                case OPTION_STATE_DIR:
                        configuration->state_dir = optarg;
                        break;
                case OPTION_RUNTIME_DIR:
                        configuration->runtime_dir = optarg;
                        break;
                case OPTION_TRACEFS:
                        configuration->tracefs = optarg;
                        break;
                case OPTION_CONSUMER:
                        configuration->consumer = optarg;
                        break;
                case OPTION_CONSUMER_USER:
                        configuration->consumer_user = optarg;
                        break;
                case OPTION_CHECK_POLICY:
                        check = true;
                        file = optarg;
                        break;
                case OPTION_COLLECT:
                        collects = true;
                        break;
                case OPTION_HELP:
                        ktraced_print_help();
                        return KT_EXIT_OK;
                case OPTION_VERSION:
                        puts("ktraced " KT_VERSION);
                        return KT_EXIT_OK;
                default:
                        return KT_EXIT_USAGE;
                }
        if (optind < argc) {
                fprintf(stderr,
                                "ktraced: expected no argument, got \"%s\"; see --help\n",
                                argv[optind]);
                return KT_EXIT_USAGE;
        }
        if (collects)
                return collect(configuration);
        return check ? check_policy(configuration, file) : -1;
}

int main(int argc, char **argv) {
        Configuration configuration;
        Reason reason = { "" };
        int r;

        configuration_init(&configuration);
        r = parse_options(&configuration, argc, argv);
        if (r >= 0)
                return r;
        log_open(LOG_TARGET_AUTO);
        /* A write to a client that has closed its end must fail, not end the daemon. */
        signal(SIGPIPE, SIG_IGN);

        r = configuration_load(&configuration, &reason);
        if (r == 0)
                r = manager_run(&configuration, &reason);
        if (r == 0)
                return KT_EXIT_OK;
        if (r < 0)
                log_errno(r, LOG_ERR, NULL, "ktraced ends");
        else
                log_error("%s", *reason.text ? reason.text : error_get(r)->text);
        return KT_EXIT_FAILED;
}
