/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report at the end of an import. */
#ifndef CTL_IMPORT_REPORT_H
#define CTL_IMPORT_REPORT_H

#include <stdio.h>

#include "pathprof/import.h"

/* A table for people, or one JSON object. Without a window nothing was written to db, nor is it
 * named. */
void import_report(const struct pathprof_import *import,
		   const struct pathprof_recording_stats *recording, const char *db, bool json,
		   FILE *out);
/* Files whose code was not at hand, and those taken by their name: on standard error. */
void import_report_files(const struct pathprof_import *import);

#endif
