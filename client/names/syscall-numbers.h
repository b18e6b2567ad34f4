/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Made by make-syscalls.sh. NULL: no call has the number. */
extern const char *const syscall_numbers_x86_64[];
extern const int syscall_numbers_x86_64_n;
extern const char *const syscall_numbers_i386[];
extern const int syscall_numbers_i386_n;
extern const char *const syscall_numbers_arm64[];
extern const int syscall_numbers_arm64_n;
