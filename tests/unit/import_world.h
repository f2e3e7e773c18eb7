/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An import under test, and the naive count beside it: programs whose every instruction is known
 * (oracle_program.h) run, and stacks are cut out of what they execute.
 */
#ifndef TESTS_IMPORT_WORLD_H
#define TESTS_IMPORT_WORLD_H

#include "oracle_program.h"
#include "pathprof/import.h"
#include "pathprof/reconstruct.h"

#define BASE    ORACLE_PROGRAM_BASE
#define DEPTH   24
#define ROWS    16384
#define SECOND  UINT64_C(1000000000)
#define KERNEL  UINT64_C(0xffffffff81000000)
#define WINDOWS 64

/* The counts of one edge (b its target), path (b its descriptor), or segment (and its second). */
struct import_row {
	uint32_t pid;
	bool is_path;
	uint64_t a, b, second_a, second_b, cnt, mispredicted;
	double weight;
};

struct import_rows {
	struct import_row list[ROWS];
	size_t cnt;
};

struct import_world {
	struct oracle_program program;
	struct pathprof_import_files files;
	struct pathprof_import *import;
	struct pathprof_recording_sink sink;
	struct pathprof_import_sink out;
	struct pathprof_reconstructor *naive;
	struct pathprof_code *code;
	char path[256];

	struct import_rows got, want;
	int64_t begins[WINDOWS], ends[WINDOWS];
	size_t window_cnt;
	uint64_t stored_stacks;
	uint32_t jit_edges; /* out of generated code */

	/* whose stack is being counted */
	uint32_t pid;
	uint64_t times;
	double depth;
	bool filtered;
};

struct import_stack {
	struct pathprof_taken taken[DEPTH]; /* oldest first, where the program was made for */
	struct pathprof_recorded_branch branches[4 * DEPTH]; /* as recorded */
	uint32_t cnt;
};

void import_count(struct import_rows *rows, const struct import_row *add);
/* Has it all rows that are wanted, with the same counts? */
bool import_has_all(const struct import_rows *rows, const struct import_rows *wanted);
bool import_are_same(const struct import_rows *a, const struct import_rows *b);
struct import_world *import_world_open(uint64_t seed);
struct import_world *import_world_open_of(enum pathprof_format format, uint64_t seed);
void import_world_close(struct import_world *w);
/* The program, of that name. */
void import_map(struct import_world *w, uint32_t pid, uint64_t start, const char *name);
void import_change(struct import_world *w, enum pathprof_recorded_change kind, uint32_t pid,
		   uint32_t parent);
/* The next DEPTH taken branches. */
void import_run(struct import_world *w, struct import_stack *s);
void import_put(struct import_stack *s, uint64_t from, uint64_t to);
/* Newest first, moved to where the process has it. */
void import_record(struct import_stack *s, uint64_t moved);
int import_send(struct import_world *w, const struct import_stack *s, uint32_t pid,
		uint64_t time_ns);
uint64_t import_offset(uint64_t address);
/* moved: mispredictions are made of where branches lie. */
void import_want_edges(struct import_world *w, const struct import_stack *s, uint64_t moved);
void import_want_path(void *context, const struct pathprof_path_seen *path);
/* taken[cnt] in a stack of `depth` entries. */
void import_want_paths(struct import_world *w, const struct pathprof_taken *taken, uint32_t cnt,
		       double depth);
/* One stack of the process, which has the program so far from where it was made for. */
void import_sample(struct import_world *w, uint32_t pid, uint64_t moved, uint64_t time_ns);
void import_finish(struct import_world *w);
/* The same, and the windows hold what is wanted. */
void import_finish_same(struct import_world *w);
uint64_t import_left(const struct import_world *w, enum pathprof_ledger_reason why);

#endif
