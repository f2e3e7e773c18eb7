/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that counts its paths is sound, wherever it was read from: paths are those of their
 * function, each once, and its graph has a flow or is refused.
 */
#ifndef SOUND_COUNTED_H
#define SOUND_COUNTED_H

#include "../../libprofile/src/counts/pp_counted.h"
#include "fuzz.h"
#include "pathprof/function_paths.h"

static inline void require_sound_paths(const struct pathprof_counted *counted, uint32_t function)
{
	struct pathprof_counted_path *paths;
	size_t path_cnt;

	REQUIRE(pathprof_counted_paths(counted, function, &paths, &path_cnt) == 0);
	for (size_t i = 0; i < path_cnt; i++) {
		REQUIRE(paths[i].id < counted->functions[function].path_cnt);
		REQUIRE(i == 0 || paths[i - 1].id < paths[i].id);
	}
	free(paths);
}

static inline void require_sound_graph(const struct pathprof_counted_function *f)
{
	struct pathprof_function_paths *paths;
	struct pathprof_flow flow;

	if (pathprof_flow_init_arcs(&flow, f->node_cnt, f->arcs, f->arc_cnt) < 0)
		return;
	REQUIRE(pathprof_function_paths_new(&paths, &flow, PATHPROF_CUT_BACK_EDGES) == 0);
	pathprof_function_paths_free(paths);
	pathprof_flow_release(&flow);
}

static inline void require_sound_counted(const struct pathprof_counted *counted)
{
	for (uint32_t f = 0; f < counted->function_cnt; f++) {
		require_sound_paths(counted, f);
		require_sound_graph(&counted->functions[f]);
	}
}

/* A program read from a form has no copies of functions yet and no counts. */
static inline void require_sound_form(struct pathprof_counted *counted, uint64_t file_bytes)
{
	int r = pp_counted_join_copies(counted);

	for (uint32_t f = 0; f < counted->function_cnt; f++)
		REQUIRE(pp_counted_is_sound(counted, &counted->functions[f]));
	if (r == 0)
		r = pp_counted_make_image(counted, file_bytes, "form", NULL);
	if (r == 0)
		require_sound_counted(counted);
}

#endif
