/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `record` says when its program has ended. */
#ifndef CTL_REPORT_H
#define CTL_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The hottest functions and paths of the windows since since_ns. Troubles are said. */
void report_print(FILE *out, const char *db, int64_t since_ns, bool json);

#endif
