/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Wires the floors together and runs the event loop. Owns everything there is one of: event loop,
 * bus connection, policy, registry, auth, door. What one floor has to tell another passes through
 * the callbacks here, so that none of them looks up.
 *
 * The bus name comes before the registry, which removes instances without a session: a second
 * daemon must end before it takes those of the first for such. Calls that come early wait in the
 * queue until the loop runs. A lost bus ends the daemon with an error, systemd starts it again;
 * what a client owned would be lost with its connection anyway.
 *
 * When started by systemd or by the bus (NOTIFY_SOCKET or DBUS_STARTER_ADDRESS is set) the daemon
 * ends itself after IDLE_USEC without a session and without a caller; started by hand it stays. */
#include "manager.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "door.h"
#include "log.h"
#include "names.h"

#define USEC_PER_SEC 1000000ULL
#define IDLE_USEC    (30 * USEC_PER_SEC)
#define LOOK_USEC    (2 * USEC_PER_SEC)
#define ADOPT_USEC   (10 * USEC_PER_SEC)
#define STATE_DIR    "state" /* in the runtime directory: gone with the machine's memory */

typedef struct Manager {
        const Configuration *configuration;
        sd_event *event;
        sd_bus *bus;
        Policy *policy;
        Registry *registry;
        Auth *auth;
        Door *door;
        char *consumer_socket;
        char *state_dir;
        FdStore *fd_store;
        char bus_id[SD_ID128_STRING_MAX];
        sd_event_source *idle_timer; /* NULL: started by hand, never ends by itself */
} Manager;

static uint64_t get_now_usec(void) {
        struct timespec now = {};

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

/* Ends the sessions or leaves them to the next daemon, answers what is in flight, refuses what is
 * held back. */
static void close_door(Manager *manager, bool leaves) {
        if (manager->registry)
                manager->registry = leaves ? registry_leave(manager->registry)
                                           : registry_free(manager->registry);
        manager->door = door_free(manager->door);
        manager->auth = auth_free(manager->auth);
}

static void manager_clear(Manager *manager) {
        sd_event_source_unref(manager->idle_timer);
        manager->idle_timer = NULL;
        close_door(manager, false);
        sd_bus_flush_close_unref(manager->bus);
        policy_free(manager->policy);
        free(manager->consumer_socket);
        free(manager->state_dir);
        fd_store_free(manager->fd_store);
        sd_event_unref(manager->event);
}

/* sd-bus closes the connection as soon as the loop is left: what is still to be said is said
 * before. */
static int manager_end(Manager *manager, bool leaves) {
        close_door(manager, leaves);
        return sd_event_exit(manager->event, 0);
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata) {
        sd_notify(0, "STOPPING=1");
        /* ktraced.service: a restart is told by this one. */
        return manager_end(userdata, si->ssi_signo == SIGUSR2);
}

/* Both are read whole beside what is in force, which stays when either is broken. */
static int read_anew(Manager *manager, Reason *reason) {
        _cleanup_(policy_free_cleanup) Policy *policy = NULL;
        Configuration configuration = *manager->configuration;

        /* What a file no longer says is as it was shipped. */
        limits_init(&configuration.limits);
        int r = configuration_load(&configuration, reason);
        r = r ?: policy_load(configuration.lib_dir, configuration.config_dir, &policy, reason);
        if (r != 0)
                return r;
        registry_load_catalogue(manager->registry, configuration.lib_dir, configuration.config_dir);
        registry_set_rules(manager->registry, policy, &configuration.limits);
        policy_free(manager->policy);
        manager->policy = TAKE_PTR(policy);
        return 0;
}

static int manager_reload(Manager *manager, Reason *reason) {
        sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, get_now_usec());
        int r = read_anew(manager, reason);

        if (r < 0)
                reason_set(reason, r, "the rules cannot be read: %s", strerror(-r));
        audit_write(registry_get_audit(manager->registry),
                        &(AuditRecord){
                                        .kind = r == 0 ? AUDIT_RELOADED : AUDIT_RELOAD_FAILED,
                                        .uid = (uid_t)-1,
                                        .text = r == 0 ? NULL : reason->text,
                        });
        sd_notify(0, "READY=1");
        return r;
}

static int on_reload(void *userdata, Reason *reason) {
        return manager_reload(userdata, reason);
}

static int on_hangup(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata) {
        Reason reason = { "" };

        /* Recorded there; who sent the signal reads the journal. */
        (void)manager_reload(userdata, &reason);
        return 0;
}

static bool manager_is_idle(const Manager *manager) {
        return registry_is_idle(manager->registry) &&
               (!manager->auth || auth_is_idle(manager->auth));
}

/* Whatever may have ended the last reason to stay starts the time anew. */
static void arm_idle_timer(Manager *manager) {
        int r;

        if (!manager->idle_timer || !manager_is_idle(manager))
                return;
        r = sd_event_source_set_time_relative(manager->idle_timer, IDLE_USEC);
        if (r >= 0)
                r = sd_event_source_set_enabled(manager->idle_timer, SD_EVENT_ONESHOT);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "Cannot arm the idle timer");
}

static int process_queue(sd_bus *bus) {
        int r;

        do
                r = sd_bus_process(bus, NULL);
        while (r > 0);
        return r;
}

static int on_idle(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *manager = userdata;
        int r;

        r = process_queue(manager->bus);
        if (r < 0 || !manager_is_idle(manager))
                return 0;
        log_info("Nothing to do for %llu s, ending", IDLE_USEC / USEC_PER_SEC);
        /* In this order: systemd now queues a new start instead of calling us running, then the bus
         * starts us anew for calls that come from here on. What came in between is answered by
         * auth_free. */
        sd_notify(0, "STOPPING=1");
        r = sd_bus_release_name(manager->bus, KT_BUS_NAME);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "Cannot release the bus name");
        process_queue(manager->bus);
        return manager_end(manager, false);
}

static void on_peer_gone(const char *unique_name, void *userdata) {
        Manager *manager = userdata;

        registry_peer_gone(manager->registry, unique_name);
        arm_idle_timer(manager);
}

static void watch_peer(const char *peer, void *userdata) {
        Manager *manager = userdata;
        int r = auth_watch(manager->auth, peer);

        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot watch for %s", peer);
}

static void watch_peers(Session *session, void *userdata) {
        session_visit_peers(session, watch_peer, userdata);
}

static void on_state(Session *session, void *userdata) {
        Manager *manager = userdata;

        if (manager->auth) /* known, but for one that was taken over late */
                watch_peers(session, manager);
        if (manager->door)
                door_send_state(manager->door, session);
}

static void on_ended(Session *session, const char *code, const char *reason, void *userdata) {
        Manager *manager = userdata;

        if (manager->door)
                door_send_ended(manager->door, session, code, reason);
}

static void on_notice(Session *session, json_object *notice, void *userdata) {
        Manager *manager = userdata;

        if (manager->door)
                door_send_notice(manager->door, session, notice);
}

static void on_idle_changed(Registry *registry, void *userdata) {
        Manager *manager = userdata;

        /* May come before registry_new returned. */
        if (manager->registry)
                arm_idle_timer(manager);
}

static int make_directory(int dirfd, const char *path, mode_t mode, Reason *reason) {
        if (mkdirat(dirfd, path, mode) == 0)
                /* Past the umask. */
                return fchmodat(dirfd, path, mode, 0) < 0 ? -errno : 0;
        if (errno == EEXIST)
                return 0;
        return reason_set(reason, KT_E_FAILED, "%s: cannot be made: %s", path, strerror(errno));
}

static int make_runtime_directories(const char *path, Reason *reason) {
        _cleanup_close_ int fd = -1;
        int r;

        r = make_directory(AT_FDCWD, path, 0755, reason);
        if (r != 0)
                return r;
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "%s: cannot be opened: %s",
                                path,
                                strerror(errno));
        return make_directory(fd, STATE_DIR, 0700, reason);
}

/* Before any thread is made: they inherit the mask, so that the signals stay ours. */
static int add_signals(Manager *manager) {
        static const struct {
                int signal;
                sd_event_signal_handler_t handler;
        } signals[] = { { SIGTERM, on_signal },
                { SIGINT, on_signal },
                { SIGUSR2, on_signal },
                { SIGHUP, on_hangup } };

        int r;

        for (size_t i = 0; i < ELEMENTSOF(signals); i++) {
                r = sd_event_add_signal(manager->event,
                                NULL,
                                signals[i].signal | SD_EVENT_SIGNAL_PROCMASK,
                                signals[i].handler,
                                manager);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int make_registry(Manager *manager) {
        const Configuration *configuration = manager->configuration;
        RegistryOptions options = {
                .event = manager->event,
                .tracefs_path = configuration->tracefs,
                .launcher = {
                        .event = manager->event,
                        .binary = configuration->consumer,
                        .user = configuration->consumer_user,
                },
                .limits = configuration->limits,
                .policy = manager->policy,
                .fd_store = manager->fd_store,
                .bus_id = manager->bus_id,
                .handlers = {
                        .on_state = on_state,
                        .on_ended = on_ended,
                        .on_notice = on_notice,
                        .on_idle_changed = on_idle_changed,
                },
                .userdata = manager,
        };

        if (asprintf(&manager->state_dir, "%s/" STATE_DIR, configuration->runtime_dir) < 0) {
                manager->state_dir = NULL;
                return -ENOMEM;
        }
        options.state_dir = manager->state_dir;
        if (asprintf(&manager->consumer_socket,
                            "%s/%s",
                            configuration->runtime_dir,
                            strrchr(KT_CONSUMER_SOCKET, '/') + 1) < 0) {
                manager->consumer_socket = NULL;
                return -ENOMEM;
        }
        options.launcher.socket_path = manager->consumer_socket;
        int r = registry_new(&options, &manager->registry);
        if (r == 0)
                registry_load_catalogue(manager->registry,
                                configuration->lib_dir,
                                configuration->config_dir);
        return r;
}

static int join_bus(Manager *manager, Reason *reason) {
        sd_id128_t id;
        int r;

        r = sd_bus_open_system_with_description(&manager->bus, "ktraced");
        if (r < 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "cannot connect to the system bus: %s",
                                strerror(-r));
        r = sd_bus_attach_event(manager->bus, manager->event, SD_EVENT_PRIORITY_NORMAL);
        if (r < 0)
                return r;
        r = sd_bus_set_exit_on_disconnect(manager->bus, true);
        if (r < 0)
                return r;
        r = sd_bus_request_name(manager->bus, KT_BUS_NAME, 0);
        if (r == -EEXIST)
                return reason_set(reason,
                                KT_E_FAILED,
                                "bus name %s is taken: another ktraced is running",
                                KT_BUS_NAME);
        if (r < 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "bus name %s is refused (%s): is org.ktrace1.conf installed for the "
                                "bus?",
                                KT_BUS_NAME,
                                strerror(-r));
        r = sd_bus_get_bus_id(manager->bus, &id);
        if (r < 0)
                return r;
        sd_id128_to_string(id, manager->bus_id);
        return 0;
}

/* Until then the bus is left alone, for its calls have nobody yet who answers them. */
static int wait_while(Manager *manager, bool (*is_at_it)(const Registry *registry), uint64_t usec) {
        uint64_t end = get_now_usec() + usec, now;
        int r;

        if (!is_at_it(manager->registry))
                return 0;
        r = sd_bus_detach_event(manager->bus);
        while (r >= 0 && is_at_it(manager->registry) && (now = get_now_usec()) < end &&
                        sd_event_get_exit_code(manager->event, NULL) < 0)
                r = sd_event_run(manager->event, end - now);
        if (r >= 0)
                r = sd_bus_attach_event(manager->bus, manager->event, SD_EVENT_PRIORITY_NORMAL);
        return r < 0 ? r : 0;
}

/* Who starts us by the first call finds the catalogue's programs looked into, and who has a session
 * finds it: a program, or a kernel, that does not answer keeps nobody waiting for long. */
static int settle(Manager *manager) {
        int r = wait_while(manager, registry_is_looking, LOOK_USEC);

        if (r < 0)
                return r;
        registry_open(manager->registry);
        return wait_while(manager, registry_is_adopting, ADOPT_USEC);
}

static int open_door(Manager *manager) {
        const AuthHandlers handlers = { .on_peer_gone = on_peer_gone };
        const DoorHandlers door_handlers = { .on_reload = on_reload };
        const Subject root = {};
        int r;

        r = auth_new(manager->bus, &handlers, manager, &manager->auth);
        if (r < 0)
                return r;
        r = door_new(manager->bus,
                        manager->auth,
                        manager->registry,
                        &door_handlers,
                        manager,
                        &manager->door);
        if (r == 0) /* who has left the bus while we were away is told like any other */
                registry_visit(manager->registry, &root, REACH_ALL, watch_peers, manager);
        return r;
}

static int add_idle_timer(Manager *manager) {
        int r;

        if (!getenv("NOTIFY_SOCKET") && !getenv("DBUS_STARTER_ADDRESS"))
                return 0;
        r = sd_event_add_time_relative(manager->event,
                        &manager->idle_timer,
                        CLOCK_MONOTONIC,
                        IDLE_USEC,
                        USEC_PER_SEC,
                        on_idle,
                        manager);
        return r < 0 ? r : 0;
}

static int manager_start(Manager *manager, Reason *reason) {
        const Configuration *configuration = manager->configuration;
        int r;

        r = sd_event_new(&manager->event);
        if (r < 0)
                return r;
        r = add_signals(manager);
        if (r < 0)
                return r;
        r = policy_load(configuration->lib_dir,
                        configuration->config_dir,
                        &manager->policy,
                        reason);
        if (r != 0)
                return r;
        r = make_runtime_directories(configuration->runtime_dir, reason);
        if (r != 0)
                return r;
        r = join_bus(manager, reason);
        if (r != 0)
                return r;
        r = fd_store_new(&manager->fd_store);
        if (r < 0)
                return r;
        r = make_registry(manager);
        if (r != 0)
                return r;
        r = settle(manager);
        if (r != 0)
                return r;
        r = open_door(manager);
        if (r != 0)
                return r;
        return add_idle_timer(manager);
}

int manager_run(const Configuration *configuration, Reason *reason) {
        _cleanup_(manager_clear) Manager manager = { .configuration = configuration };
        int r;

        r = manager_start(&manager, reason);
        if (r != 0)
                return r;
        sd_notify(0, "READY=1");
        r = sd_event_loop(manager.event);
        /* sd-bus exits the loop with a positive code when the bus is gone. */
        return r > 0 ? -ECONNRESET : r;
}
