// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sampled collectors over made-up streams: windows against slices of an array, weights by path
 * against a list, and the places in which a window shows a path against trying all of them.
 */
#include "unit.h"

#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/lab/collect/estimate.h"

#define STREAM_CNT 6000

static uint64_t draw(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

/*
 * Branches of all kinds between a few addresses. Half of them are forward and conditional, so that
 * some paths reach the greatest length; what goes back is often not taken.
 */
static void make_stream(struct pathprof_branch *stream, size_t cnt, uint64_t seed)
{
	static const uint32_t kinds[] = {PERF_BR_COND, PERF_BR_COND, PERF_BR_COND, PERF_BR_UNCOND,
					 PERF_BR_IND,  PERF_BR_CALL, PERF_BR_RET,  PERF_BR_CALL};
	uint64_t at = 0x1000, state = seed;

	for (size_t i = 0; i < cnt; i++) {
		/* A long run of one kind between mixed ones. */
		bool forward = i % 300 < 200;
		uint32_t kind = forward ? PERF_BR_COND : kinds[draw(&state) % 8];
		uint64_t from = at + 1, target = from + 0x10 + draw(&state) % 2 * 0x20;

		if (!forward && draw(&state) % 2)
			target = from - 0x40;
		if (forward && draw(&state) % 40 == 0)
			target = 0x1000 + draw(&state) % 4;
		stream[i] = (struct pathprof_branch){.from = from,
						     .target = target,
						     .kind = kind,
						     .taken = kind != PERF_BR_COND ||
							      draw(&state) % 3 == 0};
		stream[i].next = stream[i].taken ? target : from + 4;
		at = stream[i].next;
	}
}

/* ---------------------------------------------------------------- profile */

#define LIST_MAX 3000

struct listed {
	struct lab_path_key key;
	double weights[2];
};

static struct listed *list_at(struct listed *list, size_t *cnt, const struct lab_path_key *key)
{
	size_t i = 0;

	while (i < *cnt && (list[i].key.start != key->start || list[i].key.length != key->length ||
			    list[i].key.outcomes != key->outcomes))
		i++;
	if (i == *cnt)
		list[(*cnt)++].key = *key;
	return &list[i];
}

static double list_overlap(const struct listed *list, size_t cnt)
{
	double total[2] = {0, 0}, sum = 0;

	for (size_t i = 0; i < cnt; i++)
		for (size_t c = 0; c < 2; c++)
			total[c] += list[i].weights[c];
	for (size_t i = 0; i < cnt; i++)
		sum += fmin(list[i].weights[0] / total[0], list[i].weights[1] / total[1]);
	return sum;
}

static size_t profile_differences(const struct lab_profile *p, const struct listed *list,
				  size_t cnt)
{
	size_t different = p->cnt != cnt;

	for (size_t i = 0; i < cnt; i++) {
		const double *found = lab_profile_find(p, &list[i].key);

		different +=
			!found || found[0] != list[i].weights[0] || found[1] != list[i].weights[1];
	}
	return different;
}

static void test_profile_counts_as_a_list(void)
{
	static struct listed list[LIST_MAX];
	struct lab_profile p;
	uint64_t state = 7;
	size_t cnt = 0;

	lab_profile_init(&p, 2);
	for (size_t i = 0; i < 10000; i++) {
		struct lab_path_key key = {draw(&state) % 20 * 0x10, (uint32_t)draw(&state) % 12,
					   (uint32_t)draw(&state) % 12};
		size_t column = draw(&state) % 2;

		lab_profile_at(&p, &key)[column] += (double)(i % 17);
		list_at(list, &cnt, &key)->weights[column] += (double)(i % 17);
	}
	CU_ASSERT(p.numbers.slot_cnt > 1024); /* it grew on the way */
	CU_ASSERT_EQUAL(profile_differences(&p, list, cnt), 0);
	CU_ASSERT_DOUBLE_EQUAL(lab_profile_overlap(&p, 0, &p, 1), list_overlap(list, cnt), 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(lab_profile_overlap(&p, 1, &p, 1), 1, 1e-9);
	/* The planted fault: one weight is off by one. */
	lab_profile_at(&p, &list[5].key)[1] += 1;
	CU_ASSERT_EQUAL(profile_differences(&p, list, cnt), 1);
	lab_profile_release(&p);
}

static void test_empty_profiles_overlap_only_each_other(void)
{
	struct lab_path_key key = {1, 2, 3};
	struct lab_profile p;

	lab_profile_init(&p, 2);
	CU_ASSERT_EQUAL(lab_profile_overlap(&p, 0, &p, 1), 1);
	lab_profile_at(&p, &key)[0] = 2;
	CU_ASSERT_EQUAL(lab_profile_overlap(&p, 0, &p, 1), 0);
	CU_ASSERT_EQUAL(lab_profile_overlap(&p, 0, &p, 0), 1);
	lab_profile_release(&p);
}

static void test_columns_add_up_within_their_run(void)
{
	struct lab_path_key key = {1, 2, 3};
	struct lab_profile p;

	lab_profile_init(&p, 6);
	for (size_t c = 0; c < 6; c++)
		lab_profile_at(&p, &key)[c] = (double)(c + 1);
	lab_profile_cumulate(&p, 3);
	const double *sums = lab_profile_find(&p, &key);
	static const double expected[] = {1, 3, 6, 4, 9, 15};

	for (size_t c = 0; c < 6; c++)
		CU_ASSERT_EQUAL(sums[c], expected[c]);
	lab_profile_release(&p);
}

/* ---------------------------------------------------------------- windows */

struct window_check {
	const struct pathprof_branch *stream;
	size_t stream_cnt, torn_at;
	const struct lab_place *places; /* by rank */
	uint32_t taken_wanted;
	size_t window_cnt, different;
};

/* The end of the window that begins at `first`, computed from the definition. */
static size_t window_end(const struct window_check *check, size_t first)
{
	size_t tear = first < check->torn_at ? check->torn_at : check->stream_cnt, end = first;
	uint32_t taken = 0;

	while (end < tear && end - first < PATHPROF_BURST_MAX && taken < check->taken_wanted)
		taken += check->stream[end++].taken;
	return end;
}

static void check_window(void *context, uint32_t rank, const struct pathprof_branch *branches,
			 uint32_t branch_cnt)
{
	struct window_check *check = context;
	uint64_t clock = check->places[rank].clock, taken = 0;
	size_t first = 0, end;

	while (taken < clock)
		taken += check->stream[first++].taken;
	end = window_end(check, first);
	check->window_cnt++;
	if (branch_cnt != end - first ||
	    memcmp(branches, check->stream + first, branch_cnt * sizeof(branches[0])) != 0)
		check->different++;
}

static void cut_all(struct lab_cutter *c, const struct window_check *check)
{
	uint64_t taken = 0;

	for (size_t i = 0; i < check->stream_cnt; i++) {
		if (i == check->torn_at)
			lab_cutter_tear(c);
		lab_cutter_step(c, &check->stream[i], taken + 1);
		taken += check->stream[i].taken;
	}
	lab_cutter_tear(c);
}

static size_t window_differences(const struct pathprof_branch *stream, uint32_t taken_wanted,
				 bool off_by_one)
{
	struct window_check check = {.stream = stream,
				     .stream_cnt = STREAM_CNT,
				     .torn_at = STREAM_CNT / 3,
				     .taken_wanted = taken_wanted};
	struct lab_place places[500];
	struct lab_cutter c;
	uint64_t taken = 0;

	for (size_t i = 0; i < STREAM_CNT; i++)
		taken += stream[i].taken;
	lab_cutter_init(&c, 500, taken, taken_wanted, 3, check_window, &check);
	for (size_t i = 0; i < 500; i++)
		places[c.places[i].rank] = c.places[i];
	check.places = places;
	if (off_by_one)
		c.taken_wanted++;
	cut_all(&c, &check);
	lab_cutter_release(&c);
	/* A window that begins after the last taken branch is empty and may be missing. */
	return check.different + (check.window_cnt < 495);
}

static void test_windows_are_slices_of_the_stream(void)
{
	static struct pathprof_branch stream[STREAM_CNT];

	make_stream(stream, STREAM_CNT, 11);
	CU_ASSERT_EQUAL(window_differences(stream, 1, false), 0);
	CU_ASSERT_EQUAL(window_differences(stream, 32, false), 0);
	CU_ASSERT_EQUAL(window_differences(stream, 900, false), 0); /* BURST_MAX comes first */
	CU_ASSERT(window_differences(stream, 32, true) > 400);      /* the planted fault */
}

static void count_places(void *context, uint32_t rank, const struct pathprof_branch *branches,
			 uint32_t branch_cnt)
{
	uint32_t *at = context;

	CU_ASSERT_EQUAL(branch_cnt, 1);
	at[branches[0].from]++;
}

static void test_places_are_uniform_over_the_clock(void)
{
	struct lab_cutter c;
	uint32_t at[10] = {0};

	/* Branch i carries i instructions: it must begin as many windows. */
	lab_cutter_init(&c, 45000, 45, 1, 5, count_places, at);
	for (uint64_t i = 0, clock = 0; i < 10; i++) {
		struct pathprof_branch b = {i, i + 8, i + 8, PERF_BR_UNCOND, 1};

		clock += i;
		lab_cutter_step(&c, &b, clock);
	}
	for (uint32_t i = 0; i < 10; i++)
		CU_ASSERT(abs((int)at[i] - (int)i * 1000) <= 5 * (int)sqrt(i * 1000.0));
	lab_cutter_release(&c);
}

/* ---------------------------------------------------------------- places */

/* How often each branch of the stream ended a path, over all windows of n taken branches. */
static void try_all_windows(const struct pathprof_branch *stream, uint32_t n, uint32_t *seen)
{
	struct lab_finder f;
	struct lab_found found;

	lab_finder_init(&f, PATHPROF_MAPPING_BL);
	for (size_t first = 0; first < STREAM_CNT; first++) {
		if (first && !stream[first - 1].taken)
			continue;
		lab_finder_clear(&f);
		for (size_t i = first, taken = 0; i < STREAM_CNT && taken < n; i++) {
			seen[i] += lab_finder_step(&f, &stream[i], 1, &found);
			taken += stream[i].taken;
		}
	}
	lab_finder_release(&f);
}

struct place_errors {
	size_t path_cnt, not_taken_cnt, piece_cnt;
	size_t refined, by_span; /* paths whose places are not so */
};

static void compare_places(const struct pathprof_branch *stream, uint32_t n, const uint32_t *seen,
			   struct place_errors *errors)
{
	struct lab_finder f;
	struct lab_found found;

	lab_finder_init(&f, PATHPROF_MAPPING_BL);
	for (size_t i = 0; i < STREAM_CNT; i++) {
		/* Near the ends of the stream some windows are missing. */
		if (!lab_finder_step(&f, &stream[i], 1, &found) || i < 1000 ||
		    i > STREAM_CNT - 1000)
			continue;
		int64_t places = lab_found_places(&found, n);
		int64_t by_span = (int64_t)n - (int64_t)found.span;

		errors->path_cnt++;
		errors->not_taken_cnt += found.pushed_not_taken || found.popped_not_taken;
		errors->piece_cnt += found.reach != found.span;
		errors->refined += seen[i] != (places > 0 ? places : 0);
		errors->by_span += seen[i] != (by_span > 0 ? by_span : 0);
	}
	lab_finder_release(&f);
}

static void test_places_are_those_that_show_the_path(void)
{
	static struct pathprof_branch stream[STREAM_CNT];
	static uint32_t seen[STREAM_CNT];

	make_stream(stream, STREAM_CNT, 23);
	for (uint32_t n = 4; n <= 64; n *= 4) {
		struct place_errors errors = {.path_cnt = 0};

		memset(seen, 0, sizeof(seen));
		try_all_windows(stream, n, seen);
		compare_places(stream, n, seen, &errors);
		CU_ASSERT(errors.path_cnt > 300);
		CU_ASSERT(errors.not_taken_cnt > 30);
		CU_ASSERT(errors.piece_cnt > 30);
		CU_ASSERT_EQUAL(errors.refined, 0);
		/* The same check must catch a rule that forgets how a path began and ended. */
		CU_ASSERT(errors.by_span > 20);
	}
}

struct totals {
	uint64_t cnt, start, length, span;
};

static void add_total(void *context, const struct pathprof_path_seen *path)
{
	struct totals *t = context;

	t->cnt++;
	t->start += path->start ^ path->outcomes;
	t->length += path->length;
	t->span += path->span;
}

static void test_a_window_shows_the_librarys_paths(void)
{
	static struct pathprof_branch stream[STREAM_CNT];
	struct lab_finder f;
	struct lab_found found;

	make_stream(stream, STREAM_CNT, 31);
	lab_finder_init(&f, PATHPROF_MAPPING_BL);
	for (size_t first = 0; first + 200 < STREAM_CNT; first += 97) {
		struct totals ours = {0}, library = {0};

		pathprof_paths_of_burst(stream + first, 200, PATHPROF_MAPPING_BL, add_total,
					&library);
		lab_finder_clear(&f);
		for (size_t i = first; i < first + 200; i++) {
			if (!lab_finder_step(&f, &stream[i], 1, &found))
				continue;
			struct pathprof_path_seen seen = {.start = found.key.start,
							  .length = found.key.length,
							  .outcomes = found.key.outcomes,
							  .span = (uint32_t)found.span};
			add_total(&ours, &seen);
		}
		CU_ASSERT(library.cnt > 0);
		CU_ASSERT_EQUAL(memcmp(&ours, &library, sizeof(ours)), 0);
	}
	lab_finder_release(&f);
}

/* ---------------------------------------------------------------- estimates */

static void estimate(const struct pathprof_branch *stream, struct lab_truth *truth,
		     enum lab_clock clock, struct lab_estimate *ret_estimate)
{
	lab_truth_init(truth);
	for (size_t i = 0; i < STREAM_CNT; i++)
		lab_truth_step(truth, &stream[i], 1 + (uint32_t)i % 5);
	lab_estimate_init(ret_estimate, clock, 64, 30000, truth, 9);
	for (size_t i = 0; i < STREAM_CNT; i++)
		lab_estimate_step(ret_estimate, &stream[i], 1 + (uint32_t)i % 5);
	lab_estimate_finish(ret_estimate);
}

static void test_more_windows_come_closer_to_the_truth(void)
{
	static struct pathprof_branch stream[STREAM_CNT];
	struct lab_estimate e;
	struct lab_truth truth;
	double few, many, plain;

	make_stream(stream, STREAM_CNT, 47);
	estimate(stream, &truth, LAB_CLOCK_TAKEN, &e);
	few = lab_estimate_overlap(&e, LAB_WEIGHT_REFINED, 0, &truth.profile, LAB_TRUTH_COUNT);
	many = lab_estimate_overlap(&e, LAB_WEIGHT_REFINED, 7, &truth.profile, LAB_TRUTH_COUNT);
	plain = lab_estimate_overlap(&e, LAB_WEIGHT_PLAIN, 7, &truth.profile, LAB_TRUTH_COUNT);
	CU_ASSERT(few < 0.8);
	CU_ASSERT(many > 0.9);
	CU_ASSERT(many > plain);
	CU_ASSERT(many <= 1);
	lab_estimate_release(&e);
	lab_truth_release(&truth);
}

static const struct unit_test tests[] = {
	{"a profile counts as a list does", test_profile_counts_as_a_list},
	{"empty profiles overlap only each other", test_empty_profiles_overlap_only_each_other},
	{"columns add up within their run", test_columns_add_up_within_their_run},
	{"windows are slices of the stream", test_windows_are_slices_of_the_stream},
	{"places are uniform over the clock", test_places_are_uniform_over_the_clock},
	{"places are those that show the path", test_places_are_those_that_show_the_path},
	{"a window shows the library's paths", test_a_window_shows_the_librarys_paths},
	{"more windows come closer to the truth", test_more_windows_come_closer_to_the_truth},
};
UNIT_SUITE(collect, tests)
