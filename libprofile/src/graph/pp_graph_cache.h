/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Graphs kept as files: the parts of pathprof_graph_open() that its tests look into.
 *
 * A file is a header (graph_file.c) and the graph's piece of memory as it is (pp_graph.h), little
 * endian. It is read, not mapped: a file that shrinks under us gives a short read instead of
 * SIGBUS, nobody can change what was checked, and for cc1 (100 MB) it costs some ten milliseconds.
 *
 * Workload: one file an ELF file, read whole. Locking: none; files come into being by rename(), so
 * that readers and any number of writers do not see one another.
 */
#ifndef PP_GRAPH_CACHE_H
#define PP_GRAPH_CACHE_H

#include "pp_graph.h"

/*
 * The file that a graph is of. A build-id alone does not do: the unstripped file and the separate
 * debug file have it too, and the graph gets names once a debug file is installed.
 */
struct pp_graph_key {
	struct pathprof_build_id build_id;
	uint64_t file_bytes;
	uint32_t symbol_cnt; /* 0: none are found */
};

/* graph_open.c. -errno, error filled. */
int pp_graph_key_of(struct pp_graph_key *ret_key, struct pathprof_code *code,
		    struct pathprof_error *error);

/*
 * graph_check.c. 0 when every count and index is in range and all that graph.h says of order holds;
 * -EBADMSG; -ENOMEM. The arrays have the lengths that the counts say.
 */
int pp_graph_check(const struct pathprof_graph *graph);

/* graph_file.c. fd at its beginning; at most max_bytes. -EBADMSG: no graph of that key; -ENOMEM. */
int pp_graph_read(struct pathprof_graph **ret_graph, int fd, const struct pp_graph_key *key,
		  uint64_t max_bytes);
/* The graph is one of pp_graph_new()'s. -errno of the write, -EFBIG beyond max_bytes. */
int pp_graph_write(const struct pathprof_graph *graph, int fd, const struct pp_graph_key *key,
		   uint64_t max_bytes);

/* graph_cache.c. cache->directory is set. -ENOENT and others: none usable there. */
int pp_graph_cache_load(struct pathprof_graph **ret_graph, const struct pathprof_graph_cache *cache,
			const struct pp_graph_key *key);
/* -errno when it could not be kept; the graph is the caller's as before. */
int pp_graph_cache_store(const struct pathprof_graph *graph,
			 const struct pathprof_graph_cache *cache, const struct pp_graph_key *key);

#endif
