/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Markers (USDT) as sys/sdt.h writes them. That header is of another package. */
#pragma once

/* clang-format off */
#ifdef __LP64__
#define ADDRESS ".8byte "
#else
#define ADDRESS ".4byte "
#endif

#define MARKER(provider, name, semaphore, args, ...)                                        \
        __asm__ volatile("990:\tnop\n"                                                      \
                         "\t.pushsection .note.stapsdt,\"\",\"note\"\n"                     \
                         "\t.balign 4\n\t.4byte 992f-991f, 994f-993f, 3\n"                  \
                         "991:\t.asciz \"stapsdt\"\n"                                       \
                         "992:\t.balign 4\n"                                                \
                         "993:\t" ADDRESS "990b\n\t" ADDRESS "_.stapsdt.base\n\t"           \
                         ADDRESS semaphore "\n"                                             \
                         "\t.asciz \"" provider "\"\n\t.asciz \"" name "\"\n"               \
                         "\t.asciz \"" args "\"\n"                                          \
                         "994:\t.balign 4\n\t.popsection\n"                                 \
                         "\t.ifndef _.stapsdt.base\n"                                       \
                         "\t.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
                         "\t.weak _.stapsdt.base\n\t.hidden _.stapsdt.base\n"               \
                         "_.stapsdt.base:\t.space 1\n\t.size _.stapsdt.base, 1\n"           \
                         "\t.popsection\n\t.endif\n" ::__VA_ARGS__)
/* clang-format on */
