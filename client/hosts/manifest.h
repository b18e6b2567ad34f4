/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "interfaces/cleanup.h"
#include "interfaces/error.h"
#include "remote/clock-track.h"

#define MANIFEST_VERSION 1
#define MANIFEST_FILE    "manifest.json"

/* One machine of a recording of several. */
typedef struct ManifestMachine {
        char *host;
        char *file;    /* in the directory; NULL: it has none */
        char *state;   /* "complete", "cut" or "failed" */
        char *message; /* why it is cut or failed; NULL: nothing was said */
        int status;    /* -1: none */
        uint64_t n_events, n_lost;
        int64_t started; /* here; 0: it did not start */
        ClockTrack clock;
} ManifestMachine;

/* What the file manifest.json of a recording of several machines says, see ktracectl(1). */
typedef struct Manifest {
        int64_t realtime_offset; /* CLOCK_REALTIME here minus "here", see clock-track.h */
        int64_t start, end;      /* here; 0: not yet */
        ManifestMachine *machines;
        size_t n_machines;
} Manifest;

/* directory_path: of the recording. Replaces an older manifest there. Returns 0, -errno or
 * KT_E_FAILED with a reason. */
int manifest_write(const Manifest *manifest, const char *directory_path, Reason *reason);
/* Reads text that may be hostile. name: of the file, for messages. */
int manifest_parse(const char *name, const char *text, size_t size, Manifest **ret, Reason *reason);
int manifest_read(int directory_fd, const char *directory_path, Manifest **ret, Reason *reason);
Manifest *manifest_new(size_t n_machines);
Manifest *manifest_free(Manifest *manifest);
DEFINE_CLEANUP(Manifest, manifest_free);
