// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A library is judged by what it does in each program: that one program gave way to another is no
 * drift of it, that it does something else in one of them is.
 */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/drift/drift_judge.h"
#include "pathprof/events.h"

#define LIBRARY 77
#define PATHS   8

static const double even[PATHS] = {8, 8, 8, 8, 8, 8, 8, 8};
static const double falling[PATHS] = {32, 16, 8, 4, 2, 1, 1, 0};
static const double rising[PATHS] = {0, 1, 1, 2, 4, 8, 16, 32};

/* How often the library's paths ran in a program, 0: in one that is not known. */
static void add(struct pathprof_tally *to, uint64_t program, const double shares[PATHS], double by)
{
	for (uint32_t i = 0; i < PATHS; i++) {
		const struct pathprof_worth seen = {shares[i] * by, shares[i] * by, shares[i] * by,
						    shares[i] * by};
		struct pathprof_event key;

		pathprof_event_of_path(&key, pathprof_event_group_in(LIBRARY, program), i, 1, 0, 0);
		CU_ASSERT_EQUAL(pathprof_tally_append(to, &key, &seen, false), 0);
	}
}

/* Bits of the window from the base; the share that was compared is *ret_matched. -1: none was. */
static double bits(struct pathprof_tally *window, struct pathprof_tally *base, double *ret_matched)
{
	const struct pathprof_rolling rolling = {0};
	const struct pathprof_judged judged = {
		.rolling = &rolling, .window = window, .per_burst = 1, .samples_min = 50};
	struct pathprof_measured measured;
	double kl;
	int r;

	CU_ASSERT_EQUAL(pathprof_tally_sort(window), 0);
	CU_ASSERT_EQUAL(pathprof_tally_sort(base), 0);
	r = pathprof_measure(&measured, &judged, &(struct pathprof_baseline){.tally = base}, 1);
	CU_ASSERT(r == 0 || r == -ENODATA);
	kl = r == 0 ? measured.drift.kl_corrected_bits : -1;
	*ret_matched = measured.matched;
	pathprof_measured_release(&measured);
	pathprof_tally_release(window);
	pathprof_tally_release(base);
	return kl;
}

static void test_other_mix(void)
{
	struct pathprof_tally window = {0}, base = {0};
	double matched;

	add(&base, 1, falling, 90);
	add(&base, 2, rising, 10);
	add(&window, 1, falling, 10);
	add(&window, 2, rising, 90);
	CU_ASSERT(bits(&window, &base, &matched) < 0.01);
	CU_ASSERT_DOUBLE_EQUAL(matched, 1, 1e-9);

	/* the same without programs, as a check of the check */
	add(&base, 0, falling, 90);
	add(&base, 0, rising, 10);
	add(&window, 0, falling, 10);
	add(&window, 0, rising, 90);
	CU_ASSERT(bits(&window, &base, &matched) > 1);
}

static void test_other_behaviour(void)
{
	struct pathprof_tally window = {0}, base = {0};
	double matched, alone, beside;

	add(&base, 1, falling, 50);
	add(&window, 1, rising, 50);
	alone = bits(&window, &base, &matched);
	/* half of what runs is the other program, which does what it did */
	add(&base, 1, falling, 50);
	add(&base, 2, even, 150);
	add(&window, 1, rising, 50);
	add(&window, 2, even, 50);
	beside = bits(&window, &base, &matched);
	CU_ASSERT(alone > 1);
	CU_ASSERT_DOUBLE_EQUAL(beside, alone / 2, 0.05 * alone);
}

static void test_new_program(void)
{
	struct pathprof_tally window = {0}, base = {0};
	double matched;

	add(&base, 1, falling, 50);
	add(&base, 3, even, 0.5); /* 32 samples: fewer than a baseline needs */
	add(&window, 1, falling, 30);
	add(&window, 2, rising, 10);
	add(&window, 3, rising, 10);
	CU_ASSERT(bits(&window, &base, &matched) < 0.01);
	CU_ASSERT_DOUBLE_EQUAL(matched, 0.6, 1e-9);

	/* none of those that there were */
	add(&base, 1, falling, 50);
	add(&window, 2, rising, 50);
	CU_ASSERT_EQUAL(bits(&window, &base, &matched), -1);
	CU_ASSERT_EQUAL(matched, 0);
}

/* ---------------------------------------------------------------- where programs come from */

static struct pathprof_build_id id_of(uint8_t number)
{
	struct pathprof_build_id id;

	pathprof_build_id_make(&id, PATHPROF_ID_BUILD_ID, &number, 1);
	return id;
}

static uint32_t add_process(struct pathprof_profile *p, uint32_t pid, uint32_t binary)
{
	char comm[] = "c", none[] = "";
	const struct pathprof_process process = {
		.pid = pid, .start_time = 1, .comm = comm, .container = none, .binary = binary};

	return pathprof_profile_process(p, &process);
}

/* The upper halves of a part's keys, each once, in order. */
static size_t programs_of(const struct pathprof_part *part, uint64_t programs[4])
{
	size_t cnt = 0;

	for (size_t i = 0; i < part->tally.cnt; i++)
		if (!i || part->tally.events[i].key_hi != part->tally.events[i - 1].key_hi)
			programs[cnt++ % 4] = part->tally.events[i].key_hi;
	return cnt;
}

static void test_split(void)
{
	struct pathprof_build_id library = id_of(1), one = id_of(2), other = id_of(3);
	struct pathprof_profile p;
	struct pathprof_part *parts = NULL;
	struct pathprof_event *events = NULL;
	uint32_t of_library, of_one, of_other, runs[3];
	uint64_t programs[4];
	size_t cnt = 0;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 1 << 20), 0);
	of_library = pathprof_profile_binary(&p, &library, "/lib/l.so");
	of_one = pathprof_profile_binary(&p, &one, "/bin/one");
	of_other = pathprof_profile_binary(&p, &other, "/bin/other");
	runs[0] = add_process(&p, 10, of_one);
	runs[1] = add_process(&p, 11, of_one);
	runs[2] = add_process(&p, 12, of_other);
	for (int i = 0; i < 3; i++)
		for (uint64_t start = 0; start < 5; start++) {
			struct pathprof_path_count path = {.process = runs[i],
							   .binary = of_library,
							   .start = start,
							   .length = 1,
							   .samples = 1,
							   .weight = 1};

			pathprof_profile_add_path(&p, &path);
			path.binary = i < 2 ? of_one : of_other;
			pathprof_profile_add_path(&p, &path);
		}
	CU_ASSERT_EQUAL_FATAL(pp_drift_split(&p, &parts, &cnt, &events), 0);
	CU_ASSERT_EQUAL(cnt, 3);
	for (size_t i = 0; i < cnt; i++) {
		bool is_library = pathprof_build_id_equal(parts[i].id, &library);

		CU_ASSERT_EQUAL(programs_of(&parts[i], programs), is_library ? 2 : 1);
		CU_ASSERT_EQUAL(parts[i].tally.cnt, is_library ? 10 : 5);
		if (!is_library)
			CU_ASSERT_EQUAL(programs[0], parts[i].group);
	}
	free(parts);
	free(events);
	pathprof_profile_release(&p);
}

static void test_impossible_sum(void)
{
	const struct pathprof_worth seen = {PATHPROF_WEIGHT_MAX, 1, 1, 1};
	const struct pathprof_event key = {.key_lo = 1};
	struct pathprof_tally counts = {0};

	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(pathprof_tally_append(&counts, &key, &seen, false), 0);
	CU_ASSERT_EQUAL(pathprof_tally_sort(&counts), -ERANGE);
	CU_ASSERT_EQUAL(counts.cnt, 0);
	CU_ASSERT_EQUAL(counts.total, 0);
	CU_ASSERT_EQUAL(counts.samples, 0);
	CU_ASSERT_EQUAL(counts.sample_squares, 0);
	pathprof_tally_release(&counts);
}

static const struct unit_test tests[] = {
	{"a program that gave way to another is no drift of a library", test_other_mix},
	{"a library that does something else in one program drifted", test_other_behaviour},
	{"programs that a baseline does not know are left out, and told", test_new_program},
	{"a window's paths of a library are kept apart by program", test_split},
	{"a tally whose sum is impossible is empty", test_impossible_sum},
};
UNIT_SUITE(drift_programs, tests)
