/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The control-flow graphs of one ELF file: functions, basic blocks, edges.
 *
 *     pathprof_graph_open(&graph, code, &cache, NULL, NULL, &error);
 *     f = pathprof_graph_function_named(graph, "deflate");
 *     for (b = ...parts of f...) for (e = blocks[b].first_edge; e < blocks[b + 1].first_edge; e++)
 *             ... edges[e].to ...
 *
 * Shape: flat arrays, blocks sorted by file offset, the out-edges of a block together, in the order
 * of enum pathprof_edge_kind and then by target. All positions are file offsets. A block ends
 * behind every control transfer (calls included), and where another transfer leads to.
 *
 * Workload: cc1 (30 MB of text): 10^4.5 functions, some 10^6 blocks; built in seconds, opened from
 * the cache in a fraction of one. Read-only once open: any thread.
 *
 * Files come from outside: graphs of any file whatever satisfy the shapes here. Sources: EOPP 3.2;
 * Aho, Lam, Sethi, Ullman, Compilers, 8.4 (blocks), 9.6 (loops).
 */
#ifndef PATHPROF_GRAPH_H
#define PATHPROF_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "pathprof/code.h"
#include "pathprof/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PATHPROF_GRAPH_NONE UINT32_MAX

/* The kind of an edge. A block's edges are in this order. */
enum pathprof_edge_kind {
	PATHPROF_EDGE_FALL = 0,      /* no branch: another one leads to the next block */
	PATHPROF_EDGE_NOT_TAKEN = 1, /* behind a conditional branch */
	PATHPROF_EDGE_TAKEN = 2,     /* target of a conditional branch */
	PATHPROF_EDGE_JUMP = 3,      /* target of a direct jump */
	PATHPROF_EDGE_SWITCH = 4,    /* an indirect jump through a table, one edge a target */
	PATHPROF_EDGE_GUESSED = 5,   /* an indirect jump not understood, to what it may lead to */
	PATHPROF_EDGE_CONTINUE = 6,  /* behind a call that returns */
	PATHPROF_EDGE_UNWIND = 7,    /* a call that throws, to its landing pad */
	PATHPROF_EDGE_CALL = 8,      /* a direct call, to the callee's entry */
	PATHPROF_EDGE_TAIL = 9,      /* a direct jump, conditional or not, that begins a function */
	PATHPROF_EDGE_KIND_CNT
};

struct pathprof_edge {
	uint32_t to;   /* block; PATHPROF_GRAPH_NONE: no code of this file */
	uint32_t kind; /* enum pathprof_edge_kind */
};

/*
 * A conditional branch has an edge NOT_TAKEN, and TAKEN or TAIL. A return has none. An edge FALL to
 * TAIL may lead into the middle of another function (hand-written assembly does that): it leaves
 * its own as TAIL does.
 */
struct pathprof_graph_block {
	uint32_t start, last, end; /* its first and last instruction, and what is behind it */
	uint32_t kind;             /* PERF_BR_* of the last instruction; 0: no transfer */
	uint32_t function;         /* PATHPROF_GRAPH_NONE never */
	uint32_t first_edge;       /* up to that of the next block */
};

/* A range of a function: its hot part, a cold one. */
struct pathprof_graph_part {
	uint32_t start, end; /* file offsets */
	uint32_t first_block, block_cnt;
};

#define PATHPROF_FUNCTION_SYMBOL     0x001 /* has a symbol */
#define PATHPROF_FUNCTION_FRAME      0x002 /* its bounds are .eh_frame's */
#define PATHPROF_FUNCTION_GUESSED    0x004 /* known by calls to it alone: its end is a guess */
#define PATHPROF_FUNCTION_PLT        0x008 /* a stub of the linker; named callee@plt */
#define PATHPROF_FUNCTION_IFUNC      0x010 /* a resolver */
#define PATHPROF_FUNCTION_NORETURN   0x020
#define PATHPROF_FUNCTION_UNRESOLVED 0x040 /* an indirect jump was not understood */
#define PATHPROF_FUNCTION_BROKEN     0x080 /* what could not be decoded was reached */
#define PATHPROF_FUNCTION_SETJMP     0x100 /* calls what returns twice */

struct pathprof_graph_function {
	uint32_t name;                 /* into names[]; names[0] is "": none */
	uint32_t entry;                /* block; PATHPROF_GRAPH_NONE: nothing of it could be read */
	uint32_t first_part, part_cnt; /* the first is where it begins */
	uint32_t flags;                /* PATHPROF_FUNCTION_* */
};

/* Counts of what was found in the code, and of what was not understood. */
struct pathprof_graph_stats {
	uint64_t insn_cnt;
	uint64_t switch_cnt, switch_target_cnt;
	uint64_t unresolved_cnt; /* indirect jumps not understood, tail calls by pointer not counted
				  */
	uint64_t indirect_tail_cnt;
	uint64_t broken_cnt; /* places that could not be decoded */
	uint64_t landing_pad_cnt;
	uint64_t joined_cnt; /* cold parts joined to their function */
};

struct pathprof_graph {
	const struct pathprof_graph_function *functions; /* by the offset they begin at */
	const struct pathprof_graph_part *parts;
	const struct pathprof_graph_block *blocks; /* and one more: its first_edge is edge_cnt */
	const struct pathprof_edge *edges;
	const char *names;
	uint32_t function_cnt, part_cnt, block_cnt, edge_cnt;
	uint32_t names_bytes;
	struct pathprof_graph_stats stats;
	struct pathprof_build_id build_id;
};

/* done of total, both in bytes of code; at most some ten times a second. */
typedef void pathprof_progress_fn(void *context, uint64_t done, uint64_t total);

/*
 * Reads all code. progress may be NULL. -EFBIG: code beyond 4 GB; -ENOMEM; what reading the file
 * gave. code is not needed afterwards.
 */
int pathprof_graph_build(struct pathprof_graph **ret_graph, struct pathprof_code *code,
			 pathprof_progress_fn *progress, void *context,
			 struct pathprof_error *error);
/* NULL-safe. */
void pathprof_graph_free(struct pathprof_graph *graph);

/*
 * The block that holds the instruction or byte at offset; PATHPROF_GRAPH_NONE. If code jumps into
 * the middle of an instruction two blocks hold its end: it is the one that begins last.
 */
uint32_t pathprof_graph_block_at(const struct pathprof_graph *graph, uint64_t offset);
/* By its exact name, cold parts' names are not functions'. PATHPROF_GRAPH_NONE. */
uint32_t pathprof_graph_function_named(const struct pathprof_graph *graph, const char *name);
/* Never NULL; "" when it has none. */
const char *pathprof_graph_name(const struct pathprof_graph *graph, uint32_t function);

/*
 * The cache: a file a build-id in directory, made when it is not there (its parents are not). It is
 * read into memory and checked: one that is damaged, of another version or of another binary counts
 * as absent and is replaced. The oldest used files go when all of them are more than max_bytes.
 */
struct pathprof_graph_cache {
	const char *directory; /* NULL: no cache */
	uint64_t max_bytes;    /* 0: 1 GB */
};
/*
 * From the cache, else built and kept. A cache that cannot be written is no error. A file without
 * build-id is built each time.
 */
int pathprof_graph_open(struct pathprof_graph **ret_graph, struct pathprof_code *code,
			const struct pathprof_graph_cache *cache, pathprof_progress_fn *progress,
			void *context, struct pathprof_error *error);

#ifdef __cplusplus
}
#endif

#endif
