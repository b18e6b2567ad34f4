/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads what ktrace-ship has stored in NATS JetStream. One request gets one message, so nothing is
 * left at the broker by a reader that ends, and a broken connection loses no place. Everything that
 * comes back may be hostile: whoever stole the credential of a host can store anything in its
 * stream. */

#include "fleet/archive.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fleet/stored-message.h"
#include "interfaces/ascii.h"
#include "interfaces/quote.h"
#include "interfaces/utf8.h"

#define TIMEOUT_USEC UINT64_C(30000000)
/* A cluster that has no leader yet drops a request without an answer, so it is sent again. The
 * broker answers a repeated request like the first one. */
#define REQUEST_MSEC  3000
#define REQUEST_TRIES 10
#define STREAM_PREFIX NATS_SUBJECT_PREFIX "-"
#define END_VALUES    128
#define TEXT_MAX      256 /* of a text in the end of a recording; the rest is cut */
#define HOST_MAX      64
#define ADMINISTRATOR "ktrace-admin"
/* A chunk with its headers has less. Larger ones could not be read back safely. */
#define MESSAGE_MAX (1024 * 1024)
/* Within this time, the server recognises a repetition. It must be longer than the delays of
 * ktrace-ship. */
#define DUPLICATES_NSEC (INT64_C(600) * 1000000000)

struct Archive {
        const FleetSettings *settings; /* borrowed */
        natsConnection *connection;
        jsCtx *api;
        Hash *hashes[_HASH_KIND_N];
        natsMsg *message; /* of the last chunk */
        ArchiveAccess access;
        int n_tries; /* of a question about a stream that is not answered */
};

/* take: a machine, with its sessions if so. miss: the line says which machine gave no answer, and
 * why. */
typedef struct ArchiveVisit {
        bool with_sessions;
        int (*take)(Archive *archive,
                        const char *machine_id,
                        const jsStreamInfo *info,
                        void *userdata);
        void (*miss)(const char *text, void *userdata);
        void *userdata;
} ArchiveVisit;

static void archive_disconnect(Archive *archive) {
        natsMsg_Destroy(archive->message);
        jsCtx_Destroy(archive->api);
        natsConnection_Destroy(archive->connection);
        archive->message = NULL;
        archive->api = NULL;
        archive->connection = NULL;
}

Archive *archive_free(Archive *archive) {
        if (!archive)
                return NULL;
        archive_disconnect(archive);
        for (HashKind kind = 0; kind < _HASH_KIND_N; kind++)
                hash_free(archive->hashes[kind]);
        free(archive);
        return NULL;
}

int archive_reconnect(Archive *archive, Reason *reason) {
        const FleetSettings *settings = archive->settings;
        bool adds = archive->access == ARCHIVE_ADDS;
        const NatsLinkOptions link = {
                .servers = (const char *const *)settings->servers.strings,
                .n_servers = settings->servers.n,
                .credentials_dir = settings->credentials_dir,
                .authorities = "ktrace-fleet",
                .identity = adds ? ADMINISTRATOR : "ktrace-fleet",
                .user = adds ? ADMINISTRATOR : settings->user ?: "ktrace-fleet",
                .inbox = adds ? "_INBOX_admin" : "_INBOX_fleet",
                .timeout_usec = TIMEOUT_USEC,
        };
        jsOptions options;

        archive_disconnect(archive);
        if (adds && settings->credentials_dir && !nats_link_has_identity(&link))
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "%s: expected " ADMINISTRATOR
                                ".password, .creds or .cert in it: only "
                                "the administrator's credential may create streams",
                                settings->credentials_dir);
        int r = nats_link_open(&link, &archive->connection, reason);
        if (r != 0)
                return r;
        (void)jsOptions_Init(&options);
        options.Wait = (int64_t)(TIMEOUT_USEC / 1000);
        if (!adds)
                options.Prefix = NATS_READ_PREFIX;
        natsStatus s = natsConnection_JetStream(&archive->api, archive->connection, &options);
        return s == NATS_OK ? 0 : nats_link_refuse(archive->connection, "the broker", s, reason);
}

int archive_open(const FleetSettings *settings,
                ArchiveAccess access,
                Archive **ret,
                Reason *reason) {
        _cleanup_(archive_free_cleanup) Archive *archive = calloc(1, sizeof(*archive));

        if (!archive)
                return -ENOMEM;
        archive->settings = settings;
        archive->access = access;
        archive->n_tries = REQUEST_TRIES;
        int r = 0;
        for (HashKind kind = 0; r == 0 && kind < _HASH_KIND_N; kind++)
                r = hash_new(kind, &archive->hashes[kind]);
        r = r ?: archive_reconnect(archive, reason);
        if (r == 0)
                *ret = TAKE_PTR(archive);
        return r;
}

int archive_add(Archive *archive, const ArchiveStream *stream, Reason *reason) {
        char name[NATS_SUBJECT_MAX], subject[NATS_SUBJECT_MAX];
        const char *subjects[] = { subject };
        jsStreamConfig config;
        jsOptions options;
        natsStatus s = NATS_TIMEOUT;
        jsErrCode code = 0;

        nats_link_print_stream(stream->machine_id, name);
        nats_link_print_subject(stream->machine_id, "*", subject);
        (void)jsStreamConfig_Init(&config);
        config.Name = name;
        config.Description = stream->name;
        config.Subjects = subjects;
        config.SubjectsLen = 1;
        config.Replicas = stream->n_replicas;
        config.MaxBytes = stream->max_bytes;
        config.MaxMsgSize = MESSAGE_MAX;
        config.Discard = js_DiscardNew; /* a full stream refuses, and the spool keeps the rest */
        config.MaxAge = stream->max_age_nsec;
        config.Duplicates = DUPLICATES_NSEC;
        config.AllowDirect = true;
        config.DenyDelete = true;
        (void)jsOptions_Init(&options);
        options.Wait = REQUEST_MSEC;
        for (int i = 0; i < REQUEST_TRIES && s == NATS_TIMEOUT; i++)
                s = js_AddStream(NULL, archive->api, &config, &options, &code);
        return s == NATS_OK ? 0 : nats_link_refuse(archive->connection, name, s, reason);
}

/* Machines */

static bool archive_is_machine(const char *stream) {
        const char *id = stream + strlen(STREAM_PREFIX);

        return strncmp(stream, STREAM_PREFIX, strlen(STREAM_PREFIX)) == 0 &&
               ascii_is_hex(id, MACHINE_ID_DIGITS);
}

/* The name that an administrator has given to the machine. */
static const char *archive_get_host(const jsStreamInfo *info) {
        const char *name = info->Config ? info->Config->Description : NULL;

        return name && strlen(name) <= HOST_MAX && utf8_find_unprintable(name, strlen(name)) == 0
                               ? name
                               : "";
}

/* Without the sessions, the answer is small whatever the machine has stored. */
static int archive_get_info(Archive *archive,
                const char *stream,
                bool with_sessions,
                jsStreamInfo **ret,
                Reason *reason) {
        char filter[NATS_SUBJECT_MAX];
        jsOptions options;
        natsStatus s = NATS_TIMEOUT;
        jsErrCode code = 0;

        (void)jsOptions_Init(&options);
        options.Wait = REQUEST_MSEC;
        nats_link_print_subject(stream + strlen(STREAM_PREFIX), "*", filter);
        options.Stream.Info.SubjectsFilter = with_sessions ? filter : NULL;
        for (int i = 0; i < archive->n_tries && s == NATS_TIMEOUT; i++)
                s = js_GetStreamInfo(ret, archive->api, stream, &options, &code);
        return s == NATS_OK ? 0 : nats_link_refuse(archive->connection, stream, s, reason);
}

int archive_check(Archive *archive, const char *machine_id, Reason *reason) {
        char stream[NATS_SUBJECT_MAX];
        jsStreamInfo *info = NULL;
        jsOptions options;
        jsErrCode code = 0;

        nats_link_print_stream(machine_id, stream);
        (void)jsOptions_Init(&options);
        options.Wait = REQUEST_MSEC;
        natsStatus s = js_GetStreamInfo(&info, archive->api, stream, &options, &code);
        jsStreamInfo_Destroy(info);
        if (s == NATS_OK)
                return 0;
        if (s == NATS_NOT_FOUND)
                return reason_set(reason,
                                KT_E_FAILED,
                                "%s: the broker has no stream of this machine any longer",
                                machine_id);
        int r = nats_link_refuse(archive->connection, stream, s, reason);
        return r == KT_E_ACCESS_DENIED ? r : -ENOTCONN;
}

/* A machine that cannot be asked now does not keep others from being visited. */
static int archive_visit_machine(Archive *archive,
                const char *stream,
                const ArchiveVisit *visit,
                Reason *reason) {
        jsStreamInfo *info = NULL;
        Reason trouble = {};

        int r = archive_get_info(archive, stream, visit->with_sessions, &info, &trouble);
        if (r == KT_E_ACCESS_DENIED || (r != 0 && natsConnection_IsClosed(archive->connection))) {
                *reason = trouble;
                return r;
        }
        if (r != 0) {
                archive->n_tries = 1; /* else a hundred such streams take an hour */
                visit->miss(trouble.text, visit->userdata);
                return 0;
        }
        r = visit->take(archive, stream + strlen(STREAM_PREFIX), info, visit->userdata);
        jsStreamInfo_Destroy(info);
        return r;
}

/* Visits each machine until a function returns other than 0. */
static int archive_visit(Archive *archive, const ArchiveVisit *visit, Reason *reason) {
        jsStreamNamesList *names = NULL;
        jsOptions options;
        natsStatus s = NATS_TIMEOUT;
        jsErrCode code = 0;
        int r = 0;

        (void)jsOptions_Init(&options);
        options.Wait = REQUEST_MSEC;
        for (int i = 0; i < REQUEST_TRIES && s == NATS_TIMEOUT; i++)
                s = js_StreamNames(&names, archive->api, &options, &code);
        if (s == NATS_NOT_FOUND)
                return 0;
        if (s != NATS_OK)
                return nats_link_refuse(archive->connection, "the list of streams", s, reason);
        for (int i = 0; r == 0 && i < names->Count; i++)
                if (archive_is_machine(names->List[i]))
                        r = archive_visit_machine(archive, names->List[i], visit, reason);
        jsStreamNamesList_Destroy(names);
        return r;
}

typedef struct ArchiveSearch {
        const char *host;
        char id[MACHINE_ID_DIGITS + 1];
        bool is_ambiguous;
        uint32_t n_missed;
        Reason missed; /* the last one */
} ArchiveSearch;

static int archive_compare(Archive *archive _unused_,
                const char *machine_id,
                const jsStreamInfo *info,
                void *userdata) {
        ArchiveSearch *search = userdata;

        if (strcmp(search->host, archive_get_host(info)) != 0)
                return 0;
        search->is_ambiguous = search->id[0];
        (void)snprintf(search->id, sizeof(search->id), "%s", machine_id);
        return 0;
}

static void archive_miss(const char *text, void *userdata) {
        ArchiveSearch *search = userdata;

        search->n_missed++;
        (void)reason_set(&search->missed, 0, "%s", text);
}

static int archive_find(Archive *archive, ArchiveSearch *search, Reason *reason) {
        const ArchiveVisit visit = {
                .take = archive_compare,
                .miss = archive_miss,
                .userdata = search,
        };
        const Quoted host = quote(search->host);

        int r = archive_visit(archive, &visit, reason);
        if (r != 0)
                return r;
        if (search->is_ambiguous)
                return reason_set(reason,
                                KT_E_FAILED,
                                "%s: two machines have this name: use the id",
                                host.text);
        if (search->id[0])
                return 0;
        if (search->n_missed > 0)
                return reason_set(reason,
                                KT_E_FAILED,
                                "%s: no machine that could be asked has this name: use the id: %s",
                                host.text,
                                search->missed.text);
        return reason_set(reason,
                        KT_E_FAILED,
                        "%s: no such machine: 'ktracectl fleet list' shows them",
                        host.text);
}

int archive_resolve(Archive *archive,
                const char *host,
                char ret[static MACHINE_ID_DIGITS + 1],
                Reason *reason) {
        ArchiveSearch search = { .host = host };
        int r = 0;

        if (ascii_is_hex(host, MACHINE_ID_DIGITS))
                (void)snprintf(search.id, sizeof(search.id), "%s", host);
        else
                r = archive_find(archive, &search, reason);
        if (r == 0)
                memcpy(ret, search.id, sizeof(search.id));
        return r;
}

/* Chunks */

/* -EBADMSG: this is no chunk, or its data does not have its hash. */
static int archive_read_chunk(Archive *archive, natsMsg *message, Chunk *ret) {
        char digits[HASH_DIGITS_MAX + 1];
        Chunk chunk;

        int r = nats_link_read_chunk(message, &chunk);
        if (r < 0)
                return r;
        int kind = hash_find_kind(chunk.hash);
        if (kind < 0)
                return kind;
        hash_make(archive->hashes[kind], chunk.data, chunk.size, digits);
        if (strcmp(digits, chunk.hash) != 0)
                return -EBADMSG;
        *ret = chunk;
        return 0;
}

/* Sessions */

static int archive_put(json_object *row, const char *key, json_object *value) {
        if (value && json_object_object_add(row, key, value) == 0)
                return 0;
        json_object_put(value);
        return -ENOMEM;
}

/* A value of the end, if it is a number or a short text that can be shown. */
static json_object *archive_copy_value(json_object *value) {
        if (json_object_is_type(value, json_type_int))
                return json_object_get(value);
        if (!json_object_is_type(value, json_type_string))
                return NULL;
        const char *text = json_object_get_string(value);
        size_t n = strnlen(text, TEXT_MAX);
        if (n == TEXT_MAX)
                while (n > 0 && ((uint8_t)text[n] & 0xc0) == 0x80) /* within a character */
                        n--;
        return utf8_find_unprintable(text, n) > 0 ? NULL : json_object_new_string_len(text, (int)n);
}

/* The end of a recording, as ktraced described it: only these keys are shown. */
static int archive_put_end(json_object *row, const Chunk *end) {
        static const char *const keys[] = {
                "ended-usec", "code", "reason", "lost", "dropped-files"
        };
        _cleanup_json_ json_object *object = NULL;
        Reason reason = {};
        int r = 0;

        if (json_parse_message("end", end->data, end->size, END_VALUES, &object, &reason) != 0 ||
                        !json_object_is_type(object, json_type_object))
                return archive_put(row, "state", json_object_new_string("damaged"));
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(keys); i++) {
                json_object *value = archive_copy_value(json_object_object_get(object, keys[i]));

                if (value)
                        r = archive_put(row, keys[i], value);
        }
        return r ?: archive_put(row, "state", json_object_new_string("complete"));
}

static int archive_fill_row(json_object *row, const Chunk *last) {
        int r = archive_put(row, "name", json_object_new_string(last->name));

        r = r ?: archive_put(row, "uid", json_object_new_uint64(last->uid));
        r = r ?: archive_put(row, "created-usec", json_object_new_uint64(last->created_usec));
        r = r ?: archive_put(row, "last-file", json_object_new_uint64(last->file));
        return r
                               ?: last->is_end
                                  ? archive_put_end(row, last)
                                  : archive_put(row, "state", json_object_new_string("arriving"));
}

static int archive_make_row(Archive *archive,
                const char *machine_id,
                const jsStreamStateSubject *subject,
                const char *host,
                json_object **ret,
                Reason *reason) {
        _cleanup_json_ json_object *row = json_object_new_object();
        char stream[NATS_SUBJECT_MAX];
        const char *session = strrchr(subject->Subject, '.');
        const MessageSource source = {
                .connection = archive->connection,
                .api = archive->api,
                .stream = stream,
                .subject = subject->Subject,
        };
        natsMsg *message = NULL;
        Chunk last;

        int r = row ? archive_put(row, "machine", json_object_new_string(machine_id)) : -ENOMEM;
        r = r ?: archive_put(row, "host", json_object_new_string(host));
        r = r ?: archive_put(row, "session", json_object_new_string(session ? session + 1 : ""));
        r = r ?: archive_put(row, "chunks", json_object_new_uint64(subject->Msgs));
        if (r < 0)
                return r;
        nats_link_print_stream(machine_id, stream);
        r = stored_message_get_last(&source, &message, reason);
        r = r ?: archive_read_chunk(archive, message, &last);
        if (r == 0)
                r = archive_fill_row(row, &last);
        else if (r == -EBADMSG)
                r = archive_put(row, "state", json_object_new_string("damaged"));
        natsMsg_Destroy(message);
        if (r == 0)
                *ret = TAKE_PTR(row);
        return r;
}

/* A subject that ktrace-ship cannot have written is not shown. */
static bool archive_is_session(const char *subject) {
        const char *session = strrchr(subject, '.');

        return session && ascii_is_hex(session + 1, KT_ID_DIGITS);
}

static void archive_report_limit(const ArchiveListener *listener, const char *machine_id, int n) {
        char text[256];

        (void)snprintf(text,
                        sizeof(text),
                        "%s: has %d recordings, and %d are listed",
                        machine_id,
                        n,
                        ARCHIVE_ROWS_MAX);
        listener->report(text, listener->userdata);
}

static void archive_report_missed(const char *text, void *userdata) {
        const ArchiveListener *listener = userdata;
        Reason reason = {};

        (void)reason_set(&reason, 0, "recordings are not listed: %s", text);
        listener->report(reason.text, listener->userdata);
}

static int archive_list_machine(Archive *archive,
                const char *machine_id,
                const jsStreamInfo *info,
                void *userdata) {
        const jsStreamStateSubjects *subjects = info->State.Subjects;
        const ArchiveListener *listener = userdata;
        Reason reason = {};
        int n = 0, r = 0;

        for (int i = 0; r == 0 && subjects && i < subjects->Count; i++) {
                _cleanup_json_ json_object *row = NULL;

                if (!archive_is_session(subjects->List[i].Subject) || ++n > ARCHIVE_ROWS_MAX)
                        continue;
                r = archive_make_row(archive,
                                machine_id,
                                &subjects->List[i],
                                archive_get_host(info),
                                &row,
                                &reason);
                if (r == 0)
                        listener->take(row, listener->userdata);
        }
        if (r == 0 && n > ARCHIVE_ROWS_MAX)
                archive_report_limit(listener, machine_id, n);
        if (r == 0 || r == -ENOMEM)
                return r;
        archive_report_missed(reason.text, userdata); /* the rest of them */
        return 0;
}

int archive_list(Archive *archive,
                const char *host,
                const ArchiveListener *listener,
                Reason *reason) {
        const ArchiveVisit visit = {
                .with_sessions = true,
                .take = archive_list_machine,
                .miss = archive_report_missed,
                .userdata = (void *)listener,
        };
        char id[MACHINE_ID_DIGITS + 1], stream[NATS_SUBJECT_MAX];
        jsStreamInfo *info = NULL;

        if (!host)
                return archive_visit(archive, &visit, reason);
        int r = archive_resolve(archive, host, id, reason);
        if (r != 0)
                return r;
        nats_link_print_stream(id, stream);
        r = archive_get_info(archive, stream, true, &info, reason);
        r = r ?: archive_list_machine(archive, id, info, (void *)listener);
        jsStreamInfo_Destroy(info);
        return r;
}

int archive_read(Archive *archive,
                const char *machine_id,
                const char *session,
                uint64_t *position,
                Chunk *ret,
                Reason *reason) {
        char stream[NATS_SUBJECT_MAX], subject[NATS_SUBJECT_MAX];
        const MessageSource source = {
                .connection = archive->connection,
                .api = archive->api,
                .stream = stream,
                .subject = subject,
        };

        natsMsg_Destroy(archive->message);
        archive->message = NULL;
        nats_link_print_stream(machine_id, stream);
        nats_link_print_subject(machine_id, session, subject);
        int r = stored_message_get_next(&source, position, &archive->message, reason);
        return r == 0 ? archive_read_chunk(archive, archive->message, ret) : r;
}
