// SPDX-License-Identifier: GPL-2.0-or-later
#include "predictor.h"

#include <linux/perf_event.h>
#include <string.h>

#define WEAKLY_NOT 1

void lab_predictor_init(struct lab_predictor *predictor)
{
	memset(predictor, 0, sizeof(*predictor));
	memset(predictor->gshare, WEAKLY_NOT, sizeof(predictor->gshare));
	memset(predictor->bimodal, WEAKLY_NOT, sizeof(predictor->bimodal));
	memset(predictor->chooser, WEAKLY_NOT, sizeof(predictor->chooser));
}

static void count(uint8_t *counter, bool up)
{
	if (up)
		*counter += *counter < 3;
	else
		*counter -= *counter > 0;
}

static bool step_direction(struct lab_predictor *p, uint64_t from, bool taken)
{
	uint8_t *global = &p->gshare[(from ^ p->history) % LAB_GSHARE_CNT];
	uint8_t *local = &p->bimodal[from % LAB_BIMODAL_CNT];
	uint8_t *chooser = &p->chooser[from % LAB_CHOOSER_CNT];
	bool by_global = *global >= 2, by_local = *local >= 2;
	bool predicted = *chooser >= 2 ? by_global : by_local;

	if (by_global != by_local)
		count(chooser, by_global == taken);
	count(global, taken);
	count(local, taken);
	p->history = (p->history << 1 | taken) & ((1u << LAB_HISTORY_BITS) - 1);
	return predicted != taken;
}

/* Enters the target, most recent first. true: it was there already, and the same. */
static bool step_target(struct lab_predictor *p, uint64_t from, uint64_t target)
{
	struct lab_target *set = p->targets[from % LAB_TARGET_SETS];
	uint32_t way = 0;
	bool right;

	while (way < LAB_TARGET_WAYS - 1 && set[way].from != from)
		way++;
	right = set[way].from == from && set[way].target == target;
	memmove(set + 1, set, way * sizeof(*set));
	set[0] = (struct lab_target){.from = from, .target = target};
	return right;
}

static void push(struct lab_predictor *p, uint64_t from)
{
	p->ras_top = (p->ras_top + 1) % LAB_RAS_CNT;
	p->ras[p->ras_top] = from;
	p->ras_depth += p->ras_depth < LAB_RAS_CNT;
}

/*
 * The stack holds calls, not what follows them, for a record does not say how long its instruction
 * is: a return that lands just behind the call, within the longest instruction, was predicted.
 */
static bool step_return(struct lab_predictor *p, uint64_t next)
{
	uint64_t call;

	if (!p->ras_depth)
		return false;
	call = p->ras[p->ras_top];
	p->ras_top = (p->ras_top + LAB_RAS_CNT - 1) % LAB_RAS_CNT;
	p->ras_depth--;
	return next > call && next - call <= LAB_CALL_MAX_BYTES;
}

static bool step_indirect(struct lab_predictor *p, const struct pathprof_branch *b)
{
	return !step_target(p, b->from, b->next);
}

static bool step_conditional(struct lab_predictor *p, const struct pathprof_branch *b)
{
	bool wrong = step_direction(p, b->from, b->taken);

	if (b->taken)
		step_target(p, b->from, b->next);
	return wrong;
}

bool lab_predictor_step(struct lab_predictor *predictor, const struct pathprof_branch *branch)
{
	switch (branch->kind) {
	case PERF_BR_COND:
		return step_conditional(predictor, branch);
	case PERF_BR_IND_CALL:
		push(predictor, branch->from);
		return step_indirect(predictor, branch);
	case PERF_BR_IND:
		return step_indirect(predictor, branch);
	case PERF_BR_RET:
		return !step_return(predictor, branch->next);
	case PERF_BR_CALL:
		push(predictor, branch->from);
		break;
	default:
		break;
	}
	step_target(predictor, branch->from, branch->next);
	return false;
}
