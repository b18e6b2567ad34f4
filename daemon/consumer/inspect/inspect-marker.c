/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds the places of a marker (USDT, sys/sdt.h) in a program's file, with its arguments and its
 * counter of listeners. The kernel increments that counter in the memory of each process that runs
 * the file. So its address comes only from the file's notes, and must be data. inspector.c calls
 * this in the sandbox. */

#include "consumer/inspect/inspect-marker.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "consumer/inspect/inspect.h"
#include "interfaces/usdt.h"
#include "interfaces/user-args.h"

/* The results for one name. */
typedef struct Search {
        InspectFile *file;
        const char *name;
        uint64_t base; /* current address of USDT_BASE_SECTION; 0: none */
        UserPlace *places;
        size_t n_places;
} Search;

/* A library that was moved after linking (prelink) records the difference. */
static uint64_t inspect_marker_get_moved(const Search *search,
                const UsdtNote *note,
                uint64_t address) {
        uint64_t moved = search->base && note->base ? search->base - note->base : 0;

        return search->file->is_64 ? address + moved : (address + moved) & UINT32_MAX;
}

/* Checks that the address is data of the file in a writable segment. */
static int find_semaphore(const InspectFile *file, uint64_t address, uint64_t *ret) {
        const Elf64_Phdr *segment = inspect_find_address(file, address, sizeof(uint16_t));

        if (!segment || !(segment->p_flags & PF_W) || (segment->p_flags & PF_X) || address % 2 != 0)
                return -EBADMSG;
        *ret = address - segment->p_vaddr + segment->p_offset;
        return 0;
}

static int inspect_marker_find_place(const Search *search,
                const UsdtNote *note,
                uint64_t *ret_offset) {
        uint64_t address = inspect_marker_get_moved(search, note, note->location);
        const Elf64_Phdr *segment = inspect_find_address(search->file, address, 1);

        if (!segment)
                return -EBADMSG;
        *ret_offset = address - segment->p_vaddr + segment->p_offset;
        return 0;
}

static int inspect_marker_describe(const Search *search,
                const UsdtNote *note,
                uint64_t offset,
                UserPlace *place,
                Reason *reason) {
        size_t n_args = 0;

        int r = inspect_offset(search->file, offset, place, reason);
        if (r == 0 && note->semaphore != 0)
                r = find_semaphore(search->file,
                                inspect_marker_get_moved(search, note, note->semaphore),
                                &place->semaphore);
        r = r ?: user_args_parse(note->args, search->file->is_arm, place->args, &n_args);
        place->n_args = (uint32_t)n_args;
        return r;
}

static bool inspect_marker_is_known(const Search *search, uint64_t offset) {
        for (size_t i = 0; i < search->n_places; i++)
                if (search->places[i].offset == offset)
                        return true;
        return false;
}

static bool is_wanted(const Search *search, const UsdtNote *note) {
        size_t length = strlen(note->provider);

        return strncmp(search->name, note->provider, length) == 0 && search->name[length] == ':' &&
               strcmp(search->name + length + 1, note->name) == 0;
}

static int take_note(Search *search, const UsdtNote *note, Reason *reason) {
        uint64_t offset;

        if (!is_wanted(search, note))
                return 0;
        int r = inspect_marker_find_place(search, note, &offset);
        if (r < 0 || inspect_marker_is_known(search, offset))
                return r;
        if (search->n_places == USER_PLACES_MAX)
                return reason_set(reason,
                                KT_E_FAILED,
                                "marker %.200s lies at more than %d places",
                                search->name,
                                USER_PLACES_MAX);
        r = inspect_marker_describe(
                        search, note, offset, &search->places[search->n_places], reason);
        if (r == 0)
                search->n_places++;
        return r;
}

static int read_notes(Search *search, Reason *reason) {
        _cleanup_free_ uint8_t *notes = NULL;
        Elf64_Shdr section, base;
        size_t at = 0;
        UsdtNote note;

        int r = inspect_find_section(search->file, USDT_SECTION, 0, &section);
        r = r
                            ?: inspect_load(search->file,
                                               section.sh_offset,
                                               section.sh_size,
                                               INSPECT_NOTES_MAX,
                                               &notes);
        if (r < 0)
                return r;
        r = inspect_find_section(search->file, USDT_BASE_SECTION, 0, &base);
        if (r < 0 && r != -ENOENT)
                return r;
        search->base = r == 0 ? base.sh_addr : 0;
        r = usdt_note_next(notes, section.sh_size, search->file->is_64, &at, &note);
        while (r == 1) {
                r = take_note(search, &note, reason);
                if (r != 0)
                        return r;
                r = usdt_note_next(notes, section.sh_size, search->file->is_64, &at, &note);
        }
        return r;
}

int inspect_marker(InspectFile *file,
                const char *name,
                UserPlace places[USER_PLACES_MAX],
                size_t *ret_n,
                Reason *reason) {
        Search search = { .file = file, .name = name, .places = places };

        int r = read_notes(&search, reason);
        if (r == -EBADMSG)
                return reason_set(reason, KT_E_FAILED, "the file's markers are damaged");
        if (r == -EDQUOT)
                return reason_set(reason, KT_E_FAILED, "the file has too many markers");
        if (r != 0 && r != -ENOENT)
                return r;
        if (search.n_places == 0)
                return reason_set(reason, KT_E_FAILED, "the file has no marker %.200s", name);
        *ret_n = search.n_places;
        return 0;
}
