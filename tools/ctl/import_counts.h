/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pathprofctl import -F counts: what programs counted that were built with pathprof-cc, a window a
 * run, in a database of its own: exact counts and samples do not add up.
 */
#ifndef CTL_IMPORT_COUNTS_H
#define CTL_IMPORT_COUNTS_H

#include "ctl.h"

/* The word for -F. */
#define IMPORT_COUNTS "counts"

/* Reads all files of options into db. An exit status; what went wrong is said. */
int import_counts(const struct ctl_options *options, const char *db);

#endif
