/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The page before and after its data, made of the files in page/. */
extern const char page_text_head[], page_text_tail[];
