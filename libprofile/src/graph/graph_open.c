// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* A graph from the cache, else built and kept; see graph.h. */
#include "pp_graph_cache.h"

#include <errno.h>
#include <sys/stat.h>

#include "../code/pp_code_apart.h"
#include "pathprof/build_id.h"
#include "pathprof/foreign.h"

/* Counts symbols of the file, or of its debug file if that gives the names, without reading them.
 */
static uint32_t count_symbols(struct pathprof_code *code)
{
	int cnt = pp_dwfl_open(code) ? 0 : dwfl_module_getsymtab(code->module);

	return cnt > 0 ? (uint32_t)cnt : 0;
}

int pp_graph_key_of(struct pp_graph_key *ret_key, struct pathprof_code *code,
		    struct pathprof_error *error)
{
	struct pp_graph_key key = {.symbol_cnt = 0};
	struct stat st;
	int r;

	if (code->apart)
		return pp_apart_graph_key(ret_key, code, error);
	if (fstat(code->fd, &st))
		return pathprof_fail(error, -errno, "%s: cannot be examined: %m", code->path);
	key.symbol_cnt = count_symbols(code);
	key.file_bytes = (uint64_t)st.st_size;
	r = pathprof_build_id_read_fd(&key.build_id, code->fd, code->path, error);
	if (!r)
		*ret_key = key;
	return r;
}

int pathprof_graph_open(struct pathprof_graph **ret_graph, struct pathprof_code *code,
			const struct pathprof_graph_cache *cache, pathprof_progress_fn *progress,
			void *context, struct pathprof_error *error)
{
	struct pp_graph_key key = {0};
	bool cached = cache && cache->directory;
	int r;

	pathprof_foreign_tell(code->path);
	if (!cached)
		return pathprof_graph_build(ret_graph, code, progress, context, error);
	r = pp_graph_key_of(&key, code, error);
	if (r)
		return r;
	cached = key.build_id.kind == PATHPROF_ID_BUILD_ID;
	if (cached && !pp_graph_cache_load(ret_graph, cache, &key))
		return 0;
	r = pathprof_graph_build(ret_graph, code, progress, context, error);
	if (!r && cached)
		(void)pp_graph_cache_store(*ret_graph, cache, &key);
	return r;
}
