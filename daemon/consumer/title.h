/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What ps and systemd-cgls show of this process. */

/* Once, of main's; the arguments are not read any more when title_set() is called. */
void title_init(int argc, char **argv);
/* Cut to the room that the arguments had. */
void title_set(const char *text);
/* "ktrace-consumer: ID" of a stream's metadata; nothing where it has no id. */
void title_set_session(const char *metadata);
