// SPDX-License-Identifier: GPL-2.0-or-later
/* The truth about one or two streams, and draws out of them. */
#include "mix.h"

#include <stdlib.h>

#include "../lab.h"

#define LENGTH_MAX 32
#define TIME_SHIFT 32 /* the path stack adds up one number: instructions below, time above */

const uint32_t lab_horizons[LAB_LENGTH_CNT] = {128, 256, 512, 1024, 2048, 4096};
const uint32_t lab_takens[LAB_LENGTH_CNT] = {8, 16, 32, 64, 128, 256};

static void *allocate(size_t cnt, size_t size_bytes)
{
	void *p = calloc(cnt ? cnt : 1, size_bytes);

	if (!p)
		lab_fail("mix: out of memory");
	return p;
}

/* ---------------------------------------------------------------- the truth */

struct pass {
	struct lab_mix *mix;
	const struct lab_stream *stream;
	size_t index;
	double scale; /* of this stream's time to a share */
	struct pathprof_path_stack *stack;
	uint32_t *insns_at; /* instructions run by each taken branch, modulo 2^32 */
	uint32_t taken_cnt, insn_cnt;
	uint64_t pending; /* events of a run up to a system call */
	double runs;
};

static void add_path(struct pass *p, const struct pathprof_path_popped *path)
{
	struct lab_mix *m = p->mix;
	struct lab_path_key key = {lab_mix_start(p->index, path->start), path->length,
				   path->outcomes};
	double *columns = lab_profile_at(&m->truth, &key);
	/* A path that a not-taken branch pushed began a few instructions later than this says. */
	uint32_t span = p->insn_cnt - p->insns_at[p->taken_cnt - (uint32_t)path->span];
	bool is_seen = span < m->seen_horizon;

	columns[LAB_MIX_RUNS] += p->scale;
	columns[LAB_MIX_TIME] += p->scale * (double)(path->events >> TIME_SHIFT);
	columns[LAB_MIX_SEEN_RUNS] += is_seen ? p->scale : 0;
	columns[LAB_MIX_SEEN_INSNS] += is_seen ? p->scale * (double)(uint32_t)path->events : 0;
	for (size_t i = 0; i < LAB_LENGTH_CNT; i++) {
		m->seen_whole[i] += span < lab_horizons[i] ? p->scale : 0;
		m->seen_whole_taken[i] += path->span < lab_takens[i] ? p->scale : 0;
	}
	m->function_runs[lab_mix_function(m, &key)] += p->scale;
}

static void clear(struct pass *p)
{
	struct pathprof_path_popped forgotten;

	while (pathprof_path_stack_drain(p->stack, &forgotten))
		;
	p->pending = 0;
}

static void step(struct pass *p, const struct lab_transfer *t)
{
	uint64_t events = t->branch.insns | (uint64_t)t->cost[p->mix->time] << TIME_SHIFT;
	struct pathprof_path_popped path;
	bool popped;

	p->insn_cnt += t->branch.insns;
	p->mix->function_time[p->mix->first_function[p->index] + t->function] +=
		p->scale * t->cost[p->mix->time];
	if (t->type == LAB_TRANSFER_KERNEL) {
		p->pending += events;
		return;
	}
	popped = pathprof_path_stack_step(p->stack, &t->branch, events + p->pending, &path);
	p->pending = 0;
	if (t->branch.taken)
		p->insns_at[++p->taken_cnt] = p->insn_cnt;
	if (popped)
		add_path(p, &path);
}

static void pass_over(struct lab_mix *m, size_t index)
{
	const struct pathprof_path_settings settings = {.mapping = PATHPROF_MAPPING_BL,
							.max_length = LENGTH_MAX};
	const struct lab_stream *s = m->streams[index];
	struct pass p = {.mix = m, .stream = s, .index = index};

	p.scale = 1.0 / (double)(s->total[m->time] * m->cnt);
	p.insns_at = allocate(s->total[LAB_STREAM_TAKEN] + 1, sizeof(p.insns_at[0]));
	if (pathprof_path_stack_new(&p.stack, &settings) < 0)
		lab_fail("mix: out of memory");
	for (size_t i = 0; i < s->cnt; i++)
		if (s->transfers[s->list[i]].type == LAB_TRANSFER_TEAR)
			clear(&p);
		else
			step(&p, &s->transfers[s->list[i]]);
	pathprof_path_stack_free(p.stack);
	free(p.insns_at);
}

/* Turns RUNS into shares. */
static void normalise(struct lab_mix *m)
{
	double runs = lab_profile_total(&m->truth, LAB_MIX_RUNS);

	if (runs <= 0)
		return;
	for (uint32_t f = 0; f < m->function_cnt; f++)
		m->function_runs[f] /= runs;
	for (size_t i = 0; i < LAB_LENGTH_CNT; i++) {
		m->seen_whole[i] /= runs;
		m->seen_whole_taken[i] /= runs;
	}
}

/* ---------------------------------------------------------------- clock samples */

/* Builds the alias table: each slot holds a function and one whose share is above average, so two
 * draws find any function. */
static void make_alias(struct lab_mix *m)
{
	uint32_t n = m->function_cnt, *queue = allocate(n, sizeof(*queue)), low = 0, high = n;

	m->alias_chance = allocate(n, sizeof(m->alias_chance[0]));
	m->alias = allocate(n, sizeof(m->alias[0]));
	for (uint32_t f = 0; f < n; f++) {
		m->alias_chance[f] = m->function_time[f] * n;
		m->alias[f] = f;
		if (m->alias_chance[f] < 1)
			queue[low++] = f;
		else
			queue[--high] = f;
	}
	/* queue[0, low): shares below average; queue[high, n): shares above. */
	while (low && high < n) {
		uint32_t little = queue[--low], much = queue[high];

		m->alias[little] = much;
		m->alias_chance[much] -= 1 - m->alias_chance[little];
		if (m->alias_chance[much] < 1) {
			high++;
			queue[low++] = much;
		}
	}
	free(queue);
}

void lab_mix_clock(const struct lab_mix *m, uint64_t cnt, uint64_t *state, uint64_t *counts)
{
	for (uint64_t i = 0; i < cnt; i++) {
		uint32_t f = (uint32_t)lab_draw(state, m->function_cnt);
		double x = (double)lab_draw(state, 1ull << 53) * 0x1p-53;

		counts[x < m->alias_chance[f] ? f : m->alias[f]]++;
	}
}

/* ---------------------------------------------------------------- */

void lab_mix_init(struct lab_mix *m, const struct lab_stream *const *streams, size_t cnt,
		  enum lab_stream_clock time, uint32_t seen_horizon)
{
	*m = (struct lab_mix){.cnt = cnt, .time = time, .seen_horizon = seen_horizon};
	for (size_t i = 0; i < cnt; i++) {
		if (!streams[i]->total[LAB_STREAM_TAKEN])
			lab_fail("mix: an empty stream");
		m->streams[i] = streams[i];
		m->first_function[i] = m->function_cnt;
		m->function_cnt += streams[i]->function_cnt;
	}
	m->function_time = allocate(m->function_cnt, sizeof(m->function_time[0]));
	m->function_runs = allocate(m->function_cnt, sizeof(m->function_runs[0]));
	lab_profile_init(&m->truth, LAB_MIX_COLUMN_CNT);
	for (size_t i = 0; i < cnt; i++)
		pass_over(m, i);
	normalise(m);
	make_alias(m);
}

void lab_mix_release(struct lab_mix *m)
{
	lab_profile_release(&m->truth);
	free(m->function_time);
	free(m->function_runs);
	free(m->alias_chance);
	free(m->alias);
	*m = (struct lab_mix){.cnt = 0};
}

uint32_t lab_mix_function(const struct lab_mix *m, const struct lab_path_key *key)
{
	size_t stream = key->start >> 62;
	uint64_t address = key->start & ((1ull << 62) - 1);

	return m->first_function[stream] + lab_stream_function(m->streams[stream], address);
}

/* Draws a stream in proportion to the speed of its clock in its half of the time. */
static size_t draw_stream(const struct lab_mix *m, enum lab_stream_clock clock, uint64_t *state)
{
	double rates[LAB_MIX_MAX] = {0}, sum = 0, x;

	if (m->cnt == 1)
		return 0;
	for (size_t i = 0; i < m->cnt; i++)
		sum += rates[i] =
			(double)m->streams[i]->total[clock] / (double)m->streams[i]->total[m->time];
	x = (double)lab_draw(state, 1ull << 53) * 0x1p-53 * sum;
	return x < rates[0] ? 0 : 1;
}

uint32_t lab_mix_window(const struct lab_mix *m, const struct lab_window_form *form,
			uint64_t *state, struct pathprof_branch *branches, uint32_t *ret_insns,
			size_t *ret_stream)
{
	size_t stream = draw_stream(m, form->clock, state);
	const struct lab_stream *s = m->streams[stream];

	*ret_stream = stream;
	return lab_stream_window(s, form, lab_draw(state, s->total[form->clock]), branches,
				 ret_insns);
}
