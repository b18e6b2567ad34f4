/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* interfaces/org.ktrace1.varlink, whole; made by the build. */
extern const char varlink_idl[];
