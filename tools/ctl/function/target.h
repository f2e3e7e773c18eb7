/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The function that a user names, with its graph, its flow and its paths.
 *
 *     NAME  NAME+0xOFFSET  0xOFFSET  BINARY+0xOFFSET      each also with @BINARY behind it
 *
 * NAME is what pathprofctl shows, in full or not, or what the linker calls it; an offset is one in
 * the binary's file, of anything inside the function. Without a binary those of the selection are
 * asked, the one with the most samples first.
 *
 * Names are looked up in symbols, of debug files too, and not in the graph: a graph may have been
 * kept from before a debug file came.
 *
 * Ownership: a target is the caller's; its code is the symbols' of the query it was opened with,
 * but of a counted function its own. It stays where it was opened: its paths refer to its flow. One
 * thread.
 */
#ifndef CTL_TARGET_H
#define CTL_TARGET_H

#include "../view/view.h"
#include "pathprof/flow.h"
#include "pathprof/function_paths.h"
#include "pathprof/graph.h"
#include "pathprof/path_counts.h"

struct target {
	struct pathprof_build_id id;
	char *binary_name;
	struct pathprof_code *code;
	struct symbols *symbols; /* of the query */
	struct pathprof_graph *graph;
	/*
	 * The description of a function that counted its own paths (counted.h): flow and paths are
	 * the compiler's, and there is no graph. NULL: they are those of machine code.
	 */
	struct pathprof_counted *counted;
	uint32_t function; /* of the graph, or of those counted */
	struct pathprof_flow flow;
	struct pathprof_function_paths *paths;
	uint64_t path_cnt;
	uint64_t start; /* file offset; of a counted one that of its path 0 */
	char *name;     /* for people; binary+0xOFFSET without a symbol */
	char *linkage;  /* "": none */
};

/* Finds what word means; CTL_OK, or an exit status, said. */
int target_open(struct target *ret_target, struct view_query *query,
		const struct ctl_options *options, const char *word);
/* The function that a place lies in. -errno, error filled, nothing said; *ret_target is then empty.
 */
int target_open_at(struct target *ret_target, struct view_query *query,
		   const struct ctl_options *options, const struct pathprof_build_id *id,
		   const char *binary_name, uint64_t offset, struct pathprof_error *error);
void target_release(struct target *target);

/* The function of the graph that offset lies in; PATHPROF_GRAPH_NONE. */
uint32_t target_function_at(const struct target *target, uint64_t offset);
/* Restricts filter to the target's binary; hex is for its build-id and outlives the filter's use.
 */
void target_filter(const struct target *target, struct pathprof_filter *filter,
		   char hex[static PATHPROF_BUILD_ID_TEXT_LEN]);

/*
 * The Ball-Larus number of a profile's path that begins in this function. 0; 1: it runs on into
 * another function and *ret_number is that of its part here; -ENOENT: it has none.
 */
int target_number(const struct target *target, uint64_t start, uint32_t length, uint32_t outcomes,
		  uint64_t *ret_number);

#endif
