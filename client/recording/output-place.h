/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "interfaces/error.h"

typedef enum OutputPlaceKind {
        OUTPUT_PLACE_NEW,        /* no file has the name */
        OUTPUT_PLACE_FILE,       /* a regular file of the caller */
        OUTPUT_PLACE_DIRECTORY,  /* a directory of the caller */
        OUTPUT_PLACE_SPECIAL,    /* a FIFO, a device or a socket; the directory is not shared */
        OUTPUT_PLACE_DESCRIPTOR, /* a file that this process has open: /dev/stdout, /dev/fd/N */
} OutputPlaceKind;

/* A directory and a name in it, where an output file may be written. */
typedef struct OutputPlace {
        OutputPlaceKind kind;
        int dir_fd; /* O_PATH */
        char *name;
        char *path; /* as the user gave it, for messages */
} OutputPlace;

/* Fails with KT_E_FAILED and a reason when the caller may not write there. */
int output_place_find(const char *path, OutputPlace **ret, Reason *reason);
/* Whether a new file may take the name now. Another user may have used it since then. */
int output_place_check_file(const OutputPlace *place, Reason *reason);
/* Returns KT_E_FAILED and sets a reason with the path. */
int output_place_refuse_path(const OutputPlace *place, const char *why, Reason *reason);
OutputPlace *output_place_free(OutputPlace *place);
DEFINE_CLEANUP(OutputPlace, output_place_free);
