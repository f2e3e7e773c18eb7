/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The findings of `untested`, and the forms in which they are printed. One thread.
 */
#ifndef CTL_UNTESTED_REPORT_H
#define CTL_UNTESTED_REPORT_H

#include "../ctl.h"
#include "../view/measure.h"
#include "untested.h"

struct untested_report {
	const struct ctl_options *options;
	struct pathprof_store *store;
	struct symbols *symbols;
	struct tested tested;
	struct pathprof_filter filter;
	struct measure measure;
	struct untested *untested;
};

/* The departure's share of all that runs in the binaries compared. */
double untested_report_share(const struct untested_report *report,
			     const struct untested_departure *d);
const struct symbol *untested_report_function(const struct untested_report *report,
					      const struct untested_departure *d);
/* The source line of a departure. -ENOENT: not known. *ret_file is the code's. */
int untested_report_line(const struct untested_report *report, const struct untested_departure *d,
			 const char **ret_file, int *ret_line);
/* How many of so many rows are shown: as the user says, else 20 in text, all in JSON and SARIF. */
size_t untested_limit(const struct untested_report *report, size_t cnt);
/* Two lines of text: how much was tested, and how much ran. */
void untested_print_sets(const struct untested_report *report);

/*
 * SARIF 2.1.0 (OASIS) on standard output: a result a departure. Its fingerprint is made of the
 * function's name and shape, the block and the direction (pathprof/match.h), so a finding is the
 * same one after a build that moved lines. CTL_OK, or said.
 */
int untested_sarif(const struct untested_report *report);
/*
 * A tracefile of LCOV on standard output: the lines and branches that the selection ran, each with
 * 1 where tests ran it and 0 where they did not. The unit is the path. CTL_OK, or said.
 */
int untested_lcov(const struct untested_report *report);
/*
 * Functions with units that tests ran and the selection did not, text or JSON: those with most of
 * them first. CTL_OK, or said.
 */
int untested_unused(const struct untested_report *report);

#endif
