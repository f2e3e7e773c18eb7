// SPDX-License-Identifier: GPL-2.0-or-later
/* See tested_span.h. */
#include "tested_span.h"

#include <math.h>

#include "pathprof/unseen.h"

#define SLOTS (PP_TESTED_BUCKETS + 1)

static int64_t bucket_ns(uint64_t span_ns)
{
	return (int64_t)(span_ns / PP_TESTED_BUCKETS);
}

static uint64_t slot_of(int64_t number)
{
	return (uint64_t)number % SLOTS;
}

/* Windows of the store come late: their slot may be a newer bucket's by now. */
static bool has_left(const struct pp_tested_span *span, int64_t number)
{
	const struct pp_tested_bucket *bucket = &span->buckets[slot_of(number)];

	return bucket->counts.weight > 0 && number < bucket->number;
}

static struct pp_tested_bucket *bucket_of(struct pp_tested_span *span, int64_t number)
{
	struct pp_tested_bucket *bucket = &span->buckets[slot_of(number)];

	if (bucket->number != number)
		*bucket = (struct pp_tested_bucket){.number = number};
	return bucket;
}

static void add(struct pp_tested_counts *sum, const struct pp_tested_counts *counts)
{
	sum->weight += counts->weight;
	sum->untested += counts->untested;
	sum->samples += counts->samples;
	sum->variance += counts->variance;
}

void pp_tested_counts_add(struct pp_tested_counts *counts, double weight, double weight_squares,
			  double samples, double squares, bool is_untested)
{
	double looks = squares > 0 ? fmax(1, samples * samples / squares) : 1;

	counts->weight += weight;
	counts->untested += is_untested ? weight : 0;
	counts->samples += samples;
	counts->spread += weight * fmax(1, looks * weight_squares / (weight * weight));
}

void pp_tested_span_add(struct pp_tested_span *span, uint64_t span_ns, int64_t end_ns,
			const struct pp_tested_counts *counts, double bursts)
{
	const int64_t number = end_ns / bucket_ns(span_ns);
	struct pp_tested_counts window = *counts;

	if (!(window.weight > 0) || has_left(span, number))
		return;
	window.variance = window.weight * window.spread / fmax(1, bursts);
	add(&bucket_of(span, number)->counts, &window);
}

void pp_tested_span_sum(const struct pp_tested_span *span, uint64_t span_ns, int64_t end_ns,
			struct pp_tested_counts *sum, int64_t *begin_ns)
{
	int64_t last = end_ns / bucket_ns(span_ns);

	for (int i = 0; i < SLOTS; i++) {
		const struct pp_tested_bucket *bucket = &span->buckets[i];

		if (!(bucket->counts.weight > 0) || bucket->number > last ||
		    bucket->number <= last - PP_TESTED_BUCKETS)
			continue;
		add(sum, &bucket->counts);
		if (bucket->number * bucket_ns(span_ns) < *begin_ns)
			*begin_ns = bucket->number * bucket_ns(span_ns);
	}
}

void pp_tested_span_move(struct pp_tested_span *span, uint64_t span_ns, int64_t by_ns)
{
	const struct pp_tested_span before = *span;

	*span = (struct pp_tested_span){0};
	for (int i = 0; i < SLOTS; i++) {
		int64_t number = before.buckets[i].number + by_ns / bucket_ns(span_ns);

		if (before.buckets[i].counts.weight > 0)
			add(&bucket_of(span, number)->counts, &before.buckets[i].counts);
	}
}

/* Tested and untested code are taken as two paths, each seen by every burst. */
struct pathprof_share pp_tested_share(const struct pp_tested_counts *sum)
{
	double tested = sum->weight - sum->untested;
	struct pathprof_unseen_path paths[2] = {{.looks = 1}, {.looks = 1}};
	struct pathprof_unseen unseen = {.marked = {NAN, NAN, NAN}};
	size_t cnt = 0;

	if (sum->untested > 0)
		paths[cnt++] = (struct pathprof_unseen_path){
			.weight = sum->untested, .looks = 1, .is_marked = true};
	if (tested > 0)
		paths[cnt++] = (struct pathprof_unseen_path){.weight = tested, .looks = 1};
	if (cnt)
		pathprof_unseen_work_out(
			paths, cnt, (uint64_t)fmax(1, sum->weight * sum->weight / sum->variance),
			&unseen);
	return unseen.marked;
}
