/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Asks polkit whether a peer may do what a rule leaves to polkit, without blocking: the question
 * goes out on our bus connection, as soon as that exists; the daemon serves other requests; a
 * handler receives the answer. The doors call it through auth.h, and auth.c reports the peers that
 * leave. Owns the open questions. No other file of the daemon uses polkit.
 *
 * Only a well-formed "yes" allows the request. If polkit is missing, dies, does not answer, sends a
 * malformed answer or does not decide, the request is denied and the reason says so. Answers are
 * not cached: each one applies to one question.
 *
 * The subject is the peer's unique bus name, which a bus never reuses; polkit asks the bus for its
 * owner. For a peer over a socket the subject is a process: pid, start time and uid; auth.c ensures
 * that it is the right process. Relies on the bus to deliver a reply only from the destination of
 * the call, and to let only polkit own its name. Details contain text from unprivileged users: the
 * code that fills them in cleans that text, and polkit shows it as plain text.
 *
 * polkit closes a dialog on CancelCheckAuthorization, not when we stop waiting for the answer. */
#include "auth/polkit.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/queue.h>

#define POLKIT_NAME      "org.freedesktop.PolicyKit1"
#define POLKIT_OBJECT    "/org/freedesktop/PolicyKit1/Authority"
#define POLKIT_INTERFACE "org.freedesktop.PolicyKit1.Authority"

/* CheckAuthorizationFlags */
#define ALLOW_USER_INTERACTION 1U

typedef struct Question {
        Polkit *polkit;
        char *peer;
        char *action;
        uid_t uid;
        bool interactive;
        char id[32]; /* identifies the question in a cancellation */
        sd_bus_slot *slot;
        PolkitHandler handler;
        void *userdata;
        TAILQ_ENTRY(Question) questions;
} Question;

TAILQ_HEAD(QuestionList, Question);

struct Polkit {
        sd_bus *bus;
        struct QuestionList questions;
        uint64_t n_asked;
        bool has_lost_bus;
};

static Question *question_free(Question *question) {
        if (!question)
                return NULL;
        if (question->polkit)
                TAILQ_REMOVE(&question->polkit->questions, question, questions);
        sd_bus_slot_unref(question->slot);
        free(question->peer);
        free(question->action);
        free(question);
        return NULL;
}

DEFINE_CLEANUP(Question, question_free);

/* Free the question before the call: the handler may ask again. */
static void question_answer(Question *question, int result, const Reason *reason) {
        PolkitHandler handler = question->handler;
        void *userdata = question->userdata;

        question_free(question);
        handler(result, reason, userdata);
}

static void polkit_message_unref_cleanup(sd_bus_message **m) {
        sd_bus_message_unref(*m);
}

/* Cancels the question in polkit; the result of the cancellation is not needed. */
static int question_withdraw(const Question *question) {
        _cleanup_(polkit_message_unref_cleanup) sd_bus_message *m = NULL;
        sd_bus *bus = question->polkit->bus;
        int r;

        r = sd_bus_message_new_method_call(bus,
                        &m,
                        POLKIT_NAME,
                        POLKIT_OBJECT,
                        POLKIT_INTERFACE,
                        "CancelCheckAuthorization");
        if (r >= 0)
                r = sd_bus_message_append(m, "s", question->id);
        if (r >= 0)
                r = sd_bus_message_set_expect_reply(m, false);
        /* A polkit that is started by this call has no such question. */
        if (r >= 0)
                r = sd_bus_message_set_auto_start(m, false);
        return r < 0 ? r : sd_bus_send(bus, m, NULL);
}

static void question_cancel(Question *question, const char *why) {
        Reason reason;

        (void)question_withdraw(question);
        reason_set(&reason, KT_E_CANCELLED, "%s", why);
        question_answer(question, KT_E_CANCELLED, &reason);
}

/* Evaluates an answer; returns KT_E_* unless it is "yes". */
static int judge_answer(const Question *question, sd_bus_message *m, Reason *reason) {
        int is_authorized, is_challenge, r;

        r = sd_bus_message_has_signature(m, "(bba{ss})") ? 0 : -EBADMSG;
        if (r == 0)
                r = sd_bus_message_enter_container(m, SD_BUS_TYPE_STRUCT, "bba{ss}");
        if (r >= 0)
                r = sd_bus_message_read(m, "bb", &is_authorized, &is_challenge);
        if (r < 0)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "this needs authentication by polkit (%s), which answers nonsense",
                                question->action);
        if (is_authorized)
                return 0;
        if (!is_challenge)
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "polkit does not allow this to you (%s), or authentication failed",
                                question->action);
        if (question->interactive)
                return reason_set(reason,
                                KT_E_AUTH_REQUIRED,
                                "this needs authentication (polkit action %s), and there is no "
                                "polkit agent: run it in a terminal where pkttyagent is "
                                "installed, or on a desktop",
                                question->action);
        return reason_set(reason,
                        KT_E_AUTH_REQUIRED,
                        "this needs authentication (polkit action %s), and the call does not allow to ask for it: "
                        "leave out --no-ask-password, over D-Bus set ALLOW_INTERACTIVE_AUTHORIZATION, over Varlink "
                        "allowInteractiveAuthentication",
                        question->action);
}

static bool error_means_absent(const sd_bus_error *error) {
        static const char *const names[] = {
                SD_BUS_ERROR_SERVICE_UNKNOWN,
                SD_BUS_ERROR_NAME_HAS_NO_OWNER,
                SD_BUS_ERROR_UNKNOWN_OBJECT,
                SD_BUS_ERROR_DISCONNECTED,
                "org.freedesktop.DBus.Error.TimedOut",
        };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (sd_bus_error_has_name(error, names[i]))
                        return true;
        return strncmp(error->name, "org.freedesktop.DBus.Error.Spawn.", 33) == 0 ||
               strncmp(error->name, "org.freedesktop.systemd1.", 25) == 0;
}

static int refuse_without_bus(const Polkit *polkit, const char *action, Reason *reason) {
        return reason_set(reason,
                        KT_E_ACCESS_DENIED,
                        "this needs authentication by polkit (%s), and %s",
                        action,
                        polkit->has_lost_bus || polkit->bus
                                        ? "the connection to the system bus is lost: try again when the bus is back"
                                        : "the system bus is not there yet: try again when the machine has booted");
}

static int judge_error(const Question *question, const sd_bus_error *error, Reason *reason) {
        if (error_means_absent(error))
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "this needs authentication by polkit (%s), which is not available: "
                                "is polkitd installed and running?",
                                question->action);
        /* sd-bus ends all calls of a connection that is lost. */
        if (sd_bus_is_open(question->polkit->bus) <= 0)
                return refuse_without_bus(question->polkit, question->action, reason);
        if (sd_bus_error_has_name(error, SD_BUS_ERROR_NO_REPLY))
                return reason_set(reason,
                                KT_E_ACCESS_DENIED,
                                "this needs authentication by polkit (%s), which does not reply",
                                question->action);
        return reason_set(reason,
                        KT_E_ACCESS_DENIED,
                        "this needs authentication by polkit (%s), which cannot decide: %s: %s",
                        question->action,
                        error->name,
                        error->message ?: "");
}

static int polkit_on_answer(sd_bus_message *m, void *userdata, sd_bus_error *ret_error) {
        const sd_bus_error *error = sd_bus_message_get_error(m);
        Question *question = userdata;
        Reason reason = { "" };
        int result;

        result = error ? judge_error(question, error, &reason) : judge_answer(question, m, &reason);
        /* Also on our own timeout, when polkit's dialog is still open. */
        if (error && sd_bus_error_has_name(error, SD_BUS_ERROR_NO_REPLY))
                (void)question_withdraw(question);
        question_answer(question, result, &reason);
        return 0;
}

static int append_details(sd_bus_message *m, const PolkitQuery *query) {
        int r;

        r = sd_bus_message_open_container(m, SD_BUS_TYPE_ARRAY, "{ss}");
        for (size_t i = 0; r >= 0 && i < query->n_details; i++)
                r = sd_bus_message_append(
                                m, "{ss}", query->details[i].key, query->details[i].value);
        return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_subject(sd_bus_message *m, const PolkitQuery *query) {
        if (query->pid == 0)
                return sd_bus_message_append(
                                m, "(sa{sv})", "system-bus-name", 1, "name", "s", query->peer);
        return sd_bus_message_append(m,
                        "(sa{sv})",
                        "unix-process",
                        3,
                        "pid",
                        "u",
                        (uint32_t)query->pid,
                        "start-time",
                        "t",
                        query->start,
                        "uid",
                        "i",
                        (int32_t)query->uid);
}

static int question_send(Question *question, const PolkitQuery *query) {
        _cleanup_(polkit_message_unref_cleanup) sd_bus_message *m = NULL;
        sd_bus *bus = question->polkit->bus;
        int r;

        r = sd_bus_message_new_method_call(bus,
                        &m,
                        POLKIT_NAME,
                        POLKIT_OBJECT,
                        POLKIT_INTERFACE,
                        "CheckAuthorization");
        if (r >= 0)
                r = append_subject(m, query);
        if (r >= 0)
                r = sd_bus_message_append(m, "s", query->action);
        if (r >= 0)
                r = append_details(m, query);
        if (r >= 0)
                r = sd_bus_message_append(m,
                                "us",
                                query->interactive ? ALLOW_USER_INTERACTION : 0,
                                question->id);
        if (r >= 0)
                r = sd_bus_call_async(bus,
                                &question->slot,
                                m,
                                polkit_on_answer,
                                question,
                                query->interactive ? POLKIT_PATIENCE_USEC : POLKIT_TIMEOUT_USEC);
        return r < 0 ? r : 0;
}

static int check_limits(const Polkit *polkit, uid_t uid, Reason *reason) {
        const Question *question;
        unsigned n = 0, n_uid = 0;

        TAILQ_FOREACH(question, &polkit->questions, questions) {
                n++;
                n_uid += question->uid == uid;
        }
        if (n_uid >= POLKIT_QUESTIONS_PER_UID_MAX)
                return reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "%u requests of yours wait for authentication already: answer or end one first",
                                n_uid);
        if (n >= POLKIT_QUESTIONS_MAX)
                return reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "too many requests wait for authentication: try again later");
        return 0;
}

int polkit_ask(Polkit *polkit,
                const PolkitQuery *query,
                PolkitHandler handler,
                void *userdata,
                Reason *reason) {
        _cleanup_(question_free_cleanup) Question *question = NULL;
        int r;

        if (!polkit->bus || sd_bus_is_open(polkit->bus) <= 0)
                return refuse_without_bus(polkit, query->action, reason);
        r = check_limits(polkit, query->uid, reason);
        if (r != 0)
                return r;
        question = calloc(1, sizeof(*question));
        if (!question)
                return -ENOMEM;
        TAILQ_INSERT_TAIL(&polkit->questions, question, questions);
        question->polkit = polkit;
        question->uid = query->uid;
        question->interactive = query->interactive;
        question->handler = handler;
        question->userdata = userdata;
        snprintf(question->id, sizeof(question->id), "ktraced-%" PRIu64, ++polkit->n_asked);
        question->peer = strdup(query->peer);
        question->action = strdup(query->action);
        if (!question->peer || !question->action)
                return -ENOMEM;
        r = question_send(question, query);
        if (r < 0)
                return r;
        question = NULL; /* owned by the list now */
        return 0;
}

void polkit_peer_gone(Polkit *polkit, const char *unique_name) {
        Question *question, *next;

        for (question = TAILQ_FIRST(&polkit->questions); question; question = next) {
                next = TAILQ_NEXT(question, questions);
                if (strcmp(question->peer, unique_name) == 0)
                        question_cancel(question, "the caller has left");
        }
}

int polkit_new(Polkit **ret) {
        Polkit *polkit = calloc(1, sizeof(*polkit));

        if (!polkit)
                return -ENOMEM;
        TAILQ_INIT(&polkit->questions);
        *ret = polkit;
        return 0;
}

void polkit_join_bus(Polkit *polkit, sd_bus *bus) {
        polkit->bus = sd_bus_ref(bus);
}

void polkit_leave_bus(Polkit *polkit) {
        Question *question;

        polkit->has_lost_bus = true;
        while ((question = TAILQ_FIRST(&polkit->questions))) {
                Reason reason = { "" };
                int r = refuse_without_bus(polkit, question->action, &reason);

                question_answer(question, r, &reason);
        }
        polkit->bus = sd_bus_unref(polkit->bus);
}

Polkit *polkit_free(Polkit *polkit) {
        Question *question;

        if (!polkit)
                return NULL;
        while ((question = TAILQ_FIRST(&polkit->questions)))
                question_cancel(question, "ktraced ends");
        sd_bus_unref(polkit->bus);
        free(polkit);
        return NULL;
}
