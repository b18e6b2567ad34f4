/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decides where the client may write an output file. target.c calls it for every file that
 * ktracectl writes. The reason: root runs ktracectl in directories of other users, and a recording
 * can hold kernel addresses. Another user must not redirect the output and must not read it.
 *
 * The path is walked one component at a time. Each directory is opened relative to the one before,
 * so a later rename changes nothing. A directory is shared when another user can change its names:
 * when its owner is neither root nor the caller, or when its group or all users may write to it.
 * FUSE servers invent owners and modes, so their directories count as shared. Everything below a
 * name that another user can exchange is shared, too. The sticky bit of a directory such as /tmp
 * protects the names of subdirectories that root or the caller owns (unlink(2), EPERM).
 *
 * In a shared directory, symbolic links are not followed, and FIFOs, devices and sockets are not
 * used. A file of another user is never replaced in any directory. Links in /proc/PID bypass the
 * names of directories, so only the descriptors of this process are accepted there. */

#include "recording/output-place.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/magic.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#define LINKS_MAX      40             /* same as the kernel: path_resolution(7) */
#define NAME_SIZE      (NAME_MAX + 2) /* a longer name is cut but is still too long */
#define PROC_ROOT_INO  1              /* include/linux/proc_ns.h */
#define DIRECTORY_OPEN (O_PATH | O_DIRECTORY | O_CLOEXEC)

typedef struct Walk {
        OutputPlace *place;
        bool is_exchangeable; /* another user can put another directory under a name on the way */
        bool is_shared;
        bool is_sticky;
        unsigned n_links;
        char rest[PATH_MAX]; /* of the path, below place->dir_fd */
} Walk;

int output_place_refuse_path(const OutputPlace *place, const char *why, Reason *reason) {
        return reason_set(reason,
                        KT_E_FAILED,
                        "%s: cannot be written: %s; choose another file with -o",
                        place->path,
                        why);
}

static int walk_refuse_errno(const Walk *walk, int error, Reason *reason) {
        return error == ENOMEM ? -ENOMEM
                               : output_place_refuse_path(walk->place, strerror(error), reason);
}

static bool owner_is_trusted(uid_t owner) {
        return owner == 0 || owner == geteuid();
}

/* With an access control list, the group bits of the mode are the mask of the list (acl(5)). */
static bool has_access_list(int fd) {
        char name[64];

        (void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
        return getxattr(name, "system.posix_acl_access", NULL, 0) >= 0;
}

/* Trusts the group of root and the caller's private group. Debian gives that group the name of its
 * only user. */
static bool group_is_trusted(gid_t gid) {
        struct group *group = NULL;
        struct passwd *user = NULL;

        if (gid == 0)
                return true;
        if (gid != getegid() || !(user = getpwuid(geteuid())) || !(group = getgrgid(gid)))
                return false;
        return strcmp(user->pw_name, group->gr_name) == 0 && !group->gr_mem[0];
}

static bool file_system_is_trusted(int fd) {
        struct statfs fs;

        return fstatfs(fd, &fs) == 0 && fs.f_type != FUSE_SUPER_MAGIC;
}

static bool directory_is_shared(int fd, const struct stat *st) {
        if (!owner_is_trusted(st->st_uid) || (st->st_mode & S_IWOTH) || !file_system_is_trusted(fd))
                return true;
        return (st->st_mode & S_IWGRP) && (!group_is_trusted(st->st_gid) || has_access_list(fd));
}

/* consumes fd */
static int walk_enter(Walk *walk, int fd, Reason *reason) {
        _cleanup_close_ int owned = fd;
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return walk_refuse_errno(walk, errno, reason);
        bool is_protected = walk->is_sticky && owner_is_trusted(st.st_uid);
        walk->is_exchangeable = walk->is_exchangeable || (walk->is_shared && !is_protected);
        walk->is_shared = walk->is_exchangeable || directory_is_shared(fd, &st);
        walk->is_sticky = (st.st_mode & S_ISVTX) && owner_is_trusted(st.st_uid);
        close_cleanup(&walk->place->dir_fd);
        walk->place->dir_fd = TAKE_FD(owned);
        return 0;
}

/* Begins at the root or, for a relative path, in the working directory. The directories above the
 * working directory need no check: their owners can rename it, but it stays the same directory. */
static int output_place_walk_begin(Walk *walk, Reason *reason) {
        walk->is_exchangeable = walk->is_shared = walk->is_sticky = false;
        return walk_enter(walk, open(walk->rest[0] == '/' ? "/" : ".", DIRECTORY_OPEN), reason);
}

/* Takes the first component off the rest. Returns false when none is left. */
static bool walk_take_name(Walk *walk, char ret[static NAME_SIZE], bool *ret_is_last) {
        const char *name = walk->rest + strspn(walk->rest, "/");
        size_t length = strcspn(name, "/");

        if (length == 0)
                return false;
        (void)snprintf(ret, NAME_SIZE, "%.*s", (int)length, name);
        *ret_is_last = name[length] == '\0';
        memmove(walk->rest, name + length, strlen(name + length) + 1);
        return true;
}

static bool is_own_descriptors(int dir_fd) {
        struct stat own, other;

        return stat("/proc/self/fd", &own) == 0 && fstat(dir_fd, &other) == 0 &&
               own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

/* Whether the link is /proc/PID/cwd, root, exe or similar. Links in /proc itself are normal
 * links. */
static bool is_process_link(int dir_fd) {
        struct statfs fs;
        struct stat st;

        return fstatfs(dir_fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC &&
               fstat(dir_fd, &st) == 0 && st.st_ino != PROC_ROOT_INO;
}

static int walk_follow(Walk *walk, const char *name, Reason *reason) {
        char target[PATH_MAX], rest[PATH_MAX];
        int dir_fd = walk->place->dir_fd;

        if (walk->is_shared)
                return output_place_refuse_path(walk->place,
                                "the path has a symbolic link in a directory that other users can change",
                                reason);
        if (is_process_link(dir_fd))
                return output_place_refuse_path(
                                walk->place, "the path has a link in /proc/PID", reason);
        if (walk->n_links++ == LINKS_MAX)
                return walk_refuse_errno(walk, ELOOP, reason);
        ssize_t n = readlinkat(dir_fd, name, target, sizeof(target) - 1);
        if (n < 0)
                return walk_refuse_errno(walk, errno, reason);
        target[n] = '\0';
        if (snprintf(rest, sizeof(rest), "%s%s", target, walk->rest) >= (int)sizeof(rest))
                return walk_refuse_errno(walk, ENAMETOOLONG, reason);
        memcpy(walk->rest, rest, sizeof(rest));
        return rest[0] == '/' ? output_place_walk_begin(walk, reason) : 0;
}

static int walk_descend(Walk *walk, const char *name, Reason *reason) {
        char target[2];

        int fd = openat(walk->place->dir_fd, name, DIRECTORY_OPEN | O_NOFOLLOW);
        if (fd < 0 && errno == ENOTDIR) {
                if (readlinkat(walk->place->dir_fd, name, target, sizeof(target)) >= 0)
                        return walk_follow(walk, name, reason);
                errno = ENOTDIR;
        }
        return walk_enter(walk, fd, reason);
}

static int output_place_refuse_foreign(const OutputPlace *place, Reason *reason) {
        return output_place_refuse_path(place, "the existing file belongs to another user", reason);
}

static int walk_judge_existing(Walk *walk, const struct stat *st, Reason *reason) {
        OutputPlace *place = walk->place;

        if ((S_ISREG(st->st_mode) || S_ISDIR(st->st_mode)) && st->st_uid != geteuid())
                return output_place_refuse_foreign(place, reason);
        place->kind = OUTPUT_PLACE_DIRECTORY;
        if (S_ISDIR(st->st_mode))
                return 0;
        if (!S_ISREG(st->st_mode) && walk->is_shared)
                return output_place_refuse_path(walk->place,
                                "it is a FIFO, a device or a socket in a directory that other users can change",
                                reason);
        place->kind = S_ISREG(st->st_mode) ? OUTPUT_PLACE_FILE : OUTPUT_PLACE_SPECIAL;
        return 0;
}

/* Decides about the last component. ret_is_done is false after a link: its target comes next. */
static int walk_judge(Walk *walk, const char *name, bool *ret_is_done, Reason *reason) {
        OutputPlace *place = walk->place;
        struct stat st;

        *ret_is_done = true;
        if (fstatat(place->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
                place->kind = OUTPUT_PLACE_NEW;
                return errno == ENOENT ? 0 : walk_refuse_errno(walk, errno, reason);
        }
        if (!S_ISLNK(st.st_mode))
                return walk_judge_existing(walk, &st, reason);
        if (is_own_descriptors(place->dir_fd)) {
                place->kind = OUTPUT_PLACE_DESCRIPTOR;
                return 0;
        }
        *ret_is_done = false;
        return walk_follow(walk, name, reason);
}

/* Files of these file systems look regular but do not store data. */
static int walk_check_system(const Walk *walk, Reason *reason) {
        static const long systems[] = { PROC_SUPER_MAGIC,
                SYSFS_MAGIC,
                DEBUGFS_MAGIC,
                TRACEFS_MAGIC,
                SECURITYFS_MAGIC,
                CGROUP_SUPER_MAGIC,
                CGROUP2_SUPER_MAGIC };
        const OutputPlace *place = walk->place;
        struct statfs fs;

        if (place->kind == OUTPUT_PLACE_DESCRIPTOR)
                return 0;
        if (fstatfs(place->dir_fd, &fs) < 0)
                return walk_refuse_errno(walk, errno, reason);
        for (size_t i = 0; i < ELEMENTSOF(systems); i++)
                if (fs.f_type == systems[i])
                        return output_place_refuse_path(
                                        place, "its file system cannot store data", reason);
        return 0;
}

static int walk(Walk *walk, Reason *reason) {
        char name[NAME_SIZE];
        bool is_last, is_done = false;

        int r = output_place_walk_begin(walk, reason);
        while (r == 0 && !is_done) {
                if (!walk_take_name(walk, name, &is_last))
                        return walk_refuse_errno(walk, EISDIR, reason);
                if (strcmp(name, ".") == 0)
                        continue;
                r = is_last ? walk_judge(walk, name, &is_done, reason)
                            : walk_descend(walk, name, reason);
        }
        r = r ?: walk_check_system(walk, reason);
        if (r == 0 && !(walk->place->name = strdup(name)))
                r = -ENOMEM;
        return r;
}

int output_place_find(const char *path, OutputPlace **ret, Reason *reason) {
        _cleanup_(output_place_free_cleanup) OutputPlace *place = calloc(1, sizeof(*place));
        Walk state = { .place = place };

        if (!place)
                return -ENOMEM;
        place->dir_fd = -1;
        place->path = strdup(path);
        if (!place->path)
                return -ENOMEM;
        if (snprintf(state.rest, sizeof(state.rest), "%s", path) >= (int)sizeof(state.rest))
                return walk_refuse_errno(&state, ENAMETOOLONG, reason);
        int r = walk(&state, reason);
        if (r == 0)
                *ret = TAKE_PTR(place);
        return r;
}

int output_place_check_file(const OutputPlace *place, Reason *reason) {
        struct stat st;

        if (fstatat(place->dir_fd, place->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0
                                       : output_place_refuse_path(place, strerror(errno), reason);
        if (!S_ISREG(st.st_mode))
                return output_place_refuse_path(place,
                                "this name now belongs to something that is not a regular file",
                                reason);
        return st.st_uid == geteuid() ? 0 : output_place_refuse_foreign(place, reason);
}

OutputPlace *output_place_free(OutputPlace *place) {
        if (!place)
                return NULL;
        close_cleanup(&place->dir_fd);
        free(place->name);
        free(place->path);
        free(place);
        return NULL;
}
