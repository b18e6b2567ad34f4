/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "interfaces/boot-mark.h"
#include "interfaces/spec.h"

/* What the files of `ktracectl bootconfig` have of each other. */

/* The kernel that is to be booted. */
typedef struct BootKernel {
        unsigned major, minor;
        bool has_config; /* what it was built with is known */
        bool has_events, has_kprobes, has_bootconfig;
        bool has_instances;  /* trace_instance=, since 6.3 */
        bool has_persistent; /* its memory may outlive a boot, since 6.12 */
        bool is_running;
        char source[160]; /* by what that is known, for people */
} BootKernel;

/* which: a release, a file like /boot/config-…, or NULL: the one that runs. */
int boot_kernel_find(const char *which, BootKernel *ret, Reason *reason);
/* CONFIG_… lines and the version in their head. */
int boot_kernel_parse(const char *config, BootKernel *ret, Reason *reason);

typedef enum BootForm {
        BOOT_ANY,      /* what the kernel and the spec allow */
        BOOT_TOP,      /* words; the kernel's own buffer */
        BOOT_INSTANCE, /* words; trace_instance= */
        BOOT_CONFIG,   /* a bootconfig file, for tools/bootconfig */
} BootForm;

typedef struct BootWish {
        BootForm form;
        bool dump_on_oops;
        const char *persistent; /* memory that outlives a boot, "12M"; NULL: none */
        const char *lib_dir, *config_dir;
} BootWish;

/* form: NULL or what became of BOOT_ANY; text: one line, or the lines of a bootconfig file. */
int boot_make(const Spec *spec,
                const BootKernel *kernel,
                const BootWish *wish,
                BootForm *ret_form,
                char **ret_text,
                Reason *reason);

/* The probe of that name in probes.d as "p:GROUP/NAME PLACE ARG…", by a blank each. index: in the
 * spec's probes, for the reason. */
int boot_probe_find(const BootWish *wish,
                const char *name,
                size_t index,
                char **ret,
                Reason *reason);
