/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The file of a program or library, read by libelf: its type, and the file offset of a loaded
 * address. Called by the readers of markers, symbols and lines, only inside elf-reader.c's child:
 * the file may be hostile, and libraries that read such files have bugs.
 *
 * The file is read, not mapped: if another program truncated a mapped file, SIGBUS would kill
 * us. */

#include "program/elf-image.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "interfaces/utf8.h"

#ifdef __x86_64__
#define MACHINE    EM_X86_64
#define MACHINE_32 EM_386
#elif defined(__aarch64__)
#define MACHINE    EM_AARCH64
#define MACHINE_32 EM_ARM
#else
#error "uprobes of this machine are not known"
#endif

#define SEGMENTS_MAX 4096

static int elf_image_refuse(const char *path, const char *why, Reason *reason) {
        return reason_set(reason, KT_E_FAILED, "%.300s: %s", path, why);
}

static int elf_image_open_file(const char *path, int *ret, Reason *reason) {
        struct stat status;
        /* O_NONBLOCK: opening a FIFO would wait for its writer. */
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

        if (fd < 0)
                return elf_image_refuse(path, strerror(errno), reason);
        if (fstat(fd, &status) < 0)
                return -errno;
        if (!S_ISREG(status.st_mode))
                return elf_image_refuse(path, "is not a regular file", reason);
        *ret = TAKE_FD(fd);
        return 0;
}

static int elf_image_check_header(ElfImage *image, const char *path, Reason *reason) {
        unsigned char order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;

        if (!image->elf || elf_kind(image->elf) != ELF_K_ELF ||
                        !gelf_getehdr(image->elf, &image->header))
                return elf_image_refuse(path, "is not a program or library (ELF)", reason);
        image->is_64 = image->header.e_ident[EI_CLASS] == ELFCLASS64;
        if (image->header.e_ident[EI_DATA] != order ||
                        image->header.e_machine != (image->is_64 ? MACHINE : MACHINE_32))
                return elf_image_refuse(path, "is for another machine", reason);
        if (image->header.e_type != ET_EXEC && image->header.e_type != ET_DYN)
                return elf_image_refuse(path, "is neither a program nor a library", reason);
        if (elf_getphdrnum(image->elf, &image->n_segments) < 0 || image->n_segments > SEGMENTS_MAX)
                return elf_image_refuse(path, "is damaged: its program headers", reason);
        return 0;
}

int elf_image_open(const char *path, ElfImage **ret, Reason *reason) {
        _cleanup_(elf_image_free_cleanup) ElfImage *image = calloc(1, sizeof(*image));

        if (!image)
                return -ENOMEM;
        image->fd = -1;
        (void)elf_version(EV_CURRENT);
        int r = elf_image_open_file(path, &image->fd, reason);
        if (r != 0)
                return r;
        image->elf = elf_begin(image->fd, ELF_C_READ, NULL);
        r = elf_image_check_header(image, path, reason);
        if (r == 0)
                *ret = TAKE_PTR(image);
        return r;
}

ElfImage *elf_image_free(ElfImage *image) {
        if (!image)
                return NULL;
        (void)elf_end(image->elf);
        close_cleanup(&image->fd);
        free(image);
        return NULL;
}

/* Finds the loaded segment with this address, or with this file offset (by_offset). */
static bool find_segment(const ElfImage *image, uint64_t at, bool by_offset, GElf_Phdr *ret) {
        for (size_t i = 0; i < image->n_segments; i++) {
                GElf_Phdr header;

                if (!gelf_getphdr(image->elf, (int)i, &header) || header.p_type != PT_LOAD)
                        continue;
                uint64_t start = by_offset ? header.p_offset : header.p_vaddr;
                if (at >= start && at - start < header.p_filesz) {
                        *ret = header;
                        return true;
                }
        }
        return false;
}

bool elf_image_get_offset(const ElfImage *image,
                uint64_t address,
                uint64_t *ret,
                bool *ret_is_code) {
        GElf_Phdr header;

        if (!find_segment(image, address, false, &header))
                return false;
        *ret = address - header.p_vaddr + header.p_offset;
        *ret_is_code = header.p_flags & PF_X;
        return true;
}

bool elf_image_get_address(const ElfImage *image,
                uint64_t offset,
                uint64_t *ret,
                bool *ret_is_code) {
        GElf_Phdr header;

        if (!find_segment(image, offset, true, &header))
                return false;
        *ret = offset - header.p_offset + header.p_vaddr;
        *ret_is_code = header.p_flags & PF_X;
        return true;
}

bool elf_image_find_section(const ElfImage *image,
                const char *name,
                GElf_Shdr *ret_header,
                Elf_Data **ret_data) {
        Elf_Scn *section = NULL;
        size_t names;

        if (elf_getshdrstrndx(image->elf, &names) < 0)
                return false;
        while ((section = elf_nextscn(image->elf, section))) {
                const char *found;

                if (!gelf_getshdr(section, ret_header))
                        continue;
                found = elf_strptr(image->elf, names, ret_header->sh_name);
                if (found && strcmp(found, name) == 0) {
                        *ret_data = elf_rawdata(section, NULL);
                        return *ret_data != NULL;
                }
        }
        return false;
}

json_object *elf_text(const char *text, size_t max) {
        size_t size = strnlen(text, max);
        _cleanup_free_ char *clean = strndup(text, size);

        for (size_t i = 0, n; clean && i < size; i += n) {
                n = utf8_length(clean + i, size - i);
                unsigned char c = (unsigned char)clean[i];
                bool is_control = c < 0x20 || c == 0x7f ||
                                  (c == 0xc2 && n == 2 && (unsigned char)clean[i + 1] < 0xa0);
                if (n == 0 || is_control)
                        memset(clean + i, '?', n = n ?: 1);
        }
        return clean ? json_object_new_string(clean) : NULL;
}

int elf_put(json_object *object, const char *key, json_object *value) {
        if (value && json_object_object_add(object, key, value) == 0)
                return 0;
        json_object_put(value);
        return -ENOMEM;
}
