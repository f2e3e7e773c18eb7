/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line: one table of options, of which each verb accepts its part. Globals may stand
 * before or after the verb. Strings belong to argv.
 */
#ifndef CTL_OPTIONS_H
#define CTL_OPTIONS_H

#include <limits.h>
#include <stdio.h>

#include "ctl.h"

void ctl_options_init(struct ctl_options *options);
/* The binary that a user names: a relative path (one with a slash) is made absolute, anything else
 * stays. */
const char *ctl_binary_given(const char *which, char path[static PATH_MAX]);
/*
 * Parses argv[1..] with the globals and what `accepts` names; operands are left in options. With
 * only_globals it stops at the first operand. Returns CTL_OK or CTL_USAGE, said.
 */
int ctl_options_parse(struct ctl_options *options, int argc, char **argv, unsigned int accepts,
		      bool only_globals);
/* The lines of help for the globals (accepts 0) or for what a verb accepts besides. */
void ctl_options_help(FILE *out, unsigned int accepts);

#endif
