/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* ktrace-ship: sends marked recordings of this machine to a broker. See ktrace-ship(8). It is a
 * client of ktraced without rights of its own, except those of a rule with the key `ship`. A signal
 * ends it at any point, which loses nothing (shipper.c). */

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "interfaces/names.h"
#include "service/log.h"
#include "ship/shipper.h"

enum {
        OPTION_HELP = 'h',
        OPTION_CONFIG_DIR = 256,
        OPTION_VERSION,
};

static const struct option options[] = {
        { "config-dir", required_argument, NULL, OPTION_CONFIG_DIR },
        { "help", no_argument, NULL, OPTION_HELP },
        { "version", no_argument, NULL, OPTION_VERSION },
        { 0 },
};

static void ship_print_help(void) {
        printf("ktrace-ship [OPTION…]\n"
               "\n"
               "Sends recordings that their owners have marked to NATS JetStream.\n"
               "\n"
               "  --config-dir=DIR  the administrator's settings (%s)\n"
               "  -h, --help        this text\n"
               "  --version         the version\n"
               "\n"
               "CREDENTIALS_DIRECTORY has the credentials, DBUS_SYSTEM_BUS_ADDRESS names the bus,\n"
               "KTRACE_VARLINK_ADDRESS ktraced's socket. See ktrace-ship(8).\n",
                        KT_CONFIG_DIR);
}

/* Returns an exit status, or -1 to continue. */
static int ship_parse_options(const char **config_dir, int argc, char **argv) {
        int option;

        while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1)
                switch (option) {
                case OPTION_CONFIG_DIR:
                        *config_dir = optarg;
                        break;
                case OPTION_HELP:
                        ship_print_help();
                        return KT_EXIT_OK;
                case OPTION_VERSION:
                        puts("ktrace-ship " KT_VERSION);
                        return KT_EXIT_OK;
                default:
                        return KT_EXIT_USAGE;
                }
        if (optind == argc)
                return -1;
        fprintf(stderr,
                        "ktrace-ship: expected no argument, got \"%s\"; see --help\n",
                        argv[optind]);
        return KT_EXIT_USAGE;
}

int main(int argc, char **argv) {
        _cleanup_(ship_settings_free_cleanup) ShipSettings *settings = NULL;
        const char *config_dir = KT_CONFIG_DIR;
        Reason reason = {};

        int r = ship_parse_options(&config_dir, argc, argv);
        if (r >= 0)
                return r;
        (void)signal(SIGPIPE, SIG_IGN); /* of a broker that has gone */
        r = ship_settings_load(config_dir, &settings, &reason);
        r = r ?: shipper_run(settings, getenv("CREDENTIALS_DIRECTORY"));
        log_print(LOG_ERR, "%s", reason.text[0] ? reason.text : strerror(r < 0 ? -r : EINVAL));
        return KT_EXIT_FAILED;
}
