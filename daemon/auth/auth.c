/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Identifies the callers. Every method call on the bus passes a filter here before a handler sees
 * it. If the sender is not known yet, the filter holds the call back and asks the bus for the
 * sender's credentials, without blocking. When the answer arrives, the held calls are put back into
 * the queue, and the handlers find their peer. For our own socket the kernel reports the peer's
 * credentials at once. The doors call auth_get_peer and auth_find_peer; the manager is notified of
 * peers that leave.
 *
 * Owns the table of both kinds of peers. Trusts only the bus and the kernel (credentials.c). A pid
 * may have been reused; facts.c reads facts by pid and documents how far they can be trusted.
 *
 * Early at boot, the first peer over a socket may arrive before the bus exists.
 *
 * A peer is removed when the bus reports that its name lost its owner. We subscribe to that signal
 * before we ask for any peer, so we cannot miss a peer that leaves. A bus never reuses a unique
 * name. If our connection is lost, all peers on the bus count as gone: the next connection may be
 * to another bus, where a name belongs to another peer. One subscription covers all names, because
 * a bus allows one connection 512 subscriptions, fewer than the peers it allows.
 *
 * For a peer over a socket, polkit is asked about the process that connected, identified by pid,
 * start time and uid. auth.c checks that this process exists both when it asks polkit and when
 * polkit allows the request. Otherwise polkit may have checked the seat of another process.
 *
 * sd_bus_track is not used, because adding a name to it makes a blocking call to the bus. */
#include "auth/auth.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <string.h>

#include "auth/container.h"
#include "auth/credentials.h"
#include "auth/facts.h"
#include "base/log.h"

/* A real bus has far fewer peers: its own limit is 256 connections per user. */
#define PEERS_MAX 4096

typedef struct Entry {
        Peer peer; /* its name is the key */
        Auth *auth;
        bool known;
        bool is_socket;
        bool has_called;
        const Container *container;    /* whose socket it is; NULL: of all users */
        uid_t owner;                   /* of the process that connected to it */
        sd_bus_slot *credentials_slot; /* the pending GetConnectionCredentials */
        /* Calls in order of arrival: first those held back until the peer is known, later those
         * that were put back into the queue and have not passed the filter again. */
        sd_bus_message *held[AUTH_HELD_MAX];
        size_t n_held;
} Entry;

struct Auth {
        sd_bus *bus;
        Polkit *polkit;
        sd_bus_slot *filter_slot, *left_slot;
        AuthHandlers handlers;
        void *userdata;
        void *entries; /* tsearch(3) */
        size_t n_entries;
        uint64_t n_sockets; /* ever connected: no name is reused */
        Container containers[CONTAINERS_MAX];
        size_t n_containers;
};

static int entry_compare(const void *a, const void *b) {
        return strcmp(((const Entry *)a)->peer.unique_name, ((const Entry *)b)->peer.unique_name);
}

static Entry *entry_find(const Auth *auth, const char *unique_name) {
        Entry key = { .peer.unique_name = (char *)unique_name };
        Entry **found = tfind(&key, &auth->entries, entry_compare);
        return found ? *found : NULL;
}

static Entry *entry_free(Entry *entry) {
        if (!entry)
                return NULL;
        if (entry->auth) {
                tdelete(entry, &entry->auth->entries, entry_compare);
                entry->auth->n_entries--;
        }
        sd_bus_slot_unref(entry->credentials_slot);
        for (size_t i = 0; i < entry->n_held; i++)
                sd_bus_message_unref(entry->held[i]);
        subject_clear(&entry->peer.subject);
        free(entry->peer.unique_name);
        free(entry);
        return NULL;
}

DEFINE_CLEANUP(Entry, entry_free);

/* Frees the entry and notifies the code that may hold something for this peer. */
static void entry_gone(Entry *entry) {
        Auth *auth = entry->auth;
        _cleanup_free_ char *unique_name = TAKE_PTR(entry->peer.unique_name);

        /* Remove the entry from the tree first, so that the handlers cannot find it. tdelete()
         * finds it by its name. */
        entry->peer.unique_name = unique_name;
        tdelete(entry, &auth->entries, entry_compare);
        auth->n_entries--;
        entry->auth = NULL;
        entry->peer.unique_name = NULL;
        entry_free(entry);

        polkit_peer_gone(auth->polkit, unique_name);
        if (auth->handlers.on_peer_gone)
                auth->handlers.on_peer_gone(unique_name, auth->userdata);
}

static void refuse_held(Entry *entry, const char *error_name, const char *text) {
        for (size_t i = 0; i < entry->n_held; i++) {
                sd_bus_reply_method_errorf(entry->held[i], error_name, "%s", text);
                sd_bus_message_unref(entry->held[i]);
        }
        entry->n_held = 0;
}

/* Puts the held calls at the end of the queue. Later calls of the same peer that are already in the
 * queue must not overtake them: the filter requeues those calls until all held calls have
 * passed. */
static int requeue_held(Entry *entry) {
        for (size_t i = 0; i < entry->n_held; i++) {
                int r = sd_bus_enqueue_for_read(entry->auth->bus, entry->held[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int on_credentials(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        Entry *entry = userdata;
        int r;

        entry->credentials_slot = sd_bus_slot_unref(entry->credentials_slot);
        if (sd_bus_message_is_method_error(m, SD_BUS_ERROR_NAME_HAS_NO_OWNER)) {
                /* The peer left before the bus could answer, so its calls need no reply. */
                entry_gone(entry);
                return 0;
        }
        r = sd_bus_message_is_method_error(m, NULL)
                            ? -sd_bus_message_get_errno(m)
                            : credentials_read_message(m, &entry->peer.subject, &entry->peer.pid);
        if (r == 0) {
                entry->known = true;
                entry->peer.start = facts_read_start(entry->peer.pid, entry->peer.subject.uid);
                entry->peer.place = place_read(entry->peer.pid);
                r = requeue_held(entry);
        }
        if (r < 0) {
                log_errno(r,
                                LOG_WARNING,
                                NULL,
                                "No credentials of bus peer %s, refusing it",
                                entry->peer.unique_name);
                refuse_held(entry, SD_BUS_ERROR_ACCESS_DENIED, "The bus does not say who you are");
                entry_gone(entry);
        }
        return 0;
}

static int on_name_owner_changed(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        Auth *auth = userdata;
        const char *name, *old_owner, *new_owner;
        int r;

        r = sd_bus_message_read(m, "sss", &name, &old_owner, &new_owner);
        if (r < 0)
                return r;
        Entry *entry = *new_owner == '\0' ? entry_find(auth, name) : NULL;
        if (entry)
                entry_gone(entry);
        return 0;
}

static int entry_new(Auth *auth, const char *unique_name, Entry **ret) {
        _cleanup_(entry_free_cleanup) Entry *entry = calloc(1, sizeof(*entry));

        if (!entry)
                return -ENOMEM;
        entry->peer.subject.uid = (uid_t)-1;
        entry->peer.unique_name = strdup(unique_name);
        if (!entry->peer.unique_name)
                return -ENOMEM;
        if (!tsearch(entry, &auth->entries, entry_compare))
                return -ENOMEM;
        entry->auth = auth;
        auth->n_entries++;
        *ret = TAKE_PTR(entry);
        return 0;
}

/* Creates an entry for a unique name of the bus and asks the bus for its credentials. */
static int entry_new_asked(Auth *auth, const char *unique_name, Entry **ret) {
        _cleanup_(entry_free_cleanup) Entry *entry = NULL;

        int r = entry_new(auth, unique_name, &entry);
        if (r < 0)
                return r;
        entry->has_called = true;
        r = sd_bus_call_method_async(auth->bus,
                        &entry->credentials_slot,
                        "org.freedesktop.DBus",
                        "/org/freedesktop/DBus",
                        "org.freedesktop.DBus",
                        "GetConnectionCredentials",
                        on_credentials,
                        entry,
                        "s",
                        unique_name);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(entry);
        return 0;
}

/* Rules do not apply to root, so its facts are not needed. */
static void entry_read_facts(Entry *entry) {
        const PeerProcess process = { .pid = entry->peer.pid, .start = entry->peer.start };

        if (entry->container)
                entry->peer.place = container_read_place(
                                entry->container, &process, entry->owner, &entry->peer.subject);
        else if (entry->peer.subject.uid != 0)
                facts_read(&entry->peer.subject, entry->peer.pid, entry->peer.start);
}

static int auth_hold(Entry *entry, sd_bus_message *m) {
        if (entry->n_held == AUTH_HELD_MAX)
                return sd_bus_reply_method_errorf(m,
                                SD_BUS_ERROR_LIMITS_EXCEEDED,
                                "More than %d calls before the reply to the first",
                                AUTH_HELD_MAX);
        entry->held[entry->n_held++] = sd_bus_message_ref(m);
        /* When the peer is known, this call must follow the held calls that were put back. */
        int r = entry->known ? sd_bus_enqueue_for_read(entry->auth->bus, m) : 0;
        if (r < 0)
                sd_bus_message_unref(entry->held[--entry->n_held]);
        return r;
}

/* Returns true if m is the next of the calls that were put back, and releases it. */
static bool take_held(Entry *entry, sd_bus_message *m) {
        if (!entry || !entry->known || entry->n_held == 0 || entry->held[0] != m)
                return false;
        entry->n_held--;
        memmove(entry->held, entry->held + 1, entry->n_held * sizeof(entry->held[0]));
        /* The queue holds its own reference while the message is being processed. */
        sd_bus_message_unref(m);
        return true;
}

void auth_forget_call(const Auth *auth, sd_bus_message *m) {
        const char *sender = sd_bus_message_get_sender(m);

        if (sender)
                (void)take_held(entry_find(auth, sender), m);
}

/* Returns 1 if the message was handled here, 0 if the handlers get it. */
static int auth_on_message(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        Auth *auth = userdata;
        uint8_t type;
        int r;

        r = sd_bus_message_get_type(m, &type);
        if (r < 0)
                return r;
        const char *sender = sd_bus_message_get_sender(m);
        if (type != SD_BUS_MESSAGE_METHOD_CALL)
                return 0;
        if (!sender) {
                sd_bus_reply_method_errorf(m, SD_BUS_ERROR_ACCESS_DENIED, "The call has no sender");
                return 1;
        }

        Entry *entry = entry_find(auth, sender);
        if (entry && entry->known && entry->n_held == 0) {
                entry_read_facts(entry);
                return 0;
        }
        if (take_held(entry, m)) {
                entry_read_facts(entry);
                return 0;
        }
        if (!entry && auth->n_entries == PEERS_MAX)
                r = sd_bus_reply_method_errorf(m,
                                SD_BUS_ERROR_LIMITS_EXCEEDED,
                                "More than %d callers at a time",
                                PEERS_MAX);
        else {
                r = entry ? 0 : entry_new_asked(auth, sender, &entry);
                if (r == 0)
                        r = auth_hold(entry, m);
        }
        if (r < 0) {
                log_errno(r, LOG_WARNING, NULL, "Cannot delay a call of bus peer %s", sender);
                sd_bus_reply_method_errorf(m, SD_BUS_ERROR_FAILED, "Internal error");
        }
        return 1;
}

int auth_new(const AuthHandlers *handlers, void *userdata, Auth **ret) {
        _cleanup_(auth_free_cleanup) Auth *auth = calloc(1, sizeof(*auth));

        if (!auth)
                return -ENOMEM;
        auth->handlers = *handlers;
        auth->userdata = userdata;
        int r = polkit_new(&auth->polkit);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(auth);
        return 0;
}

int auth_join_bus(Auth *auth, sd_bus *bus) {
        int r = sd_bus_add_match(bus,
                        &auth->left_slot,
                        "type='signal',sender='org.freedesktop.DBus',"
                        "path='/org/freedesktop/DBus',interface='org.freedesktop.DBus',"
                        "member='NameOwnerChanged',arg2=''",
                        on_name_owner_changed,
                        auth);
        if (r < 0)
                return r;
        r = sd_bus_add_filter(bus, &auth->filter_slot, auth_on_message, auth);
        if (r < 0)
                return r;
        auth->bus = sd_bus_ref(bus);
        polkit_join_bus(auth->polkit, bus);
        return 0;
}

static void find_on_bus(const void *node, VISIT visit, void *found) {
        Entry *entry = *(Entry *const *)node;

        if ((visit == postorder || visit == leaf) && !entry->is_socket)
                *(Entry **)found = entry;
}

void auth_leave_bus(Auth *auth) {
        Entry *entry;

        auth->filter_slot = sd_bus_slot_unref(auth->filter_slot);
        auth->left_slot = sd_bus_slot_unref(auth->left_slot);
        polkit_leave_bus(auth->polkit);
        /* The handlers may change the tree. */
        do {
                entry = NULL;
                twalk_r(auth->entries, find_on_bus, &entry);
                if (entry)
                        entry_gone(entry);
        } while (entry);
        auth->bus = sd_bus_unref(auth->bus);
}

Auth *auth_free(Auth *auth) {
        if (!auth)
                return NULL;
        sd_bus_slot_unref(auth->filter_slot);
        sd_bus_slot_unref(auth->left_slot);
        while (auth->entries) {
                /* tsearch(3) gives the root of the tree as a pointer to a node, whose first word is
                 * the key. */
                Entry *entry = *(Entry **)auth->entries;
                refuse_held(entry,
                                SD_BUS_ERROR_SERVICE_UNKNOWN,
                                "The service has just ended because it was idle; ask again");
                entry_free(entry);
        }
        polkit_free(auth->polkit);
        for (size_t i = 0; i < auth->n_containers; i++)
                container_clear(&auth->containers[i]);
        sd_bus_unref(auth->bus);
        free(auth);
        return NULL;
}

static void count_caller(const void *node, VISIT visit, void *n) {
        if (visit == postorder || visit == leaf)
                *(size_t *)n += (*(Entry *const *)node)->has_called;
}

bool auth_is_idle(const Auth *auth) {
        size_t n = 0;

        twalk_r(auth->entries, count_caller, &n);
        return n == 0;
}

static void auth_warn_container(const Container *container) {
        _cleanup_free_ char *cgroup = NULL;
        Reason why = {};

        int r = container_read_cgroup(container, &cgroup, &why);
        if (r > 0)
                log_write(LOG_WARNING, NULL, "container %s: %s", container->name, why.text);
        else if (r < 0)
                log_errno(r,
                                LOG_WARNING,
                                NULL,
                                "container %s: cannot read its file",
                                container->name);
}

int auth_add_container(Auth *auth, const char *config_dir, const char *name, uid_t *ret) {
        if (auth->n_containers == CONTAINERS_MAX)
                return -EUSERS;
        Container *container = &auth->containers[auth->n_containers];
        int r = container_init(container,
                        config_dir,
                        name,
                        CONTAINER_UID_FIRST + (uid_t)auth->n_containers);
        if (r < 0)
                return r;
        auth->n_containers++;
        auth_warn_container(container);
        *ret = container->uid;
        return 0;
}

int auth_add_socket(Auth *auth, int fd, uid_t container, char **ret_name) {
        _cleanup_(entry_free_cleanup) Entry *entry = NULL;
        _cleanup_free_ char *name = NULL;
        PeerProcess process;

        if (auth->n_entries == PEERS_MAX)
                return -EUSERS;
        if (asprintf(&name, "varlink:%" PRIu64, ++auth->n_sockets) < 0) {
                name = NULL;
                return -ENOMEM;
        }
        int r = entry_new(auth, name, &entry);
        if (r < 0)
                return r;
        entry->is_socket = true;
        r = credentials_read_socket(fd, &entry->peer.subject, &process);
        if (r < 0)
                return r;
        entry->peer.pid = process.pid;
        entry->peer.start = process.start;
        entry->peer.place = process.place;
        if (container_has_uid(container)) {
                entry->container = &auth->containers[container - CONTAINER_UID_FIRST];
                entry->owner = entry->peer.subject.uid;
                entry_read_facts(entry);
        }
        entry->known = true;
        entry = NULL; /* owned by the table */
        *ret_name = TAKE_PTR(name);
        return 0;
}

void auth_remove_socket(Auth *auth, const char *unique_name) {
        Entry *entry = entry_find(auth, unique_name);

        if (entry)
                entry_gone(entry);
}

const Peer *auth_get_peer(const Auth *auth, sd_bus_message *m) {
        const char *sender = m ? sd_bus_message_get_sender(m) : NULL;
        const Entry *entry = sender ? entry_find(auth, sender) : NULL;

        return entry && entry->known ? &entry->peer : NULL;
}

const Peer *auth_find_peer(const Auth *auth, const char *unique_name) {
        Entry *entry = entry_find(auth, unique_name);

        if (!entry || !entry->known)
                return NULL;
        entry->has_called = true;
        entry_read_facts(entry);
        return &entry->peer;
}

int auth_make_administrator(const Auth *auth, const char *unique_name) {
        Entry *entry = entry_find(auth, unique_name);

        if (!entry || !entry->known)
                return KT_E_CANCELLED;
        if (entry->container)
                return KT_E_ACCESS_DENIED;
        entry->peer.is_administrator = true;
        return 0;
}

int auth_make_subject(uid_t uid, Subject *ret) {
        Subject subject = { .uid = uid };

        int r = credentials_find_groups(&subject);
        if (r == 0)
                *ret = subject;
        return r;
}

int auth_watch(Auth *auth, const char *unique_name) {
        Entry *entry;

        return entry_find(auth, unique_name) ? 0 : entry_new_asked(auth, unique_name, &entry);
}

/* An open polkit question about a peer over a socket. */
typedef struct Question {
        pid_t pid;
        uint64_t start;
        uid_t uid;
        PolkitHandler handler;
        void *userdata;
} Question;

/* Checks that the process still exists and is the one that connected. */
static int check_process(pid_t pid, uint64_t start, uid_t uid, Reason *reason) {
        if (start > 0 && facts_read_start(pid, uid) == start)
                return 0;
        return reason_set(reason,
                        KT_E_ACCESS_DENIED,
                        "this needs authentication by polkit, which requires your process: the "
                        "process that opened this connection has ended or now runs as another "
                        "user; connect again, or use D-Bus");
}

static void on_socket_answer(int result, const Reason *said, void *userdata) {
        _cleanup_free_ Question *question = userdata;
        Reason reason = *said;

        if (result == 0)
                result = check_process(question->pid, question->start, question->uid, &reason);
        question->handler(result, &reason, question->userdata);
}

static int ask_of_socket(const Auth *auth,
                const Entry *entry,
                PolkitQuery *query,
                const Question *asked,
                Reason *reason) {
        _cleanup_free_ Question *question = malloc(sizeof(*question));

        if (!question)
                return -ENOMEM;
        *question = *asked;
        query->pid = entry->peer.pid;
        query->start = entry->peer.start;
        int r = check_process(question->pid, question->start, question->uid, reason);
        r = r ?: polkit_ask(auth->polkit, query, on_socket_answer, question, reason);
        if (r == 0)
                question = NULL; /* polkit owns it until the answer */
        return r;
}

int auth_ask_polkit(const Auth *auth,
                const PolkitQuery *query,
                PolkitHandler handler,
                void *userdata,
                Reason *reason) {
        const Entry *entry = entry_find(auth, query->peer);
        PolkitQuery whole = *query;

        if (!entry || !entry->known)
                return KT_E_CANCELLED;
        if (entry->container) /* polkit knows nothing of the users of a container */
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "a process inside a container cannot be asked for a password");
        whole.uid = entry->peer.subject.uid;
        if (!entry->is_socket)
                return polkit_ask(auth->polkit, &whole, handler, userdata, reason);
        return ask_of_socket(auth,
                        entry,
                        &whole,
                        &(Question){ entry->peer.pid,
                                        entry->peer.start,
                                        whole.uid,
                                        handler,
                                        userdata },
                        reason);
}
