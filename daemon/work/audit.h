/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "interfaces/spec.h"

/* MESSAGE_ID of each kind of record; their texts are in units/ktrace.catalog. Contract: never used
 * again for anything else. */
#define AUDIT_ID_CREATE_ALLOWED     "a4b27a71ac4a471abbd6b797664a68e2"
#define AUDIT_ID_CREATE_DENIED      "1a8c2326fa374af3aa43d7faa482a3fb"
#define AUDIT_ID_START_DENIED       "f521966e71244f03841b739a267b8548"
#define AUDIT_ID_POLKIT_ALLOWED     "187a49fdb5aa4953ad8849e8aea6ea0e"
#define AUDIT_ID_POLKIT_DENIED      "2e615a533d3f4358ab58ba69afdfdab1"
#define AUDIT_ID_MANAGED            "fb7f4aaf5db84710934eb67c0eb99282"
#define AUDIT_ID_RELOADED           "05180567933a4fe29b54b55165b8f5ab"
#define AUDIT_ID_RELOAD_FAILED      "ad86665a36a34ed59ea71817fc7dd3d6"
#define AUDIT_ID_ENDED_POLICY       "3dd54906772141148a894f392511252c"
#define AUDIT_ID_ENDED_GUARD        "054047c1324e4b24b658d86cad4ecc8a"
#define AUDIT_ID_ENDED_LIMIT        "65ec838ec53c4c2ca0084f4620077dd3"
#define AUDIT_ID_ENDED_INTERFERENCE "aebb9f176dd947cab1fdc4264cda6137"
#define AUDIT_ID_ENDED_RESTART      "c69510d085c64c95beda69806e8265d6"
#define AUDIT_ID_ADOPTED            "721839866d9e412c85f1a6b4ac37c1f2"
#define AUDIT_ID_INTERFERENCE       "4eef4b47f6924e7ab8283278c605e180"
#define AUDIT_ID_SUPPRESSED         "5f32393c72334a3d9266e1ddecd690e9"

typedef enum AuditKind {
        AUDIT_CREATE_ALLOWED,
        AUDIT_CREATE_DENIED,
        AUDIT_START_DENIED,
        AUDIT_POLKIT_ALLOWED,
        AUDIT_POLKIT_DENIED,
        AUDIT_MANAGED, /* a session, by somebody else than its owner */
        AUDIT_RELOADED,
        AUDIT_RELOAD_FAILED,
        AUDIT_ADOPTED,      /* of the daemon before this one */
        AUDIT_INTERFERENCE, /* and the session goes on */
        AUDIT_ENDED_POLICY,
        AUDIT_ENDED_GUARD,
        AUDIT_ENDED_LIMIT,
        AUDIT_ENDED_INTERFERENCE,
        AUDIT_ENDED_RESTART,
        _AUDIT_KIND_N,
} AuditKind;

/* Who, what, by which rule. NULL and (uid_t)-1: not known, or none. */
typedef struct AuditRecord {
        AuditKind kind;
        uid_t uid;
        const uid_t *by;     /* who did it, where `uid` is the session's owner */
        const char *command; /* Subject's, of who did it; "" too: not known */
        const char *session; /* id */
        const char *rule;
        const char *text; /* why, for people */
        const Spec *spec; /* its scope and events are told */
} AuditRecord;

typedef struct Audit Audit;

int audit_new(sd_event *event, Audit **ret);
/* Writes what is still counted. */
Audit *audit_free(Audit *audit);
DEFINE_CLEANUP(Audit, audit_free);
/* Users' names are asked for again. Called when the rules are loaded. */
void audit_forget_names(Audit *audit);
void audit_write(Audit *audit, const AuditRecord *record);
/* Of a session that ends for this code; false: nothing to be recorded. */
bool audit_find_end(const char *code, AuditKind *ret);
