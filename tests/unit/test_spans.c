// SPDX-License-Identifier: GPL-2.0-or-later
/* Ranges that lie in one another, against a search through all of them. */
#include "../../libprofile/src/code/pp_spans.h"
#include "unit.h"

#include <errno.h>

#define ADDRESSES 400
#define ROUNDS    300

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* The spans under test, and those that were added, in that order. */
struct world {
	struct pp_spans spans;
	struct pp_span added[64];
	uint32_t cnt;
};

static void add(struct world *w, uint64_t start, uint64_t end)
{
	CU_ASSERT_EQUAL_FATAL(pp_spans_add(&w->spans, start, end, w->cnt), 0);
	w->added[w->cnt] = (struct pp_span){start, end, w->cnt, 0};
	w->cnt++;
}

/* Parts of [start, end) that do not overlap, and parts of these: wider ones come first. */
static void add_nested(struct world *w, uint64_t start, uint64_t end, uint32_t *state)
{
	for (uint64_t at = start; at < end && w->cnt < 60;) {
		uint64_t from = at + next_random(state) % 3, to;

		to = from + next_random(state) % (end - at + 1);
		if (to > end || from >= to)
			return;
		add(w, from, to);
		if (next_random(state) % 4)
			add_nested(w, from, to, state);
		at = to;
	}
}

/* The narrowest that holds it, of the same ones the last. */
static uint32_t naive_at(const struct world *w, uint64_t address)
{
	uint32_t best = PP_SPANS_NONE;

	for (uint32_t i = 0; i < w->cnt; i++) {
		const struct pp_span *s = &w->added[i];

		if (address < s->start || address >= s->end)
			continue;
		if (best == PP_SPANS_NONE ||
		    s->end - s->start <= w->added[best].end - w->added[best].start)
			best = i;
	}
	return best;
}

static uint32_t count_differences(const struct world *w)
{
	uint32_t cnt = 0;

	for (uint64_t a = 0; a < ADDRESSES; a++)
		cnt += pp_spans_at(&w->spans, a) != naive_at(w, a);
	return cnt;
}

static void make_world(struct world *w, uint32_t *state)
{
	*w = (struct world){0};
	add_nested(w, 0, ADDRESSES - 10, state);
	pp_spans_nest(&w->spans);
}

static void test_innermost(void)
{
	uint32_t state = 1, deep = 0;
	struct world w;

	for (int i = 0; i < ROUNDS; i++) {
		make_world(&w, &state);
		CU_ASSERT_EQUAL(count_differences(&w), 0);
		deep += w.cnt > 8;
		pp_spans_release(&w.spans);
	}
	CU_ASSERT(deep > ROUNDS / 4);
}

/* Without its way outwards a span that ends hides the one that it lies in. */
static void test_planted(void)
{
	uint32_t state = 1, found = 0;
	struct world w;

	for (int i = 0; i < ROUNDS; i++) {
		make_world(&w, &state);
		for (uint32_t j = 0; j < w.spans.cnt; j++)
			w.spans.spans[j].outer = PP_SPANS_NONE;
		found += count_differences(&w) > 0;
		pp_spans_release(&w.spans);
	}
	CU_ASSERT(found > ROUNDS / 4);
}

static void test_edges(void)
{
	struct world w = {0};

	CU_ASSERT_EQUAL(pp_spans_at(&w.spans, 0), PP_SPANS_NONE);
	pp_spans_nest(&w.spans);
	CU_ASSERT_EQUAL(pp_spans_add(&w.spans, 5, 5, 1), 0);
	CU_ASSERT_EQUAL(pp_spans_add(&w.spans, 6, 5, 1), 0);
	CU_ASSERT_EQUAL(w.spans.cnt, 0);
	CU_ASSERT_EQUAL(pp_spans_add(&w.spans, UINT64_MAX - 1, UINT64_MAX, 7), 0);
	CU_ASSERT_EQUAL(pp_spans_add(&w.spans, 0, 1, 8), 0);
	pp_spans_nest(&w.spans);
	CU_ASSERT_EQUAL(pp_spans_at(&w.spans, 0), 8);
	CU_ASSERT_EQUAL(pp_spans_at(&w.spans, 1), PP_SPANS_NONE);
	CU_ASSERT_EQUAL(pp_spans_at(&w.spans, UINT64_MAX - 1), 7);
	CU_ASSERT_EQUAL(pp_spans_at(&w.spans, UINT64_MAX), PP_SPANS_NONE);
	pp_spans_release(&w.spans);
}

static void test_room_ends(void)
{
	struct pp_spans spans = {.cnt = 1U << 26};

	CU_ASSERT_EQUAL(pp_spans_add(&spans, 1, 2, 0), -ENOMEM);
	CU_ASSERT_PTR_NULL(spans.spans);
}

static const struct unit_test tests[] = {
	{"the innermost is the one a search finds", test_innermost},
	{"a broken way outwards is found", test_planted},
	{"empty ranges are none, the last address is one", test_edges},
	{"ranges that would be too many are refused", test_room_ends},
};
UNIT_SUITE(spans, tests)
