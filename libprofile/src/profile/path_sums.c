// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Figures of a path count: see pp_path_sums.h. */
#include "pp_path_sums.h"

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* (a + b)^2 - a^2 = b (2a + b) */
static void add_squares(struct pathprof_path_count *entry, const struct pathprof_path_count *add)
{
	uint64_t more = add->squares;

	if (add->burst) {
		if (__builtin_mul_overflow(add->samples, 2 * entry->burst_samples + add->samples,
					   &more))
			more = UINT64_MAX;
		entry->burst_samples += add->samples;
	}
	/* unknown stays so */
	if (more && (entry->squares || !entry->samples))
		entry->squares = add_saturated(entry->squares, more);
	else
		entry->squares = 0;
}

/* (sum + more)^2 - sum^2 */
static double added_square(double sum, double more)
{
	return more * (2 * sum + more);
}

static void add_weight_squares(struct pathprof_path_count *entry,
			       const struct pathprof_path_count *add)
{
	double more = add->weight_squares;

	if (add->burst) {
		more = added_square(entry->burst_weight, add->weight);
		entry->burst_weight += add->weight;
	}
	if (add->slice) {
		more += added_square(entry->slice_weight, add->weight) / add->slice_samples;
		entry->slice_weight += add->weight;
	}
	/* unknown stays so */
	if (more > 0 && (entry->weight_squares > 0 || !entry->samples))
		entry->weight_squares += more;
	else
		entry->weight_squares = 0;
}

/* Begins new sums where another burst, or another slice, begins. */
static void turn_to(struct pathprof_path_count *entry, const struct pathprof_path_count *add)
{
	if (add->burst && entry->burst != add->burst) {
		entry->burst = add->burst;
		entry->burst_samples = 0;
		entry->burst_weight = 0;
	}
	if (add->slice && entry->slice != add->slice) {
		entry->slice = add->slice;
		entry->slice_weight = 0;
	}
}

/* One addition that does not know its instructions makes the sum unknown, and it stays so. */
static void add_insns(struct pathprof_path_count *entry, const struct pathprof_path_count *add)
{
	bool known = add->insns > 0 && (entry->insns > 0 || !entry->samples);

	if (add->samples)
		entry->insns = known ? entry->insns + add->insns : 0;
}

void pp_path_sums_begin(struct pathprof_path_count *entry)
{
	entry->samples = entry->squares = entry->burst = entry->burst_samples = 0;
	entry->slice = 0;
	entry->weight = entry->insns = entry->weight_squares = 0;
	entry->burst_weight = entry->slice_weight = 0;
}

void pp_path_sums_add(struct pathprof_path_count *entry, const struct pathprof_path_count *add)
{
	turn_to(entry, add);
	add_squares(entry, add);
	add_weight_squares(entry, add);
	add_insns(entry, add);
	entry->samples = add_saturated(entry->samples, add->samples);
	entry->weight += add->weight;
}
