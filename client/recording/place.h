/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "interfaces/error.h"

typedef enum PlaceKind {
        PLACE_NEW,        /* no file has the name */
        PLACE_FILE,       /* a regular file of the caller */
        PLACE_SPECIAL,    /* a FIFO, a device or a socket; the directory is not shared */
        PLACE_DESCRIPTOR, /* a file that this process has open: /dev/stdout, /dev/fd/N */
} PlaceKind;

/* A directory and a name in it, where an output file may be written. */
typedef struct Place {
        PlaceKind kind;
        int dir_fd; /* O_PATH */
        char *name;
        char *path; /* as the user gave it, for messages */
} Place;

/* Fails with KT_E_FAILED and a reason when the caller may not write there. */
int place_find(const char *path, Place **ret, Reason *reason);
/* Whether a new file may take the name now. Another user may have used it since place_find. */
int place_check_file(const Place *place, Reason *reason);
/* Returns KT_E_FAILED and sets a reason with the path. */
int place_refuse_path(const Place *place, const char *why, Reason *reason);
Place *place_free(Place *place);
DEFINE_CLEANUP(Place, place_free);
