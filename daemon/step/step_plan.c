/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Planning where to stop a thread next: see step_plan.h. */
#include "step_plan.h"

#include <string.h>

#include "../../libprofile/core/pp_types.h"
#include "../../libprofile/core/pp_decode.h"

#define EFLAGS_RF 0x10000

/* ---- which way branches have gone */

#define HISTORY_CNT 4096
#define HISTORY_MAX 255

struct history {
	uint64_t pc;
	uint8_t taken, other;
};
static struct history histories[HISTORY_CNT];

static struct history *history_of(uint64_t pc)
{
	return &histories[(pc ^ pc >> 12) % HISTORY_CNT];
}

void pp_step_plan_learn(const struct pathprof_branch *branch)
{
	struct history *history = history_of(branch->from);
	uint8_t *cnt = branch->taken ? &history->taken : &history->other;

	if (branch->kind != PP_KIND_COND)
		return;
	if (history->pc != branch->from)
		*history = (struct history){.pc = branch->from};
	if (*cnt == HISTORY_MAX) {
		history->taken /= 2;
		history->other /= 2;
	}
	++*cnt;
}

static double chance_of_taken(uint64_t pc)
{
	const struct history *history = history_of(pc);

	if (history->pc != pc)
		return 0.5;
	return (history->taken + 1.0) / (history->taken + history->other + 2.0);
}

/* ---- one way */

static bool is_decision(const struct pp_step_insn *insn)
{
	return insn->kind != PP_KIND_NONE && insn->kind != PP_KIND_JMP &&
	       insn->kind != PP_KIND_CALL;
}

/* A repeated string instruction is one like any other here: nothing counts its turns. */
static bool is_hazard(const struct pp_step_insn *insn)
{
	return insn->hazard != PP_HAZARD_NONE && insn->hazard != PP_HAZARD_REP;
}

static bool lies_in(const struct pp_step_stretch *stretch, uint64_t address)
{
	return address >= stretch->first && address <= stretch->last;
}

/* Adds an instruction that does not transfer control; false: the way may not be longer. */
static bool pass(struct pp_step_way *way, const struct pp_step_insn *insn, bool straight)
{
	if (!straight) {
		if (way->stretch_cnt == PP_STEP_WAY_STRETCHES)
			return false;
		way->stretches[way->stretch_cnt++].first = insn->pc;
	}
	way->stretches[way->stretch_cnt - 1].last = insn->pc;
	way->insn_cnt++;
	way->tail_cnt++;
	return true;
}

/* Adds a transfer to next, whose instruction was passed. */
static void transfer(struct pp_step_way *way, const struct pp_step_insn *insn, uint64_t next)
{
	bool direct = insn->kind == PP_KIND_COND || insn->kind == PP_KIND_JMP ||
		      insn->kind == PP_KIND_CALL;

	way->branches[way->branch_cnt++] = (struct pathprof_branch){
		.from = insn->pc,
		.target = direct ? insn->target : next,
		.next = next,
		.kind = insn->kind,
		.taken = insn->kind != PP_KIND_COND || next == insn->target,
		.insns = way->tail_cnt,
	};
	way->tail_cnt = 0;
}

static bool is_full(const struct pp_step_way *way)
{
	return way->branch_cnt == PP_STEP_WAY_BRANCHES || way->insn_cnt >= PP_STEP_WAY_INSNS;
}

static void end_way(struct pp_step_way *way, const struct pp_step_insn *insn)
{
	way->leaf = insn->pc;
	way->end = is_hazard(insn) ? insn->hazard : PATHPROF_END_CNT;
	way->opens = !is_hazard(insn) && insn->kind == PP_KIND_COND;
}

/* Runs on from address to the next decision, hazard or limit. straight: no transfer led here. */
static void run_on(struct pp_step_way *way, struct pp_step_code *code, uint64_t address,
		   bool straight)
{
	for (;;) {
		const struct pp_step_insn *insn = pp_step_code_at(code, address);

		if (is_decision(insn) || is_hazard(insn) || !insn->len || is_full(way) ||
		    !pass(way, insn, straight)) {
			end_way(way, insn);
			return;
		}
		straight = insn->kind == PP_KIND_NONE;
		address = straight ? insn->pc + insn->len : insn->target;
		if (!straight)
			transfer(way, insn, address);
	}
}

/* A way that takes a decision it stands in front of. */
static bool decide(struct pp_step_way *way, struct pp_step_code *code,
		   const struct pp_step_insn *insn, uint64_t next, bool straight)
{
	uint64_t behind = insn->pc + insn->len;

	if (is_full(way) || !pass(way, insn, straight))
		return false;
	transfer(way, insn, next);
	run_on(way, code, next, next == behind && insn->kind == PP_KIND_COND);
	return true;
}

/* ---- the tree */

/* Whether the thread would stop at address before the way ends, or the way ends there too early. */
static bool strikes(const struct pp_step_plan *plan, const struct pp_step_way *way,
		    uint64_t address)
{
	for (uint32_t i = 0; i < way->stretch_cnt; i++) {
		struct pp_step_stretch stretch = way->stretches[i];

		/* The first instruction of all is passed without stopping. */
		if (!i && plan->resumes && address == stretch.first)
			continue;
		if (lies_in(&stretch, address))
			return true;
	}
	return false;
}

static bool is_plain(const struct pp_step_plan *plan)
{
	for (uint32_t i = 0; i < plan->way_cnt; i++)
		for (uint32_t j = 0; j < plan->way_cnt; j++)
			if (strikes(plan, &plan->ways[i], plan->ways[j].leaf) ||
			    (i != j && plan->ways[i].leaf == plan->ways[j].leaf))
				return false;
	return true;
}

/* Opens the branch at the leaf of way i into two ways; undone if that could not be told apart. */
static void open_leaf(struct pp_step_plan *plan, struct pp_step_code *code, uint32_t i)
{
	struct pp_step_way *taken = &plan->ways[i], *other = &plan->ways[plan->way_cnt];
	const struct pp_step_insn insn = *pp_step_code_at(code, taken->leaf);
	bool straight = !taken->branch_cnt || taken->tail_cnt ||
			!taken->branches[taken->branch_cnt - 1].taken;
	double chance = chance_of_taken(insn.pc);
	static struct pp_step_way before;

	taken->opens = false;
	before = *taken;
	*other = before;
	straight = straight && taken->stretch_cnt;
	if (decide(taken, code, &insn, insn.target, straight) &&
	    decide(other, code, &insn, insn.pc + insn.len, straight)) {
		taken->chance *= chance;
		other->chance *= 1 - chance;
		plan->way_cnt++;
		if (is_plain(plan))
			return;
		plan->way_cnt--;
	}
	*taken = before;
}

/* The likeliest way that can be opened; way_cnt: none. */
static uint32_t next_to_open(const struct pp_step_plan *plan, uint32_t insns_wanted)
{
	uint32_t best = plan->way_cnt;

	for (uint32_t i = 0; i < plan->way_cnt; i++) {
		const struct pp_step_way *way = &plan->ways[i];

		if (way->opens && way->insn_cnt < insns_wanted &&
		    (best == plan->way_cnt || way->chance > plan->ways[best].chance))
			best = i;
	}
	return best;
}

static void begin_trunk(struct pp_step_way *trunk, const struct pp_step_insn *insn)
{
	trunk->insn_cnt = trunk->tail_cnt = trunk->branch_cnt = trunk->stretch_cnt = 0;
	trunk->chance = 1;
	end_way(trunk, insn);
}

/* The instruction that runs after insn, where the thread stands. */
static bool successor(struct pp_step_code *code, const struct pp_step_insn *insn,
		      const struct user_regs_struct *regs, uint64_t *ret_next)
{
	if (is_decision(insn))
		return pp_step_decide(code, insn, regs, ret_next);
	*ret_next = insn->kind == PP_KIND_NONE ? insn->pc + insn->len : insn->target;
	return true;
}

/*
 * A trunk that comes back to itself is cut to one instruction. Where that instruction leads to
 * itself, its breakpoint strikes before it runs, once: the trunk is then empty, and the next plan
 * resumes.
 */
static void cut_trunk(struct pp_step_plan *plan, struct pp_step_code *code,
		      const struct pp_step_insn *insn, uint64_t next)
{
	struct pp_step_way *trunk = &plan->ways[0];

	begin_trunk(trunk, insn);
	trunk->opens = false;
	if (next == plan->start && !plan->resumes)
		return;
	pass(trunk, insn, false);
	if (insn->kind != PP_KIND_NONE)
		transfer(trunk, insn, next);
	end_way(trunk, pp_step_code_at(code, next));
}

static bool plan_trunk(struct pp_step_plan *plan, struct pp_step_code *code,
		       const struct user_regs_struct *regs)
{
	struct pp_step_way *trunk = &plan->ways[0];
	const struct pp_step_insn insn = *pp_step_code_at(code, regs->rip);
	uint64_t next;

	begin_trunk(trunk, &insn);
	if (is_hazard(&insn) || !insn.len || !successor(code, &insn, regs, &next))
		return false;
	if (is_decision(&insn))
		decide(trunk, code, &insn, next, false);
	else
		run_on(trunk, code, regs->rip, false);
	if (!is_plain(plan))
		cut_trunk(plan, code, &insn, next);
	return true;
}

bool pp_step_plan(struct pp_step_plan *plan, struct pp_step_code *code,
		  const struct user_regs_struct *regs, uint32_t leaf_max, uint32_t insns_wanted)
{
	plan->start = regs->rip;
	plan->resumes = regs->eflags & EFLAGS_RF;
	plan->way_cnt = 1;
	if (!plan_trunk(plan, code, regs))
		return false;
	while (plan->way_cnt < leaf_max) {
		uint32_t i = next_to_open(plan, insns_wanted);

		if (i == plan->way_cnt)
			break;
		open_leaf(plan, code, i);
	}
	return true;
}

const struct pp_step_way *pp_step_plan_way(const struct pp_step_plan *plan, uint64_t address)
{
	for (uint32_t i = 0; i < plan->way_cnt; i++)
		if (plan->ways[i].leaf == address)
			return &plan->ways[i];
	return NULL;
}
