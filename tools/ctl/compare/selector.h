/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The words by which compare, combine and baseline select a profile:
 *
 *     window:ID         a window of the database
 *     SINCE..UNTIL      windows of a time, as --since and --until take it; either may be left out
 *     host:NAME         the profile of one of several hosts (`pathprofctl hosts`)
 *     label:KEY=VALUE   the profile of hosts with this label; group:NAME: with the label group=NAME
 *     baseline:NAME     a baseline, see pathprofctl baseline
 *     file:PATH         a profile file, or lines KEY<TAB>COUNT
 *     BINARY@VERSION    the profile of one build: VERSION is a prefix of its build-id
 *
 * --binary, --comm, --pid, --container, --workload and --label narrow every one of them but text.
 * One thread.
 */
#ifndef CTL_SELECTOR_H
#define CTL_SELECTOR_H

#include "side.h"

/*
 * Reads what word means into *ret_side, finished. CTL_OK or an exit status, said: an empty
 * selection too. The caller releases the side.
 */
int selector_load(struct side *ret_side, const struct ctl_options *options, const char *word,
		  enum side_kind kind);

/*
 * The paths of a build that filter selects; word names the side for people. word and the filter's
 * strings outlive the side. CTL_OK or an exit status, said. The caller releases the side.
 */
int selector_load_build(struct side *ret_side, const struct ctl_options *options,
			const struct pathprof_filter *filter, const struct pathprof_build_id *id,
			const char *word);

/* DIRECTORY-OF-DATABASE/baselines, and in it NAME.baseline. NULL, after a message: an invalid name.
 * The caller frees. */
char *selector_baselines(const struct ctl_options *options);
char *selector_baseline_file(const struct ctl_options *options, const char *name);

#endif
