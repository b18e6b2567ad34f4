/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "trace/event-layout.h"
#include "trace/text-block.h"

/* Appends the name of the event for a TSDL string. */
void ctf_names_add_event(TextBlock *block, const struct tep_event *event);
/* Appends the name of a field, without the underscore in front. */
void ctf_names_add_field(TextBlock *block, const struct tep_event *event, const char *name);
/* Appends text for the inside of a TSDL string. */
void ctf_names_add_text(TextBlock *block, const char *text, size_t size);
/* Whether the field has the state of a task, and so needs ctf_names_get_state(). */
bool ctf_names_is_state(const struct tep_event *event, const EventLayoutField *field);
uint64_t ctf_names_get_state(uint64_t state);
