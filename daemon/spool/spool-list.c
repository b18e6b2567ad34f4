/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The list of recordings, in pages. A user may have thousands of files. In one answer they would
 * hold up the event loop, and the bus refuses messages that are too large: one user's recordings
 * could then hide those of all others from root. So a page has a limited number of files. The pages
 * follow the order of the ids, so that recordings that come or go in between move no others. This
 * file is a part of spool.h. It runs in the event loop. */

#include "spool/spool-list.h"

#include <errno.h>
#include <string.h>

#include "base/describe.h"
#include "interfaces/quote.h"
#include "spool/spool-entry.h"
#include "spool/spool-index.h"
#include "spool/spool-job.h"
#include "spool/spool-ship.h"

#define PAGE_ENTRIES 256
#define PAGE_FILES   2048

typedef struct SpoolPage {
        json_object *list;
        size_t n_entries, n_files;
} SpoolPage;

/* One recording with many files is a page of its own. */
static bool spool_page_has_room(const SpoolPage *page, const SpoolEntry *entry) {
        return page->n_entries == 0 ||
               (page->n_entries < PAGE_ENTRIES && page->n_files + entry->n_members <= PAGE_FILES);
}

static int spool_page_add(SpoolPage *page, const SpoolEntry *entry) {
        json_object *object = NULL;

        int r = spool_entry_describe(entry, &object);
        r = r ?: describe_append(page->list, object);
        page->n_entries++;
        page->n_files += entry->n_members;
        return r;
}

/* after: the id of the last recording that the caller knows. *ret_next: the same for the page that
 * follows; NULL: there is none. */
static int spool_page_fill(SpoolPage *page,
                const Spool *spool,
                const Subject *subject,
                SessionReach reach,
                const char *after,
                const char **ret_next) {
        const SpoolEntry *entry, *last = NULL;
        int r = 0;

        *ret_next = NULL;
        TAILQ_FOREACH(entry, &spool->entries, entries) {
                if (strcmp(entry->id, after) <= 0 || !spool_is_visible(entry, subject, reach))
                        continue;
                if (!spool_page_has_room(page, entry)) {
                        *ret_next = last->id;
                        return 0;
                }
                r = spool_page_add(page, entry);
                if (r != 0)
                        return r;
                last = entry;
        }
        return 0;
}

static void spool_answer_list(SpoolJob *job, int result, const Reason *reason) {
        SessionReach reach = job->number ? REACH_ALL : REACH_OWN;
        Request *request = TAKE_PTR(job->request);
        SpoolPage page = { .list = request->list = json_object_new_array() };
        const char *next = NULL;
        int r = result ?: page.list ? 0 : -ENOMEM;

        if (r == 0)
                r = spool_page_fill(&page, job->spool, &request->subject, reach, job->id, &next);
        if (r == 0 && !(request->text = strdup(next ?: "")))
                r = -ENOMEM;
        spool_job_free(job);
        request->done(request, r, reason);
}

int spool_list(Spool *spool,
                Request *request,
                SessionReach reach,
                const char *after,
                Reason *reason) {
        if (!spool)
                return reason_set(reason, KT_E_FAILED, "this ktraced has no spool");
        if (*after && strlen(after) != KT_ID_DIGITS)
                return reason_set(reason,
                                KT_E_INVALID_SPEC,
                                "after: %s is not an id: expected an empty text, or \"next\" of "
                                "the page before",
                                quote(after).text);
        SpoolJob *job = spool_job_new(spool, after);
        if (!job)
                return -ENOMEM;
        job->request = request;
        job->number = reach == REACH_ALL;
        job->begin = spool_answer_list;
        return spool_job_when_loaded(job);
}
