/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "interfaces/spec.h"

/* MESSAGE_ID of each kind of record; their texts are in units/ktrace.catalog. Public contract: an
 * id is never reused for another kind. */
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
#define AUDIT_ID_ENDED_FAILED       "0e593054b3ff4b1bb099cf4d0da57ee5"
#define AUDIT_ID_ENDED_SPOOL        "8ba4cfbc6cd2442a9cb0637440ea752d"
#define AUDIT_ID_LOST               "af5e1857ec504b488ba99ddc12da2242"
#define AUDIT_ID_HIT                "0d33d293a5e74c82b86f1f19d8d61e28"
#define AUDIT_ID_ADOPTED            "721839866d9e412c85f1a6b4ac37c1f2"
#define AUDIT_ID_INTERFERENCE       "4eef4b47f6924e7ab8283278c605e180"
#define AUDIT_ID_SUPPRESSED         "5f32393c72334a3d9266e1ddecd690e9"

typedef enum AuditKind {
        AUDIT_CREATE_ALLOWED,
        AUDIT_CREATE_DENIED,
        AUDIT_START_DENIED,
        AUDIT_POLKIT_ALLOWED,
        AUDIT_POLKIT_DENIED,
        AUDIT_MANAGED, /* a session, by another user than its owner */
        AUDIT_RELOADED,
        AUDIT_RELOAD_FAILED,
        AUDIT_ADOPTED,      /* a session of the last daemon */
        AUDIT_INTERFERENCE, /* the session continues */
        AUDIT_LOST,         /* the same */
        AUDIT_HIT,          /* the same */
        AUDIT_ENDED_POLICY,
        AUDIT_ENDED_GUARD,
        AUDIT_ENDED_LIMIT,
        AUDIT_ENDED_INTERFERENCE,
        AUDIT_ENDED_RESTART,
        AUDIT_ENDED_FAILED,
        AUDIT_ENDED_SPOOL,
        _AUDIT_KIND_N,
} AuditKind;

/* The user, the action and the rule. NULL and (uid_t)-1: unknown, or none. */
typedef struct AuditRecord {
        AuditKind kind;
        uid_t uid;
        const uid_t *by;     /* the acting user, if `uid` is the session's owner */
        const char *command; /* command of the acting subject; "": unknown */
        const char *session; /* id */
        const char *rule;
        const char *text; /* the reason, as text for people */
        const Spec *spec; /* its scope and events are recorded */
        uint64_t n_lost;  /* events; 0: not about losses */
        uint64_t n_hits;  /* of notify triggers; 0: not about hits */
} AuditRecord;

typedef struct Audit Audit;

int audit_new(sd_event *event, Audit **ret);
/* Writes the counts that are not recorded yet. */
Audit *audit_free(Audit *audit);
DEFINE_CLEANUP(Audit, audit_free);
/* Drops the cached user names. Called when the rules are loaded. */
void audit_forget_names(Audit *audit);
void audit_write(Audit *audit, const AuditRecord *record);
/* Finds the kind for a session that ends with this code. Returns false if the end is not
 * recorded. */
bool audit_find_end(const char *code, AuditKind *ret);
