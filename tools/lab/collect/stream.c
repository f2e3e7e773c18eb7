// SPDX-License-Identifier: GPL-2.0-or-later
/* Branches in memory, four bytes each. */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vector.h"
#include "../lab.h"

#define STRIDE  64 /* of the list between two sums of the clocks */
#define DEAR_IN 20 /* one branch in so many costs LAB_DEAR */

static uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* splitmix64 */
uint64_t lab_draw(uint64_t *state, uint64_t bound)
{
	uint64_t z = mix(*state += 0x9e3779b97f4a7c15ULL);

	return (uint64_t)(((__uint128_t)z * bound) >> 64);
}

void lab_stream_init(struct lab_stream *s, lab_function_fn *function_of, void *context)
{
	*s = (struct lab_stream){.function_of = function_of, .context = context};
	lab_profile_init(&s->functions, 1);
}

void lab_stream_release(struct lab_stream *s)
{
	free(s->transfers);
	pp_table_release(&s->numbers);
	free(s->list);
	for (size_t c = 0; c < LAB_STREAM_CLOCK_CNT; c++)
		free(s->ticks[c]);
	lab_profile_release(&s->functions);
	*s = (struct lab_stream){.cnt = 0};
}

/* ---------------------------------------------------------------- taking it in */

static uint64_t hash(const struct lab_transfer *t)
{
	const struct pathprof_branch *b = &t->branch;

	return mix(b->from * 0x9e3779b97f4a7c15ULL ^ mix(b->next + ((uint64_t)b->insns << 48)) ^
		   ((uint64_t)b->taken << 8 | t->type));
}

/* All other members follow from these, since the code at `from` does not change. */
static bool same(const struct lab_transfer *x, const struct lab_transfer *y)
{
	return x->branch.from == y->branch.from && x->branch.next == y->branch.next &&
	       x->branch.insns == y->branch.insns && x->branch.taken == y->branch.taken &&
	       x->branch.kind == y->branch.kind && x->branch.target == y->branch.target &&
	       x->type == y->type;
}

static uint32_t function_at(struct lab_stream *s, uint64_t address)
{
	struct lab_path_key key = {address, 0, 0};
	double *function = lab_profile_at(&s->functions, &key);
	uint32_t ret;

	if (*function == 0)
		*function = 1.0 + s->function_of(s->context, address);
	ret = (uint32_t)*function - 1;
	if (ret >= s->function_cnt)
		s->function_cnt = ret + 1;
	return ret;
}

static void set_costs(struct lab_stream *s, struct lab_transfer *t)
{
	const struct pathprof_branch *b = &t->branch;
	bool is_dear = t->type == LAB_TRANSFER_BRANCH && mix(b->from) % DEAR_IN == 0;

	t->cost[LAB_STREAM_INSNS] = b->insns;
	t->cost[LAB_STREAM_TIME] = b->insns + (is_dear ? LAB_DEAR - 1 : 0);
	t->cost[LAB_STREAM_TAKEN] = b->taken;
	if (t->type == LAB_TRANSFER_TEAR)
		return;
	t->function = function_at(s, b->from);
	if (t->type == LAB_TRANSFER_BRANCH)
		function_at(s, b->next);
}

static uint32_t index_of(struct lab_stream *s, const struct lab_transfer *t)
{
	uint32_t index = pp_table_find(&s->numbers, hash(t), i, same(&s->transfers[i], t));

	if (index != PP_TABLE_NONE)
		return index;
	index = s->transfer_cnt;
	if (pp_grow(&s->transfers, index, &s->transfer_room) < 0)
		lab_fail("stream: out of memory");
	s->transfers[index] = *t;
	if (pp_table_add(&s->numbers, hash(t), i, hash(&s->transfers[i])) < 0)
		lab_fail("stream: out of memory");
	set_costs(s, &s->transfers[index]);
	s->transfer_cnt++;
	return index;
}

static void append(struct lab_stream *s, const struct lab_transfer *t)
{
	uint32_t index = index_of(s, t);

	if (pp_grow(&s->list, s->cnt, &s->room) < 0)
		lab_fail("stream: out of memory");
	s->list[s->cnt++] = index;
}

void lab_stream_add(struct lab_stream *s, const struct pathprof_branch *branch, uint32_t insn_cnt,
		    uint32_t kernel_insn_cnt)
{
	struct lab_transfer t = {.branch = *branch};

	if (kernel_insn_cnt) {
		struct lab_transfer kernel = {
			.branch = {.from = branch->from, .insns = kernel_insn_cnt},
			.type = LAB_TRANSFER_KERNEL};

		append(s, &kernel);
	}
	t.branch.insns = insn_cnt - kernel_insn_cnt;
	append(s, &t);
}

void lab_stream_tear(struct lab_stream *s)
{
	append(s, &(struct lab_transfer){.type = LAB_TRANSFER_TEAR});
}

void lab_stream_finish(struct lab_stream *s)
{
	for (size_t c = 0; c < LAB_STREAM_CLOCK_CNT; c++) {
		if (pp_resize(&s->ticks[c], s->cnt / STRIDE + 1) < 0)
			lab_fail("stream: out of memory");
		for (size_t i = 0; i < s->cnt; i++) {
			if (i % STRIDE == 0)
				s->ticks[c][i / STRIDE] = s->total[c];
			s->total[c] += s->transfers[s->list[i]].cost[c];
		}
	}
}

uint32_t lab_stream_function(const struct lab_stream *s, uint64_t address)
{
	struct lab_path_key key = {address, 0, 0};
	const double *function = lab_profile_find(&s->functions, &key);

	if (!function)
		lab_fail("stream: no transfer leads to %#llx", (unsigned long long)address);
	return (uint32_t)*function - 1;
}

/* ---------------------------------------------------------------- windows */

/* Finds the transfer in which the clock strikes, and how far into it. */
static size_t locate(const struct lab_stream *s, enum lab_stream_clock clock, uint64_t place,
		     uint64_t *ret_into)
{
	const uint64_t *ticks = s->ticks[clock];
	size_t low = pp_first(k, 1, (s->cnt - 1) / STRIDE + 1, ticks[k] > place) - 1, i;

	place -= ticks[low];
	for (i = low * STRIDE; s->transfers[s->list[i]].cost[clock] <= place; i++)
		place -= s->transfers[s->list[i]].cost[clock];
	*ret_into = place;
	return i;
}

/* The dear instruction is the last of its run. */
static uint32_t rest_of(const struct lab_transfer *t, uint64_t into)
{
	return into < t->branch.insns ? t->branch.insns - (uint32_t)into : 1;
}

uint32_t lab_stream_window(const struct lab_stream *s, const struct lab_window_form *form,
			   uint64_t place, struct pathprof_branch *branches, uint32_t *ret_insns)
{
	bool is_hardware = form->clock == LAB_STREAM_TAKEN;
	uint32_t cnt = 0, taken = 0, insns = 0, pending = 0;
	uint64_t into;
	size_t i = locate(s, form->clock, place, &into);

	if (is_hardware)
		i++;
	for (; i < s->cnt && cnt < PATHPROF_BURST_MAX; i++) {
		const struct lab_transfer *t = &s->transfers[s->list[i]];
		uint32_t ran = cnt || is_hardware ? t->branch.insns : rest_of(t, into);

		if (t->type == LAB_TRANSFER_TEAR ||
		    (t->type == LAB_TRANSFER_KERNEL && !is_hardware))
			break;
		if (form->horizon && insns + ran > form->horizon)
			break;
		insns += ran;
		if (t->type == LAB_TRANSFER_KERNEL) {
			pending = ran;
			continue;
		}
		branches[cnt] = t->branch;
		branches[cnt++].insns = ran + pending;
		pending = 0;
		taken += t->branch.taken;
		if (!form->horizon && taken == form->taken)
			break;
	}
	*ret_insns = insns;
	return cnt;
}
