/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Connects the floors and runs the event loop. Owns all objects that exist once: event loop, bus
 * connection, policy, registry, auth, desk, doors. A floor notifies the floors above it through the
 * callbacks here, so that it needs no knowledge of them.
 *
 * The lock of the runtime directory is taken first: the registry removes instances that belong to
 * no session, and without the lock it would remove those of another daemon. Sessions of the
 * previous daemon are adopted before any client is served. The bus comes last, after the clients
 * waiting at our socket, and may come late (bus-join.c): early at boot it does not exist yet. If
 * the bus is lost, its callers count as gone, and the daemon continues without the door of the bus
 * until it has joined the bus again.
 *
 * When started by systemd or by the bus (NOTIFY_SOCKET or DBUS_STARTER_ADDRESS is set), the daemon
 * exits after IDLE_USEC without a session and without a caller. When started by hand it stays. */
#include "manager/manager.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "base/log.h"
#include "bus/door.h"
#include "bus/manager-object.h"
#include "bus/session-object.h"
#include "interfaces/names.h"
#include "manager/bus-join.h"
#include "manager/container-sockets.h"
#include "manager/runtime-dir.h"
#include "manager/status-line.h"
#include "probes/catalogue.h"
#include "scope/pid-namespace.h"
#include "session/registry-idle.h"
#include "session/registry.h"
#include "session/reload.h"
#include "session/session-notice.h"
#include "varlink/varlink-door.h"

#define USEC_PER_SEC 1000000ULL
#define IDLE_USEC    (30 * USEC_PER_SEC)
#define LOOK_USEC    (2 * USEC_PER_SEC)
#define ADOPT_USEC   (10 * USEC_PER_SEC)
#define WAITING_MAX  8 /* events; a new client has two: its connection and its first call */

typedef struct Manager {
        const Configuration *configuration;
        sd_event *event;
        int lock;
        BusJoin *join;
        Policy *policy;
        Registry *registry;
        StatusLine *status_line;
        Auth *auth;
        Desk *desk;
        Door *door;
        VarlinkDoor *varlink_door;
        int varlink_fd; /* systemd's socket until we listen on it; -1: none */
        ContainerSockets containers;
        char *consumer_socket;
        char *state_dir, *crash_dir;
        FdStore *fd_store;
        char bus_id[SD_ID128_STRING_MAX];
        sd_event_source *idle_timer; /* NULL: started by hand, no idle exit */
        int failure;                 /* why the loop ended, with its reason */
        Reason reason;
} Manager;

static uint64_t manager_get_now_usec(void) {
        struct timespec now = {};

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

/* NULL: the desk does not exist yet, or no longer. */
static Watchers *get_watchers(const Manager *manager) {
        return manager->desk ? manager->desk->watchers : NULL;
}

/* Ends the sessions or leaves them to the next daemon, answers the open requests and refuses the
 * calls that are held back. */
static void close_door(Manager *manager, bool leaves) {
        manager->status_line = status_line_free(manager->status_line);
        watchers_flush(get_watchers(manager));
        if (manager->registry)
                manager->registry = leaves ? registry_leave(manager->registry)
                                           : registry_free(manager->registry);
        manager->varlink_door = varlink_door_free(manager->varlink_door);
        manager->door = door_free(manager->door);
        manager->desk = desk_free(manager->desk);
        manager->auth = auth_free(manager->auth);
}

static void manager_clear(Manager *manager) {
        sd_event_source_unref(manager->idle_timer);
        manager->idle_timer = NULL;
        close_door(manager, false);
        close_cleanup(&manager->lock);
        manager->join = bus_join_free(manager->join);
        policy_free(manager->policy);
        free(manager->consumer_socket);
        free(manager->state_dir);
        free(manager->crash_dir);
        fd_store_free(manager->fd_store);
        close_cleanup(&manager->varlink_fd);
        container_sockets_clear(&manager->containers);
        sd_event_unref(manager->event);
}

/* sd-bus closes the connection as soon as the loop ends, so all answers must be sent before. */
static int manager_end(Manager *manager, bool leaves) {
        close_door(manager, leaves);
        /* The bus starts the next daemon when our name is free: release the lock first. */
        close_cleanup(&manager->lock);
        return sd_event_exit(manager->event, 0);
}

static int manager_on_signal(sd_event_source *source,
                const struct signalfd_siginfo *si,
                void *userdata) {
        sd_notify(0, "STOPPING=1");
        /* ktraced.service sends SIGUSR2 for a restart (RestartKillSignal=). */
        return manager_end(userdata, si->ssi_signo == SIGUSR2);
}

static void log_policy_warning(const char *text, void *userdata _unused_) {
        log_warning("%s", text);
}

/* A reload in progress. */
typedef struct Reloading {
        Manager *manager;
        Request *request; /* NULL: started by a signal */
} Reloading;

static void record_reload(const Manager *manager, int result, const Reason *reason) {
        audit_write(registry_get_audit(manager->registry),
                        &(AuditRecord){
                                        .kind = result == 0 ? AUDIT_RELOADED : AUDIT_RELOAD_FAILED,
                                        .uid = (uid_t)-1,
                                        .text = result == 0 ? NULL : reason->text,
                        });
        sd_notify(0, "READY=1");
}

/* Called when the new rules apply to every session. */
static void on_reloaded(int result, void *userdata) {
        _cleanup_free_ Reloading *reloading = userdata;
        Request *request = reloading->request;

        if (result == 0)
                record_reload(reloading->manager, 0, NULL);
        if (request)
                request->done(request, result, &(Reason){ "" });
}

/* Reads limits and rules completely before replacing the active ones, which stay in force if either
 * file is invalid. */
static int read_anew(Manager *manager, Request *request, Reason *reason) {
        _cleanup_free_ Reloading *reloading = malloc(sizeof(*reloading));
        _cleanup_(policy_free_cleanup) Policy *policy = NULL;
        Configuration configuration = *manager->configuration;

        /* Settings that the file no longer contains get their defaults back. */
        if (!reloading)
                return -ENOMEM;
        *reloading = (Reloading){ manager, request };
        limits_init(&configuration.limits);
        int r = configuration_load(&configuration, reason);
        r = r ?: policy_load(configuration.lib_dir, configuration.config_dir, &policy, reason);
        if (r != 0)
                return r;
        policy_visit_warnings(policy, log_policy_warning, NULL);
        r = registry_set_rules(
                        manager->registry, policy, &configuration.limits, on_reloaded, reloading);
        if (r < 0)
                return r;
        reloading = NULL; /* owned by its handler */
        catalogue_load(registry_get_probes(manager->registry),
                        configuration.lib_dir,
                        configuration.config_dir);
        policy_free(manager->policy);
        manager->policy = TAKE_PTR(policy);
        return 0;
}

/* Returns 0 if the request is answered when the reload is complete. NULL: no request to answer. */
static int manager_reload(Manager *manager, Request *request, Reason *reason) {
        sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, manager_get_now_usec());
        int r = read_anew(manager, request, reason);

        if (r < 0)
                reason_set(reason, r, "the rules cannot be read: %s", strerror(-r));
        if (r != 0)
                record_reload(manager, r, reason);
        return r;
}

static int on_reload(void *userdata, Request *request, Reason *reason) {
        return manager_reload(userdata, request, reason);
}

static int on_hangup(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata) {
        Reason reason = { "" };

        /* manager_reload logs its failure; the sender of the signal finds it in the journal. */
        (void)manager_reload(userdata, NULL, &reason);
        return 0;
}

static bool manager_is_idle(const Manager *manager) {
        return registry_is_idle(manager->registry) &&
               (!manager->auth || auth_is_idle(manager->auth));
}

/* Restarts the idle timeout, or stops it while there is a reason to stay: it would wake a daemon
 * whose sessions record nothing. Called whenever the last reason may have ended, and for each new
 * state of a session. */
static void update_idle_timer(Manager *manager) {
        int r;

        /* Callbacks of the registry run before registry_new() has returned. */
        if (!manager->idle_timer || !manager->registry)
                return;
        bool is_idle = manager_is_idle(manager);
        r = is_idle ? sd_event_source_set_time_relative(manager->idle_timer, IDLE_USEC) : 0;
        if (r >= 0)
                r = sd_event_source_set_enabled(
                                manager->idle_timer, is_idle ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "Cannot set the idle timer");
}

static int on_idle(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *manager = userdata;

        if (bus_join_process(manager->join) < 0 || !manager_is_idle(manager))
                return 0;
        log_info("Nothing to do for %llu s, ending", IDLE_USEC / USEC_PER_SEC);
        /* The order matters: after STOPPING=1 systemd queues a new start instead of considering us
         * running; after the name is released the bus starts the new daemon for further calls.
         * auth_free answers the calls that arrive in between. */
        sd_notify(0, "STOPPING=1");
        bus_join_release_name(manager->join);
        return manager_end(manager, false);
}

static void on_peer_gone(const char *unique_name, void *userdata) {
        Manager *manager = userdata;

        if (!manager->registry) /* the daemon is ending */
                return;
        watchers_remove(get_watchers(manager), unique_name);
        registry_peer_gone(manager->registry, unique_name);
        update_idle_timer(manager);
}

static void watch_peer(const char *peer, void *userdata) {
        Manager *manager = userdata;

        if (*peer != ':') /* not a bus name */
                return;
        int r = auth_watch(manager->auth, peer);

        if (r < 0)
                log_errno(r, LOG_WARNING, NULL, "cannot watch for %s", peer);
}

static void watch_peers(Session *session, void *userdata) {
        session_visit_peers(session, watch_peer, userdata);
}

static void on_state(Session *session, void *userdata) {
        Manager *manager = userdata;

        if (bus_join_is_done(manager->join)) /* new peers are known; only those of a late adopted
                                                session are not */
                watch_peers(session, manager);
        if (manager->door)
                door_send_state(manager->door, session);
        if (manager->varlink_door)
                varlink_door_send_state(manager->varlink_door, session);
        watchers_take_state(get_watchers(manager), session);
        update_idle_timer(manager);
}

static void on_ended(Session *session,
                const char *code,
                const char *reason,
                bool by_owner,
                void *userdata) {
        Manager *manager = userdata;

        watchers_take_end(get_watchers(manager), session, code, reason);
        if (manager->door && !by_owner)
                door_send_ended(manager->door, session, code, reason);
        if (manager->varlink_door && !by_owner)
                varlink_door_send_ended(manager->varlink_door, session, code, reason);
}

static void on_notice(Session *session, json_object *notice, void *userdata) {
        Manager *manager = userdata;

        if (manager->door)
                door_send_notice(manager->door, session, notice);
        if (manager->varlink_door)
                varlink_door_send_notice(manager->varlink_door, session, notice);
        watchers_take_notice(get_watchers(manager), session, notice);
}

/* The daemon may be on no bus. Its peers have left then. */
static bool on_send_notice(const char *peer, json_object *notice, void *userdata) {
        Manager *manager = userdata;

        if (*peer != ':')
                return varlink_door_send_watcher(manager->varlink_door, peer, notice);
        if (manager->door)
                door_send_watcher(manager->door, peer, notice);
        return true;
}

static void on_idle_changed(Registry *registry, void *userdata) {
        Manager *manager = userdata;

        update_idle_timer(manager);
        status_line_update(manager->status_line);
}

/* Must be called before any thread is created: threads inherit the mask, so that signals are
 * delivered to this thread's loop. */
static int add_signals(Manager *manager) {
        static const struct {
                int signal;
                sd_event_signal_handler_t handler;
        } signals[] = { { SIGTERM, manager_on_signal },
                { SIGINT, manager_on_signal },
                { SIGUSR2, manager_on_signal },
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

/* The desk is created after the registry and freed before it. */
static void manager_on_spent(uid_t uid, uint64_t usec, void *userdata) {
        const Manager *manager = userdata;

        if (manager->desk)
                desk_charge(manager->desk, uid, usec);
}

static bool has_time(uid_t uid, void *userdata) {
        const Manager *manager = userdata;

        return !manager->desk || desk_has_time(manager->desk, uid);
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
                .spool_dir = configuration->state_dir,
                .handlers = {
                        .on_state = on_state,
                        .on_ended = on_ended,
                        .on_notice = on_notice,
                        .on_idle_changed = on_idle_changed,
                        .on_spent = manager_on_spent,
                        .has_time = has_time,
                },
                .userdata = manager,
        };

        if (asprintf(&manager->state_dir, "%s/" RUNTIME_STATE_DIR, configuration->runtime_dir) <
                        0) {
                manager->state_dir = NULL;
                return -ENOMEM;
        }
        options.state_dir = manager->state_dir;
        if (asprintf(&manager->crash_dir, "%s/crash", configuration->runtime_dir) < 0) {
                manager->crash_dir = NULL;
                return -ENOMEM;
        }
        options.crash_dir = manager->crash_dir;
        if (asprintf(&manager->consumer_socket,
                            "%s/%s",
                            configuration->runtime_dir,
                            strrchr(KT_CONSUMER_SOCKET, '/') + 1) < 0) {
                manager->consumer_socket = NULL;
                return -ENOMEM;
        }
        options.launcher.socket_path = manager->consumer_socket;
        int r = registry_new(&options, &manager->registry);
        r = r < 0 ? r : status_line_new(manager->event, manager->registry, &manager->status_line);
        if (r == 0)
                catalogue_load(registry_get_probes(manager->registry),
                                configuration->lib_dir,
                                configuration->config_dir);
        return r;
}

static bool is_ending(const Manager *manager) {
        int code;

        return sd_event_get_exit_code(manager->event, &code) >= 0;
}

/* Runs the event loop while is_at_it is true, for at most usec. No client is served yet, because
 * the desk and the doors do not exist. */
static int wait_while(Manager *manager, bool (*is_at_it)(const Registry *registry), uint64_t usec) {
        uint64_t end = manager_get_now_usec() + usec, now;
        int r = 0;

        while (r >= 0 && is_at_it(manager->registry) && (now = manager_get_now_usec()) < end &&
                        !is_ending(manager))
                r = sd_event_run(manager->event, end - now);
        return r < 0 ? r : 0;
}

/* Waits until the programs of the catalogue are examined and the sessions are adopted, so that the
 * first caller finds both. The wait is limited, because a program or the kernel may not respond. */
static int manager_settle(Manager *manager) {
        int r = wait_while(manager, registry_is_looking, LOOK_USEC);

        if (r < 0)
                return r;
        registry_open(manager->registry);
        return wait_while(manager, registry_is_adopting, ADOPT_USEC);
}

/* Creates the auth and the desk, which all doors share. */
static int make_desk(Manager *manager) {
        const AuthHandlers handlers = { .on_peer_gone = on_peer_gone };
        const DeskHandlers desk_handlers = { on_reload, on_send_notice };

        int r = auth_new(&handlers, manager, &manager->auth);
        if (r < 0)
                return r;
        return desk_new(manager->event,
                        manager->auth,
                        manager->registry,
                        &desk_handlers,
                        manager,
                        &manager->desk);
}

static int on_bus_connected(sd_bus *bus, void *userdata) {
        Manager *manager = userdata;

        int r = auth_join_bus(manager->auth, bus);
        return r < 0 ? r : door_new(bus, manager->desk, &manager->door);
}

static void on_bus_joined(const char *id, void *userdata) {
        Manager *manager = userdata;
        const Subject root = {};

        (void)snprintf(manager->bus_id, sizeof(manager->bus_id), "%s", id);
        registry_join_bus(manager->registry, manager->bus_id);
        /* Peers that left the bus while no daemon ran are reported like any other. */
        registry_visit(manager->registry, &root, REACH_ALL, watch_peers, manager);
}

static void on_bus_lost(void *userdata) {
        Manager *manager = userdata;

        manager->door = door_free(manager->door);
        auth_leave_bus(manager->auth);
        update_idle_timer(manager);
}

static void on_bus_failed(int result, const Reason *reason, void *userdata) {
        Manager *manager = userdata;

        manager->failure = result;
        manager->reason = *reason;
        (void)sd_event_exit(manager->event, 0);
}

static void join_bus(Manager *manager) {
        const BusJoinHandlers handlers = {
                .on_connected = on_bus_connected,
                .on_joined = on_bus_joined,
                .on_lost = on_bus_lost,
                .on_failed = on_bus_failed,
        };
        Reason reason = { "" };

        if (is_ending(manager))
                return;
        int r = bus_join_new(manager->event, &handlers, manager, &manager->join, &reason);
        if (r != 0)
                on_bus_failed(r, &reason, manager);
}

/* Serves the clients that already wait at our socket, such as the boot session, before joining the
 * bus: setting up the watch for a missing bus takes longer than starting that session. The number
 * of events is limited, so that a flood of calls cannot delay the bus. */
static int serve_waiting(Manager *manager) {
        int r = 1;

        for (unsigned i = 0; r > 0 && i < WAITING_MAX && !is_ending(manager); i++)
                r = sd_event_run(manager->event, 0);
        return r;
}

static int open_varlink_door(Manager *manager) {
        _cleanup_free_ char *path = NULL;

        if (asprintf(&path,
                            "%s/%s",
                            manager->configuration->runtime_dir,
                            strrchr(KT_VARLINK_SOCKET, '/') + 1) < 0) {
                path = NULL;
                return -ENOMEM;
        }
        int r = varlink_door_new(
                        manager->event, manager->desk, manager->auth, &manager->varlink_door);
        r = r ?: varlink_door_open(manager->varlink_door, TAKE_FD(manager->varlink_fd), path);
        if (r == 0)
                container_sockets_open(&manager->containers,
                                manager->auth,
                                manager->configuration->config_dir,
                                manager->varlink_door);
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
        /* Calls that have just arrived take precedence over an idle exit. */
        if (r >= 0)
                r = sd_event_source_set_priority(manager->idle_timer, SD_EVENT_PRIORITY_IDLE);
        return r < 0 ? r : 0;
}

/* tracefs reads and prints the pids of the first namespace. Our pids of another one would be pids
 * of other users' processes there. */
static int check_pid_namespace(Reason *reason) {
        int r = pid_namespace_is_first();

        if (r < 0)
                return r;
        return r > 0 ? 0
                     : reason_set(reason,
                                       KT_E_FAILED,
                                       "expected the first pid namespace of the machine, got the one "
                                       "of a container: tracefs would trace other processes; run "
                                       "ktraced on the host");
}

static int manager_start(Manager *manager, Reason *reason) {
        const Configuration *configuration = manager->configuration;
        int r;

        r = check_pid_namespace(reason);
        if (r != 0)
                return r;
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
        policy_visit_warnings(manager->policy, log_policy_warning, NULL);
        r = runtime_dir_take(configuration->runtime_dir, &manager->lock, reason);
        if (r != 0)
                return r;
        r = fd_store_new(&manager->fd_store);
        if (r < 0)
                return r;
        /* Take the sockets before the registry is created, because the registry closes unknown
         * descriptors. */
        manager->varlink_fd = fd_store_take(manager->fd_store, "varlink");
        container_sockets_take(&manager->containers, manager->fd_store);
        r = make_registry(manager);
        if (r != 0)
                return r;
        r = manager_settle(manager);
        if (r != 0)
                return r;
        r = make_desk(manager);
        r = r ?: open_varlink_door(manager);
        return r ?: add_idle_timer(manager);
}

int manager_run(const Configuration *configuration, Reason *reason) {
        _cleanup_(manager_clear) Manager manager = {
                .configuration = configuration,
                .varlink_fd = -1,
                .lock = -1,
        };
        int r;

        r = manager_start(&manager, reason);
        if (r != 0)
                return r;
        sd_notify(0, "READY=1");
        r = serve_waiting(&manager);
        if (r < 0)
                return r;
        join_bus(&manager);
        r = sd_event_loop(manager.event);
        if (manager.failure != 0)
                close_door(&manager, true);
        if (manager.failure > 0)
                *reason = manager.reason;
        return r ?: manager.failure;
}
