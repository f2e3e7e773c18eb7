/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control-flow graph of a binary's code, from the cache of the user. A large binary takes
 * seconds the first time, and says on standard error how far it is.
 */
#ifndef CTL_GRAPHS_H
#define CTL_GRAPHS_H

#include "ctl.h"
#include "pathprof/graph.h"

/*
 * name is the binary's, for what is said meanwhile. -errno, error filled. The caller's to free with
 * pathprof_graph_free.
 */
int graphs_open(struct pathprof_graph **ret_graph, const struct ctl_options *options,
		struct pathprof_code *code, const char *name, struct pathprof_error *error);

#endif
