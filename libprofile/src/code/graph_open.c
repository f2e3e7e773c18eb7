// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* A graph from the cache, else built and kept; see graph.h. */
#include "pp_graph_cache.h"

#include <errno.h>
#include <sys/stat.h>

#include "pp_build_id.h"
#include "pp_code.h"

static int key_of(struct pp_graph_key *ret_key, const struct pathprof_code *code,
		  struct pathprof_error *error)
{
	struct stat st;

	if (fstat(code->fd, &st))
		return pathprof_fail(error, -errno, "%s: cannot be examined: %m", code->path);
	ret_key->file_bytes = (uint64_t)st.st_size;
	return pp_build_id_read_fd(&ret_key->build_id, code->fd, code->path, error);
}

int pathprof_graph_open(struct pathprof_graph **ret_graph, struct pathprof_code *code,
			const struct pathprof_graph_cache *cache, pathprof_progress_fn *progress,
			void *context, struct pathprof_error *error)
{
	struct pp_graph_key key = {0};
	bool cached = cache && cache->directory;
	int rc;

	if (!cached)
		return pathprof_graph_build(ret_graph, code, progress, context, error);
	rc = key_of(&key, code, error);
	if (rc)
		return rc;
	cached = key.build_id.kind == PATHPROF_ID_BUILD_ID;
	if (cached && !pp_graph_cache_load(ret_graph, cache, &key))
		return 0;
	rc = pathprof_graph_build(ret_graph, code, progress, context, error);
	if (!rc && cached)
		(void)pp_graph_cache_store(*ret_graph, cache, &key);
	return rc;
}
