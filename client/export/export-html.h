/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "export/exporter.h"

extern const Exporter html_exporter;
