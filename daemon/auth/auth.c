/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who is calling? Every method call passes a filter here before any handler sees it. A sender that
 * is not known yet is held back while the bus itself is asked for its credentials, without
 * blocking; then its calls are put back and the handlers find their peer. Used by the doors
 * (auth_get_peer) and by the manager, which is told of peers that leave.
 *
 * Owns the table of peers. Believes only the bus: uid and groups by GetConnectionCredentials, which
 * the bus took from the socket when the peer connected; groups by the user database only where the
 * bus does not tell them. A pid may be another's by now: what is read by it is facts.c's, which
 * says how far it goes.
 *
 * A peer is forgotten when the bus says that its name lost its owner. We have subscribed to that
 * before any peer is asked for, so there is no moment in which one can leave unseen. Unique names
 * are never used twice by a bus. One subscription for all names that vanish: a bus allows one
 * connection 512 of them, fewer than it allows peers.
 *
 * Why not sd_bus_track: adding a name to it asks the bus in a blocking call. */
#include "auth.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <search.h>
#include <string.h>

#include "facts.h"
#include "log.h"

/* Peers that a bus of any size has are far fewer: its own limit is 256 connections a user. */
#define PEERS_MAX  4096
#define GROUPS_MAX 65536

typedef struct Entry {
        Peer peer; /* its name is the key */
        Auth *auth;
        bool known;
        sd_bus_slot *credentials_slot; /* the question, until it is answered */
        /* Calls in their order: held back until the peer is known, then those that were put back
         * into the queue and have not come by again. */
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

/* Ends the entry and tells those who may hold something for this peer. */
static void entry_gone(Entry *entry) {
        Auth *auth = entry->auth;
        _cleanup_free_ char *unique_name = TAKE_PTR(entry->peer.unique_name);

        /* Out of the tree before the handlers, which must not find it any more; its place there
         * is found by name. */
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

static int groups_from_message(Subject *subject, sd_bus_message *m) {
        const void *gids;
        size_t size;
        int r;

        _Static_assert(sizeof(gid_t) == sizeof(uint32_t), "the bus says u, we say gid_t");
        r = sd_bus_message_read_array(m, 'u', &gids, &size);
        if (r < 0)
                return r;
        if (size == 0)
                return 0;
        gid_t *copy = malloc(size);
        if (!copy)
                return -ENOMEM;
        memcpy(copy, gids, size);
        free(subject->gids);
        subject->gids = copy;
        subject->n_gids = size / sizeof(gid_t);
        return 0;
}

/* Where the bus does not tell the groups. A uid that the database does not know has none. */
static int groups_from_database(Subject *subject) {
        char buffer[16384];
        struct passwd entry, *found;

        if (getpwuid_r(subject->uid, &entry, buffer, sizeof(buffer), &found) != 0 || !found)
                return 0;
        for (int n = 64; n <= GROUPS_MAX; n *= 4) {
                int n_found = n;
                _cleanup_free_ gid_t *gids = reallocarray(NULL, (size_t)n, sizeof(*gids));
                if (!gids)
                        return -ENOMEM;
                if (getgrouplist(entry.pw_name, entry.pw_gid, gids, &n_found) >= 0) {
                        subject->gids = TAKE_PTR(gids);
                        subject->n_gids = (size_t)n_found;
                        return 0;
                }
        }
        return -E2BIG;
}

static int read_credential(Entry *entry, const char *key, sd_bus_message *m, bool *has_uid) {
        uint32_t number;
        int r;

        if (strcmp(key, "UnixUserID") == 0) {
                r = sd_bus_message_read(m, "v", "u", &number);
                if (r < 0)
                        return r;
                entry->peer.subject.uid = number;
                *has_uid = true;
                return 0;
        }
        if (strcmp(key, "ProcessID") == 0) {
                r = sd_bus_message_read(m, "v", "u", &number);
                if (r < 0)
                        return r;
                entry->peer.pid = (pid_t)number;
                return 0;
        }
        if (strcmp(key, "UnixGroupIDs") == 0) {
                r = sd_bus_message_enter_container(m, SD_BUS_TYPE_VARIANT, "au");
                if (r < 0)
                        return r;
                r = groups_from_message(&entry->peer.subject, m);
                if (r < 0)
                        return r;
                return sd_bus_message_exit_container(m);
        }
        return sd_bus_message_skip(m, "v");
}

static int read_credentials(Entry *entry, sd_bus_message *m) {
        bool has_uid = false;
        int r;

        r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "{sv}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(m, SD_BUS_TYPE_DICT_ENTRY, "sv")) > 0) {
                const char *key;
                r = sd_bus_message_read(m, "s", &key);
                if (r < 0)
                        return r;
                r = read_credential(entry, key, m, &has_uid);
                if (r < 0)
                        return r;
                r = sd_bus_message_exit_container(m);
                if (r < 0)
                        return r;
        }
        if (r < 0)
                return r;
        if (!has_uid)
                return -ENODATA;
        if (entry->peer.subject.n_gids == 0)
                return groups_from_database(&entry->peer.subject);
        return 0;
}

/* What was held goes to the end of the queue. Calls of the same peer that stand there already must
 * not overtake it: until the held ones have come by again, the filter puts every other one behind
 * them. */
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
                /* It left before we could ask: nobody waits for an answer. */
                entry_gone(entry);
                return 0;
        }
        r = sd_bus_message_is_method_error(m, NULL) ? -sd_bus_message_get_errno(m)
                                                    : read_credentials(entry, m);
        if (r == 0) {
                entry->known = true;
                entry->peer.start = facts_read_start(entry->peer.pid, entry->peer.subject.uid);
                r = requeue_held(entry);
        }
        if (r < 0) {
                log_errno(r,
                                LOG_WARNING,
                                NULL,
                                "No credentials of bus peer %s, refusing it",
                                entry->peer.unique_name);
                refuse_held(entry, SD_BUS_ERROR_ACCESS_DENIED, "The bus does not tell who you are");
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
        int r;

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

/* root is asked for no facts. */
static void entry_read_facts(Entry *entry) {
        if (entry->peer.subject.uid != 0)
                facts_read(&entry->peer.subject, entry->peer.pid, entry->peer.start);
}

static int hold(Entry *entry, sd_bus_message *m) {
        if (entry->n_held == AUTH_HELD_MAX)
                return sd_bus_reply_method_errorf(m,
                                SD_BUS_ERROR_LIMITS_EXCEEDED,
                                "More than %d calls before the first was answered",
                                AUTH_HELD_MAX);
        entry->held[entry->n_held++] = sd_bus_message_ref(m);
        /* Behind those that were put back already. */
        int r = entry->known ? sd_bus_enqueue_for_read(entry->auth->bus, m) : 0;
        if (r < 0)
                sd_bus_message_unref(entry->held[--entry->n_held]);
        return r;
}

/* Returns 1 when the message ends here, 0 when it may go on to the handlers. */
static int on_message(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
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
        if (entry && entry->known && entry->held[0] == m) {
                entry->n_held--;
                memmove(entry->held, entry->held + 1, entry->n_held * sizeof(entry->held[0]));
                /* The queue holds its own reference while the message is being processed. */
                sd_bus_message_unref(m);
                entry_read_facts(entry);
                return 0;
        }
        if (!entry && auth->n_entries == PEERS_MAX)
                r = sd_bus_reply_method_errorf(m,
                                SD_BUS_ERROR_LIMITS_EXCEEDED,
                                "More than %d callers at a time",
                                PEERS_MAX);
        else {
                r = entry ? 0 : entry_new(auth, sender, &entry);
                if (r == 0)
                        r = hold(entry, m);
        }
        if (r < 0) {
                log_errno(r, LOG_WARNING, NULL, "Cannot hold back a call of bus peer %s", sender);
                sd_bus_reply_method_errorf(m, SD_BUS_ERROR_FAILED, "Internal error");
        }
        return 1;
}

int auth_new(sd_bus *bus, const AuthHandlers *handlers, void *userdata, Auth **ret) {
        _cleanup_(auth_free_cleanup) Auth *auth = calloc(1, sizeof(*auth));
        int r;

        if (!auth)
                return -ENOMEM;
        auth->bus = sd_bus_ref(bus);
        auth->handlers = *handlers;
        auth->userdata = userdata;
        r = polkit_new(bus, &auth->polkit);
        if (r < 0)
                return r;
        r = sd_bus_add_match(bus,
                        &auth->left_slot,
                        "type='signal',sender='org.freedesktop.DBus',"
                        "path='/org/freedesktop/DBus',interface='org.freedesktop.DBus',"
                        "member='NameOwnerChanged',arg2=''",
                        on_name_owner_changed,
                        auth);
        if (r < 0)
                return r;
        r = sd_bus_add_filter(bus, &auth->filter_slot, on_message, auth);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(auth);
        return 0;
}

Auth *auth_free(Auth *auth) {
        if (!auth)
                return NULL;
        sd_bus_slot_unref(auth->filter_slot);
        sd_bus_slot_unref(auth->left_slot);
        while (auth->entries) {
                /* The root of the tree: its first word is the key. */
                Entry *entry = *(Entry **)auth->entries;
                refuse_held(entry,
                                SD_BUS_ERROR_SERVICE_UNKNOWN,
                                "The service has just ended because it was idle; ask again");
                entry_free(entry);
        }
        polkit_free(auth->polkit);
        sd_bus_unref(auth->bus);
        free(auth);
        return NULL;
}

bool auth_is_idle(const Auth *auth) {
        return auth->n_entries == 0;
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
        entry_read_facts(entry);
        return &entry->peer;
}

int auth_make_administrator(const Auth *auth, const char *unique_name) {
        Entry *entry = entry_find(auth, unique_name);

        if (!entry || !entry->known)
                return KT_E_CANCELLED;
        entry->peer.is_administrator = true;
        return 0;
}

int auth_make_subject(uid_t uid, Subject *ret) {
        Subject subject = { .uid = uid };

        int r = groups_from_database(&subject);
        if (r == 0)
                *ret = subject;
        return r;
}

int auth_watch(Auth *auth, const char *unique_name) {
        Entry *entry;

        return entry_find(auth, unique_name) ? 0 : entry_new(auth, unique_name, &entry);
}

Polkit *auth_get_polkit(const Auth *auth) {
        return auth->polkit;
}
