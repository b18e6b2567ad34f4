/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "consumer/count-table.h"
#include "interfaces/json.h"

/* The command names of tasks, each from a time on. */
typedef struct CommandNames CommandNames;

/* list: {"id", "format"} of sched:sched_process_fork and task:task_rename. -EBADMSG, -ENOMEM. */
int command_names_new(json_object *list, CommandNames **ret);
CommandNames *command_names_free(CommandNames *names);
DEFINE_CLEANUP(CommandNames, command_names_free);
/* Do records of this event give names? */
bool command_names_has_event(const CommandNames *names, uint16_t id);
/* Takes the name that a record of such an event gives. In any order of time. -ENOMEM. */
int command_names_note(CommandNames *names, const uint8_t *record, size_t size, uint64_t nsec);
/* A name that the daemon has verified. comm: terminated. -ENOMEM. */
int command_names_add(CommandNames *names, uint32_t tid, uint64_t nsec, const char *comm);
/* The name that the task had then; "<...>": not known, as the kernel writes it. */
void command_names_find(const CommandNames *names,
                uint32_t tid,
                uint64_t nsec,
                char ret[static COUNT_NAME_SIZE]);
/* No name of an earlier time is asked for. */
void command_names_forget(CommandNames *names, uint64_t before);
