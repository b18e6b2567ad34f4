/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probes/inspection.h"

/* The file that a probe of a program stands in, pinned for as long as the probe lives. */
struct ProbeFile {
        Inspected *inspected;
        char *path;   /* as it was when it was looked into */
        char *name;   /* by which the kernel finds it, and lists it: in the state directory */
        bool is_ours; /* that path is the machine's own, not that of somebody's mount namespace */
};

ProbeFile *probe_file_free(ProbeFile *file);
DEFINE_CLEANUP(ProbeFile, probe_file_free);
/* The request owns it from now on. NULL is fine. */
void probe_file_give(ProbeFile *file, Request *request);

/* Takes what was found. dir: the state directory. path: where a daemon before this one has had it;
 * NULL: it was found just now. KT_E_FAILED: it is deleted, or it is another one than was had, or
 * not as it was when it was looked into. KT_E_ACCESS_DENIED: of a user's it cannot be told where it
 * lies. */
int probe_file_new(Inspected *inspected,
                uid_t uid,
                const char *dir,
                const char *path,
                ProbeFile **ret,
                Reason *reason);
/* The uid's, and nobody else may write to it. */
bool probe_file_is_own(const ProbeFile *file, uid_t uid);
/* The same inode. */
bool probe_file_is_same(const ProbeFile *a, const ProbeFile *b);
/* Another one has taken its name, or none has it any more. */
bool probe_file_is_gone(const ProbeFile *file);
/* It has been written to since it was looked into: nobody knows any more what lies at the probe's
 * places. Its name may change, and whose file it is can hide it: they could change the program. */
bool probe_file_is_changed(const ProbeFile *file);
/* Worker thread: its name leads to it while the kernel looks for it; not any more. */
int probe_file_show(const ProbeFile *file);
void probe_file_hide(const ProbeFile *file);
