/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "define/function.h"

/* A small kernel that tells these types:
 *
 *   enum color { RED = 0, GREEN = 1, BLUE = 7 };
 *   struct inner { short port; char tag[8]; };                           // 12 bytes
 *   struct device { int count; struct inner in; union { u64 whole; int part; };
 *                   u32 mode : 3; u32 rest : 5; enum color color; struct device *next;
 *                   char *label; int list[4]; s8 tiny; bool on; };
 *   int dev_open(struct device *dev, const char *path, unsigned long size, enum color color);
 *   void dev_close(struct device *dev);
 *   struct device *dev_find(int id);
 *   int dev_by_value(struct big value, int after);
 *
 * and lists these functions: dev_open, dev_close, dev_find, dev_by_value, dev_twice (two),
 * dev_quiet (no types), dev_modular in module [mod]; dev_close_all is forbidden; dev_hidden has
 * types and is not listed. Its symbols are, too: the functions dev_unlisted, dev_split and, in a
 * module, dev_modular_unlisted; variants of dev_split and of dev_optimised; dev_data. */
ProbeKernel *btf_fixture_new(void);
/* The function, or the test fails. */
ProbeFunction btf_fixture_find(ProbeKernel *kernel, const char *on);
