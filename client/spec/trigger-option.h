/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/spec-trigger.h"

#define TRIGGER_OPTION_FORM "'EVENT [if FILTER] do ACTION [TARGET] [times N]'"

/* Adds one --trigger to the list. Fails with KT_E_INVALID_SPEC and quotes the text. */
int trigger_option_read(SpecTriggerList *list, const char *text, Reason *reason);
