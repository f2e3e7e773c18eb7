// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Segments against an oracle that looks at a whole window at once: marks where segments end, then
 * reads each stretch between two marks. Names are held apart by what they stand for.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "../../libprofile/core/pp_hpt.h"
#include "../../libprofile/core/pp_segment.h"
#include "oracle_stream.h"

#define WINDOW_MAX 96
#define WINDOWS    20000

/* One branch more than pp_taken says: something is missing before it. */
struct entry {
	struct pp_taken taken;
	bool cut;
};

/* A segment as the oracle has it. */
struct stretch {
	uint64_t start, events;
	uint32_t first, length;
};

/* Short addresses, so that targets repeat and go either way; kinds that exist and some that do not.
 */
static void draw(uint64_t *random, uint32_t spread, struct entry *ret_entry)
{
	uint64_t drawn = stream_random(random);

	ret_entry->taken.from = 0x400000 + drawn % spread;
	ret_entry->taken.to = 0x400000 + (drawn >> 16) % spread;
	ret_entry->taken.kind = (drawn >> 32) % 4 ? (drawn >> 34) % 3 : (drawn >> 34) % 20;
	ret_entry->taken.events = (drawn >> 40) % 100;
	ret_entry->cut = (drawn >> 48) % 40 == 0;
	/* Long ones come of branches that go on and on. */
	if ((drawn >> 56) % 8 && spread > 1000) {
		ret_entry->taken.kind = 1;
		ret_entry->taken.to = ret_entry->taken.from + 5;
		ret_entry->cut = false;
	}
}

/* The kinds that may lie within a segment are written out here: none, conditional, jump. */
static bool oracle_bounds(const struct pp_taken *taken)
{
	if (taken->to <= taken->from)
		return true;
	return taken->kind != 0 && taken->kind != 1 && taken->kind != 2;
}

/* fault: a boundary that a backward branch makes is overlooked. */
static uint32_t oracle(const struct entry *entries, uint32_t cnt, bool fault,
		       struct stretch *ret_stretches)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t length = 0;
		uint64_t events = 0;

		/* One begins behind a boundary and behind a segment that was full. */
		bool behind_full = found && ret_stretches[found - 1].length == 32 &&
				   ret_stretches[found - 1].first + 32 == i;

		if (i == 0 || (!oracle_bounds(&entries[i - 1].taken) && !behind_full))
			continue;
		for (uint32_t j = i; j < cnt && !entries[j].cut && length < 32; j++) {
			events += entries[j].taken.events;
			length++;
			if (oracle_bounds(&entries[j].taken) &&
			    !(fault && entries[j].taken.kind < 3))
				break;
		}
		if (length && (length == 32 || oracle_bounds(&entries[i + length - 1].taken)))
			ret_stretches[found++] = (struct stretch){
				.start = entries[i - 1].taken.to,
				.events = events,
				.first = i,
				.length = length,
			};
	}
	return found;
}

static bool same(const struct pp_segment *segment, const struct stretch *stretch)
{
	return segment->start == stretch->start && segment->events == stretch->events &&
	       segment->first == stretch->first && PP_DESC_LENGTH(segment->desc) == stretch->length;
}

/* Segments of one window that differ. */
static uint64_t differences(const struct entry *entries, uint32_t cnt, bool fault)
{
	struct stretch stretches[WINDOW_MAX];
	uint32_t expected = oracle(entries, cnt, fault, stretches), found = 0;
	struct pp_segment_state state = {0};
	struct pp_segment segment;
	uint64_t different = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		if (entries[i].cut)
			pp_segment_cut(&state);
		if (!pp_segment_step(&state, &entries[i].taken, &segment))
			continue;
		if (found >= expected || !same(&segment, &stretches[found]))
			different++;
		found++;
	}
	return different + (found < expected ? expected - found : 0);
}

static uint64_t all_differences(bool fault)
{
	static const uint32_t spreads[] = {8, 64, 4096, 1000000};
	struct entry entries[WINDOW_MAX];
	uint64_t random = 7, different = 0;

	for (uint32_t window = 0; window < WINDOWS; window++) {
		uint32_t cnt = stream_random(&random) % (WINDOW_MAX + 1);

		for (uint32_t i = 0; i < cnt; i++)
			draw(&random, spreads[window % 4], &entries[i]);
		different += differences(entries, cnt, fault);
	}
	return different;
}

static void test_oracle(void)
{
	CU_ASSERT_EQUAL(all_differences(false), 0);
}

static void test_planted_fault(void)
{
	CU_ASSERT_NOT_EQUAL(all_differences(true), 0);
}

static uint32_t feed(struct pp_segment_state *state, uint64_t from, uint64_t to, uint64_t kind,
		     struct pp_segment *ret_segment)
{
	struct pp_taken taken = {from, to, kind, 1};

	return pp_segment_step(state, &taken, ret_segment);
}

static void test_nothing_before_the_first_boundary(void)
{
	struct pp_segment_state state = {0};
	struct pp_segment segment;

	for (uint64_t i = 0; i < 70; i++)
		CU_ASSERT_EQUAL(feed(&state, 16 * i + 1, 16 * i + 9, PP_KIND_COND, &segment), 0);
	CU_ASSERT_EQUAL(feed(&state, 2000, 3000, PP_KIND_CALL, &segment), 0);
	CU_ASSERT_EQUAL(feed(&state, 3004, 2004, PP_KIND_RET, &segment), 1);
	CU_ASSERT_EQUAL(segment.start, 3000);
	CU_ASSERT_EQUAL(segment.first, 71);
}

static void test_full_segment_ends_and_the_next_begins_at_its_target(void)
{
	struct pp_segment_state state = {0};
	struct pp_segment segment;
	uint32_t ended = 0;

	feed(&state, 500, 100, PP_KIND_COND, &segment);
	for (uint64_t i = 0; i < 31; i++)
		ended += feed(&state, 1000 + 16 * i, 1008 + 16 * i, PP_KIND_JMP, &segment);
	CU_ASSERT_EQUAL(ended, 0);
	CU_ASSERT_EQUAL(feed(&state, 5000, 6000, PP_KIND_NONE, &segment), 1);
	CU_ASSERT_EQUAL(PP_DESC_LENGTH(segment.desc), 32);
	CU_ASSERT_EQUAL(segment.events, 32);
	CU_ASSERT_EQUAL(feed(&state, 6001, 6001, PP_KIND_NONE, &segment), 1);
	CU_ASSERT_EQUAL(segment.start, 6000);
	CU_ASSERT_EQUAL(PP_DESC_LENGTH(segment.desc), 1);
}

static uint64_t desc_of(const struct pp_taken *branches, uint32_t cnt)
{
	struct pp_segment_state state = {0};
	struct pp_segment segment = {0};

	feed(&state, 2, 1, PP_KIND_COND, &segment);
	for (uint32_t i = 0; i < cnt; i++)
		if (pp_segment_step(&state, &branches[i], &segment))
			return segment.desc;
	return 0;
}

/* Every bit of both addresses makes another name; the bit that the table needs is never set. */
static void test_desc_tells_branches_apart(void)
{
	struct pp_taken branch = {0x401000, 0x7f0000401100, PP_KIND_CALL, 0};
	uint64_t plain = desc_of(&branch, 1), changed = 0;

	CU_ASSERT_EQUAL(PP_DESC_LENGTH(plain), 1);
	for (uint32_t bit = 0; bit < 94; bit++) {
		__u64 *word = bit < 47 ? &branch.from : &branch.to;
		uint64_t desc;

		*word ^= 1ull << bit % 47;
		desc = desc_of(&branch, 1);
		CU_ASSERT_NOT_EQUAL(desc, plain);
		CU_ASSERT_EQUAL(desc & PP_HPT_VALID, 0);
		changed |= desc ^ plain;
		*word ^= 1ull << bit % 47;
	}
	CU_ASSERT_EQUAL(changed, 0x7fffffffffffffffull & ~(63ull << 32));
}

static void test_desc_knows_the_order(void)
{
	struct pp_taken one[3] = {{10, 20, 1, 0}, {30, 40, 1, 0}, {50, 0, 1, 0}};
	struct pp_taken other[3] = {{30, 40, 1, 0}, {10, 20, 1, 0}, {50, 0, 1, 0}};

	CU_ASSERT_NOT_EQUAL(desc_of(one, 3), 0);
	CU_ASSERT_NOT_EQUAL(desc_of(one, 3), desc_of(other, 3));
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Neighbours, as in a program: two hundred thousand pairs of addresses a few bytes apart. */
static void test_neighbours_share_no_desc(void)
{
	enum { SIDE = 450 };
	static uint64_t descs[SIDE * SIDE];
	uint64_t equal = 0;

	for (uint64_t i = 0; i < SIDE; i++)
		for (uint64_t j = 0; j < SIDE; j++) {
			struct pp_taken branch = {0x401000 + i, 0x400000 - 2 * j, 1, 0};

			descs[i * SIDE + j] = desc_of(&branch, 1);
		}
	qsort(descs, SIDE * SIDE, sizeof(descs[0]), compare);
	for (size_t i = 1; i < SIDE * SIDE; i++)
		equal += descs[i] == descs[i - 1];
	CU_ASSERT_EQUAL(equal, 0);
}

/* The hot path table takes a segment for a path, and hands it out as it was. */
static void test_hot_path_table_keeps_segments(void)
{
	static const struct pp_hpt_config config = {.bits = 4, .ways = 4};
	static struct pp_hpt hpt;
	struct pp_taken branch = {0x401000, 0x400000, 1, 0};
	struct pp_hpt_entry left;
	uint64_t desc = desc_of(&branch, 1), found = 0;

	memset(&hpt, 0, sizeof(hpt));
	CU_ASSERT_EQUAL(pp_hpt_step(&hpt, &config, 0x400000, desc, 3, &left), 0);
	CU_ASSERT_EQUAL(pp_hpt_step(&hpt, &config, 0x400000, desc, 4, &left), 0);
	for (size_t i = 0; i < 64; i++)
		found += hpt.entry[i].desc == (desc | PP_HPT_VALID) && hpt.entry[i].count == 7;
	CU_ASSERT_EQUAL(found, 1);
}

static const struct unit_test tests[] = {
	{"same segments as the oracle", test_oracle},
	{"an overlooked boundary is found", test_planted_fault},
	{"nothing before the first boundary", test_nothing_before_the_first_boundary},
	{"a full segment ends and the next begins at its target",
	 test_full_segment_ends_and_the_next_begins_at_its_target},
	{"desc tells branches apart in every bit", test_desc_tells_branches_apart},
	{"desc knows the order", test_desc_knows_the_order},
	{"neighbours share no desc", test_neighbours_share_no_desc},
	{"the hot path table keeps segments", test_hot_path_table_keeps_segments},
};
UNIT_SUITE(segment, tests)
