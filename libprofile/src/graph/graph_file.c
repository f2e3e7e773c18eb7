// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * A graph as a file: how it is laid out, written, read and checked. The checksum finds damage by
 * disks and crashes; pp_graph_check() guards against hostile files.
 */
#include "pp_graph_cache.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define MAGIC 0x0a68706172677070u /* "ppgraph\n" */

/* Little endian. The graph's piece of memory follows and ends the file. */
struct header {
	uint64_t magic;
	uint64_t checksum; /* XXH3 of the piece, seeded with that of the header from here on */
	uint32_t version;  /* PP_GRAPH_VERSION */
	uint32_t header_bytes;
	uint64_t file_bytes; /* of the ELF file */
	struct pathprof_graph_stats stats;
	uint32_t function_cnt, part_cnt, block_cnt, edge_cnt, names_bytes;
	uint8_t id[PATHPROF_BUILD_ID_MAX];
	uint32_t id_len_bytes;
	uint32_t symbol_cnt;
};

#define CHECKED_FROM offsetof(struct header, version)

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are little endian");
_Static_assert(sizeof(struct header) == 32 + sizeof(struct pathprof_graph_stats) + 48,
	       "no padding in the header");
_Static_assert(sizeof(struct pathprof_graph_function) == 20 &&
		       sizeof(struct pathprof_graph_part) == 16 &&
		       sizeof(struct pathprof_graph_block) == 24 &&
		       sizeof(struct pathprof_edge) == 8,
	       "another layout is another PP_GRAPH_VERSION");

static uint64_t checksum(const struct header *header, const void *piece, size_t len_bytes)
{
	XXH64_hash_t seed =
		XXH3_64bits((const char *)header + CHECKED_FROM, sizeof(*header) - CHECKED_FROM);

	return XXH3_64bits_withSeed(piece, len_bytes, seed);
}

static const void *piece_of(const struct pathprof_graph *graph)
{
	return ((const struct pp_graph *)graph)->memory;
}

/* ---------------------------------------------------------------- reading */

static int read_full(int fd, void *buf, size_t len_bytes)
{
	char *at = buf;

	while (len_bytes) {
		ssize_t got = read(fd, at, len_bytes);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EBADMSG;
		at += got;
		len_bytes -= (size_t)got;
	}
	return 0;
}

static bool is_of(const struct header *h, const struct pp_graph_key *key)
{
	return h->magic == MAGIC && h->version == PP_GRAPH_VERSION &&
	       h->header_bytes == sizeof(*h) && h->file_bytes == key->file_bytes &&
	       h->symbol_cnt == key->symbol_cnt && h->id_len_bytes == key->build_id.len_bytes &&
	       !memcmp(h->id, key->build_id.bytes, sizeof(h->id));
}

static struct pathprof_graph counts_of(const struct header *h, const struct pp_graph_key *key)
{
	return (struct pathprof_graph){
		.function_cnt = h->function_cnt,
		.part_cnt = h->part_cnt,
		.block_cnt = h->block_cnt,
		.edge_cnt = h->edge_cnt,
		.names_bytes = h->names_bytes,
		.stats = h->stats,
		.build_id = key->build_id,
	};
}

static int read_piece(struct pp_graph *g, int fd, const struct header *header)
{
	size_t len_bytes = pp_graph_bytes(&g->graph);
	int r = read_full(fd, g->memory, len_bytes);

	if (r)
		return r;
	if (checksum(header, g->memory, len_bytes) != header->checksum)
		return -EBADMSG;
	return pp_graph_check(&g->graph);
}

int pp_graph_read(struct pathprof_graph **ret_graph, int fd, const struct pp_graph_key *key,
		  uint64_t max_bytes)
{
	struct pathprof_graph counts;
	struct header header;
	struct pp_graph *g;
	struct stat st;
	int r;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > max_bytes)
		return -EBADMSG;
	r = read_full(fd, &header, sizeof(header));
	if (r)
		return r;
	if (!is_of(&header, key))
		return -EBADMSG;
	counts = counts_of(&header, key);
	if (sizeof(header) + pp_graph_bytes(&counts) != (uint64_t)st.st_size)
		return -EBADMSG;
	r = pp_graph_new(&g, &counts);
	if (r)
		return r;
	r = read_piece(g, fd, &header);
	if (r)
		pathprof_graph_free(&g->graph);
	else
		*ret_graph = &g->graph;
	return r;
}

/* ---------------------------------------------------------------- writing */

static int write_full(int fd, const void *buf, size_t len_bytes)
{
	const char *at = buf;

	while (len_bytes) {
		ssize_t put = write(fd, at, len_bytes);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		at += put;
		len_bytes -= (size_t)put;
	}
	return 0;
}

static struct header header_of(const struct pathprof_graph *graph, const struct pp_graph_key *key)
{
	struct header h = {
		.magic = MAGIC,
		.version = PP_GRAPH_VERSION,
		.header_bytes = sizeof(h),
		.file_bytes = key->file_bytes,
		.stats = graph->stats,
		.function_cnt = graph->function_cnt,
		.part_cnt = graph->part_cnt,
		.block_cnt = graph->block_cnt,
		.edge_cnt = graph->edge_cnt,
		.names_bytes = graph->names_bytes,
		.id_len_bytes = key->build_id.len_bytes,
		.symbol_cnt = key->symbol_cnt,
	};

	memcpy(h.id, key->build_id.bytes, sizeof(h.id));
	h.checksum = checksum(&h, piece_of(graph), pp_graph_bytes(graph));
	return h;
}

int pp_graph_write(const struct pathprof_graph *graph, int fd, const struct pp_graph_key *key,
		   uint64_t max_bytes)
{
	struct header header;
	int r;

	if (sizeof(header) + pp_graph_bytes(graph) > max_bytes)
		return -EFBIG;
	/* A graph that readers would refuse is not written. */
	r = pp_graph_check(graph);
	if (r)
		return r;
	header = header_of(graph, key);
	r = write_full(fd, &header, sizeof(header));
	return r ? r : write_full(fd, piece_of(graph), pp_graph_bytes(graph));
}
