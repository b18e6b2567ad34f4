/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Connections to nats-server, for both ends: ktrace-ship writes, ktrace-fleet reads. A connection
 * ends with its first error. The caller opens another one, with its own delays, so that the library
 * keeps nothing in memory between connections, and repeats nothing by itself.
 *
 * TLS is required except on the loopback, and the certificate must be that of the host of the URL
 * (libnats compares it). */

#include "broker/nats-link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "interfaces/ascii.h"
#include "interfaces/quote.h"

#define TLS_SCHEME   "tls://"
#define PLAIN_SCHEME "nats://"
#define SECRET_MAX   4096
#define CONNECT_MSEC 10000

static bool nats_link_is_loopback(const char *host) {
        static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                size_t n = strlen(names[i]);

                if (strncmp(host, names[i], n) == 0 && (host[n] == ':' || host[n] == '\0'))
                        return true;
        }
        return false;
}

static bool nats_link_is_tls(const char *url) {
        return strncmp(url, TLS_SCHEME, strlen(TLS_SCHEME)) == 0;
}

int nats_link_check_url(const char *url, Reason *reason) {
        bool is_plain = strncmp(url, PLAIN_SCHEME, strlen(PLAIN_SCHEME)) == 0;

        if (strchr(url, '@'))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "a URL has no user and no password: use credentials");
        if (strpbrk(url, " ,\t\n"))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "expected one URL, got %s",
                                quote(url).text);
        if (!nats_link_is_tls(url) && !is_plain)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "expected a URL such as \"tls://nats.example:4222\", got %s",
                                quote(url).text);
        if (is_plain && !nats_link_is_loopback(url + strlen(PLAIN_SCHEME)))
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "%s: nats:// is not encrypted: use tls://, except on the loopback",
                                quote(url).text);
        return 0;
}

/* *ret: NULL if there is no such file NAME.SUFFIX. One that cannot be read is not the same as none:
 * without it this connection would have less protection than its owner wants. */
static natsStatus nats_link_find_file(const NatsLinkOptions *options,
                const char *name,
                const char *suffix,
                char **ret) {
        const char *directory = options->credentials_dir;
        _cleanup_free_ char *path = NULL;

        *ret = NULL;
        if (!directory)
                return NATS_OK;
        if (asprintf(&path, "%s/%s.%s", directory, name, suffix) < 0) {
                path = NULL;
                return NATS_NO_MEMORY;
        }
        if (access(path, R_OK) < 0)
                return errno == ENOENT ? NATS_OK : NATS_IO_ERROR;
        *ret = TAKE_PTR(path);
        return NATS_OK;
}

static natsStatus nats_link_find_own(const NatsLinkOptions *options,
                const char *suffix,
                char **ret) {
        return nats_link_find_file(options, options->identity, suffix, ret);
}

bool nats_link_has_identity(const NatsLinkOptions *options) {
        static const char *const suffixes[] = {
                NATS_FILE_CREDENTIALS, NATS_FILE_PASSWORD, NATS_FILE_CERTIFICATE
        };

        for (size_t i = 0; i < ELEMENTSOF(suffixes); i++) {
                _cleanup_free_ char *path = NULL;

                if (nats_link_find_own(options, suffixes[i], &path) != NATS_OK || path)
                        return true;
        }
        return false;
}

static int nats_link_read_secret(const char *path, char text[static SECRET_MAX]) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, text, SECRET_MAX - 1);

        if (n < 0)
                return -errno;
        text[n] = '\0';
        text[strcspn(text, "\r\n")] = '\0';
        return 0;
}

static natsStatus nats_link_set_identity(natsOptions *nats, const NatsLinkOptions *options) {
        _cleanup_free_ char *credentials = NULL, *password = NULL;
        char secret[SECRET_MAX];

        natsStatus s = nats_link_find_own(options, NATS_FILE_CREDENTIALS, &credentials);

        if (credentials)
                return natsOptions_SetUserCredentialsFromFiles(nats, credentials, NULL);
        s = s ?: nats_link_find_own(options, NATS_FILE_PASSWORD, &password);
        if (!password) /* the certificate, or nothing, says who this is */
                return s;
        if (nats_link_read_secret(password, secret) < 0)
                return NATS_IO_ERROR;
        s = natsOptions_SetUserInfo(nats, options->user, secret);
        explicit_bzero(secret, sizeof(secret));
        return s;
}

/* libnats always takes the authorities of the system, and adds to them. OpenSSL finds those of the
 * system by these variables, so the given ones are the only ones. */
static natsStatus nats_link_set_authorities(natsOptions *nats, const char *ca) {
        if (setenv("SSL_CERT_FILE", ca, true) < 0 || setenv("SSL_CERT_DIR", "/dev/null", true) < 0)
                return NATS_NO_MEMORY;
        return natsOptions_LoadCATrustedCertificates(nats, ca);
}

static natsStatus nats_link_set_tls(natsOptions *nats, const NatsLinkOptions *options) {
        _cleanup_free_ char *ca = NULL, *certificate = NULL, *key = NULL;

        natsStatus s = nats_link_find_file(options, options->authorities, NATS_FILE_CA, &ca);
        s = s ?: nats_link_find_own(options, NATS_FILE_CERTIFICATE, &certificate);
        s = s ?: nats_link_find_own(options, NATS_FILE_KEY, &key);
        if (s == NATS_OK && ca)
                s = nats_link_set_authorities(nats, ca);
        s = s ?: natsOptions_SetSecure(nats, true);
        if (s == NATS_OK && certificate && key)
                s = natsOptions_LoadCertificatesChain(nats, certificate, key);
        return s;
}

static natsStatus nats_link_set_options(natsOptions *nats, const NatsLinkOptions *options) {
        int64_t msec = (int64_t)(options->timeout_usec / 1000);
        bool is_tls = false;

        /* One such server is enough: libnats has one setting for all. */
        for (size_t i = 0; i < options->n_servers; i++)
                is_tls = is_tls || nats_link_is_tls(options->servers[i]);

        natsStatus s = natsOptions_SetServers(
                        nats, (const char **)options->servers, (int)options->n_servers);
        s = s ?: natsOptions_SetIgnoreDiscoveredServers(nats, true);
        s = s ?: natsOptions_SetAllowReconnect(nats, false);
        s = s ?: natsOptions_SetTimeout(nats, CONNECT_MSEC);
        s = s ?: natsOptions_SetPingInterval(nats, msec);
        s = s ?: natsOptions_SetWriteDeadline(nats, msec);
        s = s ?: natsOptions_SetCustomInboxPrefix(nats, options->inbox);
        s = s ?: nats_link_set_identity(nats, options);
        return s ?: is_tls ? nats_link_set_tls(nats, options) : NATS_OK;
}

/* Trying again does not help: wrong credentials, or a certificate that is not to be trusted. */
static bool nats_link_is_denied(natsStatus s) {
        return s == NATS_CONNECTION_AUTH_FAILED || s == NATS_NOT_PERMITTED || s == NATS_SSL_ERROR;
}

/* The text comes from the library or from the server, and contains no secret. */
int nats_link_refuse(natsConnection *connection, const char *what, natsStatus s, Reason *reason) {
        const char *last = NULL;

        if (connection)
                (void)natsConnection_GetLastError(connection, &last);
        if (!last || !*last) /* what JetStream answers is an error of this thread */
                last = nats_GetLastError(NULL);
        if (last && *last == '(' && strstr(last, "): ")) /* a place in the source of libnats */
                last = strstr(last, "): ") + strlen("): ");
        if (!last || strcmp(last, natsStatus_GetText(s)) == 0)
                last = "";
        if (s == NATS_TIMEOUT)
                last = "the broker does not answer; a cluster needs more than half of its servers";
        return reason_set(reason,
                        nats_link_is_denied(s) ? KT_E_ACCESS_DENIED : KT_E_FAILED,
                        "%s: %s%s%.256s",
                        what,
                        natsStatus_GetText(s),
                        *last ? ": " : "",
                        last);
}

int nats_link_open(const NatsLinkOptions *options, natsConnection **ret, Reason *reason) {
        natsOptions *nats = NULL;

        natsStatus s = natsOptions_Create(&nats);
        s = s ?: nats_link_set_options(nats, options);
        s = s ?: natsConnection_Connect(ret, nats);
        natsOptions_Destroy(nats);
        return s == NATS_OK ? 0 : nats_link_refuse(NULL, "cannot connect to the broker", s, reason);
}

void nats_link_print_stream(const char *machine_id, char text[static NATS_SUBJECT_MAX]) {
        (void)snprintf(text, NATS_SUBJECT_MAX, NATS_SUBJECT_PREFIX "-%s", machine_id);
}

void nats_link_print_subject(const char *machine_id,
                const char *session,
                char text[static NATS_SUBJECT_MAX]) {
        (void)snprintf(text, NATS_SUBJECT_MAX, NATS_SUBJECT_PREFIX ".%s.%s", machine_id, session);
}

static bool nats_link_is_optional(ChunkProperty property) {
        return property == CHUNK_FILE_HASH || property == CHUNK_FILE_BYTES ||
               property == CHUNK_LISTED_BYTES || property == CHUNK_END || property == CHUNK_NAME;
}

static int nats_link_read_subject(const char *subject, Chunk *chunk) {
        const char *session = subject ? strrchr(subject, '.') : NULL;

        if (!session || !ascii_is_hex(session + 1, KT_ID_DIGITS))
                return -EBADMSG;
        memcpy(chunk->session, session + 1, sizeof(chunk->session));
        return 0;
}

/* One value of a header is the server's. With more of them one is the publisher's, and which one
 * depends on the server. */
static bool nats_link_is_single(natsMsg *message, const char *header) {
        const char **values = NULL;
        int n = 0;

        natsStatus s = natsMsgHeader_Values(message, header, &values, &n);
        free((void *)values);
        return s == NATS_OK && n == 1;
}

int nats_link_check_place(natsMsg *message, const char *subject) {
        const char *named = natsMsg_GetSubject(message);

        return nats_link_is_single(message, "Nats-Sequence") &&
                                               nats_link_is_single(message, "Nats-Subject") &&
                                               named && strcmp(named, subject) == 0
                               ? 0
                               : -EBADMSG;
}

int nats_link_read_chunk(natsMsg *message, Chunk *ret) {
        Chunk chunk = {
                .data = natsMsg_GetData(message),
                .size = (size_t)natsMsg_GetDataLength(message),
        };

        int r = nats_link_read_subject(natsMsg_GetSubject(message), &chunk);
        for (ChunkProperty property = 0; r == 0 && property < _CHUNK_PROPERTY_N; property++) {
                const char *text = NULL;

                if (natsMsgHeader_Get(message, chunk_property_get_name(property), &text) == NATS_OK)
                        r = chunk_read(&chunk, property, text);
                else if (!nats_link_is_optional(property))
                        r = -EBADMSG;
        }
        if (r < 0 || chunk.size > CHUNK_BYTES)
                return -EBADMSG;
        *ret = chunk;
        return 0;
}
