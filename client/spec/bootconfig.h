/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "interfaces/boot-mark.h"
#include "interfaces/spec.h"

/* Shared by the files of `ktracectl bootconfig`. */

/* The kernel that will be booted. */
typedef struct BootKernel {
        unsigned major, minor;
        bool has_config; /* its build configuration is known */
        bool has_events, has_kprobes, has_bootconfig;
        bool has_instances;  /* trace_instance=, since 6.3 */
        bool has_persistent; /* its memory can survive a reboot, since 6.12 */
        bool is_running;
        char source[160]; /* source of these facts, for messages */
} BootKernel;

typedef enum BootForm {
        BOOT_ANY,      /* the best form that kernel and spec allow */
        BOOT_TOP,      /* words; the kernel's own buffer */
        BOOT_INSTANCE, /* words; trace_instance= */
        BOOT_CONFIG,   /* a bootconfig file, for tools/bootconfig */
} BootForm;

typedef struct BootLineOptions {
        BootForm form;
        bool dump_on_oops;
        const char *persistent; /* memory that survives a reboot, "12M"; NULL: none */
        const char *lib_dir, *config_dir;
} BootLineOptions;
