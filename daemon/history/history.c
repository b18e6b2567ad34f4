/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The history of all tasks, which the black box needs to answer users. It owns an instance of its
 * own, the probes in it (kernel/history-probe.c) and the consumer that reads it
 * (consumer/history.c). The session floor calls it in the event loop and says when it is wanted.
 * The worker does the kernel work as plans, one at a time.
 *
 * It is not kept over a restart of the daemon: the next daemon begins a new one, and shows users
 * nothing from before. Its consumer ends with the control socket, and the next daemon removes its
 * instance as an orphan.
 *
 * After its start, and whenever the consumer has lost records, the worker reads all tasks in /proc
 * (scope/census.c), twice: the consumer needs two records of the same task that are apart in
 * time. If the consumer or a plan fails, or another program uses the instance, the history is
 * removed and started again after a pause: another program may have turned events off for a moment,
 * and no record would show this gap. A trial every few seconds proves that the probes run. */

#include "history/history.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/random-id.h"
#include "history/accounts.h"
#include "interfaces/cost.h"
#include "interfaces/defence.h"
#include "kernel/buffer.h"
#include "kernel/history-probe.h"
#include "kernel/history-trial.h"
#include "kernel/ring-files.h"
#include "scope/census.h"

#define NO_KPROBES                                             \
        "the black box answers root only: this kernel has no " \
        "kprobes on changes of credentials"
#define USEC_PER_SEC   UINT64_C(1000000)
#define RETRY_USEC     (5 * USEC_PER_SEC)
#define BUSY_USEC      (USEC_PER_SEC / 20)
#define TRIAL_USEC     (5 * USEC_PER_SEC)
#define ANSWER_USEC    (10 * USEC_PER_SEC)
#define END_TRIES      40
#define END_PAUSE_NSEC (25 * 1000 * 1000L)
/* The consumer reads the rings four times in a second, and when a quarter is full. */
#define BUFFER_PERCENT "25"
#define QUESTIONS_MAX  16
#define GAP_PAUSE_SEC  60 /* between two messages */

typedef enum HistoryState {
        HISTORY_OFF,
        HISTORY_MAKING,
        HISTORY_KEPT,     /* the consumer has the rings */
        HISTORY_REMOVING, /* until no process holds one of its files */
} HistoryState;

typedef struct Question {
        LivesQuestion about;
        int fd; /* what the consumer writes to; -1: not sent */
        void *question;
        TAILQ_ENTRY(Question) questions;
} Question;

struct History {
        const ConsumerLauncher *launcher;
        Worker *worker;
        HistoryHandlers handlers;
        const Tracefs *tracefs;
        HistoryState state;
        bool is_wanted, is_impossible;
        Plan plan;
        bool in_flight;
        char id[KT_ID_DIGITS + 1]; /* of its instance; "": none */
        bool has_instance;         /* the worker has made it */
        bool has_failed;           /* the next attempt waits */
        Instance *instance;
        Watch *watch; /* for writes of other programs */
        sd_event_source *watch_source;
        ControlMessage setup;
        int *fds; /* as a consumer takes them: buffer_percent, then raw and stats of each CPU */
        size_t n_fds;
        int profile_fd;
        Consumer *consumer;
        Accounts *accounts;
        Census census;
        unsigned n_censuses; /* to be done */
        time_t gap_sec;      /* when a gap was last reported; 0: not yet */
        uint64_t census_begin_usec;
        uint64_t census_pause_usec; /* before the next one */
        TAILQ_HEAD(, Question) questions;
        size_t n_questions;
        sd_event_source *timer;        /* the next attempt, or the next reading of /proc */
        sd_event_source *trial_timer;  /* the next trial of the probes */
        sd_event_source *answer_timer; /* for the consumer's answer */
};

static void history_settle(History *h);

/* Kernel work, on the worker thread */

static int step_probes(void *context, Reason *reason _unused_) {
        History *h = context;

        int r = history_probe_define(h->tracefs);
        return r ?: history_probe_read_layout(h->tracefs, &h->setup);
}

static void undo_probes(void *context) {
        History *h = context;

        (void)history_probe_remove(h->tracefs); /* the next attempt finds them */
}

static int step_instance(void *context, Reason *reason _unused_) {
        History *h = context;

        int r = instance_create(h->tracefs, h->id, &h->instance);
        h->has_instance = r == 0;
        return r;
}

static void history_close_files(History *h) {
        fd_close_all(&h->fds, h->n_fds);
        h->n_fds = 0;
        close_cleanup(&h->profile_fd);
}

/* Returns -EBUSY while another process holds one of its files. */
static int history_remove_instance(History *h) {
        char name[sizeof(KT_INSTANCE_PREFIX) + KT_ID_DIGITS];

        history_close_files(h);
        h->watch = watch_free(h->watch);
        if (h->instance) {
                (void)instance_set_tracing(h->instance, false);
                (void)instance_disable_all(h->instance);
                h->instance = instance_free(h->instance);
        }
        if (!h->has_instance)
                return 0;
        snprintf(name, sizeof(name), KT_INSTANCE_PREFIX "%s", h->id);
        int r = instance_remove(h->tracefs, name);
        h->has_instance = r != 0;
        return r;
}

static void undo_instance(void *context) {
        (void)history_remove_instance(context); /* HISTORY_REMOVING tries again */
}

static int step_buffer(void *context, Reason *reason) {
        History *h = context;
        size_t subbuf_size;
        unsigned n_cpus;

        int r = instance_set_option(h->instance, "overwrite", false);
        r = r ?: instance_set_clock(h->instance, "mono", reason);
        r = r ?: instance_set_buffer_kb(h->instance, KT_HISTORY_KB);
        r = r ?: tracefs_write(h->instance->fd, "buffer_percent", BUFFER_PERCENT);
        r = r ?: instance_get_subbuf_size(h->instance, &subbuf_size);
        r = r ?: instance_n_cpus(h->instance, &n_cpus);
        if (r != 0)
                return r;
        h->setup.type = CONTROL_HISTORY;
        h->setup.version = CONTROL_VERSION;
        h->setup.history.clock = CLOCK_MONOTONIC;
        h->setup.history.n_cpus = n_cpus;
        h->setup.history.subbuf_size = (uint32_t)subbuf_size;
        h->setup.history.buffer_bytes = KT_HISTORY_KB * 1024;
        return 0;
}

static int step_files(void *context, Reason *reason _unused_) {
        History *h = context;

        /* To write to buffer_percent would look like a use by another program. */
        int r = ring_files_open(h->instance,
                        h->setup.history.n_cpus,
                        "trace_pipe_raw",
                        O_RDONLY,
                        &h->fds,
                        &h->n_fds);
        if (r < 0)
                return r;
        h->profile_fd = openat(h->tracefs->fd, "kprobe_profile", O_RDONLY | O_CLOEXEC);
        return h->profile_fd < 0 ? -errno : 0;
}

static int step_enable(void *context, Reason *reason _unused_) {
        History *h = context;

        int r = history_probe_enable(h->instance);
        return r ?: history_probe_watch(h->instance, &h->watch);
}

static int step_trial(void *context, Reason *reason _unused_) {
        const History *h = context;

        return history_trial_run(h->tracefs);
}

static const PlanStep make_steps[] = {
        { "probes", step_probes, undo_probes },
        { "instance", step_instance, undo_instance },
        { "buffer", step_buffer, NULL },
        { "files", step_files, NULL },
        { "enable", step_enable, NULL },
        { "trial", step_trial, NULL },
};

static const PlanStep trial_steps[] = {
        { "trial", step_trial, NULL },
};

static int step_remove(void *context, Reason *reason _unused_) {
        History *h = context;

        int r = history_remove_instance(h);
        return r ?: history_probe_remove(h->tracefs);
}

static const PlanStep remove_steps[] = {
        { "remove", step_remove, NULL },
};

static int step_census(void *context, Reason *reason _unused_) {
        History *h = context;

        return census_advance(&h->census);
}

static const PlanStep census_steps[] = {
        { "census", step_census, NULL },
};

/* In the event loop */

static void history_submit(History *h,
                const PlanStep *steps,
                size_t n_steps,
                void (*done)(Plan *, int, const Reason *)) {
        h->plan = (Plan){ .context = h, .done = done, .userdata = h };
        plan_init(&h->plan, steps, n_steps, NULL);
        h->in_flight = true;
        worker_submit(h->worker, &h->plan);
}

static void history_set_timer(sd_event_source *timer, uint64_t usec) {
        if (usec == 0) {
                (void)sd_event_source_set_enabled(timer, SD_EVENT_OFF);
                return;
        }
        (void)sd_event_source_set_time_relative(timer, usec);
        (void)sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

static void history_answer(History *h,
                Question *question,
                int result,
                const Reason *reason,
                size_t n) {
        int fd = TAKE_FD(question->fd);
        void *asked = question->question;

        TAILQ_REMOVE(&h->questions, question, questions);
        h->n_questions--;
        free(question);
        if (result != 0)
                close_cleanup(&fd);
        h->handlers.on_lives(result, reason, fd, n, asked);
}

int history_refuse_busy(Reason *reason) {
        return reason_set(reason, KT_E_BUSY, "the black box cannot answer now: try again");
}

static void history_refuse_all(History *h) {
        Question *question;
        Reason reason = {};

        int r = history_refuse_busy(&reason);
        while ((question = TAILQ_FIRST(&h->questions)))
                history_answer(h, question, r, &reason, 0);
}

/* Ends what there is. It is begun again if it is still wanted. */
static void history_end(History *h) {
        h->watch_source = sd_event_source_disable_unref(h->watch_source);
        h->consumer = consumer_free(h->consumer);
        h->n_censuses = 0;
        history_set_timer(h->answer_timer, 0);
        if (h->state == HISTORY_KEPT || h->state == HISTORY_MAKING)
                h->state = HISTORY_REMOVING;
        history_refuse_all(h);
}

static void history_fail(History *h, const char *why) {
        log_warning("the black box does not answer users until its history has begun again: %s",
                        why);
        h->has_failed = true;
        history_end(h);
        history_settle(h);
}

/* Returns whether another program has written to the instance, or may have taken records out. */
static bool history_is_disturbed(History *h) {
        char name[WATCH_NAME_MAX], text[WATCH_NAME_MAX + 64];

        if (!h->watch || !watch_take(h->watch, name) || !defence_is_on("history-disturbed"))
                return false;
        snprintf(text, sizeof(text), "another program has used %s of its instance", name);
        history_fail(h, text);
        return true;
}

static int history_on_watch(sd_event_source *source _unused_,
                int fd _unused_,
                uint32_t events _unused_,
                void *userdata) {
        (void)history_is_disturbed(userdata);
        return 0;
}

static int history_add_watch(History *h) {
        int r = sd_event_add_io(h->launcher->event,
                        &h->watch_source,
                        watch_get_fd(h->watch),
                        EPOLLIN,
                        history_on_watch,
                        h);

        return MIN_OF(r, 0);
}

static int history_send_rings(History *h) {
        const unsigned n_cpus = h->setup.history.n_cpus;
        const int *fds = h->fds;
        ControlMessage message;
        unsigned cpu = 0;
        size_t n_fds;
        int r = 0;

        while (r == 0 && (n_fds = consumer_prepare_rings(cpu, n_cpus, &message)) > 0) {
                r = consumer_send(h->consumer, &message, fds, n_fds);
                fds += n_fds;
                cpu += message.rings.n;
        }
        history_close_files(h);
        return r;
}

static int history_send_question(History *h, Question *question) {
        const ControlMessage message = {
                .type = CONTROL_ASK,
                .version = CONTROL_VERSION,
                .ask = { .uid = question->about.uid,
                                .gid = question->about.gid,
                                .since_nsec = MAX_OF(question->about.since_nsec,
                                                accounts_get_since(h->accounts)) },
        };

        question->fd = memfd_create("ktrace-lives", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (question->fd < 0)
                return -errno;
        history_set_timer(h->answer_timer, ANSWER_USEC);
        return consumer_send(h->consumer, &message, &question->fd, 1);
}

/* One at a time. */
static void history_ask_next(History *h) {
        Question *question = TAILQ_FIRST(&h->questions);

        if (!question || question->fd >= 0 || h->state != HISTORY_KEPT)
                return;
        int r = history_send_question(h, question);
        if (r < 0)
                history_fail(h, strerror(-r));
}

static bool history_is_sound(int fd, size_t n) {
        struct stat status;

        return n <= CONTROL_LIVES_MAX &&
               fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) ==
                               0 &&
               fstat(fd, &status) == 0 && (uint64_t)status.st_size == n * sizeof(ControlLife) &&
               lseek(fd, 0, SEEK_SET) == 0;
}

static void history_on_lives(History *h, const ControlMessage *message) {
        Question *question = TAILQ_FIRST(&h->questions);
        Reason reason = {};
        int r = 0;

        if (!question || question->fd < 0 || history_is_disturbed(h))
                return;
        history_set_timer(h->answer_timer, 0);
        if (message->lives.error != 0)
                r = history_refuse_busy(&reason);
        else if (!history_is_sound(question->fd, message->lives.n))
                r = -EBADMSG;
        history_answer(h, question, r, &reason, message->lives.n);
        history_ask_next(h);
}

static void history_on_census(Plan *plan, int result, const Reason *reason _unused_);

static uint64_t history_get_usec(const History *h) {
        uint64_t usec = 0;

        (void)sd_event_now(h->launcher->event, CLOCK_MONOTONIC, &usec); /* it runs */
        return usec;
}

static void history_begin_census(History *h) {
        if (h->in_flight || h->state != HISTORY_KEPT || h->n_censuses == 0)
                return;
        h->n_censuses--;
        h->census_begin_usec = history_get_usec(h);
        census_clear(&h->census);
        history_submit(h, census_steps, ELEMENTSOF(census_steps), history_on_census);
}

static void history_on_census(Plan *plan, int result, const Reason *reason _unused_) {
        History *h = plan->userdata;

        h->in_flight = false;
        if (result < 0) /* tasks that started before stay unknown */
                log_errno(result,
                                LOG_WARNING,
                                NULL,
                                "cannot read which users the running tasks belong to, for the black box");
        census_clear(&h->census);
        if (result == KT_E_CANCELLED)
                return;
        h->census_pause_usec = census_count_pause(history_get_usec(h) - h->census_begin_usec);
        if (h->state == HISTORY_KEPT && h->n_censuses > 0)
                history_set_timer(h->timer, h->census_pause_usec);
        history_settle(h);
}

static void history_on_tried(Plan *plan, int result, const Reason *reason _unused_) {
        History *h = plan->userdata;

        h->in_flight = false;
        if (result == KT_E_CANCELLED)
                return;
        /* Users can use up all tasks, so that there is no trial: this proves nothing. */
        if ((result == -ENODEV || result == -EOPNOTSUPP) && h->state == HISTORY_KEPT)
                history_fail(h, "the kernel does not run the probes");
        history_settle(h);
}

static int history_on_trial_timer(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        History *h = userdata;

        if (h->state != HISTORY_KEPT)
                return 0;
        history_set_timer(h->trial_timer, TRIAL_USEC);
        if (!h->in_flight)
                history_submit(h, trial_steps, ELEMENTSOF(trial_steps), history_on_tried);
        return 0;
}

/* Until the next census, the owners of the tasks are unknown. */
static void history_report_gap(History *h) {
        struct timespec now = {};

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        if (h->gap_sec != 0 && now.tv_sec - h->gap_sec < GAP_PAUSE_SEC)
                return;
        h->gap_sec = now.tv_sec;
        log_warning("the black box: the history of tasks has a gap: users get no records of the tasks that lived then");
}

static void history_on_message(Consumer *consumer _unused_,
                const ControlMessage *message,
                void *userdata) {
        History *h = userdata;
        char text[CONTROL_TEXT_MAX];
        int r;

        switch (message->type) {
        case CONTROL_READY:
                if (h->state != HISTORY_MAKING || h->n_fds == 0)
                        break;
                r = history_send_rings(h);
                if (r < 0) {
                        history_fail(h, strerror(-r));
                        break;
                }
                h->state = HISTORY_KEPT;
                history_set_timer(h->trial_timer, TRIAL_USEC);
                h->n_censuses = 2;
                h->census_pause_usec = census_count_pause(0);
                history_begin_census(h);
                break;
        case CONTROL_LIVES:
                history_on_lives(h, message);
                break;
        case CONTROL_DOUBT:
                history_report_gap(h);
                if (h->n_censuses < 2) {
                        h->n_censuses = 2;
                        history_set_timer(h->timer, h->census_pause_usec);
                }
                break;
        case CONTROL_REFUSED:
                snprintf(text, sizeof(text), "%.*s", CONTROL_TEXT_MAX - 1, message->status.text);
                history_fail(h, text);
                break;
        default:
                break;
        }
}

static void history_on_closed(Consumer *consumer _unused_, void *userdata) {
        History *h = userdata;

        history_fail(h, "the reader of the history of tasks has ended");
}

static const ConsumerHandlers consumer_handlers = { history_on_message, history_on_closed };

static void history_on_made(Plan *plan, int result, const Reason *reason) {
        History *h = plan->userdata;
        Reason why = *reason;

        h->in_flight = false;
        if (result == KT_E_CANCELLED)
                return;
        if (result == -EOPNOTSUPP) {
                log_notice(NO_KPROBES);
                h->is_impossible = true;
                h->state = HISTORY_REMOVING;
                history_refuse_all(h);
                history_settle(h);
                return;
        }
        if (result == 0)
                result = history_add_watch(h);
        if (result == 0 && h->is_wanted)
                result = consumer_spawn(h->launcher, &consumer_handlers, h, &h->consumer, &why);
        if (result == 0 && h->consumer)
                result = consumer_send(h->consumer, &h->setup, &h->profile_fd, 1);
        if (result != 0)
                history_fail(h, result < 0 ? strerror(-result) : why.text);
        else
                history_settle(h);
}

static void history_on_removed(Plan *plan, int result, const Reason *reason _unused_) {
        History *h = plan->userdata;

        h->in_flight = false;
        if (result == KT_E_CANCELLED)
                return;
        if (result == -EBUSY) { /* the consumer is about to end */
                history_set_timer(h->timer, BUSY_USEC);
                return;
        }
        if (result < 0)
                log_errno(result, LOG_WARNING, NULL, "cannot remove the history of the black box");
        h->state = HISTORY_OFF;
        h->id[0] = '\0';
        if (h->has_failed)
                history_set_timer(h->timer, RETRY_USEC);
        else
                history_settle(h);
        h->has_failed = false;
        h->handlers.on_changed(h->handlers.userdata);
}

static void history_settle(History *h) {
        if (h->in_flight)
                return;
        if (!h->is_wanted && (h->state == HISTORY_KEPT || h->state == HISTORY_MAKING))
                history_end(h);
        if (h->is_wanted && h->state == HISTORY_OFF && !h->is_impossible &&
                        random_id_make(h->id) == 0) {
                h->state = HISTORY_MAKING;
                history_submit(h, make_steps, ELEMENTSOF(make_steps), history_on_made);
        } else if (h->state == HISTORY_REMOVING)
                history_submit(h, remove_steps, ELEMENTSOF(remove_steps), history_on_removed);
}

static int history_on_timer(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        History *h = userdata;

        if (h->in_flight && h->state == HISTORY_KEPT) { /* a trial: the census comes after it */
                history_set_timer(h->timer, BUSY_USEC);
                return 0;
        }
        history_begin_census(h);
        history_settle(h);
        return 0;
}

static int history_on_late(sd_event_source *source _unused_,
                uint64_t usec _unused_,
                void *userdata) {
        history_fail(userdata, "the reader of the history of tasks does not answer");
        return 0;
}

static int history_add_timer(sd_event *event,
                sd_event_time_handler_t handler,
                History *h,
                sd_event_source **ret) {
        int r = sd_event_add_time_relative(event, ret, CLOCK_MONOTONIC, 0, 0, handler, h);

        return r < 0 ? r : sd_event_source_set_enabled(*ret, SD_EVENT_OFF);
}

int history_new(const ConsumerLauncher *launcher,
                Worker *worker,
                const HistoryHandlers *handlers,
                History **ret) {
        _cleanup_(history_free_cleanup) History *h = calloc(1, sizeof(*h));

        if (!h)
                return -ENOMEM;
        *h = (History){
                .launcher = launcher, .worker = worker, .handlers = *handlers, .profile_fd = -1
        };
        TAILQ_INIT(&h->questions);
        int r = accounts_new(launcher->event, "/etc/passwd", &h->accounts);
        r = r < 0 ? r : history_add_timer(launcher->event, history_on_timer, h, &h->timer);
        r = r < 0 ? r
                  : history_add_timer(launcher->event, history_on_trial_timer, h, &h->trial_timer);
        r = r < 0 ? r : history_add_timer(launcher->event, history_on_late, h, &h->answer_timer);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(h);
        return 0;
}

/* The consumer needs a moment to end. If it does not, the next daemon removes the instance. */
static void history_remove_now(History *h) {
        const struct timespec pause = { .tv_nsec = END_PAUSE_NSEC };

        for (unsigned i = 0; i < END_TRIES && h->has_instance; i++) {
                if (i > 0)
                        (void)nanosleep(&pause, NULL);
                if (history_remove_instance(h) != -EBUSY)
                        break;
        }
        (void)history_probe_remove(h->tracefs);
}

History *history_free(History *h) {
        if (!h)
                return NULL;
        h->watch_source = sd_event_source_disable_unref(h->watch_source);
        h->consumer = consumer_free(h->consumer);
        history_refuse_all(h);
        if (h->state != HISTORY_OFF)
                history_remove_now(h);
        history_close_files(h);
        census_clear(&h->census);
        instance_free(h->instance);
        accounts_free(h->accounts);
        sd_event_source_disable_unref(h->timer);
        sd_event_source_disable_unref(h->trial_timer);
        sd_event_source_disable_unref(h->answer_timer);
        free(h);
        return NULL;
}

void history_want(History *h, const Tracefs *tracefs, bool is_wanted) {
        if (h->is_wanted == is_wanted)
                return;
        h->is_wanted = is_wanted;
        h->is_impossible = false;
        h->tracefs = tracefs;
        history_set_timer(h->timer, 0);
        history_settle(h);
}

bool history_is_idle(const History *h) {
        return !h->in_flight && (h->state == HISTORY_OFF || h->state == HISTORY_KEPT);
}

const char *history_get_id(const History *h) {
        return h->id[0] ? h->id : NULL;
}

int history_check(const History *h, Reason *reason) {
        if (h->is_impossible)
                return reason_set(reason, KT_E_ACCESS_DENIED, NO_KPROBES);
        return h->state != HISTORY_KEPT || h->n_questions == QUESTIONS_MAX
                               ? history_refuse_busy(reason)
                               : 0;
}

int history_ask(History *h, const LivesQuestion *about, void *asked, Reason *reason) {
        int r = history_check(h, reason);
        if (r != 0)
                return r;
        Question *question = calloc(1, sizeof(*question));
        if (!question)
                return -ENOMEM;
        *question = (Question){ .about = *about, .fd = -1, .question = asked };
        TAILQ_INSERT_TAIL(&h->questions, question, questions);
        h->n_questions++;
        history_ask_next(h);
        return 0;
}
