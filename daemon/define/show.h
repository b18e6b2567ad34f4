/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "define/compile.h"

/* Makes a format's text with a last line that shows values as their types require. */
int probe_form_show(const ProbeForm *form, const char *format, char **ret);
