/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the credentials of a peer once: from the bus for a bus name, from the kernel for the other
 * end of a socket, and from the user database for a uid. Called by auth.c. Never trusts what the
 * caller itself claims.
 *
 * Both kinds of credentials are as of connect(2): a process that receives the connection from the
 * process that made it acts as that process, as with any descriptor. A pid may have been reused.
 * Where the kernel provides a pidfd of the peer (SO_PEERPIDFD, since 6.5), the start time is that
 * of the process that connected. On older kernels it is that of the process that has the pid at
 * accept(2), with the same uid (facts.c). The bus has no better information either. The place of a
 * peer (place.c) is read at the same moment, and is as certain.
 *
 * A user whose uid stands for a container here is refused: it would see the container's
 * sessions. */
#include "auth/credentials.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <string.h>
#include <sys/socket.h>

#include "auth/facts.h"

#define GROUPS_MAX 65536

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

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

int credentials_find_groups(Subject *subject) {
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

static int read_credential(Subject *subject,
                pid_t *pid,
                const char *key,
                sd_bus_message *m,
                bool *has_uid) {
        uint32_t number;
        int r;

        if (strcmp(key, "UnixUserID") == 0) {
                r = sd_bus_message_read(m, "v", "u", &number);
                if (r < 0)
                        return r;
                subject->uid = number;
                *has_uid = true;
                return 0;
        }
        if (strcmp(key, "ProcessID") == 0) {
                r = sd_bus_message_read(m, "v", "u", &number);
                if (r < 0)
                        return r;
                *pid = (pid_t)number;
                return 0;
        }
        if (strcmp(key, "UnixGroupIDs") == 0) {
                r = sd_bus_message_enter_container(m, SD_BUS_TYPE_VARIANT, "au");
                if (r < 0)
                        return r;
                r = groups_from_message(subject, m);
                if (r < 0)
                        return r;
                return sd_bus_message_exit_container(m);
        }
        return sd_bus_message_skip(m, "v");
}

/* A group that the list does not have is not the subject's: the pid was reused. */
static void credentials_put_first(Subject *subject, gid_t gid) {
        for (size_t i = 0; i < subject->n_gids; i++) {
                if (subject->gids[i] != gid)
                        continue;
                subject->gids[i] = subject->gids[0];
                subject->gids[0] = gid;
        }
}

int credentials_read_message(sd_bus_message *m, Subject *subject, pid_t *pid) {
        bool has_uid = false;
        gid_t gid;
        int r;

        r = sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "{sv}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(m, SD_BUS_TYPE_DICT_ENTRY, "sv")) > 0) {
                const char *key;
                r = sd_bus_message_read(m, "s", &key);
                if (r < 0)
                        return r;
                r = read_credential(subject, pid, key, m, &has_uid);
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
        if (container_has_uid(subject->uid))
                return -EPERM;
        if (subject->n_gids == 0)
                return credentials_find_groups(subject);
        /* The bus sorts the list by number. */
        if (facts_read_group(*pid, subject->uid, &gid))
                credentials_put_first(subject, gid);
        return 0;
}

static int append_group(Subject *subject, gid_t gid) {
        for (size_t i = 0; i < subject->n_gids; i++)
                if (subject->gids[i] == gid)
                        return 0;
        gid_t *gids = reallocarray(subject->gids, subject->n_gids + 1, sizeof(*gids));
        if (!gids)
                return -ENOMEM;
        gids[subject->n_gids++] = gid;
        subject->gids = gids;
        return 0;
}

/* Reads the supplementary groups; the primary group is only in SO_PEERCRED. */
static int groups_from_socket(int fd, Subject *subject, gid_t gid) {
        _cleanup_free_ gid_t *gids = NULL;
        socklen_t size = 0;

        if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) < 0 && errno != ERANGE)
                return -errno;
        gids = malloc(size + 1);
        if (!gids)
                return -ENOMEM;
        if (size > 0 && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, gids, &size) < 0)
                return -errno;
        free(subject->gids);
        subject->gids = TAKE_PTR(gids);
        subject->n_gids = size / sizeof(gid_t);
        int r = append_group(subject, gid);
        if (r == 0)
                credentials_put_first(subject, gid);
        return r;
}

static PeerProcess read_process(int fd, const struct ucred *peer) {
        PeerProcess process = { .pid = peer->pid };
        _cleanup_close_ int pidfd = -1;
        socklen_t size = sizeof(pidfd);
        struct pollfd ended = { .events = POLLIN };

        if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) < 0 && errno != ENOPROTOOPT)
                return process;
        process.start = facts_read_start(peer->pid, peer->uid);
        process.place = place_read(peer->pid);
        /* The process is still alive after the reads, so the pid was not reused. */
        ended.fd = pidfd;
        if (pidfd >= 0 && poll(&ended, 1, 0) != 0)
                return (PeerProcess){ .pid = peer->pid };
        return process;
}

int credentials_read_socket(int fd, Subject *subject, PeerProcess *ret) {
        struct ucred peer;
        socklen_t size = sizeof(peer);

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
                return -errno;
        if (peer.uid == (uid_t)-1)
                return -ENODATA;
        if (container_has_uid(peer.uid))
                return -EPERM;
        int r = groups_from_socket(fd, subject, peer.gid);
        if (r < 0)
                return r;
        subject->uid = peer.uid;
        *ret = read_process(fd, &peer);
        return 0;
}
