/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The one table of methods, for D-Bus and Varlink. To add a method, add an entry and its verb, and
 * document it in interfaces/: the XML and the Varlink IDL. Tests compare the table with both. Any
 * user may call each method; policy decides. A container may call those for CONTAINERS. */
#include "door/method-table.h"

#include "door/black-box-verb.h"
#include "door/manager-verb.h"
#include "door/probe-verb.h"
#include "door/session-verb.h"
#include "door/spool-verb.h"
#include "session/session-control.h"
#include "session/session-end.h"
#include "session/session-run.h"

#define VALUES(...)             \
        (const MethodValue[]) { \
                __VA_ARGS__, {  \
                }               \
        }
#define TEXT(name) \
        { name, VALUE_TEXT }
#define OBJECT(name) \
        { name, VALUE_OBJECT }
#define OBJECTS(name) \
        { name, VALUE_OBJECTS }
#define TEXTS(name) \
        { name, VALUE_TEXTS }
#define DESCRIPTOR(name) \
        { name, VALUE_FD }
#define PATH \
        { "path", VALUE_PATH }
#define SESSION \
        { "session", VALUE_SESSION }
#define OPTIONS \
        { "options", VALUE_OBJECT, .is_optional = true }
#define MAY_ASK \
        { "allowInteractiveAuthentication", VALUE_MAY_ASK, .is_optional = true }

/* For callers on the socket of a container. */
#define CONTAINERS .is_for_containers = true

/* Methods of a session, for its owner, or for those who may manage it. */
#define OWN    .is_of_session = true, .purpose = PURPOSE_OWN, CONTAINERS
#define MANAGE .is_of_session = true, .purpose = PURPOSE_MANAGE, CONTAINERS

const Method method_table[] = {
        { "CreateSession",
                        VALUES(OBJECT("spec"), MAY_ASK),
                        VALUES({ "id", VALUE_ID }, PATH),
                        verb_create_session,
                        CONTAINERS },
        { "CheckSession",
                        VALUES(OBJECT("spec")),
                        VALUES(OBJECT("decision")),
                        verb_check_session,
                        CONTAINERS },
        { "ListSessions",
                        NULL,
                        VALUES({ "sessions", VALUE_SESSIONS }),
                        verb_list_sessions,
                        CONTAINERS },
        { "GetSession",
                        VALUES(TEXT("id")),
                        VALUES({ "id", VALUE_SESSION }, PATH),
                        verb_get_session,
                        CONTAINERS },
        { "ListEvents",
                        VALUES(TEXT("glob")),
                        VALUES(TEXTS("names")),
                        verb_list_events,
                        CONTAINERS },
        { "DescribeEvent",
                        VALUES(TEXT("name")),
                        VALUES(OBJECT("event")),
                        verb_describe_event,
                        CONTAINERS },
        { "ResolveFunction",
                        VALUES(TEXT("function")),
                        VALUES(OBJECT("description")),
                        verb_resolve_function },
        { "OpenProbeFile",
                        NULL,
                        VALUES({ "file", VALUE_NUMBER }, DESCRIPTOR("socket")),
                        verb_open_probe_file },
        { "AddProbe",
                        VALUES(OBJECT("definition"), MAY_ASK),
                        VALUES(TEXT("event")),
                        verb_add_probe },
        { "AddProbes",
                        VALUES({ "definitions", VALUE_OBJECTS, .place = "probes" }),
                        VALUES(TEXTS("events")),
                        verb_add_probes },
        { "RemoveProbe", VALUES(TEXT("name")), NULL, verb_remove_probe },
        { "ListProbes", NULL, VALUES(OBJECTS("probes")), verb_list_probes },
        { "ListSpool",
                        VALUES(TEXT("after")),
                        VALUES(OBJECTS("recordings"), TEXT("next")),
                        verb_list_spool },
        { "OpenBlackBox", VALUES(OPTIONS), VALUES(DESCRIPTOR("stream")), verb_open_black_box },
        { "OpenSpool", VALUES(TEXT("id"), OPTIONS), VALUES(DESCRIPTOR("pipe")), verb_open_spool },
        { "RemoveSpool", VALUES(TEXT("id")), NULL, verb_remove_spool },
        { "AcknowledgeSpool", VALUES(TEXT("id"), TEXT("file")), NULL, verb_acknowledge_spool },
        { "GetLimits", NULL, VALUES(OBJECT("limits")), verb_get_limits, CONTAINERS },
        { "GetStatus", NULL, VALUES(OBJECT("status")), verb_get_status },
        { "Reload", VALUES(MAY_ASK), NULL, verb_reload },
        { "Administrate", VALUES(MAY_ASK), NULL, verb_administrate },
        { "Watch",
                        VALUES(OPTIONS, MAY_ASK),
                        NULL,
                        verb_watch,
                        .is_subscription = true,
                        CONTAINERS },

        { "Start", VALUES(SESSION), NULL, .session_verb = session_start, OWN },
        { "Stop", VALUES(SESSION), NULL, .session_verb = session_stop, MANAGE },
        { "Destroy", VALUES(SESSION), NULL, .session_verb = session_destroy, MANAGE },
        { "OpenStream",
                        VALUES(SESSION, OPTIONS),
                        VALUES(DESCRIPTOR("pipe")),
                        verb_open_stream,
                        OWN },
        { "OpenSink", VALUES(SESSION, OPTIONS), VALUES(DESCRIPTOR("socket")), verb_open_sink, OWN },
        { "Configure", VALUES(SESSION, OBJECT("changes")), NULL, verb_configure, OWN },
        { "Clear", VALUES(SESSION), NULL, .session_verb = session_clear, OWN },
        { "Mark", VALUES(SESSION, TEXT("text")), NULL, verb_mark, OWN },
        { "OpenMarker", VALUES(SESSION), VALUES(DESCRIPTOR("pipe")), verb_open_marker, OWN },
        { "Snapshot", VALUES(SESSION, OPTIONS), VALUES(DESCRIPTOR("stream")), verb_snapshot, OWN },
        { "Subscribe", VALUES(SESSION), NULL, verb_subscribe, OWN, .is_subscription = true },
        { "Describe", VALUES(SESSION), VALUES(OBJECT("session")), verb_describe, MANAGE },
        { "GetStatistics",
                        VALUES(SESSION),
                        VALUES(OBJECT("statistics")),
                        verb_get_statistics,
                        MANAGE },
        { "GetMetadata", VALUES(SESSION), VALUES(DESCRIPTOR("metadata")), verb_get_metadata, OWN },
        { "GetHistogram",
                        VALUES(SESSION, TEXT("name")),
                        VALUES(OBJECTS("rows")),
                        verb_get_histogram,
                        OWN },
        {},
};
