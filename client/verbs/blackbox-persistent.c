/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The part of the black box that survives a crash or a reset of the machine: a second instance, in
 * memory that the kernel reserves at boot (Linux 6.12). Used by blackbox.c.
 *
 * It is not the instance that `last` reads. Reading a ring takes the records out of it, and such an
 * instance has no second buffer. So each `last` of a user would take from root what root needs
 * after a crash. The kernel records into it from when ktraced has collected the records of the last
 * boot (boot/boot-trace.c in the daemon), until the machine ends. Only root gets these. */

#include "verbs/blackbox-persistent.h"

#include <errno.h>
#include <string.h>

#include "interfaces/names.h"
#include "interfaces/spec-json.h"
#include "spec/bootconfig-kernel.h"
#include "spec/bootconfig-line.h"

/* A command line cannot choose another clock for an instance. */
#define CLOCK_NAME "local"

/* The words say how large the memory is, and the kernel divides it. */
static int blackbox_persistent_make_spec(json_object *preset, Spec **ret, Reason *reason) {
        _cleanup_json_ json_object *object = NULL;
        _cleanup_spec_ Spec *spec = spec_new();

        if (!spec || json_object_deep_copy(preset, &object, NULL) < 0)
                return -ENOMEM;
        json_object_object_del(object, "buffer-kb");
        int r = spec_json_put(object, "name", json_object_new_string(KT_BLACK_BOX));
        r = r ?: spec_json_put(object, "clock", json_object_new_string(CLOCK_NAME));
        r = r ?: spec_from_json(spec, object, reason);
        r = r ?: spec_complete(spec, reason);
        if (r == 0)
                *ret = TAKE_PTR(spec);
        return r;
}

/* The mark covers the other words. */
static bool blackbox_persistent_is_booted(const char *words) {
        const char *mark = strstr(words, BOOT_MARK "=");
        char text[BOOT_NAME_MAX + BOOT_HASH_DIGITS + 2] = "";

        if (!mark)
                return false;
        mark += strlen(BOOT_MARK "=");
        size_t length = strcspn(mark, " '\"\n");
        memcpy(text, mark, MIN_OF(length, sizeof(text) - 1));
        return boot_has_mark(text);
}

int blackbox_persistent_make(json_object *preset,
                const char *size,
                char **ret,
                bool *ret_is_booted,
                Reason *reason) {
        const BootLineOptions wanted = { .persistent = size };
        _cleanup_spec_ Spec *spec = NULL;
        _cleanup_free_ char *words = NULL;
        BootKernel kernel = {};
        BootForm form = BOOT_ANY;

        int r = blackbox_persistent_make_spec(preset, &spec, reason);
        r = r ?: boot_kernel_find(NULL, &kernel, reason);
        r = r ?: boot_make(spec, &kernel, &wanted, &form, &words, reason);
        r = r ?: boot_check_size(words, &kernel, reason);
        if (r != 0)
                return r;
        *ret_is_booted = blackbox_persistent_is_booted(words);
        *ret = TAKE_PTR(words);
        return 0;
}

bool blackbox_persistent_is_on(void) {
        return boot_has_mark(KT_BLACK_BOX);
}
