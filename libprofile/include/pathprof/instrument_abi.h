/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The format of a program that counts its own paths: a section that describes its functions, and
 * the files that it counts into. Little-endian, as everything here.
 *
 * Counters are 64 bits wide and lie in tables, one a translation unit, in the section
 * PATHPROF_COUNTERS_SECTION. Every thread has a copy of that whole section in a file: an image. So
 * a counter is known by its distance from the section's start, in the ELF file as in an image.
 *
 * The section PATHPROF_DESCRIPTION_SECTION is not loaded. It holds units, one behind the other; u32
 * and u64 are numbers, str is a u32 and so many bytes, x[n] is n times x:
 *
 *   unit      u32 PATHPROF_UNIT_MAGIC, u32 PATHPROF_UNIT_VERSION, u64 bytes behind this number,
 *             u64 address of the table, u64 counters in it, str source file,
 *             u32 functions, u32 functions left out, u32 names, str[names],
 *             u32 functions left out that have clang's counters, str[of these] their names,
 *             function[functions]
 *   function  str name for the linker, u32 1: other units may have one of this name,
 *             u64 its first counter in the table, u64 paths, u32 enum pathprof_counting,
 *             u32 slots, u64[slots] number of the slot's path and 1, or 0 (of a TABLE or WARM;
 *             else none),
 *             u32 paths told, told[paths told] (of a WARM), u32 files, str[files],
 *             u32 nodes, node[nodes], u32 edges, edge[edges], u32 crossings, crossing[crossings],
 *             str name in clang's profiles, or "": none, u64 hash of its graph there,
 *             u32 counters there, u32[PATHPROF_VALUE_KINDS] sites of values, u32 places,
 *             place[places]
 *   told      u64 number of a path that is not counted, u64 how often it ran by the profile
 *   node      u32 file, u32 line, u32 column; line 0: unknown
 *   edge      u32 from, u32 to, u32 cut: paths end and begin here, however the edge leads; 1: a
 *             call does that, 2: else there were more paths than PATHPROF_PATHS_MAX; and
 *             PATHPROF_EDGE_SILENT: paths that end there are not counted (of a WARM); where none
 *             ends, those that come over it count as if they began at its end
 *   crossing  u32 node, u32 enum pathprof_crossing, u32 name: with this node an inlined call of
 *             that function begins, or what the function does behind one
 *   place     u32 number of a counter, u32 node: the counter is how often its nodes ran, together
 *
 * Nodes and edges are those that pathprof_flow_init_arcs() takes, and paths are numbered as
 * PATHPROF_CUT_BACK_EDGES has it (pathprof/function_paths.h).
 */
#ifndef PATHPROF_INSTRUMENT_ABI_H
#define PATHPROF_INSTRUMENT_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A C identifier, for which the linker defines __start_ and __stop_ symbols. */
#define PATHPROF_COUNTERS_SECTION    "pathprof_counters"
#define PATHPROF_DESCRIPTION_SECTION ".pathprof"
/* Functions of units of a program: the runtime calls them to have the calling thread count
 * elsewhere. */
#define PATHPROF_MOVES_SECTION "pathprof_moves"

#define PATHPROF_UNIT_MAGIC   0x55505050u /* "PPPU" */
#define PATHPROF_UNIT_VERSION 6
#define PATHPROF_EDGE_SILENT  4
/* LLVM's kinds: targets of indirect calls, sizes of memory operations, tables of virtual functions.
 */
#define PATHPROF_VALUE_KINDS 3

enum pathprof_crossing {
	PATHPROF_CROSSING_NONE = 0,
	PATHPROF_CROSSING_CALL = 1,
	PATHPROF_CROSSING_RETURN = 2,
};

enum pathprof_counting {
	PATHPROF_COUNTING_ARRAY = 0, /* a counter a path */
	/*
	 * A cache, PATHPROF_CACHE_ENTRIES pairs of counters: the number of a path and 1, or 0, and
	 * its count. The first path that comes to an entry has it for good; those that come later
	 * are counted in the hash tables. A path's counts add up, wherever they are.
	 */
	PATHPROF_COUNTING_HASH = 1,
	/*
	 * A counter a slot. Slots are those of interesting paths (pathprof/preferential.h); all
	 * other paths are counted in the hash tables.
	 */
	PATHPROF_COUNTING_TABLE = 2,
	/*
	 * A counter a slot. Slots are those of warm paths (pathprof/warm.h); those without a path
	 * are, together, how often others ran, which are cold. A function of which no path is warm
	 * has one slot, and nothing counts there.
	 */
	PATHPROF_COUNTING_WARM = 3,
};
/* Further edges of a function with more paths than this are cut. */
#define PATHPROF_PATHS_MAX (1ull << 39)
/* A function with more paths than this is counted by hash. */
#define PATHPROF_ARRAY_MAX     4096
#define PATHPROF_CACHE_BITS    10
#define PATHPROF_CACHE_ENTRIES (1u << PATHPROF_CACHE_BITS)
#define PATHPROF_CACHE_FACTOR  0x9e3779b97f4a7c15ull

/* The entry of a path by its number. */
static inline uint64_t pathprof_cache_entry(uint64_t id)
{
	return id * PATHPROF_CACHE_FACTOR >> (64 - PATHPROF_CACHE_BITS);
}

/* ---------------------------------------------------------------- the file of counts */

#define PATHPROF_COUNTS_MAGIC   0x0100574152505050ull /* "PPPRAW\0\1" */
#define PATHPROF_COUNTS_VERSION 2
#define PATHPROF_COUNTS_PAGE    4096

enum pathprof_counts_state {
	PATHPROF_COUNTS_OPEN = 0,   /* it runs, was killed, or left by _exit or exec */
	PATHPROF_COUNTS_CLOSED = 1, /* its destructors ran */
};

/* The first page. Regions follow, each of whole pages, up to used_bytes. */
struct pathprof_counts_head {
	uint64_t magic;
	uint32_t version, state;
	uint64_t used_bytes;
	uint64_t image_bytes; /* of the section of counters */
	uint64_t pid, start_ns;
	uint64_t lost_cnt; /* paths of hashed functions for which there was no room, or no file */
	uint32_t build_id_bytes;
	uint8_t build_id[36]; /* of a longer one the beginning */
	char object[1024];    /* path of the ELF file; "": unknown */
	uint64_t crowded_cnt; /* threads that the file had no room for: they count together */
	uint64_t shared_cnt;  /* counts of threads that count together; a kill loses them all */
	uint64_t unmade_cnt;  /* children that made no file: nothing of theirs is counted */
};

enum pathprof_counts_kind {
	PATHPROF_COUNTS_THREAD = 1, /* the image follows the head of the region */
	PATHPROF_COUNTS_HASH = 2,   /* entries follow */
};

/* Head of a region. Several threads may have used one, one after the other. */
struct pathprof_counts_region {
	uint32_t kind;
	int32_t tid;    /* THREAD: who counts here now, or did last */
	uint64_t bytes; /* of the region, this head included */
	uint64_t
		hash; /* THREAD: place of its hash table in the file, 0: none. HASH: entries used */
	uint64_t call[2]; /* THREAD: what a new thread is to call. HASH: counts copied elsewhere */
	uint64_t unused[3]; /* keeps what follows on a line of the cache */
};

/* An entry is free while its counter's is 0. An id of 0 is one that is being written. */
struct pathprof_counts_entry {
	uint64_t counter; /* distance of the function's counter from the section's start, and 1 */
	uint64_t id;      /* number of the path, and 1 */
	uint64_t count;
};

#ifdef __cplusplus
}
#endif

#endif
