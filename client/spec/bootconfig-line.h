/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "spec/bootconfig.h"

/* ret_form: the form that was chosen for BOOT_ANY; may be NULL. ret_text: one line, or the lines
 * of a bootconfig file. */
int boot_make(const Spec *spec,
                const BootKernel *kernel,
                const BootLineOptions *wanted,
                BootForm *ret_form,
                char **ret_text,
                Reason *reason);
