/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory that pathprof-trace and its plugin in the emulator share: a ring of words for each
 * thread (a slot), and a ring of definitions for each process.
 *
 * Workload: a hundred million words a second; definitions a few hundred thousand in all.
 *
 * Locking: every ring has one writer and one reader. A slot's writer is the thread that claimed
 * it; a process' ring is written under that process' mutex; pathprof-trace reads both. The writer
 * publishes what it wrote by a release store of its count, which pairs with the reader's acquire
 * load; the other way round the reader gives room back. A definition is published before the first
 * word that needs it: whoever takes words first and definitions after has all it needs.
 *
 * Ownership: pathprof-trace makes the memory (a memfd, sparse), fills in the settings and outlives
 * the use. A program killed at any point leaves every published word behind.
 */
#ifndef TRACE_SHARE_H
#define TRACE_SHARE_H

#include <stdint.h>

#define TRACE_SHARE_MAGIC 0x31455241485350ull

#define TRACE_SLOT_CNT       256u
#define TRACE_RING_WORDS     (1u << 22) /* a slot's; its pages are there once they are used */
#define TRACE_CHUNK_WORDS    (1u << 20) /* taken at once: a quarter of the ring */
#define TRACE_PROCESS_CNT    256u
#define TRACE_RING_BYTES     (1u << 20) /* for definitions */
#define TRACE_EXEC_NAME_SIZE 4096u

enum trace_state {
	TRACE_FREE = 0,
	TRACE_CLAIMED = 1, /* its writer is filling in the slot */
	TRACE_LIVE = 2,
	TRACE_ENDED = 3, /* nothing follows; the reader frees it when it is empty */
};

struct trace_slot {
	/* writer's line */
	uint64_t word_cnt __attribute__((aligned(64))); /* ever written */
	/* reader's line */
	uint64_t taken_cnt __attribute__((aligned(64))); /* ever taken */
	uint32_t taken_seq;                              /* futex: counts changes of taken_cnt */
	uint32_t state;                                  /* enum trace_state */
	uint32_t stream;                                 /* its number in the trace */
	uint32_t process;                                /* index of the process slot */
};

struct trace_process_slot {
	uint64_t written_bytes __attribute__((aligned(64)));
	uint64_t taken_bytes __attribute__((aligned(64)));
	uint32_t taken_seq; /* futex, as in a slot */
	uint32_t state;     /* enum trace_state */
	uint32_t process;   /* its number in the trace */
	uint32_t pid;
	/* 1 from an execve until it fails; meanwhile exec_name is the file executed. */
	uint32_t executing;
	uint32_t reserved;
	char exec_name[TRACE_EXEC_NAME_SIZE];
};

/* Definitions in a ring: this, then len_bytes of payload as the file has it, padded to 8. */
struct trace_definition {
	uint32_t type; /* enum pathprof_trace_chunk_type */
	uint32_t len_bytes;
};
#define TRACE_DEFINITION_MAX 8192u /* bytes of the payload */

struct trace_share {
	uint64_t magic;
	uint32_t flags;      /* PATHPROF_TRACE_HAS_*; set before the emulator starts */
	uint32_t tracer_pid; /* who reads */
	uint32_t bell;       /* futex: rung when there is something to take */
	uint32_t stopped;    /* set by the reader: nothing is taken any more */
	uint32_t cut;        /* set by a writer: the limit is reached */
	uint32_t next_stream, next_process, next_module;
	uint32_t next_block; /* 1 first */
	/* Counts threads and processes without a slot, and processes in another pid namespace. */
	uint32_t lost_streams;
	uint32_t counts; /* 1: paths are counted (struct trace_arena), no words are written */
	uint64_t pid_namespace; /* inode of the tracer's; 0: not known */
	uint64_t skip_cnt;      /* blocks still to be skipped */
	uint64_t budget_words;  /* words that may still be written */
	struct trace_slot slots[TRACE_SLOT_CNT];
	struct trace_process_slot processes[TRACE_PROCESS_CNT];
};

/*
 * Counting paths (pathprof-trace --paths): each process slot has an arena, where its paths are a
 * forest. A root is an address where paths begin; the child of a node stands for the outcome of the
 * path's next branch. So a node is a path, and counting one is an increment. The counts of a killed
 * process stay.
 *
 * Locking: counts are added to by any thread of the process; nodes, roots and pairs are made under
 * its plugin_lock(), and never change or go. pathprof-trace reads when the process has ended, and
 * trusts nothing: the program may have written over it.
 */
struct trace_node {
	uint32_t child[2]; /* not taken, taken; 0: none */
	uint32_t pair;     /* the last counted pair that begins with this node; 0: none */
	uint32_t deep;     /* 1: the path ran where no window could have shown it whole */
	uint64_t paths;    /* paths that ended here */
	uint64_t pieces;   /* pieces that ended here */
};

struct trace_root {
	uint64_t start; /* address */
	uint32_t module, node;
};

/* A segment: a piece, and the one that followed it over a call or a return. */
struct trace_pair {
	uint32_t first, second; /* nodes */
	uint64_t cnt;
};

#define TRACE_ROOT_CNT (1u << 22)
#define TRACE_PAIR_CNT (1u << 24)
#define TRACE_NODE_CNT (1u << 25)

/* Index 0 of nodes and pairs means none. Node 0 counts paths and pieces that found no
 * room. */
struct trace_arena {
	uint32_t root_cnt, pair_cnt, node_cnt; /* ever made; nodes and pairs include index 0 */
	uint32_t lost_pairs;                   /* 1: a segment found no room */
	struct trace_root roots[TRACE_ROOT_CNT];
	struct trace_pair pairs[TRACE_PAIR_CNT];
	struct trace_node nodes[TRACE_NODE_CNT];
};

#define TRACE_ALIGN(n)     (((uint64_t)(n) + 0xfffff) & ~0xfffffull)
#define TRACE_RINGS_OFFSET TRACE_ALIGN(sizeof(struct trace_share))
#define TRACE_WORDS_OFFSET (TRACE_RINGS_OFFSET + (uint64_t)TRACE_PROCESS_CNT * TRACE_RING_BYTES)
#define TRACE_WORDS_SIZE   ((uint64_t)TRACE_RING_WORDS * sizeof(uint32_t))
#define TRACE_SHARE_BYTES  (TRACE_WORDS_OFFSET + TRACE_SLOT_CNT * TRACE_WORDS_SIZE)

/* Only the used part of an arena takes memory. */
#define TRACE_ARENA_SIZE  TRACE_ALIGN(sizeof(struct trace_arena))
#define TRACE_COUNT_BYTES (TRACE_SHARE_BYTES + TRACE_PROCESS_CNT * TRACE_ARENA_SIZE)

static inline struct trace_arena *trace_share_arena(struct trace_share *share, uint32_t process)
{
	return (struct trace_arena *)((uint8_t *)share + TRACE_SHARE_BYTES +
				      process * TRACE_ARENA_SIZE);
}

static inline uint8_t *trace_share_definitions(struct trace_share *share, uint32_t process)
{
	return (uint8_t *)share + TRACE_RINGS_OFFSET + (uint64_t)process * TRACE_RING_BYTES;
}

static inline uint32_t *trace_share_words(struct trace_share *share, uint32_t slot)
{
	return (uint32_t *)((uint8_t *)share + TRACE_WORDS_OFFSET + slot * TRACE_WORDS_SIZE);
}

#endif
