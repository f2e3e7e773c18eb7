/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an import says at its end: a table for people, or one JSON object. Workload: once. */
#ifndef PP_IMPORT_REPORT_H
#define PP_IMPORT_REPORT_H

#include <stdio.h>

#include "import.h"

void pp_import_report(const struct pp_import *import,
		      const struct pathprof_recording_stats *recording, const char *db, bool json,
		      FILE *out);
/* Files whose code was not at hand, and those taken by their name: on standard error. */
void pp_import_report_files(const struct pp_import *import);

#endif
