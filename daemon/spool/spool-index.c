/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The content of the spool, as the event loop knows it: entries and their files, read once from the
 * disk and then updated. This file is a part of spool.h. session.json describes the entry. The
 * directory determines which files it has and how long they are, so an outdated session.json does
 * no harm. */

#include "spool/spool-index.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/describe.h"
#include "base/fd.h"
#include "base/log.h"
#include "interfaces/stream-name.h"
#include "spool/spool-end.h"
#include "spool/spool-entry.h"
#include "spool/spool-record.h"
#include "spool/spool-room.h"

#define SPOOL_VERSION 1

/* The entries are in the order of their ids, for the pages of the list. */
static void spool_entry_insert(Spool *spool, SpoolEntry *entry) {
        SpoolEntry *next;

        TAILQ_FOREACH(next, &spool->entries, entries)
                if (strcmp(next->id, entry->id) > 0)
                        break;
        if (next)
                TAILQ_INSERT_BEFORE(next, entry, entries);
        else
                TAILQ_INSERT_TAIL(&spool->entries, entry, entries);
}

SpoolEntry *spool_entry_new(Spool *spool, const char *id) {
        SpoolEntry *entry = calloc(1, sizeof(*entry));

        if (!entry)
                return NULL;
        entry->spool = spool;
        entry->worker_fd = -1;
        memcpy(entry->id, id, sizeof(entry->id));
        spool_entry_insert(spool, entry);
        return entry;
}

SpoolEntry *spool_entry_free(SpoolEntry *entry) {
        if (!entry)
                return NULL;
        TAILQ_REMOVE(&entry->spool->entries, entry, entries);
        close_cleanup(&entry->worker_fd);
        json_object_put(entry->spec);
        free(entry->rule);
        free(entry->members);
        free(entry);
        return NULL;
}

SpoolEntry *spool_find(const Spool *spool, const char *id) {
        SpoolEntry *entry;

        TAILQ_FOREACH(entry, &spool->entries, entries)
                if (strcmp(entry->id, id) == 0)
                        return entry;
        return NULL;
}

void spool_format_number(unsigned number, char name[static SPOOL_MEMBER_MAX + 1]) {
        (void)snprintf(name, SPOOL_MEMBER_MAX + 1, "%06u.kts", number);
}

SpoolMember *spool_entry_find(const SpoolEntry *entry, const char *name) {
        for (size_t i = 0; i < entry->n_members; i++)
                if (strcmp(entry->members[i].name, name) == 0)
                        return &entry->members[i];
        return NULL;
}

/* Streams first, by number. */
static bool spool_index_is_before(const SpoolMember *a, const SpoolMember *b) {
        unsigned first = a->number ?: UINT_MAX, second = b->number ?: UINT_MAX;

        return first != second ? first < second : strcmp(a->name, b->name) < 0;
}

SpoolMember *spool_entry_add(SpoolEntry *entry, const char *name, uint64_t bytes) {
        SpoolMember member = { .number = stream_name_parse(name), .bytes = bytes };
        SpoolMember *known = spool_entry_find(entry, name);
        size_t at = entry->n_members;

        if (known) {
                known->bytes = bytes;
                return known;
        }
        SpoolMember *members = reallocarray(entry->members, entry->n_members + 1, sizeof(*members));
        if (!members)
                return NULL;
        entry->members = members;
        (void)snprintf(member.name, sizeof(member.name), "%s", name);
        while (at > 0 && spool_index_is_before(&member, &members[at - 1])) {
                members[at] = members[at - 1];
                at--;
        }
        members[at] = member;
        entry->n_members++;
        return &members[at];
}

void spool_entry_drop(SpoolEntry *entry, SpoolMember *member) {
        size_t at = (size_t)(member - entry->members);

        memmove(member, member + 1, (entry->n_members - at - 1) * sizeof(*member));
        entry->n_members--;
}

uint64_t spool_entry_count(const SpoolEntry *entry) {
        uint64_t bytes = SPOOL_ENTRY_BYTES;

        for (size_t i = 0; i < entry->n_members; i++)
                bytes += spool_room_count(entry->members[i].bytes);
        return bytes;
}

/* As text */

static int spool_index_put_text(json_object *object, const char *key, const char *text) {
        return describe_put(object, key, json_object_new_string(text));
}

static int spool_index_put_number(json_object *object, const char *key, uint64_t number) {
        return describe_put(object, key, json_object_new_uint64(number));
}

static int spool_index_put_flag(json_object *object, const char *key, bool flag) {
        return describe_put(object, key, json_object_new_boolean(flag));
}

/* The length that clients may see. The length of an unfinished file is the last reported one. */
static uint64_t get_bytes(const SpoolEntry *entry, const SpoolMember *member) {
        if (!member->is_promised)
                return member->bytes;
        return entry->has_note && member->number == entry->note.number ? entry->note.bytes : 0;
}

/* Returns the number of the last stream with data. */
static unsigned spool_index_find_last(const SpoolEntry *entry) {
        unsigned last = 0;

        for (size_t i = 0; i < entry->n_members; i++)
                if (get_bytes(entry, &entry->members[i]) > 0)
                        last = MAX_OF(last, entry->members[i].number);
        return last;
}

/* The daemon does not read the files. A worker that ended without a report of success has left its
 * last file without an end. */
static const char *spool_index_judge_file(const SpoolEntry *entry,
                const SpoolMember *member,
                unsigned last) {
        bool is_cut = strcmp(entry->code, "crashed") == 0 || strcmp(entry->code, "failed") == 0;

        if (member->is_promised)
                return "written";
        if (member->number > 0 && member->bytes == 0)
                return "empty";
        return is_cut && member->number > 0 && member->number == last ? "cut" : "whole";
}

static int spool_index_put_file(json_object *list,
                const SpoolEntry *entry,
                const SpoolMember *member,
                unsigned last) {
        json_object *file = json_object_new_object();

        int r = describe_append(list, file);
        r = r ?: spool_index_put_text(file, "name", member->name);
        r = r ?: spool_index_put_number(file, "bytes", get_bytes(entry, member));
        r = r ?: spool_index_put_text(file, "state", spool_index_judge_file(entry, member, last));
        if (r == 0 && member->is_read && member->read_bytes != member->bytes)
                r = spool_index_put_number(file, "readable", member->read_bytes);
        return r;
}

static int put_files(json_object *object, const SpoolEntry *entry) {
        json_object *list = json_object_new_array();
        int r = describe_put(object, "files", list);
        unsigned last = spool_index_find_last(entry);

        /* Prepared files without data are not listed: they are the last ones. */
        for (size_t i = 0; r == 0 && i < entry->n_members; i++)
                if (entry->members[i].number <= last)
                        r = spool_index_put_file(list, entry, &entry->members[i], last);
        return r;
}

static int spool_index_put_head(json_object *object, const SpoolEntry *entry) {
        int r = spool_index_put_text(object, "id", entry->id);

        r = r ?: spool_index_put_text(object, "name", entry->name);
        r = r ?: spool_index_put_number(object, "uid", entry->uid);
        r = r ?: spool_index_put_text(object, "kind", entry->kind);
        return r;
}

static uint64_t spool_index_count_lost(const SpoolEntry *entry) {
        return entry->lost + (entry->has_note ? entry->note.lost : 0);
}

static int put_tail(json_object *object, const SpoolEntry *entry) {
        int r = spool_index_put_number(object, "created-usec", entry->created_usec);

        if (entry->ended_usec > 0) {
                r = r ?: spool_index_put_number(object, "ended-usec", entry->ended_usec);
                r = r ?: spool_index_put_text(object, "code", entry->code);
                r = r ?: spool_index_put_text(object, "reason", entry->reason);
        }
        r = r ?: spool_index_put_number(object, "lost", spool_index_count_lost(entry));
        r = r ?: spool_index_put_number(object, "dropped-files", entry->n_dropped_files);
        r = r ?: spool_index_put_number(object, "dropped-bytes", entry->dropped_bytes);
        if (!entry->ships)
                return r;
        r = r ?: spool_index_put_flag(object, "ship", true);
        r = r ?: spool_index_put_number(object, "shipped-file", entry->shipped_file);
        return r ?: spool_index_put_flag(object, "shipped", entry->is_shipped);
}

int spool_entry_save(const SpoolEntry *entry, char **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();
        int r = object ? spool_index_put_number(object, "version", SPOOL_VERSION) : -ENOMEM;

        r = r ?: spool_index_put_head(object, entry);
        r = r ?: put_tail(object, entry);
        /* For a daemon that adopts the entry with the worker, which reports all that it has lost.
         */
        r = r ?: spool_index_put_number(object, "lost-before", entry->lost);
        r = r ?: put_files(object, entry);
        if (r == 0 && entry->rule)
                r = spool_index_put_text(object, "rule", entry->rule);
        if (r == 0 && entry->spec)
                r = describe_put(object, "spec", json_object_get(entry->spec));
        if (r < 0)
                return r;
        *ret = strdup(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY) ?: "");
        return *ret ? 0 : -ENOMEM;
}

static const char *get_state(const SpoolEntry *entry) {
        if (strcmp(entry->code, "crashed") == 0)
                return "crashed";
        if (entry->state == SPOOL_ENDED)
                return "ended";
        return entry->is_waiting || entry->note.is_stuck ? "waiting" : "recording";
}

int spool_entry_describe(const SpoolEntry *entry, json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();
        uint64_t bytes = 0;
        int r = object ? spool_index_put_head(object, entry) : -ENOMEM;

        for (size_t i = 0; i < entry->n_members; i++)
                bytes += get_bytes(entry, &entry->members[i]);
        r = r ?: spool_index_put_text(object, "state", get_state(entry));
        r = r ?: spool_index_put_number(object, "bytes", bytes);
        r = r ?: put_tail(object, entry);
        r = r ?: put_files(object, entry);
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r;
}

/* In the thread */

typedef struct Reading {
        SpoolDisk *disk;
        json_object *list, *files;
} Reading;

static void spool_index_read_file(const char *name, uint64_t bytes, void *userdata) {
        Reading *reading = userdata;
        json_object *file;

        if (strlen(name) > SPOOL_MEMBER_MAX ||
                        json_object_array_length(reading->files) >= 2 * SPOOL_FILES_MAX)
                return;
        file = json_object_new_object();
        if (describe_append(reading->files, file) == 0 &&
                        spool_index_put_text(file, "name", name) == 0)
                (void)spool_index_put_number(file, "bytes", bytes);
}

static void read_entry(const char *id, void *userdata) {
        _cleanup_json_ json_object *object = NULL;
        Reading *reading = userdata;

        int r = spool_disk_load(reading->disk, id, &object);
        if (r == -ENOENT || r == -EBADMSG) /* incomplete: belongs to root */
                object = json_object_new_object();
        else if (r < 0)
                return;
        if (!json_object_is_type(object, json_type_object))
                return;
        reading->files = json_object_new_array();
        json_object_object_del(object, "files");
        if (describe_put(object, "files", reading->files) < 0 ||
                        spool_index_put_text(object, "id", id) < 0)
                return;
        if (spool_disk_scan_entry(reading->disk, id, spool_index_read_file, reading) == 0)
                (void)describe_append(reading->list, TAKE_PTR(object));
}

int spool_index_read_entry(SpoolDisk *disk, const char *id, json_object **ret) {
        _cleanup_json_ json_object *object = json_object_new_object();
        Reading reading = { .disk = disk, .files = json_object_new_array() };

        int r = object ? describe_put(object, "files", reading.files) : -ENOMEM;
        r = r ?: spool_disk_scan_entry(disk, id, spool_index_read_file, &reading);
        if (r == 0)
                *ret = TAKE_PTR(object);
        return r;
}

int spool_index_read(SpoolDisk *disk, json_object **ret) {
        _cleanup_json_ json_object *list = json_object_new_array();
        Reading reading = { .disk = disk, .list = list };

        if (!list)
                return -ENOMEM;
        int r = spool_disk_scan(disk, read_entry, &reading);
        if (r == 0)
                *ret = TAKE_PTR(list);
        return r;
}

/* In the loop */

static uint64_t spool_index_get_number(json_object *object, const char *key) {
        json_object *value;

        return json_object_object_get_ex(object, key, &value) &&
                                               json_object_is_type(value, json_type_int)
                               ? json_object_get_uint64(value)
                               : 0;
}

static bool spool_index_get_flag(json_object *object, const char *key) {
        return json_object_get_boolean(json_object_object_get(object, key));
}

static void copy_text(json_object *object, const char *key, char *text, size_t size) {
        json_object *value;

        if (json_object_object_get_ex(object, key, &value) &&
                        json_object_is_type(value, json_type_string))
                (void)snprintf(text, size, "%s", json_object_get_string(value));
}

void spool_index_take_files(SpoolEntry *entry, json_object *object) {
        json_object *files = NULL;

        (void)json_object_object_get_ex(object, "files", &files);
        for (size_t i = 0; i < json_object_array_length(files); i++) {
                json_object *file = json_object_array_get_idx(files, i);
                char name[SPOOL_MEMBER_MAX + 1] = "";

                copy_text(file, "name", name, sizeof(name));
                (void)spool_entry_add(entry, name, spool_index_get_number(file, "bytes"));
        }
}

static void take_entry(Spool *spool, json_object *object) {
        char id[KT_ID_DIGITS + 1] = "";
        json_object *spec, *rule;

        copy_text(object, "id", id, sizeof(id));
        SpoolEntry *entry = spool_find(spool, id) ?: spool_entry_new(spool, id);
        if (!entry)
                return;
        entry->created_usec = spool_index_get_number(object, "created-usec");
        entry->ended_usec = spool_index_get_number(object, "ended-usec");
        entry->lost = spool_index_get_number(
                        object, entry->is_adopted && entry->goes_on ? "lost-before" : "lost");
        entry->n_dropped_files = spool_index_get_number(object, "dropped-files");
        entry->dropped_bytes = spool_index_get_number(object, "dropped-bytes");
        copy_text(object, "code", entry->code, sizeof(entry->code));
        copy_text(object, "reason", entry->reason, sizeof(entry->reason));
        copy_text(object, "name", entry->name, sizeof(entry->name));
        copy_text(object, "kind", entry->kind, sizeof(entry->kind));
        entry->ships = entry->ships || spool_index_get_flag(object, "ship");
        entry->shipped_file = (unsigned)spool_index_get_number(object, "shipped-file");
        entry->is_shipped = spool_index_get_flag(object, "shipped");
        if (!entry->rule && json_object_object_get_ex(object, "rule", &rule))
                entry->rule = strdup(json_object_get_string(rule) ?: "");
        if (!entry->spec && json_object_object_get_ex(object, "spec", &spec))
                entry->spec = json_object_get(spec);
        spool_index_take_files(entry, object);
        if (entry->is_adopted) {
                spool_record_loaded(entry);
                return;
        }
        entry->uid = (uid_t)spool_index_get_number(object, "uid");
        entry->state = SPOOL_ENDED;
        if (entry->ended_usec > 0)
                return;
        log_write(LOG_NOTICE,
                        &(LogContext){ entry->id, NULL, entry->uid },
                        "a recording was cut short; it is whole up to its last frame on disk");
        spool_close_entry(entry, "crashed", "the machine or ktraced ended without warning");
}

void spool_index_take(Spool *spool, json_object *list) {
        SpoolEntry *entry, *next;

        for (size_t i = 0; i < json_object_array_length(list); i++)
                take_entry(spool, json_object_array_get_idx(list, i));
        /* An adopted entry that is missing on disk cannot continue. */
        for (entry = TAILQ_FIRST(&spool->entries); entry; entry = next) {
                next = TAILQ_NEXT(entry, entries);
                if (entry->is_adopted && !entry->is_loaded)
                        spool_record_loaded(entry);
        }
}
