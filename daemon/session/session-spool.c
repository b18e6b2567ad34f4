/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Records a session onto the disk: its stream has a sink from the beginning, and no client takes
 * part. It is called when a session is made or adopted, and by the session's feed, in the event
 * loop. The spool owns the entry and keeps it after the end of the session.
 *
 * If a consumer dies, the session ends and reports it: data still in memory is lost, and its amount
 * is unknown. */

#include "session/session-spool.h"

#include "session/session.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "interfaces/spec-json.h"
#include "session/keep.h"
#include "session/registry.h"
#include "session/session-end.h"
#include "session/session-stream.h"
#include "spool/spool-end.h"
#include "spool/spool-record.h"
#include "spool/spool-room.h"

/* Returns the size that all limits allow for one recording if the user has no other. */
static uint64_t get_most_bytes(const Session *session) {
        const Limits *limits = &session->grant->limits;
        uint64_t total_kb = session->registry->options.limits.max_spool_kb_total;

        if (session->owner.uid == 0)
                return total_kb * 1024;
        return MIN_OF(limits->max_spool_kb_per_uid, total_kb - total_kb / 8) * 1024;
}

/* Policy sets the values that the spec leaves out. An earlier check made sure that there is room
 * for two files. */
static void fill_make(const Session *session, json_object *spec, SpoolMake *ret) {
        const SpecSpool *spool = &session->spec->spool;
        const Limits *limits = &session->grant->limits;
        uint64_t most_bytes = get_most_bytes(session);

        *ret = (SpoolMake){
                .id = session->id,
                .uid = session->owner.uid,
                .name = session->spec->name ?: "",
                .kind = "session",
                .spec = spec,
                .max_bytes = spool->max_bytes ?: MIN_OF(limits->max_spool_kb * 1024, most_bytes),
                .max_bytes_uid = limits->max_spool_kb_per_uid * 1024,
                .rotate_bytes = spool->rotate_bytes,
                .keeps_newest = !spool->keeps_oldest,
                .sync_sec = spool->sync_sec,
                .ships = spool->ships,
                .rule = session->grant->rule,
        };
        ret->max_bytes = MAX_OF(ret->max_bytes, 2 * SPEC_ROTATE_MIN); /* for root, if none is set */
        if (ret->rotate_bytes == 0)
                ret->rotate_bytes = spool_room_rotate(MIN_OF(ret->max_bytes, most_bytes));
        ret->rotate_bytes = MIN_OF(ret->rotate_bytes, ret->max_bytes / 2);
}

static void session_on_spooled(SpoolEntry *entry,
                int result,
                const Reason *reason,
                void *userdata) {
        Session *session = userdata;
        Reason why = *reason;

        session->waits_for_spool = false;
        session_set_timer(session, 0);
        if (result == 0 && session->end != END_NOT) {
                spool_end(entry, "cancelled", session->end_reason);
                session_end_continue(session);
                return;
        }
        int r = result ?: session_feed_spool(session, entry, &why);
        if (session->end != END_NOT)
                session_end_continue(session);
        else if (r != 0)
                session_conclude_created(session, r, &why);
}

int session_begin_spool(Session *session, Reason *reason) {
        _cleanup_json_ json_object *spec = NULL;
        SpoolMake make;

        if (!session->registry->spool)
                return reason_set(reason, KT_E_FAILED, "spool: this ktraced has no spool");
        int r = spec_to_json(session->spec, &spec);
        if (r < 0)
                return r;
        fill_make(session, spec, &make);
        r = spool_make(session->registry->spool, &make, session_on_spooled, session);
        session->waits_for_spool = r == 0;
        if (r == 0)
                session_set_timer(session, session->registry->options.limits.setup_timeout_usec);
        return r;
}

void session_give_up_spool(Session *session) {
        Reason why = {};

        session_forget_spool(session);
        int r = reason_set(&why,
                        KT_E_FAILED,
                        "spool: its disk does not answer (setup-timeout-usec, %" PRIu64 ")",
                        session->registry->options.limits.setup_timeout_usec);
        session_conclude_created(session, r, &why);
}

void session_forget_spool(Session *session) {
        if (session->waits_for_spool)
                spool_forget(session->registry->spool, session);
        session->waits_for_spool = false;
}

int session_adopt_spool(Session *session, bool goes_on, SpoolEntry **ret) {
        _cleanup_json_ json_object *spec = NULL;
        SpoolMake make;

        if (!session->registry->spool)
                return -ENOENT;
        int r = spec_to_json(session->spec, &spec);
        if (r < 0)
                return r;
        fill_make(session, spec, &make);
        return spool_adopt(session->registry->spool, &make, goes_on, ret);
}

int session_take_up_spool(Session *session, Reason *reason) {
        SpoolEntry *entry = NULL;

        int r = session_adopt_spool(session, false, &entry);
        r = r ?: session_feed_spool(session, entry, reason);
        if (r != 0)
                return r;
        log_write(LOG_NOTICE,
                        SESSION_CONTEXT(session),
                        "the recording goes on in another file, by another stream worker");
        if (session->is_armed)
                session_arm_feed(session);
        return 0;
}

void session_on_spool(Feed *feed _unused_, FeedSpoolNews news, const char *text, void *userdata) {
        Session *session = userdata;
        Reason why = {};

        if (session->end != END_NOT)
                return;
        if (news == FEED_SPOOL_FULL) {
                reason_set(&why,
                                0,
                                "its spool is full (%s), and it keeps the oldest records",
                                text);
                session_end(session, "spool-full", why.text);
                return;
        }
        reason_set(&why,
                        0,
                        "the spool has no room (%s): events are dropped and counted until it has",
                        text);
        log_write(LOG_WARNING, SESSION_CONTEXT(session), "%s", why.text);
        notices_take_reason(session->notices, NOTICE_SPOOL_WAITS, why.text, NULL, 0);
}
