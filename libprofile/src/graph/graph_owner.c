// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Which range an address belongs to, and which ranges are one function; see pp_builder.h.
 *
 * The file's tables say which cold parts belong to which function; where they do not (stripped
 * files), a part that is jumped into and never called joins the function that jumps. During the
 * build the first jump found decides, so that a look at a function sees its cold code; graph_emit.c
 * decides anew.
 */
#include "pp_builder.h"

#include <errno.h>

#include "base/search.h"

static struct pp_state new_state(uint64_t start, uint64_t end, uint32_t range)
{
	return (struct pp_state){
		.start = start,
		.end = end,
		.waiters = PP_NONE,
		.family = range,
		.next = PP_NONE,
		.tail = range,
	};
}

/* Puts a family behind another one. */
static void append(struct pp_builder *b, uint32_t first, uint32_t joined)
{
	struct pp_state *f = pp_owner_state(b, first);

	pp_owner_state(b, f->tail)->next = joined;
	f->tail = pp_owner_state(b, joined)->tail;
	pp_owner_state(b, joined)->family = first;
}

int pp_owner_init(struct pp_builder *b)
{
	for (size_t i = 0; i < b->ranges.cnt; i++) {
		const struct pp_range *r = &b->ranges.ranges[i];
		struct pp_state state = new_state(r->start, r->end, (uint32_t)i);

		state.never = (r->flags & PATHPROF_FUNCTION_PLT) && pp_name_is_noreturn(r->name);
		if (!pp_vector_add(&b->states, &state))
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < b->ranges.cnt; i++) {
		uint32_t owner = b->ranges.ranges[i].owner;

		if (owner == i || owner >= b->ranges.cnt)
			continue;
		owner = pp_owner_family(b, owner);
		if (owner != i)
			append(b, owner, i);
	}
	return 0;
}

uint32_t pp_owner_of(const struct pp_builder *b, uint64_t vaddr)
{
	const struct pp_range *r = pp_ranges_find(&b->ranges, vaddr);

	return r ? (uint32_t)(r - b->ranges.ranges) : PP_NONE;
}

/* The end of the gap that vaddr is in: the next range, or the segment's end. */
static uint64_t gap_end(const struct pp_builder *b, uint64_t vaddr)
{
	size_t low = pp_first(i, 0, b->ranges.cnt, b->ranges.ranges[i].start > vaddr);
	uint64_t end = 0;

	for (uint32_t i = 0; i < b->text.cnt; i++) {
		const struct pp_text_part *p = &b->text.parts[i];

		if (vaddr >= p->vaddr && vaddr - p->vaddr < p->len_bytes)
			end = p->vaddr + p->len_bytes;
	}
	return low < b->ranges.cnt && b->ranges.ranges[low].start < end
		       ? b->ranges.ranges[low].start
		       : end;
}

uint32_t pp_owner_guess(struct pp_builder *b, uint64_t vaddr)
{
	uint8_t *mark = pp_text_mark(&b->text, vaddr);
	uint32_t range = (uint32_t)b->states.cnt;
	struct pp_state state;

	if (!mark)
		return PP_NONE;
	if (*mark & PP_MARK_GUESS)
		return pp_map_get(&b->guesses, vaddr);
	state = new_state(vaddr, gap_end(b, vaddr), range);
	state.flags = PATHPROF_FUNCTION_GUESSED;
	if (pp_map_put(&b->guesses, vaddr, range) || !pp_vector_add(&b->states, &state)) {
		b->failed = true;
		return PP_NONE;
	}
	*mark |= PP_MARK_GUESS;
	pp_explore_push(b, vaddr, range);
	return range;
}

uint32_t pp_owner_root(const struct pp_builder *b, uint32_t range)
{
	uint32_t owner = range < b->ranges.cnt ? b->ranges.ranges[range].owner : range;

	return owner < b->ranges.cnt ? owner : range;
}

uint32_t pp_owner_family(const struct pp_builder *b, uint32_t range)
{
	while (pp_owner_state(b, range)->family != range) {
		struct pp_state *state = pp_owner_state(b, range);

		/* Path halving, as in a union-find. */
		state->family = pp_owner_state(b, state->family)->family;
		range = state->family;
	}
	return range;
}

void pp_owner_join(struct pp_builder *b, uint32_t from, uint32_t to)
{
	struct pp_joint joint = {pp_owner_state(b, from)->start, from, to};
	const struct pp_state *state = pp_owner_state(b, to);

	if (to >= b->ranges.cnt || !b->ranges.ranges[to].maybe_cold)
		return;
	if (!pp_vector_add(&b->joints, &joint))
		b->failed = true;
	if (state->called || state->family != to || pp_owner_family(b, from) == to)
		return;
	append(b, pp_owner_family(b, from), to);
}
