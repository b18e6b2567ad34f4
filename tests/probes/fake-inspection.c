/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "fake-inspection.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <sys/stat.h>

struct Inspections {
        sd_event *event;
        GList *asks;
};

typedef struct Ask {
        Inspections *set;
        InspectionHandler handler;
        void *userdata;
        sd_event_source *source;
} Ask;

static struct {
        char *path;
        ControlFacts facts;
        UserPlace places[USER_PLACES_MAX];
        size_t n_places;
        uint32_t ticket;
        char question[64];
} fake;

void fake_inspection_set(const char *path,
                const ControlFacts *facts,
                const UserPlace *places,
                size_t n_places) {
        g_free(fake.path);
        fake.path = g_strdup(path);
        fake.facts = *facts;
        fake.n_places = places ? n_places : 0;
        for (size_t i = 0; i < fake.n_places; i++)
                fake.places[i] = places[i];
}

uint32_t fake_inspection_get_ticket(void) {
        return fake.ticket;
}

const char *fake_inspection_get_question(void) {
        return fake.question;
}

Inspected *inspected_free(Inspected *inspected) {
        if (!inspected)
                return NULL;
        close_cleanup(&inspected->fd);
        g_free(inspected->places);
        g_free(inspected);
        return NULL;
}

int inspections_new(const ConsumerLauncher *launcher, Inspections **ret) {
        *ret = g_new0(Inspections, 1);
        (*ret)->event = launcher->event;
        return 0;
}

static void forget(Ask *ask) {
        ask->set->asks = g_list_remove(ask->set->asks, ask);
        sd_event_source_disable_unref(ask->source);
        g_free(ask);
}

/* What is open is answered first. */
Inspections *inspections_free(Inspections *inspections) {
        Reason reason = {};

        while (inspections && inspections->asks) {
                Ask ask = *(Ask *)inspections->asks->data;

                forget(inspections->asks->data);
                ask.handler(reason_set(&reason, KT_E_CANCELLED, "the daemon ends"),
                                &reason,
                                NULL,
                                ask.userdata);
        }
        g_free(inspections);
        return NULL;
}

bool inspections_are_idle(const Inspections *inspections) {
        return true;
}

void inspections_on_changed(Inspections *inspections,
                void (*on_changed)(void *userdata),
                void *userdata) {
}

int inspections_open(Inspections *inspections, Request *request, Reason *reason) {
        return -EOPNOTSUPP;
}

void inspections_peer_gone(Inspections *inspections, const char *peer) {
}

static int on_defer(sd_event_source *source, void *userdata) {
        const Ask copy = *(Ask *)userdata, *ask = &copy;
        Reason reason = {};

        forget(userdata);
        if (fake.n_places == 0) {
                ask->handler(reason_set(&reason, KT_E_FAILED, "no instruction begins there"),
                                &reason,
                                NULL,
                                ask->userdata);
                return 0;
        }
        Inspected *found = g_new0(Inspected, 1);
        found->fd = open(fake.path, O_PATH | O_CLOEXEC);
        g_assert_cmpint(found->fd, >=, 0);
        found->facts = fake.facts;
        struct stat status;
        g_assert_cmpint(fstat(found->fd, &status), ==, 0);
        found->facts.mtime_nsec = control_nsec(&status.st_mtim);
        found->n_places = fake.n_places;
        found->places = g_memdup2(fake.places, fake.n_places * sizeof(UserPlace));
        ask->handler(0, &reason, found, ask->userdata);
        return 0;
}

static int ask_later(Inspections *inspections,
                uint32_t ticket,
                const InspectionQuestion *question,
                InspectionHandler handler,
                void *userdata) {
        Ask *ask = g_new0(Ask, 1);

        ask->set = inspections;
        inspections->asks = g_list_append(inspections->asks, ask);
        ask->handler = handler;
        ask->userdata = userdata;
        fake.ticket = ticket;
        g_snprintf(fake.question, sizeof(fake.question), "0x%" PRIx64, question->offset);
        if (question->marker)
                g_strlcpy(fake.question, question->marker, sizeof(fake.question));
        return sd_event_add_defer(inspections->event, &ask->source, on_defer, ask);
}

int inspections_ask(Inspections *inspections,
                const char *peer,
                uint32_t ticket,
                const InspectionQuestion *question,
                InspectionHandler handler,
                void *userdata,
                Reason *reason) {
        return ask_later(inspections, ticket, question, handler, userdata);
}

int inspections_ask_path(Inspections *inspections,
                const char *path,
                const InspectionQuestion *question,
                InspectionHandler handler,
                void *userdata,
                Reason *reason) {
        return ask_later(inspections, 0, question, handler, userdata);
}
