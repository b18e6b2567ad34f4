/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Inspection of files before a probe is defined in them, as the daemon sees it. One process of
 * ktrace-consumer (inspector.c) inspects each file. Made by the registry. Called in the event loop
 * by the doors and by the code that resolves definitions.
 *
 * The daemon never opens, reads, queries or closes a client's file here. It keeps a descriptor that
 * was opened with O_PATH before the file was read: the inode cannot be replaced, and closing the
 * descriptor never enters a file system. A process that does not answer in time fails the
 * inspection. It counts against its user until it has exited, so a user cannot accumulate hung
 * processes. Messages that a process sends after it has read the file are checked as if the file
 * had written them. */

#include "probes/inspection.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "probes/inspection-place.h"
#include "work/opener.h"
#include "work/patience.h"

#define USEC_PER_SEC UINT64_C(1000000)
/* Includes the client's part: to send its file and use its ticket. */
#define START_TIMEOUT_USEC (10 * USEC_PER_SEC)
/* A FUSE server that does not answer blocks every process that queries its file. */
#define ANSWER_TIMEOUT_USEC (2 * USEC_PER_SEC)
/* The queue may contain a whole catalogue. */
#define PATH_TIMEOUT_USEC (120 * USEC_PER_SEC)
#define WAITING_MAX       1024
#define PROCESSES_MAX     32 /* of all users; streams have a limit of their own */

typedef enum InspectionState {
        INSPECTION_WAITING,  /* waits for earlier inspections */
        INSPECTION_STARTING, /* waits for the process */
        INSPECTION_READY,    /* waits for the file */
        INSPECTION_EXAMINED, /* waits for the file's facts */
        INSPECTION_KNOWN,    /* waits for the question */
        INSPECTION_ASKED,    /* waits for the answer */
        INSPECTION_FAILED,   /* waits for a question, to report the failure */
        INSPECTION_OVER,     /* waits for the exit of the process */
} InspectionState;

typedef struct Inspection {
        Inspections *set;
        InspectionState state;
        uid_t uid;
        char *peer;
        uint32_t ticket; /* 0: not sent yet, or used */
        char *path;      /* instead of a ticket and peer */
        Request *request;
        int client_fd; /* until the process is ready */
        Consumer *consumer;
        sd_event_source *timer;
        Patience patience; /* while the process works; otherwise only the timer counts */
        bool is_working;
        ControlMessage question; /* type 0: not asked yet */
        InspectionHandler handler;
        void *userdata;
        Inspected *inspected; /* filled while the facts arrive */
        Reason failure;
        TAILQ_ENTRY(Inspection) inspections;
} Inspection;

TAILQ_HEAD(InspectionList, Inspection);

struct Inspections {
        const ConsumerLauncher *launcher;
        struct InspectionList list;
        uint32_t last_ticket;
        bool is_closing;
        void (*on_changed)(void *userdata);
        void *userdata;
};

Inspected *inspected_free(Inspected *inspected) {
        if (!inspected)
                return NULL;
        close_cleanup(&inspected->fd);
        free(inspected->places);
        free(inspected);
        return NULL;
}

static Inspection *inspection_free(Inspection *inspection) {
        if (!inspection)
                return NULL;
        if (inspection->set)
                TAILQ_REMOVE(&inspection->set->list, inspection, inspections);
        consumer_free(inspection->consumer);
        sd_event_source_disable_unref(inspection->timer);
        inspected_free(inspection->inspected);
        close_cleanup(&inspection->client_fd);
        free(inspection->peer);
        free(inspection->path);
        free(inspection);
        return NULL;
}

DEFINE_CLEANUP(Inspection, inspection_free);

/* End of an inspection */

static void inspection_set_timer(Inspection *inspection, uint64_t usec) {
        inspection->is_working = false;
        /* Neither call fails for an existing source. */
        (void)sd_event_source_set_time_relative(inspection->timer, usec);
        (void)sd_event_source_set_enabled(inspection->timer, SD_EVENT_ONESHOT);
}

static void look_later(Inspection *inspection) {
        (void)sd_event_source_set_time_relative(inspection->timer, PATIENCE_LOOK_USEC);
        (void)sd_event_source_set_enabled(inspection->timer, SD_EVENT_ONESHOT);
}

/* The process has ANSWER_TIMEOUT_USEC. The time in which it waits for a CPU does not count. */
static void expect_answer(Inspection *inspection, PatienceKind kind) {
        patience_begin(&inspection->patience,
                        kind,
                        consumer_get_pid(inspection->consumer),
                        ANSWER_TIMEOUT_USEC);
        inspection->is_working = true;
        look_later(inspection);
}

static void start_waiting(Inspections *set);

/* To be called when the process has exited. */
static void inspection_forget(Inspection *inspection) {
        Inspections *set = inspection->set;

        inspection_free(inspection);
        if (set->is_closing)
                return;
        start_waiting(set);
        if (set->on_changed)
                set->on_changed(set->userdata);
}

/* Reports the result to the caller. The inspection counts until its process has exited. It may be
 * freed after this call. */
static void inspection_end(Inspection *inspection, int result, const Reason *reason) {
        Inspected *inspected = TAKE_PTR(inspection->inspected);
        InspectionHandler handler = TAKE_PTR(inspection->handler);

        inspection->state = INSPECTION_OVER;
        inspection->ticket = 0;
        (void)sd_event_source_set_enabled(inspection->timer, SD_EVENT_OFF);
        if (inspection->consumer)
                consumer_kill(inspection->consumer);
        if (result != 0 || !handler)
                inspected = inspected_free(inspected);
        request_answer(&inspection->request, result, reason);
        if (handler)
                handler(result, reason, inspected, inspection->userdata);
        if (!inspection->consumer)
                inspection_forget(inspection);
}

/* Reports the failure now, or when a question arrives. The inspection may be freed after this
 * call. */
static void inspection_fail(Inspection *inspection, const char *why) {
        inspection->failure = (Reason){ "" };
        (void)reason_set(&inspection->failure,
                        KT_E_FAILED,
                        "%.300s: %.200s",
                        inspection->path ?: "file",
                        why);
        inspection->state = INSPECTION_FAILED;
        if (inspection->consumer)
                consumer_kill(inspection->consumer);
        if (inspection->handler || inspection->request)
                inspection_end(inspection, KT_E_FAILED, &inspection->failure);
        else
                inspection_set_timer(inspection, START_TIMEOUT_USEC);
}

static int inspection_on_timer(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        Inspection *inspection = userdata;
        Reason reason = inspection->failure;

        if (inspection->is_working && !patience_is_over(&inspection->patience)) {
                look_later(inspection);
                return 0;
        }
        switch (inspection->state) {
        case INSPECTION_WAITING:
                reason_set(&reason,
                                KT_E_LIMIT_REACHED,
                                "%d files are being inspected: wait for one of them",
                                INSPECTIONS_PER_UID_MAX);
                inspection_end(inspection, KT_E_LIMIT_REACHED, &reason);
                break;
        case INSPECTION_STARTING:
                inspection_fail(inspection,
                                "no worker started to inspect it: see the journal of "
                                "ktrace-consumer");
                break;
        case INSPECTION_READY:
                if (inspection->handler)
                        inspection_fail(inspection, "it was not sent in time");
                else /* the ticket has expired */
                        inspection_end(inspection, KT_E_CANCELLED, &reason);
                break;
        case INSPECTION_EXAMINED:
                inspection_fail(inspection, "its file system does not answer");
                break;
        case INSPECTION_ASKED:
                inspection_fail(inspection, "its inspection takes too long");
                break;
        case INSPECTION_KNOWN: /* no question arrived */
        case INSPECTION_FAILED:
                inspection_end(inspection, KT_E_FAILED, &reason);
                break;
        case INSPECTION_OVER:
                break;
        }
        return 0;
}

/* Messages */

static void inspection_send_question(Inspection *inspection) {
        inspection->state = INSPECTION_ASKED;
        /* If it cannot be sent, the timer reports it. */
        int r = consumer_send(inspection->consumer, &inspection->question, NULL, 0);
        if (r < 0)
                inspection_set_timer(inspection, 1);
        else
                expect_answer(inspection, PATIENCE_WITH_WORK);
}

static void inspection_on_ready(Inspection *inspection) {
        inspection->state = INSPECTION_READY;
        inspection_set_timer(inspection, START_TIMEOUT_USEC);
        if (inspection->request) {
                Inspections *set = inspection->set;

                set->last_ticket += set->last_ticket == UINT32_MAX
                                                    ? 2
                                                    : 1; /* 0 is not a valid ticket */
                inspection->ticket = set->last_ticket;
                inspection->request->ticket = inspection->ticket;
                inspection->request->fd = TAKE_FD(inspection->client_fd);
                request_answer(&inspection->request, 0, NULL);
                return;
        }
        int r = opener_start(
                        inspection->set->launcher->event, inspection->path, inspection->client_fd);
        close_cleanup(&inspection->client_fd);
        if (r < 0) {
                log_errno(r, LOG_WARNING, NULL, "cannot open %s", inspection->path);
                inspection_fail(inspection, strerror(-r));
        }
}

/* The process sends the facts before it reads the file. */
static void on_facts(Inspection *inspection, const ControlFacts *facts) {
        _cleanup_(inspected_free_cleanup) Inspected *inspected = calloc(1, sizeof(*inspected));
        _cleanup_close_ int fd = consumer_take_fd(inspection->consumer);

        if (!inspected || fd < 0 || !(fcntl(fd, F_GETFL) & O_PATH)) {
                inspection_fail(inspection, "it cannot be held");
                return;
        }
        inspected->fd = TAKE_FD(fd);
        inspected->facts = *facts;
        inspection->inspected = TAKE_PTR(inspected);
        inspection->state = INSPECTION_KNOWN;
        inspection_set_timer(inspection, START_TIMEOUT_USEC);
        if (inspection->question.type != 0)
                inspection_send_question(inspection);
}

static void on_place(Inspection *inspection, const UserPlace *place) {
        Inspected *inspected = inspection->inspected;

        if (inspected->n_places == USER_PLACES_MAX ||
                        !inspection_place_is_sound(
                                        &inspection->question, &inspected->facts, place)) {
                log_warning("consumer %d gave a place that cannot be",
                                consumer_get_pid(inspection->consumer));
                inspection_fail(inspection, "the result of its inspection is invalid");
                return;
        }
        UserPlace *grown = reallocarray(
                        inspected->places, inspected->n_places + 1, sizeof(*inspected->places));
        if (!grown) {
                inspection_fail(inspection, strerror(ENOMEM));
                return;
        }
        inspected->places = grown;
        inspected->places[inspected->n_places++] = *place;
}

static void inspection_on_answer(Inspection *inspection, const ControlMessage *message) {
        if (message->status.error != 0) {
                char text[CONTROL_TEXT_MAX];

                snprintf(text, sizeof(text), "%.*s", CONTROL_TEXT_MAX - 1, message->status.text);
                inspection_fail(inspection, text);
        } else if (inspection->state == INSPECTION_ASKED && inspection->inspected->n_places > 0)
                inspection_end(inspection, 0, &(Reason){ "" });
        else
                inspection_fail(inspection, "nothing was found in it");
}

static void inspection_on_message(Consumer *consumer,
                const ControlMessage *message,
                void *userdata) {
        Inspection *inspection = userdata;
        InspectionState state = inspection->state;

        if (state == INSPECTION_FAILED || state == INSPECTION_OVER)
                return;
        if (message->type == CONTROL_READY && state == INSPECTION_STARTING)
                inspection_on_ready(inspection);
        else if (message->type == CONTROL_EXAMINING && state == INSPECTION_READY) {
                inspection->state = INSPECTION_EXAMINED;
                /* Not earlier: a message that may bring a descriptor does not contain its
                 * sender. */
                consumer_expect_fd(inspection->consumer);
                expect_answer(inspection, PATIENCE_WITH_CALL);
        } else if (message->type == CONTROL_FACTS && state == INSPECTION_EXAMINED)
                on_facts(inspection, &message->facts);
        else if (message->type == CONTROL_PLACE && state == INSPECTION_ASKED)
                on_place(inspection, &message->place);
        else if ((message->type == CONTROL_ANSWER && state == INSPECTION_ASKED) ||
                        (message->type == CONTROL_REFUSED && message->status.error != 0))
                inspection_on_answer(inspection, message);
        else {
                log_warning("consumer %d sent message %u",
                                consumer_get_pid(consumer),
                                message->type);
                inspection_fail(inspection, "the worker that inspects it sent a wrong message");
        }
}

static void inspection_on_closed(Consumer *consumer _unused_, void *userdata) {
        Inspection *inspection = userdata;

        inspection->consumer = consumer_free(inspection->consumer);
        if (inspection->state == INSPECTION_OVER)
                inspection_forget(inspection);
        else if (inspection->state == INSPECTION_READY || inspection->state == INSPECTION_EXAMINED)
                inspection_fail(inspection,
                                inspection->path ? "its file system does not answer"
                                                 : "it was not sent");
        else if (inspection->state != INSPECTION_FAILED)
                inspection_fail(inspection,
                                "the worker that inspects it ended: the file may be damaged");
}

/* Start of an inspection */

/* Returns whether the limits of this user, or for a path those of root and the catalogue, allow one
 * more. */
static bool inspection_has_room(const Inspection *inspection) {
        unsigned n_all = 0, n_same = 0;
        const Inspection *other;

        TAILQ_FOREACH(other, &inspection->set->list, inspections) {
                if (other->state == INSPECTION_WAITING)
                        continue;
                n_all++;
                n_same += other->uid == inspection->uid && !other->path == !inspection->path;
        }
        return n_all < PROCESSES_MAX && n_same < INSPECTIONS_PER_UID_MAX;
}

static int inspection_start(Inspection *inspection, Reason *reason) {
        static const ConsumerHandlers handlers = { inspection_on_message, inspection_on_closed };
        const ControlMessage message = { .type = CONTROL_INSPECT, .version = CONTROL_VERSION };
        int fds[2];

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
                return -errno;
        inspection->client_fd = fds[0];
        _cleanup_close_ int worker_fd = fds[1];
        int r = consumer_spawn(inspection->set->launcher,
                        &handlers,
                        inspection,
                        &inspection->consumer,
                        reason);
        if (r != 0)
                return r;
        inspection->state = INSPECTION_STARTING;
        inspection_set_timer(inspection, START_TIMEOUT_USEC);
        return consumer_send(inspection->consumer, &message, &worker_fd, 1);
}

static void start_waiting(Inspections *set) {
        Inspection *inspection, *next;

        for (inspection = TAILQ_FIRST(&set->list); inspection; inspection = next) {
                Reason reason = {};

                next = TAILQ_NEXT(inspection, inspections);
                if (inspection->state != INSPECTION_WAITING || !inspection_has_room(inspection))
                        continue;
                int r = inspection_start(inspection, &reason);
                if (r != 0) { /* the timer continues with the others */
                        inspection->failure = reason;
                        inspection->state = INSPECTION_FAILED;
                        if (!reason.text[0])
                                reason_set(&inspection->failure, r, "%s", strerror(-r));
                        inspection_set_timer(inspection, 1);
                }
        }
}

/* Adds the inspection to the queue or starts it. KT_E_LIMIT_REACHED. */
static int inspection_add(Inspections *set,
                uid_t uid,
                const char *path,
                Inspection **ret,
                Reason *reason) {
        _cleanup_(inspection_free_cleanup) Inspection *inspection = calloc(1, sizeof(*inspection));
        unsigned n = 0;
        Inspection *other;

        if (!inspection)
                return -ENOMEM;
        inspection->client_fd = -1;
        inspection->uid = uid;
        TAILQ_FOREACH(other, &set->list, inspections)
                n += other->state == INSPECTION_WAITING;
        if (n >= WAITING_MAX)
                return reason_set(reason,
                                KT_E_LIMIT_REACHED,
                                "%u files wait for their inspection: try again later",
                                n);
        int r = sd_event_add_time_relative(set->launcher->event,
                        &inspection->timer,
                        CLOCK_MONOTONIC,
                        path ? PATH_TIMEOUT_USEC : START_TIMEOUT_USEC,
                        0,
                        inspection_on_timer,
                        inspection);
        if (r < 0)
                return r;
        /* The timer runs after messages: a message that has arrived is in time. */
        r = sd_event_source_set_priority(inspection->timer, SD_EVENT_PRIORITY_NORMAL + 1);
        if (r < 0)
                return r;
        inspection->path = path ? strdup(path) : NULL;
        if (path && !inspection->path)
                return -ENOMEM;
        inspection->set = set;
        TAILQ_INSERT_TAIL(&set->list, inspection, inspections);
        r = inspection_has_room(inspection) ? inspection_start(inspection, reason) : 0;
        if (r == 0)
                *ret = TAKE_PTR(inspection);
        return r;
}

int inspections_open(Inspections *set, Request *request, Reason *reason) {
        _cleanup_free_ char *peer = strdup(request->peer);
        Inspection *inspection;

        int r = peer ? inspection_add(set, request->subject.uid, NULL, &inspection, reason)
                     : -ENOMEM;
        if (r != 0)
                return r;
        inspection->peer = TAKE_PTR(peer);
        inspection->request = request;
        return 0;
}

static int inspection_take_question(Inspection *inspection,
                const InspectionQuestion *question,
                InspectionHandler handler,
                void *userdata) {
        inspection->question = (ControlMessage){
                .type = CONTROL_QUESTION,
                .version = CONTROL_VERSION,
                .question.offset = question->offset,
        };

        snprintf(inspection->question.question.marker,
                        CONTROL_NAME_MAX,
                        "%s",
                        question->marker ?: "");
        inspection->handler = handler;
        inspection->userdata = userdata;
        return 0;
}

static int check_question(const InspectionQuestion *question, Reason *reason) {
        if (!question->marker)
                return 0;
        size_t size = strlen(question->marker);
        return size > 0 && size < CONTROL_NAME_MAX
                               ? 0
                               : reason_set(reason,
                                                 KT_E_INVALID_SPEC,
                                                 "on: a marker's name has 1 to %d bytes",
                                                 CONTROL_NAME_MAX - 1);
}

int inspections_ask(Inspections *set,
                const char *peer,
                uint32_t ticket,
                const InspectionQuestion *question,
                InspectionHandler handler,
                void *userdata,
                Reason *reason) {
        Inspection *inspection;

        TAILQ_FOREACH(inspection, &set->list, inspections)
                if (ticket != 0 && inspection->ticket == ticket &&
                                strcmp(inspection->peer, peer) == 0)
                        break;
        if (!inspection)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "file: %" PRIu32 " is not a file of this connection: get one "
                                "from OpenProbeFile and use it once, within 10 s",
                                ticket);
        inspection->ticket = 0;
        int r = check_question(question, reason);
        if (r != 0) {
                inspection_set_timer(inspection, 1);
                return r;
        }
        inspection_take_question(inspection, question, handler, userdata);
        if (inspection->state == INSPECTION_KNOWN)
                inspection_send_question(inspection);
        else if (inspection->state == INSPECTION_FAILED)
                inspection_set_timer(inspection, 1);
        return 0;
}

int inspections_ask_path(Inspections *set,
                const char *path,
                const InspectionQuestion *question,
                InspectionHandler handler,
                void *userdata,
                Reason *reason) {
        Inspection *inspection;

        int r = check_question(question, reason);
        r = r ?: inspection_add(set, 0, path, &inspection, reason);
        return r ?: inspection_take_question(inspection, question, handler, userdata);
}

/* The set of inspections */

int inspections_new(const ConsumerLauncher *launcher, Inspections **ret) {
        Inspections *set = calloc(1, sizeof(*set));

        if (!set)
                return -ENOMEM;
        set->launcher = launcher;
        TAILQ_INIT(&set->list);
        *ret = set;
        return 0;
}

Inspections *inspections_free(Inspections *set) {
        Inspection *inspection;
        Reason reason = {};

        if (!set)
                return NULL;
        set->is_closing = true;
        reason_set(&reason, KT_E_CANCELLED, "ktraced ends");
        while ((inspection = TAILQ_FIRST(&set->list))) {
                inspection->consumer = consumer_free(inspection->consumer);
                inspection_end(inspection, KT_E_CANCELLED, &reason);
        }
        free(set);
        return NULL;
}

bool inspections_are_idle(const Inspections *set) {
        return TAILQ_EMPTY(&set->list);
}

void inspections_on_changed(Inspections *set, void (*on_changed)(void *userdata), void *userdata) {
        set->on_changed = on_changed;
        set->userdata = userdata;
}

static Inspection *find_of_peer(const Inspections *set, const char *peer) {
        Inspection *inspection;

        TAILQ_FOREACH(inspection, &set->list, inspections)
                if (inspection->state != INSPECTION_OVER && inspection->peer &&
                                strcmp(inspection->peer, peer) == 0)
                        return inspection;
        return NULL;
}

void inspections_peer_gone(Inspections *set, const char *peer) {
        Inspection *inspection;
        Reason reason = {};

        reason_set(&reason, KT_E_CANCELLED, "the caller has left");
        while ((inspection = find_of_peer(set, peer)))
                inspection_end(inspection, KT_E_CANCELLED, &reason);
}
