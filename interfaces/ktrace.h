/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef KTRACE_H
#define KTRACE_H

/* libktrace: sessions of ktraced, and the records of traces. See libktrace(3).
 *
 * Functions that can fail return 0 or a negative errno. If they have a parameter `error`, which may
 * be NULL, they fill it in. Texts are UTF-8; JSON is as in ktrace-session(5) and org.ktrace1(5).
 * A text that is returned in `char **` belongs to the caller: free(). Other texts and objects
 * belong to the object that they were obtained from.
 *
 * Threads: each object may be used by one thread at a time. There is no global state. After fork(),
 * the child may only free the objects of its parent, and this changes nothing for the parent.
 * All descriptors are close-on-exec. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sd_bus;
struct sd_event;

typedef struct ktrace ktrace;                 /* a connection to ktraced */
typedef struct ktrace_session ktrace_session; /* a session, as this connection sees it */
typedef struct ktrace_reader ktrace_reader;   /* the records of a stream or a file */
typedef struct ktrace_record ktrace_record;   /* one of them */
typedef struct ktrace_field ktrace_field;     /* a field of an event, looked up once */

typedef struct ktrace_error {
        char name[64];  /* org.ktrace1.Error.AccessDenied and so on: org.ktrace1(5) */
        char text[512]; /* one line: what failed, and what to do */
} ktrace_error;

/* Connections */

enum {
        KTRACE_VARLINK = 1, /* ktraced's own socket; otherwise the system bus, if there is one */
};

/* Starts ktraced if necessary. -EINVAL: unknown flags. */
int ktrace_open(unsigned flags, ktrace **ret, ktrace_error *error);
/* Uses the caller's connection to the bus, and refers to it. If it belongs to an event loop, that
 * loop delivers the notices of sessions. */
int ktrace_open_bus(struct sd_bus *bus, ktrace **ret, ktrace_error *error);
/* Ends sessions of lifetime `client` that were created over it. Free sessions before. NULL is
 * allowed. */
void ktrace_close(ktrace *connection);
/* How long a call may wait for its answer, in microseconds; 0: 120 s. -ETIMEDOUT after that:
 * ktraced may still do what was asked. */
void ktrace_set_timeout(ktrace *connection, uint64_t usec);
/* Becomes readable when ktrace_process() has something to do. */
int ktrace_get_fd(const ktrace *connection);
/* Handles what has arrived, and does not wait. Calls of methods do the same while they wait for
 * their answer. -ENOTCONN: the connection has ended. */
int ktrace_process(ktrace *connection);
/* Lets the loop call ktrace_process(). */
int ktrace_attach(ktrace *connection, struct sd_event *event);
/* Calls a method of org.ktrace1(5) that returns no descriptor. session: its id; NULL: a method of
 * the manager. arguments: an object of JSON with their names; NULL: none. ret: an object with the
 * results; may be NULL. */
int ktrace_call(ktrace *connection,
                const char *session,
                const char *method,
                const char *arguments,
                char **ret,
                ktrace_error *error);

/* Notices of many sessions */

enum {
        KTRACE_ALL_USERS = 1, /* root, and users that polkit allows to manage sessions */
};

/* From now on the connection gets the notices of all sessions of the caller, also of sessions that
 * others create later, until it is closed. -EINVAL: unknown flags. -EBUSY: it already watches. */
int ktrace_watch(ktrace *connection, unsigned flags, ktrace_error *error);
/* Takes the oldest notice of ktrace_watch(): an object as in Manager.Notified of org.ktrace1(5),
 * with "kind", "session", "name" and "uid", or {"dropped": N}; or {"daemon": "gone"} and {"daemon":
 * "back"}, and {"failed": REASON} if the next daemon refuses the watch. *ret is NULL when there is
 * none. 1024 are kept; then {"dropped": N} takes the place of N. */
int ktrace_take_notice(ktrace *connection, char **ret);

/* Recordings on the machine's disk. ktrace_call() lists, acknowledges and removes them. */

/* Returns a pipe with a stream of the recording: file, its name. NULL: all streams, one after the
 * other. The caller closes the pipe. It ends early if ktraced ends, so compare the number of bytes
 * with the list. */
int ktrace_open_spool(ktrace *connection,
                const char *id,
                const char *file,
                int *ret_fd,
                ktrace_error *error);

/* Sessions. spec: JSON as in ktrace-session(5). */

/* Says what ktraced would do with this spec, and why not: the result of CheckSession. */
int ktrace_check(ktrace *connection, const char *spec, char **ret, ktrace_error *error);
int ktrace_create(ktrace *connection, const char *spec, ktrace_session **ret, ktrace_error *error);
/* Finds a session by its id or its name. */
int ktrace_find(ktrace *connection, const char *name, ktrace_session **ret, ktrace_error *error);
/* Forgets the session, and does not end it. NULL is allowed. */
void ktrace_session_free(ktrace_session *session);
const char *ktrace_session_get_id(const ktrace_session *session);
int ktrace_session_start(ktrace_session *session, ktrace_error *error);
int ktrace_session_stop(ktrace_session *session, ktrace_error *error);
int ktrace_session_destroy(ktrace_session *session, ktrace_error *error);
/* Writes a text into the trace. */
int ktrace_session_mark(ktrace_session *session, const char *text, ktrace_error *error);
int ktrace_session_configure(ktrace_session *session, const char *changes, ktrace_error *error);
int ktrace_session_describe(ktrace_session *session, char **ret, ktrace_error *error);
int ktrace_session_get_statistics(ktrace_session *session, char **ret, ktrace_error *error);
/* name: of the histogram; "" if the session has one only. */
int ktrace_session_get_histogram(ktrace_session *session,
                const char *name,
                char **ret,
                ktrace_error *error);
/* Reads the stream of the session from now on. It has one reader at a time. */
int ktrace_session_read(ktrace_session *session, ktrace_reader **ret, ktrace_error *error);
/* Reads a snapshot of a flight recorder. */
int ktrace_session_snapshot(ktrace_session *session, ktrace_reader **ret, ktrace_error *error);
/* Takes the oldest notice of the session: {"state": TEXT}, {"notice": OBJECT} or {"ended": {"code",
 * "reason"}}, as the signals of org.ktrace1(5), or {"daemon": "gone"} and {"daemon": "back"}.
 * *ret is NULL when there is none. 1024 are kept; then {"dropped": N} takes the place of N. */
int ktrace_session_take_notice(ktrace_session *session, char **ret);

/* Readers */

/* Opens a recording: .kts or trace.dat. -EINVAL: it is none. The text of an error does
 * not contain the path. */
int ktrace_reader_open(const char *path, ktrace_reader **ret, ktrace_error *error);
/* Reads a descriptor: a regular file is a recording, anything else a stream that arrives. The
 * caller keeps its descriptor. */
int ktrace_reader_open_fd(int fd, ktrace_reader **ret, ktrace_error *error);
void ktrace_reader_free(ktrace_reader *reader); /* NULL is allowed */
/* Becomes readable when data of a stream has arrived. -EOPNOTSUPP: a recording, which never waits.
 */
int ktrace_reader_get_fd(const ktrace_reader *reader);
/* After so many microseconds the next record is due although no data arrives. UINT64_MAX: never. */
uint64_t ktrace_reader_get_timeout(const ktrace_reader *reader);
/* Gets the next record, in the order of time over all CPUs. It is valid until the next call.
 * Returns 1, or 0 at the end. Waits timeout_usec microseconds at most; UINT64_MAX: for ever.
 * -EAGAIN: there is no record yet. -EBADMSG: the data is damaged. */
int ktrace_reader_next(ktrace_reader *reader,
                uint64_t timeout_usec,
                const ktrace_record **ret,
                ktrace_error *error);
/* Converts a time of the session's clock to nanoseconds since 1970. -ENODATA: as for
 * ktrace_record_get_realtime(), or nothing of the stream has arrived yet. */
int ktrace_reader_get_realtime(const ktrace_reader *reader, uint64_t time, int64_t *ret);
/* At the end: how the recording ended, as {"code", "reason"}. -ENODATA: it is cut off, or is a
 * trace.dat. */
int ktrace_reader_get_end(const ktrace_reader *reader, char **ret);
/* What was granted, and what was cut and lost. -ENODATA: the recording has none (yet: a stream has
 * it at its end). */
int ktrace_reader_get_receipt(const ktrace_reader *reader, char **ret);
/* Looks up a field of an event, "sched:sched_switch". -EAGAIN: nothing of the stream has arrived
 * yet. -ENOENT: no such event or field. The handle is valid as long as the reader. */
int ktrace_reader_find_field(ktrace_reader *reader,
                const char *event,
                const char *field,
                const ktrace_field **ret);

/* Records */

typedef enum ktrace_record_kind {
        KTRACE_EVENT = 1,
        KTRACE_LOST, /* events of this CPU were lost before the next one */
        KTRACE_LATE, /* the next events of this CPU are older than others that were returned */
} ktrace_record_kind;

ktrace_record_kind ktrace_record_get_kind(const ktrace_record *record);
/* By the clock of the session: nanoseconds, unless the clock counts something else. */
uint64_t ktrace_record_get_time(const ktrace_record *record);
/* Nanoseconds since 1970 (CLOCK_REALTIME). -ENODATA: the trace does not relate its clock to it. */
int ktrace_record_get_realtime(const ktrace_record *record, int64_t *ret);
unsigned ktrace_record_get_cpu(const ktrace_record *record);
/* For KTRACE_LOST: the number of events; -1: unknown. Otherwise 0. */
int64_t ktrace_record_get_lost(const ktrace_record *record);
/* Of a trace.dat: the name of the instance; otherwise "". */
const char *ktrace_record_get_instance(const ktrace_record *record);
/* The rest is for KTRACE_EVENT. Else numbers are 0 and texts "". */
/* The thread; 0: the idle task, or a task that this user may not see. */
int ktrace_record_get_tid(const ktrace_record *record);
const char *ktrace_record_get_task(const ktrace_record *record);
const char *ktrace_record_get_system(const ktrace_record *record);
const char *ktrace_record_get_event(const ktrace_record *record);
/* The text that the kernel prints for this event, without time and task. Control characters are
 * escaped as \xNN. Valid until the next call for this reader. -EBADMSG: as below. */
int ktrace_record_get_text(const ktrace_record *record, const char **ret);

/* Fields. The bytes of a record are checked against its event's format once. If they do not fit,
 * the functions that read fields return -EBADMSG. -ENOENT: the field belongs to another event. */

size_t ktrace_record_count_fields(const ktrace_record *record);
/* number: from 0. NULL: there are not so many. */
const ktrace_field *ktrace_record_get_field(const ktrace_record *record, size_t number);
/* NULL: the event has no such field. */
const ktrace_field *ktrace_record_find_field(const ktrace_record *record, const char *name);

typedef enum ktrace_field_kind {
        KTRACE_UNSIGNED = 1,
        KTRACE_SIGNED,
        KTRACE_POINTER, /* an address, or a number that the kernel prints as one */
        KTRACE_STRING,
        KTRACE_ARRAY,
} ktrace_field_kind;

const char *ktrace_field_get_name(const ktrace_field *field);
const char *ktrace_field_get_type(const ktrace_field *field); /* in C, as the kernel names it */
ktrace_field_kind ktrace_field_get_kind(const ktrace_field *field);
/* The bytes of an element of an array: 1, 2, 4 or 8. 0: the field is no array. */
size_t ktrace_field_get_element_size(const ktrace_field *field);
/* Whether the number, or the elements of the array, are signed. */
bool ktrace_field_is_signed(const ktrace_field *field);

/* A number of any size; a signed one is extended to 64 bits. -EINVAL: the field is no number. */
int ktrace_record_get_number(const ktrace_record *record, const ktrace_field *field, uint64_t *ret);
/* Bytes that the traced program or the kernel chose, without NUL; not always UTF-8. -EINVAL: the
 * field is no string. Not terminated. */
int ktrace_record_get_string(const ktrace_record *record,
                const ktrace_field *field,
                const char **ret,
                size_t *ret_size);
/* The bytes of any field, in the byte order of the traced machine. */
int ktrace_record_get_bytes(const ktrace_record *record,
                const ktrace_field *field,
                const void **ret,
                size_t *ret_size);

/* Tables: many records at once, as columns. */

typedef struct ktrace_table ktrace_table;

/* Reads the next records of one event, `max` at most. The columns are time, cpu, tid, task and the
 * fields of the event; a field with one of these names is called EVENT.FIELD. event: as for
 * ktrace_reader_find_field(); NULL: all events, with the columns time, cpu, tid, task and event.
 * Records of other events are passed over, and damaged ones are counted. Waits until a stream has
 * so many, or ends. Returns 1, or 0 at the end; *ret is NULL then. -ENOENT: no such event.
 * -EBADMSG: the data is damaged; a table with the rows before that was returned first. */
int ktrace_reader_read_table(ktrace_reader *reader,
                const char *event,
                size_t max,
                ktrace_table **ret,
                ktrace_error *error);
void ktrace_table_free(ktrace_table *table); /* NULL is allowed */
size_t ktrace_table_count_rows(const ktrace_table *table);
size_t ktrace_table_count_columns(const ktrace_table *table);
/* Events that were lost between the records of the table; also when their number is not known, 1
 * is counted. */
uint64_t ktrace_table_get_lost(const ktrace_table *table);
/* Records of the event that do not fit its format. They have no row. */
uint64_t ktrace_table_get_damaged(const ktrace_table *table);
/* column: from 0. NULL: there are not so many. */
const char *ktrace_table_get_name(const ktrace_table *table, size_t column);
ktrace_field_kind ktrace_table_get_kind(const ktrace_table *table, size_t column);
/* The field of the event. NULL: the column is none. The handle is valid as long as the reader. */
const ktrace_field *ktrace_table_get_field(const ktrace_table *table, size_t column);
/* A number for each row; signed ones are extended to 64 bits. NULL: strings or arrays. */
const uint64_t *ktrace_table_get_numbers(const ktrace_table *table, size_t column);
/* For each row the number of its value among the column's different values. NULL: numbers. */
const uint32_t *ktrace_table_get_codes(const ktrace_table *table, size_t column);
size_t ktrace_table_count_values(const ktrace_table *table, size_t column);
/* The bytes of a value: of a string without NUL. They are not terminated. */
const void *ktrace_table_get_value(const ktrace_table *table,
                size_t column,
                size_t code,
                size_t *ret_size);

#ifdef __cplusplus
}
#endif
#endif
