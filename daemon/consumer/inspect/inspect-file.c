/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads a program's file for inspect.c: its headers, segments and sections. It runs in the
 * consumer's sandbox, because the file may have been made to break this code. So it reads pieces of
 * limited size by pread, checks each number where it is used, and reads at most INSPECT_READ_MAX
 * for one question. The file may change between two reads, so no data is read a second time to
 * compare it. */

#include "consumer/inspect/inspect-file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"

#ifdef __x86_64__
#define MACHINE    EM_X86_64
#define MACHINE_32 EM_386
#elif defined(__aarch64__)
#define MACHINE    EM_AARCH64
#define MACHINE_32 EM_NONE /* its two instruction lengths cannot be distinguished */
#else
#error "instructions of this machine are not known"
#endif

int inspect_read(InspectFile *file, uint64_t offset, void *data, size_t size) {
        char *p = data;

        if (offset > file->size || size > file->size - offset)
                return -EBADMSG;
        if (size > file->may_read)
                return -EDQUOT;
        file->may_read -= size;
        while (size > 0) {
                ssize_t n = pread(file->fd, p, size, (off_t)offset);

                if (n < 0 && errno != EINTR)
                        return -errno;
                if (n == 0) /* the file became shorter */
                        return -EBADMSG;
                n = MAX_OF(n, 0);
                p += n;
                offset += (uint64_t)n;
                size -= (size_t)n;
        }
        return 0;
}

int inspect_load(InspectFile *file, uint64_t offset, uint64_t size, size_t max, uint8_t **ret) {
        _cleanup_free_ uint8_t *data = NULL;

        if (size > max)
                return -EDQUOT;
        data = malloc(size ?: 1);
        if (!data)
                return -ENOMEM;
        int r = inspect_read(file, offset, data, size);
        if (r == 0)
                *ret = TAKE_PTR(data);
        return r;
}

static Elf64_Ehdr widen_header(const Elf32_Ehdr *h) {
        Elf64_Ehdr wide = {
                .e_type = h->e_type,
                .e_machine = h->e_machine,
                .e_phoff = h->e_phoff,
                .e_shoff = h->e_shoff,
                .e_phentsize = h->e_phentsize,
                .e_phnum = h->e_phnum,
                .e_shentsize = h->e_shentsize,
                .e_shnum = h->e_shnum,
                .e_shstrndx = h->e_shstrndx,
        };

        memcpy(wide.e_ident, h->e_ident, sizeof(wide.e_ident));
        return wide;
}

static int read_header(InspectFile *file) {
        Elf32_Ehdr narrow;

        int r = inspect_read(file, 0, &narrow, sizeof(narrow));
        if (r < 0)
                return r;
        file->is_64 = narrow.e_ident[EI_CLASS] == ELFCLASS64;
        if (file->is_64)
                return inspect_read(file, 0, &file->header, sizeof(file->header));
        file->header = widen_header(&narrow);
        return 0;
}

static const char *inspect_file_check_header(const InspectFile *file) {
        static const unsigned char order =
                        __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
        const Elf64_Ehdr *h = &file->header;

        if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
                return "it is not a program or library (ELF)";
        if (h->e_ident[EI_DATA] != order || h->e_machine == EM_NONE ||
                        h->e_machine != (file->is_64 ? MACHINE : MACHINE_32))
                return "its instructions are of a machine that is not inspected here";
        if (h->e_type != ET_EXEC && h->e_type != ET_DYN)
                return "it is neither a program nor a library";
        if (h->e_phentsize != (file->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)) ||
                        h->e_phnum > INSPECT_SEGMENTS_MAX)
                return "its program headers are damaged";
        return NULL;
}

static int read_segment(InspectFile *file, size_t index, Elf64_Phdr *ret) {
        uint64_t at = file->header.e_phoff;
        Elf32_Phdr h;

        if (at > file->size) /* prevents an overflow below */
                return -EBADMSG;
        if (file->is_64)
                return inspect_read(file, at + index * sizeof(*ret), ret, sizeof(*ret));
        int r = inspect_read(file, at + index * sizeof(h), &h, sizeof(h));
        *ret = (Elf64_Phdr){
                .p_type = h.p_type,
                .p_flags = h.p_flags,
                .p_offset = h.p_offset,
                .p_vaddr = h.p_vaddr,
                .p_filesz = h.p_filesz,
                .p_memsz = h.p_memsz,
        };
        return r;
}

/* Checks that the file contains all bytes of the segment. */
static int check_segment(const InspectFile *file, const Elf64_Phdr *segment) {
        return segment->p_type != PT_LOAD || (segment->p_offset <= file->size &&
                                                             segment->p_filesz <=
                                                                             file->size - segment->p_offset)
                               ? 0
                               : -EBADMSG;
}

int inspect_open(InspectFile *file, int fd, Reason *reason) {
        struct stat status;

        int r = fd_stat(fd, &status);
        if (r < 0)
                return r;
        *file = (InspectFile){
                .fd = fd,
                .size = (uint64_t)MAX_OF(status.st_size, (off_t)0),
                .may_read = INSPECT_READ_MAX,
        };
        r = read_header(file);
        if (r == -EBADMSG)
                return reason_set(reason, KT_E_FAILED, "it is not a program or library (ELF)");
        const char *why = r == 0 ? inspect_file_check_header(file) : NULL;
        if (why)
                return reason_set(reason, KT_E_FAILED, "%s", why);
        file->is_arm = file->header.e_machine == EM_AARCH64;
        for (size_t i = 0; r == 0 && i < file->header.e_phnum; i++) {
                Elf64_Phdr *segment = &file->segments[file->n_segments++];

                r = read_segment(file, i, segment);
                r = r ?: check_segment(file, segment);
        }
        return r == -EBADMSG ? reason_set(reason, KT_E_FAILED, "its program headers are damaged")
                             : r;
}

void inspect_close(InspectFile *file) {
        free(file->table);
        file->table = NULL;
}

static const Elf64_Phdr *inspect_file_find(const InspectFile *file,
                uint64_t at,
                uint64_t size,
                bool by_offset) {
        for (size_t i = 0; i < file->n_segments; i++) {
                const Elf64_Phdr *s = &file->segments[i];
                uint64_t start = by_offset ? s->p_offset : s->p_vaddr;

                if (s->p_type == PT_LOAD && at >= start && at - start < s->p_filesz &&
                                size <= s->p_filesz - (at - start))
                        return s;
        }
        return NULL;
}

const Elf64_Phdr *inspect_find_offset(const InspectFile *file, uint64_t at, uint64_t size) {
        return inspect_file_find(file, at, size, true);
}

const Elf64_Phdr *inspect_find_address(const InspectFile *file, uint64_t at, uint64_t size) {
        return inspect_file_find(file, at, size, false);
}

int inspect_get_section(InspectFile *file, uint32_t index, Elf64_Shdr *ret) {
        const Elf64_Ehdr *header = &file->header;
        Elf32_Shdr h;

        if (index >= header->e_shnum || index >= INSPECT_SECTIONS_MAX ||
                        header->e_shoff > file->size ||
                        header->e_shentsize != (file->is_64 ? sizeof(*ret) : sizeof(h)))
                return -EBADMSG;
        uint64_t at = header->e_shoff + (uint64_t)index * header->e_shentsize;
        if (file->is_64)
                return inspect_read(file, at, ret, sizeof(*ret));
        int r = inspect_read(file, at, &h, sizeof(h));
        *ret = (Elf64_Shdr){
                .sh_name = h.sh_name,
                .sh_type = h.sh_type,
                .sh_addr = h.sh_addr,
                .sh_offset = h.sh_offset,
                .sh_size = h.sh_size,
                .sh_link = h.sh_link,
                .sh_entsize = h.sh_entsize,
        };
        return r;
}

/* Loads the sections' names. A NUL follows the last one. */
static int load_names(InspectFile *file, char **ret, size_t *ret_size) {
        Elf64_Shdr names;
        uint8_t *data;

        int r = inspect_get_section(file, file->header.e_shstrndx, &names);
        r = r ?: names.sh_size == 0 ? -EBADMSG : 0;
        r = r ?: inspect_load(file, names.sh_offset, names.sh_size, INSPECT_NAMES_MAX, &data);
        if (r < 0)
                return r;
        data[names.sh_size - 1] = '\0';
        *ret = (char *)data;
        *ret_size = names.sh_size;
        return 0;
}

int inspect_find_section(InspectFile *file, const char *name, uint32_t type, Elf64_Shdr *ret) {
        _cleanup_free_ char *names = NULL;
        size_t size = 0;
        int r = 0;

        if (file->header.e_shnum == 0)
                return -ENOENT;
        if (name)
                r = load_names(file, &names, &size);
        for (uint32_t i = 0; r == 0 && i < MIN_OF(file->header.e_shnum, INSPECT_SECTIONS_MAX);
                        i++) {
                Elf64_Shdr section;

                r = inspect_get_section(file, i, &section);
                if (r < 0)
                        break;
                bool is_it = name ? section.sh_name < size && strcmp(names + section.sh_name,
                                                                              name) == 0
                                  : section.sh_type == type;
                if (is_it && section.sh_type != SHT_NOBITS) {
                        *ret = section;
                        return 0;
                }
        }
        return r ?: -ENOENT;
}
