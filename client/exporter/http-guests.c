/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Limits what the clients of the HTTP server can hold. Called by http-server.c in the threads of
 * its sockets.
 *
 * Any local user can connect to 127.0.0.1, also without ever reading an answer. If the server
 * refused connections at its limit, such a user could keep the monitoring system out. Therefore a
 * new connection replaces the oldest one, first of the same peer, then of all. A scrape takes
 * milliseconds and is rarely the oldest. A client that has not read its answer after REQUEST_SEC
 * loses its connection, so only the answers of a short time are in memory.
 *
 * A connection is closed by shutdown(2). libmicrohttpd then finds its end, calls
 * http_guests_remove, and only then closes the descriptor, so the number is not reused earlier. */

#include "exporter/http-guests.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <time.h>

#include "exporter/http-server.h"

#define REQUEST_SEC 30

/* An IPv4 address, the network of an IPv6 address (one host may use all addresses of a /64), or the
 * user of a UNIX socket. */
typedef struct HttpPeer {
        sa_family_t family;
        uint8_t id[8];
} HttpPeer;

struct HttpGuest {
        TAILQ_ENTRY(HttpGuest) entry;
        HttpPeer peer;
        int fd;
        bool is_leaving;  /* shut down, but not removed yet */
        time_t begun_sec; /* of its request; 0: none */
};

struct HttpGuests {
        pthread_mutex_t lock;
        TAILQ_HEAD(HttpGuestList, HttpGuest) list; /* oldest first */
        size_t n_staying;
};

static time_t http_guests_now(void) {
        struct timespec now;

        (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
        return now.tv_sec;
}

/* A connection that has ended already is of an unknown peer, family 0. */
static HttpPeer http_peer_get(int fd) {
        union {
                struct sockaddr any;
                struct sockaddr_in ipv4;
                struct sockaddr_in6 ipv6;
                struct sockaddr_storage room;
        } address = {};
        struct ucred user = {};
        socklen_t size = sizeof(address), user_size = sizeof(user);

        (void)getpeername(fd, &address.any, &size);
        HttpPeer peer = { .family = address.any.sa_family };
        if (peer.family == AF_INET)
                memcpy(peer.id, &address.ipv4.sin_addr, 4);
        else if (peer.family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&address.ipv6.sin6_addr))
                memcpy(peer.id, &address.ipv6.sin6_addr.s6_addr[12], 4);
        else if (peer.family == AF_INET6)
                memcpy(peer.id, &address.ipv6.sin6_addr, 8);
        else if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &user_size) == 0)
                memcpy(peer.id, &user.uid, sizeof(user.uid));
        return peer;
}

static bool http_peer_is_same(const HttpPeer *a, const HttpPeer *b) {
        return a->family == b->family && memcmp(a->id, b->id, sizeof(a->id)) == 0;
}

HttpGuests *http_guests_new(void) {
        HttpGuests *guests = calloc(1, sizeof(*guests));

        if (!guests)
                return NULL;
        (void)pthread_mutex_init(&guests->lock, NULL); /* cannot fail on Linux */
        TAILQ_INIT(&guests->list);
        return guests;
}

HttpGuests *http_guests_free(HttpGuests *guests) {
        if (!guests)
                return NULL;
        (void)pthread_mutex_destroy(&guests->lock);
        free(guests);
        return NULL;
}

/* The caller holds the lock. */
static void http_guests_dismiss(HttpGuests *guests, HttpGuest *guest) {
        (void)shutdown(guest->fd, SHUT_RDWR);
        guest->is_leaving = true;
        guests->n_staying--;
}

/* Dismisses the oldest guest, or the oldest of a peer. The caller holds the lock. */
static void http_guests_dismiss_oldest(HttpGuests *guests, const HttpPeer *peer) {
        HttpGuest *guest;

        TAILQ_FOREACH(guest, &guests->list, entry)
                if (!guest->is_leaving && (!peer || http_peer_is_same(&guest->peer, peer))) {
                        http_guests_dismiss(guests, guest);
                        return;
                }
}

/* The caller holds the lock. */
static size_t http_guests_count(const HttpGuests *guests, const HttpPeer *peer) {
        const HttpGuest *guest;
        size_t n = 0;

        TAILQ_FOREACH(guest, &guests->list, entry)
                n += !guest->is_leaving && http_peer_is_same(&guest->peer, peer);
        return n;
}

HttpGuest *http_guests_add(HttpGuests *guests, int fd) {
        HttpGuest *guest = calloc(1, sizeof(*guest));

        if (!guest)
                return NULL;
        *guest = (HttpGuest){ .fd = fd, .peer = http_peer_get(fd) };
        (void)pthread_mutex_lock(&guests->lock);
        if (http_guests_count(guests, &guest->peer) >= HTTP_PEER_CONNECTIONS_MAX)
                http_guests_dismiss_oldest(guests, &guest->peer);
        else if (guests->n_staying >= HTTP_CONNECTIONS_MAX)
                http_guests_dismiss_oldest(guests, NULL);
        TAILQ_INSERT_TAIL(&guests->list, guest, entry);
        guests->n_staying++;
        (void)pthread_mutex_unlock(&guests->lock);
        return guest;
}

void http_guests_remove(HttpGuests *guests, HttpGuest *guest) {
        (void)pthread_mutex_lock(&guests->lock);
        TAILQ_REMOVE(&guests->list, guest, entry);
        if (!guest->is_leaving)
                guests->n_staying--;
        (void)pthread_mutex_unlock(&guests->lock);
        free(guest);
}

void http_guests_begin(HttpGuests *guests, HttpGuest *guest) {
        time_t now = http_guests_now();
        HttpGuest *other;

        (void)pthread_mutex_lock(&guests->lock);
        guest->begun_sec = now;
        TAILQ_FOREACH(other, &guests->list, entry)
                if (!other->is_leaving && other->begun_sec > 0 &&
                                now - other->begun_sec > REQUEST_SEC)
                        http_guests_dismiss(guests, other);
        (void)pthread_mutex_unlock(&guests->lock);
}

void http_guests_end(HttpGuests *guests, HttpGuest *guest) {
        (void)pthread_mutex_lock(&guests->lock);
        guest->begun_sec = 0;
        (void)pthread_mutex_unlock(&guests->lock);
}
