/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Notices when the machine's users change. A uid that was deleted and created again belongs to
 * another user, who must not read what the first one did. The history asks for each question.
 *
 * Any change of /etc/passwd counts for all uids: two versions of the file do not show whether a
 * user was deleted and created again between them. The change is dated when it is noticed, which is
 * later than when it was made. inotify notices it soon, so that little is cut. The file is also
 * looked at for each question, so nothing depends on inotify. Users of other sources, such as LDAP,
 * are not watched. */

#include "history/accounts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>

#include "interfaces/control.h"
#include "interfaces/defence.h"

struct Accounts {
        char *file, *folder;
        struct stat seen;
        uint64_t since_nsec;
        sd_event_source *watch;
};

static bool accounts_are_equal(const struct stat *a, const struct stat *b) {
        return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
               a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

uint64_t accounts_get_since(Accounts *accounts) {
        struct stat status = {}; /* of no file */
        struct timespec now = {};

        (void)stat(accounts->file, &status);
        if (accounts_are_equal(&status, &accounts->seen) || !defence_is_on("history-accounts"))
                return accounts->since_nsec;
        accounts->seen = status;
        (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
        accounts->since_nsec = control_nsec(&now);
        return accounts->since_nsec;
}

static int accounts_on_inotify(sd_event_source *source _unused_,
                const struct inotify_event *event _unused_,
                void *userdata) {
        (void)accounts_get_since(userdata);
        return 0;
}

int accounts_new(sd_event *event, const char *file, Accounts **ret) {
        _cleanup_(accounts_free_cleanup) Accounts *accounts = calloc(1, sizeof(*accounts));

        if (!accounts)
                return -ENOMEM;
        accounts->file = strdup(file);
        accounts->folder = strdup(file);
        if (!accounts->file || !accounts->folder)
                return -ENOMEM;
        *strrchr(accounts->folder, '/') = '\0';
        /* Without a watch, a change is noticed at the next question. */
        (void)sd_event_add_inotify(event,
                        &accounts->watch,
                        accounts->folder,
                        IN_MOVED_TO | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_ONLYDIR,
                        accounts_on_inotify,
                        accounts);
        (void)stat(accounts->file, &accounts->seen);
        *ret = TAKE_PTR(accounts);
        return 0;
}

Accounts *accounts_free(Accounts *accounts) {
        if (!accounts)
                return NULL;
        sd_event_source_disable_unref(accounts->watch);
        free(accounts->file);
        free(accounts->folder);
        free(accounts);
        return NULL;
}
