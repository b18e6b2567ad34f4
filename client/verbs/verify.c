/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ktracectl verify: checks that the kernel contains no objects of ktraced without a session. It
 * reads tracefs itself (instances/ktrace-*, dynamic events in groups ktrace_*) and compares with
 * the sessions and probes of a running daemon. It never starts a daemon and never removes anything.
 * It requires a mounted tracefs and root: other users may not read tracefs. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "call/proxy-session.h"
#include "call/proxy.h"
#include "interfaces/boot-mark.h"
#include "terminal/table.h"
#include "verbs/verb.h"

#define PROBE_GROUP_PREFIX "ktrace_"
#define PAIR_PREFIX        "synthetic/" PROBE_GROUP_PREFIX
#define PROBE_HISTORY      "ktrace_history/"
/* All sessions share it; the last session removes it. */
#define PROBE_GUARD       "ktrace_guard/commit_creds"
#define VERIFY_LOOKS      10
#define VERIFY_PAUSE_USEC (200 * 1000)

enum {
        OPTION_TRACEFS = OPTION_VERB,
};

typedef struct Verify {
        const Context *context;
        const char *path;
        int tracefs_fd;
        json_object *sessions; /* NULL: no daemon runs */
        json_object *status;   /* NULL: the same; has the ids of prepared and shared instances */
        json_object *probes;   /* NULL: the same */
        json_object *findings; /* [{"kind","name"}] */
} Verify;

static int verify_refuse(const char *path, int error, Reason *reason) {
        if (error == EACCES || error == EPERM)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "%s cannot be read: %s; it requires root: 'sudo ktracectl verify', or -H root@HOST",
                                path,
                                strerror(error));
        return reason_set(reason,
                        KT_E_NO_TRACING,
                        "%s cannot be read: %s; mount it with 'mount -t tracefs tracefs %s'",
                        path,
                        strerror(error),
                        path);
}

static int verify_open(Verify *verify, Reason *reason) {
        struct statfs fs;

        verify->tracefs_fd = open(verify->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (verify->tracefs_fd < 0)
                return verify_refuse(verify->path, errno, reason);
        if (fstatfs(verify->tracefs_fd, &fs) < 0)
                return -errno;
        if (fs.f_type != TRACEFS_MAGIC)
                return reason_set(reason,
                                KT_E_NO_TRACING,
                                "%s is not a tracefs; mount it with 'mount -t tracefs tracefs "
                                "%s'",
                                verify->path,
                                verify->path);
        return 0;
}

static int verify_ask_daemon(Verify *verify, Reason *reason) {
        _cleanup_(proxy_free_cleanup) Proxy *proxy = NULL;

        int r = proxy_open_running(verify->context->door, &proxy, reason);
        if (r != 0 || !proxy)
                return r;
        r = proxy_list(proxy, &verify->sessions, reason);
        r = r ?: proxy_get(proxy, NULL, "GetStatus", NULL, &verify->status, reason);
        r = r ?: proxy_get(proxy, NULL, "ListProbes", NULL, &verify->probes, reason);
        return r;
}

/* Returns "" if ktraced keeps no history of tasks for the black box. */
static const char *verify_get_history(const Verify *verify) {
        return json_object_get_string(json_object_object_get(verify->status, "history")) ?: "";
}

static bool verify_is_prepared(const Verify *verify, const char *id) {
        json_object *ids = json_object_object_get(verify->status, "prepared");

        if (strcmp(verify_get_history(verify), id) == 0)
                return true;
        for (size_t i = 0; ids && i < json_object_array_length(ids); i++)
                if (strcmp(json_object_get_string(json_object_array_get_idx(ids, i)), id) == 0)
                        return true;
        return false;
}

static bool verify_is_shared(const Verify *verify, const char *id) {
        json_object *shares = json_object_object_get(verify->status, "shares");

        for (size_t i = 0; shares && i < json_object_array_length(shares); i++) {
                json_object *instance =
                                json_object_object_get(json_object_array_get_idx(shares, i), "id");

                if (strcmp(json_object_get_string(instance), id) == 0)
                        return true;
        }
        return false;
}

static bool verify_has_session(const Verify *verify, const char *id) {
        for (size_t i = 0; verify->sessions && i < json_object_array_length(verify->sessions);
                        i++) {
                json_object *row = json_object_array_get_idx(verify->sessions, i);

                if (strcmp(json_object_get_string(json_object_object_get(row, "id")), id) == 0)
                        return true;
        }
        return false;
}

/* A user's probe stays until the user removes it. A probe of the catalogue stays while a session
 * uses it. */
static bool verify_has_probe(const Verify *verify, const char *group_event) {
        size_t n = verify->probes ? json_object_array_length(verify->probes) : 0;

        for (size_t i = 0; i < n; i++) {
                json_object *probe = json_object_array_get_idx(verify->probes, i);
                const char *event = json_object_get_string(json_object_object_get(probe, "event"));
                const char *slash = strchr(group_event, '/');
                size_t size = slash ? (size_t)(slash - group_event) : 0;
                bool is_used = json_object_get_int(json_object_object_get(probe, "users")) > 0 ||
                               json_object_object_get(probe, "uid");

                if (slash && is_used && strncmp(event, group_event, size) == 0 &&
                                event[size] == ':' && strcmp(event + size + 1, slash + 1) == 0)
                        return true;
        }
        return false;
}

static int verify_add(Verify *verify, const char *kind, const char *name) {
        json_object *finding = json_object_new_object();

        if (!finding || json_object_array_add(verify->findings, finding) < 0) {
                json_object_put(finding);
                return -ENOMEM;
        }
        (void)json_object_object_add(finding, "kind", json_object_new_string(kind));
        (void)json_object_object_add(finding, "name", json_object_new_string(name));
        return 0;
}

static int verify_instances(Verify *verify, Reason *reason) {
        size_t n = strlen(KT_INSTANCE_PREFIX);
        struct dirent *entry;
        int r = 0, fd = openat(verify->tracefs_fd, "instances", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *directory = fd < 0 ? NULL : fdopendir(fd);

        if (!directory) {
                r = verify_refuse(verify->path, errno, reason);
                if (fd >= 0)
                        close(fd);
                return r;
        }
        while (r == 0 && (errno = 0, entry = readdir(directory)))
                if (strncmp(entry->d_name, KT_INSTANCE_PREFIX, n) == 0 &&
                                !verify_has_session(verify, entry->d_name + n) &&
                                !verify_is_prepared(verify, entry->d_name + n) &&
                                !verify_is_shared(verify, entry->d_name + n))
                        r = verify_add(verify, "instance", entry->d_name);
        if (r == 0 && errno != 0)
                r = verify_refuse(verify->path, errno, reason);
        (void)closedir(directory);
        return r;
}

/* "synthetic/ktrace_ID_N" is the event of a session's probe that is made of two events. */
static bool verify_has_pair(const Verify *verify, const char *name) {
        const char *start = name + strlen(PAIR_PREFIX);
        char id[KT_ID_DIGITS + 1];

        if (strlen(start) < KT_ID_DIGITS || start[KT_ID_DIGITS] != '_')
                return false;
        memcpy(id, start, KT_ID_DIGITS);
        id[KT_ID_DIGITS] = '\0';
        return verify_has_session(verify, id);
}

/* When the recording of the boot is in the spool, none of its probes may remain. */
static bool verify_is_boot_over(void) {
        _cleanup_close_ int fd = open(KT_RUNTIME_DIR "/state/.boot.json", O_RDONLY | O_CLOEXEC);
        char text[512] = "";

        return fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && strstr(text, "\"entry\"");
}

/* The boot's probes are expected until then, and also when the daemon left them to other programs.
 * Without the mark they belong to another program, whatever their group is called. */
static bool verify_has_boot(const char *name) {
        _cleanup_close_ int fd = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);
        char text[8192] = "", *rest = text;
        bool is_ours = false;
        BootMark mark;

        if (strncmp(name, BOOT_GROUP "/", strlen(BOOT_GROUP "/")) != 0)
                return false;
        if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
                for (char *word; (word = boot_next_word(&rest));) {
                        const char *value = boot_get_value(word, BOOT_MARK);

                        is_ours = is_ours || (value && boot_mark_parse(value, &mark));
                }
        return !is_ours || !verify_is_boot_over();
}

/* A line is "p:group/event …", "r16:group/event …" or "s:synthetic/event …". */
static int verify_probe(Verify *verify, char *line) {
        char *name = *line == '#' ? NULL : strchr(line, ':'); /* since 7.2 there are comments */

        bool is_pair = name && strncmp(name + 1, PAIR_PREFIX, strlen(PAIR_PREFIX)) == 0;

        if (!name || (!is_pair && strncmp(name + 1,
                                                  PROBE_GROUP_PREFIX,
                                                  strlen(PROBE_GROUP_PREFIX)) != 0))
                return 0;
        name++;
        name[strcspn(name, " \t\n")] = '\0';
        if (is_pair && verify_has_pair(verify, name))
                return 0;
        if (strcmp(name, PROBE_GUARD) == 0 && verify->sessions &&
                        json_object_array_length(verify->sessions) > 0)
                return 0;
        if (strncmp(name, PROBE_HISTORY, strlen(PROBE_HISTORY)) == 0 && *verify_get_history(verify))
                return 0;
        if (verify_has_probe(verify, name) || verify_has_boot(name))
                return 0;
        return verify_add(verify, "dynamic event", name);
}

/* Kernels without dynamic events do not have this file, so they have no probes of ktraced. */
static int verify_probes(Verify *verify, Reason *reason) {
        _cleanup_fclose_ FILE *file = NULL;
        _cleanup_free_ char *line = NULL;
        int r = 0, fd = openat(verify->tracefs_fd, "dynamic_events", O_RDONLY | O_CLOEXEC);
        size_t size = 0;

        if (fd < 0 && errno == ENOENT)
                return 0;
        if (fd < 0)
                return verify_refuse(verify->path, errno, reason);
        file = fdopen(fd, "r");
        if (!file) {
                close(fd);
                return -ENOMEM;
        }
        while (r == 0 && getline(&line, &size, file) > 0)
                r = verify_probe(verify, line);
        return r == 0 && ferror(file) ? verify_refuse(verify->path, errno, reason) : r;
}

static int verify_print(const Context *context, const Verify *verify) {
        size_t n = json_object_array_length(verify->findings);

        if (context->json != JSON_OFF) {
                table_print_json(context, verify->findings);
                return n == 0 ? KT_EXIT_OK : KT_EXIT_FAILED;
        }
        for (size_t i = 0; i < n; i++) {
                json_object *finding = json_object_array_get_idx(verify->findings, i);

                message_print("%s %s belongs to no session%s; ktraced removes it when it starts",
                                json_object_get_string(json_object_object_get(finding, "kind")),
                                json_object_get_string(json_object_object_get(finding, "name")),
                                verify->sessions ? "" : " (ktraced is not running)");
        }
        if (n == 0 && !context->quiet)
                printf("nothing of ktraced's is in the kernel without a session\n");
        return n == 0 ? KT_EXIT_OK : KT_EXIT_FAILED;
}

static int verify_look(Verify *verify, Reason *reason) {
        int r;

        json_object_put(verify->findings);
        json_object_put(verify->sessions);
        json_object_put(verify->probes);
        json_object_put(verify->status);
        verify->sessions = verify->probes = verify->status = NULL;
        verify->findings = json_object_new_array();
        if (!verify->findings)
                return -ENOMEM;
        r = verify_ask_daemon(verify, reason);
        if (r == 0)
                r = verify_instances(verify, reason);
        if (r == 0)
                r = verify_probes(verify, reason);
        return r;
}

/* While a session is created or removed, its instance exists but the session is not listed. So with
 * a running daemon, a finding counts only when it persists. */
static int verify_execute(const Context *context, Verify *verify) {
        Reason reason = {};
        int r = verify_open(verify, &reason);

        for (int i = 0; r == 0 && i < VERIFY_LOOKS; i++) {
                r = verify_look(verify, &reason);
                if (r != 0 || !verify->sessions || json_object_array_length(verify->findings) == 0)
                        break;
                (void)usleep(VERIFY_PAUSE_USEC);
        }
        return r == 0 ? verify_print(context, verify) : message_fail(r, &reason);
}

static int verify_run(Context *context, int argc, char **argv) {
        static const struct option options[] = {
                OPTIONS_GLOBAL, { "tracefs", required_argument, NULL, OPTION_TRACEFS }, {}
        };
        Verify verify = { .context = context, .path = KT_TRACEFS_DIR, .tracefs_fd = -1 };
        int option, status;

        while ((option = options_next(context, argc, argv, "hq", options, &status)) >= 0)
                verify.path = optarg;
        if (option == OPTIONS_END)
                option = options_count(context, argc, argv, 0, 0, &status);
        if (option == OPTIONS_END)
                status = verify_execute(context, &verify);
        json_object_put(verify.sessions);
        json_object_put(verify.probes);
        json_object_put(verify.status);
        json_object_put(verify.findings);
        if (verify.tracefs_fd >= 0)
                close(verify.tracefs_fd);
        return status;
}

const Verb verb_verify = {
        .name = "verify",
        .arguments = "",
        .summary = "Check that nothing of ktraced's is in the kernel without a session",
        .help = "Reads tracefs itself, compares with a running ktraced (never starts one) "
                "and repairs\n"
                "nothing. Needs root. Exit status 1 and one line for each thing found.\n"
                "\n"
                "      --tracefs DIR      default: " KT_TRACEFS_DIR "\n",
        .far_protocol = 3,
        .run = verify_run,
};
