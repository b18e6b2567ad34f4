/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The title that ps and systemd-cgls show for this process. */

/* Called once, with main()'s arguments. They must not be read after title_set(). */
void title_init(int argc, char **argv);
/* The text is cut to the room that the arguments had. */
void title_set(const char *text);
/* Sets "ktrace-consumer: ID" from a stream's metadata. Does nothing when the metadata has no id. */
void title_set_session(const char *metadata);
