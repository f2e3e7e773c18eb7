/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Naive models of the path stack (EOPP 5.2) and of the hot path table (EOPP 5.4): operations
 * spelled out by name, an array that only grows, one byte an outcome, a list for each set.
 */
#ifndef ORACLE_PATH_H
#define ORACLE_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "oracle_stream.h"

enum oracle_extend { ORACLE_EXTEND_NONE, ORACLE_EXTEND_LOOP, ORACLE_EXTEND_CALL };

struct oracle_path_config {
	bool whole_program; /* the second mapping */
	uint32_t max_length;
	enum oracle_extend extend;
	uint32_t extensions;
	size_t depth;               /* 32; another is a fault */
	bool self_is_forward;       /* a fault: a branch to itself counts as forward */
	bool return_keeps_extended; /* a fault: a return does not decrement */
};

struct oracle_branch {
	uint64_t from, target, next, events;
	char kind; /* 'c' call, 'C' indirect call, 'r' return, 'i' indirect jump, 'j', 'b' cond */
	bool taken;
};

struct oracle_path {
	uint64_t start, events;
	uint32_t length, extended;
	uint64_t span; /* taken branches since its push */
	bool outcome[64];
};

struct oracle_path_stack {
	struct oracle_path_config config;
	struct oracle_path *path; /* [lost..cnt) are on the stack */
	size_t lost, cnt, room;
};

void oracle_path_stack_init(struct oracle_path_stack *s, const struct oracle_path_config *config);
void oracle_path_stack_release(struct oracle_path_stack *s);
/* true: *ret_path was popped. */
bool oracle_path_stack_step(struct oracle_path_stack *s, const struct oracle_branch *b,
			    struct oracle_path *ret_path);
bool oracle_path_stack_pop(struct oracle_path_stack *s, struct oracle_path *ret_path);
uint32_t oracle_path_outcomes(const struct oracle_path *path);

/* Branches as programs make them, and as they do not. */
enum branch_mix {
	BRANCH_MIXED,   /* every kind alike */
	BRANCH_LOOPS,   /* conditional ones, back and forth */
	BRANCH_DEEP,    /* long runs of calls, then of returns */
	BRANCH_RETURNS, /* more returns than calls */
	BRANCH_FORWARD, /* straight on: paths of full length */
	BRANCH_MIX_CNT,
};
struct oracle_branch oracle_branch_draw(struct stream *s, enum branch_mix mix);

/* One path of the table. */
struct oracle_hot {
	uint64_t start, count;
	uint32_t length, outcomes;
	bool used;
};

struct oracle_hot_paths {
	struct oracle_hot *ways; /* of set 0, of set 1, ... */
	uint32_t way_cnt;
	unsigned int bits;
	bool tie_highest; /* a fault */
};

void oracle_hot_paths_init(struct oracle_hot_paths *t, unsigned int bits, uint32_t way_cnt);
void oracle_hot_paths_release(struct oracle_hot_paths *t);
/* true: *ret_replaced left. */
bool oracle_hot_paths_add(struct oracle_hot_paths *t, const struct oracle_hot *path,
			  struct oracle_hot *ret_replaced);

#endif
