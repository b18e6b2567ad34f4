/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Notices when the machine's users change. A uid that was deleted and created again belongs to
 * another user, who must not read what the first one did. history.c asks before each question.
 *
 * Two versions of /etc/passwd with the same users do not show whether a user was deleted and
 * created again between them. The programs that do this also change /etc/shadow. Programs with
 * which users change their own name or shell do not change it, and a change of a password does not
 * change /etc/passwd. So a change counts, for all uids, if the users in /etc/passwd differ, or if
 * both files have changed since the last look.
 *
 * The time of the change is when it is noticed, which is later than when it was made. inotify
 * notices it soon. So few records are cut, and changes of different users are seen one at a time.
 * The files are also examined for each question, so the protection does not depend on inotify.
 * Users of other sources, such as LDAP, are not watched. */

#include "history/accounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fd.h"
#include "interfaces/control.h"
#include "interfaces/defence.h"

/* Of /etc/passwd: a large site has some megabytes. */
#define FILE_MAX ((size_t)16 << 20)

struct Accounts {
        char *file, *folder, *shadow;
        struct stat seen, seen_shadow;
        char *users; /* of `file`; NULL: could not be read */
        uint64_t since_nsec;
        sd_event_source *watch;
};

static bool accounts_are_equal(const struct stat *a, const struct stat *b) {
        return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
               a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Keeps the name, the uid and the gid of each line: "NAME:PASSWORD:UID:GID:...". */
static void accounts_cut_lines(char *text) {
        char *to = text;
        unsigned column = 0;

        for (const char *from = text; *from; from++) {
                if (*from == '\n')
                        column = 0;
                else if (*from == ':')
                        column++;
                if (column != 1 && column < 4)
                        *to++ = *from;
        }
        *to = '\0';
}

static char *accounts_read_users(const Accounts *accounts) {
        char *text = NULL;

        if (fd_read_file_at(AT_FDCWD, accounts->file, FILE_MAX, &text, NULL) < 0)
                return NULL;
        accounts_cut_lines(text);
        return text;
}

/* Returns whether a user may have been deleted or created. `shadow`: its new status. */
static bool accounts_have_changed(Accounts *accounts, const struct stat *shadow) {
        char *users = accounts_read_users(accounts);
        bool is_same = users && accounts->users && strcmp(users, accounts->users) == 0;

        free(accounts->users);
        accounts->users = users;
        return !is_same || shadow->st_nlink == 0 ||
               !accounts_are_equal(shadow, &accounts->seen_shadow);
}

uint64_t accounts_get_since(Accounts *accounts) {
        struct stat status = {}, shadow = {}; /* of no file */
        struct timespec now = {};

        (void)stat(accounts->file, &status);
        (void)stat(accounts->shadow, &shadow);
        if (!accounts_are_equal(&status, &accounts->seen) && defence_is_on("history-accounts") &&
                        accounts_have_changed(accounts, &shadow)) {
                (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
                accounts->since_nsec = control_nsec(&now);
        }
        accounts->seen = status;
        accounts->seen_shadow = shadow;
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
        if (asprintf(&accounts->shadow, "%s/shadow", accounts->folder) < 0) {
                accounts->shadow = NULL;
                return -ENOMEM;
        }
        /* Without a watch, a change is noticed at the next question. */
        (void)sd_event_add_inotify(event,
                        &accounts->watch,
                        accounts->folder,
                        IN_MOVED_TO | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_ONLYDIR,
                        accounts_on_inotify,
                        accounts);
        (void)stat(accounts->file, &accounts->seen);
        (void)stat(accounts->shadow, &accounts->seen_shadow);
        accounts->users = accounts_read_users(accounts);
        *ret = TAKE_PTR(accounts);
        return 0;
}

Accounts *accounts_free(Accounts *accounts) {
        if (!accounts)
                return NULL;
        sd_event_source_disable_unref(accounts->watch);
        free(accounts->file);
        free(accounts->folder);
        free(accounts->shadow);
        free(accounts->users);
        free(accounts);
        return NULL;
}
