/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Probes in programs and libraries, for tasks that need no daemon: lists the markers of a file, and
 * finds the place of a symbol or source line in it, also to define a probe there. This is only for
 * the user's convenience: the daemon does not trust the results. Called by probes.c. The child of
 * elf-reader.c reads the files. */

#include "verbs/probes-user.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "interfaces/quote.h"
#include "program/elf-code.h"
#include "program/elf-place.h"
#include "program/elf-reader.h"
#include "program/elf-usdt.h"
#include "terminal/message.h"
#include "terminal/table.h"

static const char *probes_user_get_text(json_object *object, const char *key) {
        return json_object_get_string(json_object_object_get(object, key)) ?: "";
}

static uint64_t probes_user_get_number(json_object *object, const char *key) {
        return json_object_get_uint64(json_object_object_get(object, key));
}

/* Users read addresses in hexadecimal. */
static int show_hexadecimal(json_object *object, const char *key) {
        char text[24];

        if (!json_object_object_get(object, key))
                return 0;
        (void)snprintf(text, sizeof(text), "%#" PRIx64, probes_user_get_number(object, key));
        return elf_put(object, key, json_object_new_string(text));
}

/* list --usdt */

static int make_markers_readable(json_object *list) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < json_object_array_length(list); i++) {
                json_object *marker = json_object_array_get_idx(list, i);
                bool has_semaphore = probes_user_get_number(marker, "semaphore") != 0;

                r = show_hexadecimal(marker, "offset");
                r = r
                                    ?: elf_put(marker,
                                                       "semaphore",
                                                       json_object_new_string(
                                                                       has_semaphore ? "yes"
                                                                                     : "no"));
        }
        return r;
}

int probes_user_list(const Context *context, const char *file) {
        static const TableColumn columns[] = {
                { "provider", "PROVIDER", false },
                { "name", "NAME", false },
                { "offset", "OFFSET", true },
                { "semaphore", "SEMAPHORE", false },
                { "args", "ARGUMENTS", false },
                { "file", "FILE", false },
        };
        _cleanup_json_ json_object *list = NULL;
        Reason reason = {};

        int r = elf_read(elf_read_usdt, file, &list, &reason);
        if (r == 0 && context->json == JSON_OFF)
                r = make_markers_readable(list);
        if (r != 0)
                return message_fail(r, &reason);
        table_print(context, list, columns, ELEMENTSOF(columns), "marker");
        return KT_EXIT_OK;
}

/* resolve */

/* Makes "main+4" or "ns::f(int) (_ZN2ns1fEi)". */
static int make_title(json_object *place) {
        const char *symbol = probes_user_get_text(place, "symbol"),
                   *name = probes_user_get_text(place, "name");
        uint64_t into = probes_user_get_number(place, "into");
        _cleanup_free_ char *text = NULL;
        char behind[24] = "";

        if (!*symbol)
                return 0;
        if (into > 0)
                (void)snprintf(behind, sizeof(behind), "+%#" PRIx64, into);
        int n = *name ? asprintf(&text, "%s%s (%s)", name, behind, symbol)
                      : asprintf(&text, "%s%s", symbol, behind);
        if (n < 0) {
                text = NULL;
                return -ENOMEM;
        }
        return elf_put(place, "symbol", json_object_new_string(text));
}

static int make_place_readable(json_object *place) {
        const char *source = probes_user_get_text(place, "source");
        _cleanup_free_ char *text = NULL;
        int r = make_title(place);

        if (r == 0 && *source) {
                if (asprintf(&text, "%s:%" PRIu64, source, probes_user_get_number(place, "line")) <
                                0) {
                        text = NULL;
                        return -ENOMEM;
                }
                r = elf_put(place, "source", json_object_new_string(text));
        }
        r = r ?: show_hexadecimal(place, "function");
        r = r ?: show_hexadecimal(place, "offset");
        return r ?: show_hexadecimal(place, "address");
}

static int print_places(json_object *list) {
        static const TableColumn columns[] = {
                { "symbol", "Symbol", false },
                { "offset", "Offset in the file", false },
                { "address", "Address as linked", false },
                { "function", "Function from", false },
                { "size", "Size", false },
                { "source", "Source", false },
                { "note", "Note", false },
        };
        int r = 0;

        for (size_t i = 0; r == 0 && i < json_object_array_length(list); i++) {
                json_object *place = json_object_array_get_idx(list, i);

                r = make_place_readable(place);
                if (r == 0) {
                        printf("%s", i > 0 ? "\n" : "");
                        table_print_object(place, columns, ELEMENTSOF(columns));
                }
        }
        return r;
}

int probes_user_resolve(const Context *context, const char *text) {
        _cleanup_json_ json_object *list = NULL;
        ElfPlace place = {};
        Reason reason = {};

        int r = elf_place_parse(text, &place, &reason);
        if (r == 0 && place.marker)
                r = reason_set(&reason,
                                KT_E_INVALID_SPEC,
                                "%s: a marker: 'ktracectl probes list --usdt %.200s' shows "
                                "where it is",
                                quote(text).text,
                                place.file);
        r = r ?: elf_read(elf_read_place, &place, &list, &reason);
        elf_place_clear(&place);
        if (r == 0 && context->json != JSON_OFF)
                table_print_json(context, list);
        else if (r == 0)
                r = print_places(list);
        return r == 0 ? KT_EXIT_OK : message_fail(r, &reason);
}

/* add */

static int refuse_several(const char *text, json_object *list, Reason *reason) {
        char offsets[160] = "";

        for (size_t i = 0; i < json_object_array_length(list); i++) {
                size_t used = strlen(offsets);

                (void)snprintf(offsets + used,
                                sizeof(offsets) - used,
                                " %#" PRIx64,
                                probes_user_get_number(
                                                json_object_array_get_idx(list, i), "offset"));
        }
        return reason_set(reason,
                        KT_E_INVALID_SPEC,
                        "%s: at %zu places; choose one, as FILE:0xOFFSET:%s",
                        quote(text).text,
                        json_object_array_length(list),
                        offsets);
}

static int probes_user_find_offset(const char *text,
                const ElfPlace *place,
                uint64_t *ret,
                Reason *reason) {
        _cleanup_json_ json_object *list = NULL;

        int r = elf_read(elf_read_place, place, &list, reason);
        if (r != 0)
                return r;
        if (json_object_array_length(list) != 1)
                return refuse_several(text, list, reason);
        *ret = probes_user_get_number(json_object_array_get_idx(list, 0), "offset");
        return 0;
}

static int make_on(const char *text, const ElfPlace *place, char **ret, Reason *reason) {
        _cleanup_free_ char *path = realpath(place->file, NULL);
        uint64_t offset = 0;

        if (!path)
                return reason_set(reason,
                                KT_E_FAILED,
                                "%s: %s",
                                quote(place->file).text,
                                strerror(errno));
        int r = place->marker ? 0 : probes_user_find_offset(text, place, &offset, reason);
        if (r != 0)
                return r;
        int n = place->marker ? asprintf(ret, "%s:%s", path, place->marker)
                              : asprintf(ret, "%s:%#" PRIx64, path, offset);
        if (n < 0) {
                *ret = NULL;
                return -ENOMEM;
        }
        return 0;
}

int probes_user_place(const char *text, char **ret_on, int *ret_file, Reason *reason) {
        ElfPlace place = {};

        int r = elf_place_parse(text, &place, reason);
        r = r ?: make_on(text, &place, ret_on, reason);
        if (r == 0) {
                /* Without O_NONBLOCK, opening a FIFO that has no writer would block. */
                *ret_file = open(place.file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
                if (*ret_file < 0)
                        r = reason_set(reason,
                                        KT_E_FAILED,
                                        "%s: %s",
                                        quote(place.file).text,
                                        strerror(errno));
        }
        elf_place_clear(&place);
        return r;
}
