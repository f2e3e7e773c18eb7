/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of everything that is selected, folded or for pprof, whatever binaries it is in, the
 * kernel and generated code included: the input of a flame graph of a program or a machine.
 *
 *     prog;_start;main;inflate 1234     callers known: the outermost one's binary first
 *     libz.so.1;inflate 56              callers not known: the function's own binary first
 *     [kernel];tcp_sendmsg 78
 *
 * The numbers are nanoseconds of CPU time and add up, function by function, to TIME of `top`; or
 * instructions that ran, where no clock did or `runs` asks for them. Functions are whole: what was
 * inlined is told by the export of one binary, which reads its debug information.
 */
#ifndef CTL_EXPORT_STACKS_H
#define CTL_EXPORT_STACKS_H

#include <stdbool.h>
#include <stdio.h>

#include "../view/view.h"
#include "pathprof/export.h"

/*
 * Reads what query's filter selects. *ret_figure, as pathprof_export_figure() has it: "runs" where
 * programs counted themselves. -errno, error filled; -ENODATA, error "": nothing was seen.
 */
int export_stacks(struct view_query *query, enum pathprof_format format, bool runs, FILE *out,
		  const char **ret_figure, struct pathprof_error *error);

#endif
