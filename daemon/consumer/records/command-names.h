/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/records/count-table.h"
#include "interfaces/json.h"

/* The command names of tasks, each valid from a time on. */
typedef struct CommandNames CommandNames;

/* list: {"id", "format"} of sched:sched_process_fork and task:task_rename. -EBADMSG, -ENOMEM. */
int command_names_new(json_object *list, CommandNames **ret);
CommandNames *command_names_free(CommandNames *names);
DEFINE_CLEANUP(CommandNames, command_names_free);
/* Returns whether records of this event contain names. */
bool command_names_has_event(const CommandNames *names, uint16_t id);
/* Notes the name that a record of such an event contains. Records may come in any order of time.
 * Fails with -ENOMEM. */
int command_names_note(CommandNames *names, const uint8_t *record, size_t size, uint64_t nsec);
/* Adds a name that the daemon has verified. comm: terminated. Fails with -ENOMEM. */
int command_names_add(CommandNames *names, uint32_t tid, uint64_t nsec, const char *comm);
/* Returns the name that the task had at that time. An unknown name is "<...>", and that of the
 * idle tasks is "<idle>", as in the kernel. */
void command_names_find(const CommandNames *names,
                uint32_t tid,
                uint64_t nsec,
                char ret[static COUNT_NAME_SIZE]);
/* The caller promises not to ask for names of earlier times. */
void command_names_forget(CommandNames *names, uint64_t before);
