/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* silent-fuse DIR: a FUSE server in the raw protocol of /dev/fuse that shows one regular file,
 * DIR/file, answers what is needed to open it (INIT, LOOKUP, GETATTR, OPEN, ACCESS) and from the
 * first FSYNC, WRITE, STATFS, FLUSH or second GETATTR on nothing any more: whoever waits for an
 * answer hangs in the kernel. Prints "mounted" once it serves; unmounts nothing, since that would
 * hang as well: kill it, and the kernel ends all that wait. Needs root. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static int fuse = -1;

static int answer(const struct fuse_in_header *in, int error, const void *data, size_t size) {
        struct {
                struct fuse_out_header header;
                char data[256];
        } out = { .header = { .len = (uint32_t)(sizeof(out.header) + size),
                                  .error = error,
                                  .unique = in->unique } };

        if (size > sizeof(out.data))
                return -E2BIG;
        if (size > 0)
                memcpy(out.data, data, size);
        return write(fuse, &out, out.header.len) < 0 ? -errno : 0;
}

static struct fuse_attr attributes(uint64_t node) {
        return (struct fuse_attr){
                .ino = node,
                .mode = node == FUSE_ROOT_ID ? S_IFDIR | 0777 : S_IFREG | 0666,
                .nlink = 1,
                .blksize = 4096,
        };
}

static int answer_init(const struct fuse_in_header *in) {
        struct fuse_init_out out = {
                .major = FUSE_KERNEL_VERSION,
                .minor = FUSE_KERNEL_MINOR_VERSION,
                .max_write = 65536,
                .max_background = 12,
                .congestion_threshold = 9,
        };

        return answer(in, 0, &out, sizeof(out));
}

static int answer_lookup(const struct fuse_in_header *in, const char *name) {
        struct fuse_entry_out out = { .nodeid = 2, .attr = attributes(2) };

        if (strcmp(name, "file") != 0)
                return answer(in, -ENOENT, NULL, 0);
        return answer(in, 0, &out, sizeof(out));
}

static int answer_getattr(const struct fuse_in_header *in) {
        struct fuse_attr_out out = { .attr = attributes(in->nodeid) };

        return answer(in, 0, &out, sizeof(out));
}

static int answer_open(const struct fuse_in_header *in) {
        struct fuse_open_out out = { .fh = 1 };

        return answer(in, 0, &out, sizeof(out));
}

/* True when the request was answered; false: never will be. */
static int serve(const struct fuse_in_header *in, const char *argument, int *opened) {
        switch (in->opcode) {
        case FUSE_INIT:
                return answer_init(in);
        case FUSE_LOOKUP:
                return answer_lookup(in, argument);
        case FUSE_OPEN:
                *opened = 1;
                return answer_open(in);
        case FUSE_GETATTR:
                return *opened && in->nodeid != FUSE_ROOT_ID ? 0 : answer_getattr(in);
        case FUSE_ACCESS:
        case FUSE_SETATTR:
                return *opened ? 0 : answer_getattr(in);
        default:
                return *opened ? 0 : answer(in, -ENOSYS, NULL, 0);
        }
}

int main(int argc, char **argv) {
        static char buffer[1024 * 1024];
        char options[128];
        int opened = 0;

        if (argc != 2)
                return 2;
        fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
        if (fuse < 0) {
                perror("silent-fuse: /dev/fuse");
                return 1;
        }
        snprintf(options,
                        sizeof(options),
                        "fd=%d,rootmode=40777,user_id=0,group_id=0,allow_other",
                        fuse);
        if (mount("silent", argv[1], "fuse", MS_NOSUID | MS_NODEV, options) < 0) {
                perror("silent-fuse: mount");
                return 1;
        }
        printf("mounted\n");
        fflush(stdout);
        for (;;) {
                ssize_t n = read(fuse, buffer, sizeof(buffer));
                const struct fuse_in_header *in = (const struct fuse_in_header *)buffer;

                if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOENT))
                        continue;
                if (n < (ssize_t)sizeof(*in))
                        return n < 0 && errno == ENODEV ? 0 : 1;
                if (serve(in, buffer + sizeof(*in), &opened) < 0)
                        return 1;
        }
}
