/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A file read by a process apart: what the functions of pathprof/code.h, graph.h and inlines.h do
 * when the handle says so. code_apart.c asks, code_reader.c answers; each question has the name of
 * the function, and its arguments in the order that the function has them.
 *
 * Answers are checked for what callers rely on. That names and lines are the file's own nobody
 * can check: they are a stranger's word in any case.
 *
 * Workload: pathprof/apart.h. Locking, ownership: as pp_code.h.
 */
#ifndef PP_CODE_APART_H
#define PP_CODE_APART_H

#include "../graph/pp_graph_cache.h"
#include "pathprof/apart.h"
#include "pathprof/graph.h"
#include "pathprof/inlines.h"
#include "pp_code.h"

enum pp_code_question {
	PP_ASK_BUILD_ID = 1, /* of the descriptor that comes along, whatever it is */
	PP_ASK_OPEN,
	PP_ASK_FUNCTIONS, /* text: offsets; answered as far as there is room */
	PP_ASK_FIND_FUNCTION,
	PP_ASK_SYMBOLS,      /* all from an index on, as far as there is room */
	PP_ASK_LINES,        /* of so many instructions from an offset on */
	PP_ASK_INSTRUCTIONS, /* the same */
	PP_ASK_LENGTHS,
	PP_ASK_WALK,
	PP_ASK_WALK_PIECE,
	PP_ASK_GRAPH_KEY,
	PP_ASK_GRAPH, /* written to the descriptor that comes along */
	PP_ASK_INLINES,
	PP_ASK_INLINES_AT, /* of so many instructions from an offset on */
};

/* Lengths of the instructions from an offset on, as far as one answer goes; 0: none begins there.
 */
#define PP_LENGTHS_CNT 4096

/* Before the path that is to be opened. */
struct pp_opening {
	struct pathprof_build_id id;
	uint8_t has_id; /* 0: any */
	uint8_t zero;
};

#define PP_OFFSETS_MAX 1024 /* of one question */

/* Nobody asks for more frames of an instruction. */
#define PP_FRAMES_APART_MAX 64

/* An open file; its segments follow. */
struct pp_opened {
	struct pathprof_build_id id;
	uint16_t zero;
	struct pp_layout layout;
};

/* One function of an answer; its name follows, ended by a NUL. */
struct pp_function_apart {
	uint64_t start;
	int32_t code;
	uint32_t has_name; /* 0 or 1 */
};

/* One symbol of an answer, vaddrs; its name follows, ended by a NUL. */
struct pp_symbol_apart {
	uint64_t start, end;
	uint8_t rank, sized, typed, resolver;
	uint32_t zero;
};

/* One instruction of an answer; its text or its file follows, ended by a NUL. */
struct pp_insn_apart {
	uint64_t offset;
	int32_t code;
	uint32_t number; /* its length or its line */
};

/* One instruction's frames of an answer; as many as there are, but max at most, follow. */
struct pp_frames_apart {
	uint64_t offset;
	int32_t code; /* how many there are, or -errno */
	uint32_t zero;
};

/* One frame of an answer; linkage name, name, file and directory follow, each ended by a NUL. */
struct pp_frame_apart {
	uint32_t line, start_line, discriminator, copies;
};

extern const struct pathprof_apart_service pp_code_reader;

/* All of them: as the function of that name; -EOWNERDEAD besides. */
int pp_apart_open(struct pathprof_code *code, const struct pathprof_build_id *expect,
		  pathprof_apart_died_fn *died, void *context, struct pathprof_error *error);
void pp_apart_close(struct pathprof_code *code);
/* -EOWNERDEAD, error filled, when answers were missing because the process died; 0. */
int pp_apart_check(const struct pathprof_code *code, struct pathprof_error *error);
int pp_apart_function(struct pathprof_code *code, uint64_t offset, const char **ret_name,
		      uint64_t *ret_start);
int pp_apart_functions_ahead(struct pathprof_code *code, const uint64_t *offsets, size_t cnt);
int pp_apart_find_function(struct pathprof_code *code, const char *name, uint64_t *ret_start,
			   uint64_t *ret_end);
/* Fills code->symbols, with none that cannot be had. */
void pp_apart_symbols(struct pathprof_code *code);
int pp_apart_line(struct pathprof_code *code, uint64_t offset, const char **ret_file,
		  int *ret_line);
int pp_apart_instruction(struct pathprof_code *code, uint64_t offset, char *text, size_t text_size,
			 unsigned int *ret_len_bytes);
uint32_t pp_apart_length(struct pathprof_code *code, uint64_t offset);
int pp_apart_walk(struct pathprof_code *code, uint64_t start, uint32_t length, uint32_t outcomes,
		  bool is_piece, pathprof_block_fn *fn, void *context,
		  struct pathprof_error *error);
int pp_apart_graph_key(struct pp_graph_key *ret_key, struct pathprof_code *code,
		       struct pathprof_error *error);
int pp_apart_graph_build(struct pathprof_graph **ret_graph, struct pathprof_code *code,
			 pathprof_progress_fn *progress, void *context,
			 struct pathprof_error *error);
int pp_apart_inlines_open(struct pathprof_code *code, struct pathprof_error *error);
int pp_apart_inlines_at(struct pathprof_code *code, uint64_t offset,
			struct pathprof_source_frame *frames, uint32_t max);

#endif
