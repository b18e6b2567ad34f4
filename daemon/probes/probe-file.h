/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "probes/inspection.h"

/* The file of a probe in a program. It is pinned for as long as the probe exists. */
struct ProbeFile {
        Inspected *inspected;
        char *path;   /* at the time of the inspection */
        char *name;   /* the name for the kernel, in the state directory */
        bool is_ours; /* the path is in the host's mount namespace */
};

ProbeFile *probe_file_free(ProbeFile *file);
DEFINE_CLEANUP(ProbeFile, probe_file_free);
/* The request owns the file from now on. file may be NULL. */
void probe_file_give(ProbeFile *file, Request *request);

/* Consumes inspected. dir: the state directory. path: the path that an earlier daemon has stored;
 * NULL if the file was inspected just now. KT_E_FAILED: the file is deleted, is another file than
 * the stored one, or has changed since the inspection. KT_E_ACCESS_DENIED: the location of a user's
 * file is unknown. */
int probe_file_new(Inspected *inspected,
                uid_t uid,
                const char *dir,
                const char *path,
                ProbeFile **ret,
                Reason *reason);
/* Returns whether the uid owns the file and is the only one who may write to it. */
bool probe_file_is_own(const ProbeFile *file, uid_t uid);
/* Returns whether both are the same inode. */
bool probe_file_is_same(const ProbeFile *a, const ProbeFile *b);
/* Returns whether the name of the file was removed or now names another file. */
bool probe_file_is_gone(const ProbeFile *file);
/* Returns whether the file was written to after the inspection. The content at the probe's places
 * is then unknown. The file's name may change. The owner of the file can hide a write, but the
 * owner may change the program anyway. */
bool probe_file_is_changed(const ProbeFile *file);
/* Worker thread: creates the link to the file for the kernel, and removes it. */
int probe_file_show(const ProbeFile *file);
void probe_file_hide(const ProbeFile *file);
