/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plan of one stop: where a thread can go from here, and where to stop it so that the place
 * alone tells which way it went.
 *
 * Between two decisions the way is known from the code. So the plan is a tree: the trunk runs from
 * the thread's place over straight code and direct transfers to the next decision (a conditional
 * branch, or an indirect one), and a conditional branch can be opened into two ways, one for each
 * successor, which run on to their next decisions. Each way ends at a leaf, the instruction in
 * front of which the thread is to be stopped. A processor has four breakpoints, so there are at
 * most four leaves: two decisions are passed and the third is read off the flags at the leaf
 * (pp_step_decide), one stop for three decisions. The likeliest branches are opened first, so where
 * branches nearly always go the same way one stop passes more.
 *
 *                 D1                 leaves: D4 D5 D6 D7, or the hazards in their places
 *             t /    \ n
 *             D2      D3
 *            /  \    /  \
 *           D4  D5  D6  D7
 *
 * The place of a stop tells the way only if no leaf is another's, and none lies on any way before
 * that way's end. A branch whose opening would break this rule stays a leaf.
 *
 * Workload: once a stop, some thirty times a burst. Pure but for the code it reads; the caller owns
 * the plan. No allocation.
 */
#ifndef PP_STEP_PLAN_H
#define PP_STEP_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/abi.h"
#include "step_code.h"

#define PP_STEP_LEAF_MAX      4
#define PP_STEP_WAY_BRANCHES  32
#define PP_STEP_WAY_STRETCHES 32
#define PP_STEP_WAY_INSNS     1024

/* Code that runs without a taken transfer: its first and its last instruction. */
struct pp_step_stretch {
	uint64_t first, last;
};

struct pp_step_way {
	uint64_t leaf; /* the instruction that the thread is stopped in front of */
	uint32_t
		end; /* PATHPROF_END_*: the window ends at the leaf; PATHPROF_END_CNT: it goes on */
	bool opens;  /* the leaf is a conditional branch that may be opened */
	double chance;     /* that the thread goes this way, as far as earlier windows tell */
	uint32_t insn_cnt; /* instructions before the leaf */
	uint32_t tail_cnt; /* those behind the last branch */
	uint32_t branch_cnt, stretch_cnt;
	struct pathprof_branch branches[PP_STEP_WAY_BRANCHES]; /* as in a burst */
	struct pp_step_stretch stretches[PP_STEP_WAY_STRETCHES];
};

struct pp_step_plan {
	uint64_t start; /* where the thread stands */
	bool resumes;   /* a breakpoint at start does not strike at once */
	uint32_t way_cnt;
	struct pp_step_way ways[PP_STEP_LEAF_MAX];
};

/*
 * Plans from the place that regs tell, for leaf_max breakpoints (1 to PP_STEP_LEAF_MAX) and so many
 * instructions: branches beyond them need not be told apart. A leaf at start, on a way without
 * instructions, stops the thread where it stands, so that the next plan resumes. False: nobody can
 * tell where the next instruction leads (its length is unknown, or its target cannot be read), so
 * it must be stepped; or the window ends here: then way_cnt is 1, the leaf is start and `end` says
 * why.
 */
bool pp_step_plan(struct pp_step_plan *plan, struct pp_step_code *code,
		  const struct user_regs_struct *regs, uint32_t leaf_max, uint32_t insns_wanted);
/* Tells which way a branch went, for later plans. */
void pp_step_plan_learn(const struct pathprof_branch *branch);
/* The way whose leaf lies at address, NULL: none. */
const struct pp_step_way *pp_step_plan_way(const struct pp_step_plan *plan, uint64_t address);

#endif
