/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A directory on disk that tracefs_open takes for a tracefs: for what opens and lists. What has to
 * behave like a kernel is in fake-kernel.h. */

/* The path, g_free it; has the marker and an empty instances directory. */
char *fake_tree_new(void);
void fake_tree_write(const char *tree, const char *path, const char *text);
void fake_tree_remove(const char *tree);
