// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Counts by instruction and by branch become counts by source position; see pp_source_profile.h.
 *
 * Each function keeps its positions, calls and inlined functions in sorted arrays: they are few,
 * and most come in order.
 */
#include "pp_source_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vector.h"
#include "pp_insn_counts.h"

#define FRAMES_MAX 64

struct making {
	struct pp_source_profile *profile;
	const struct pp_export *x;
	struct pathprof_inlines *inlines;
};

/* ---------------------------------------------------------------- names */

/* A suffix ".llvm.123" goes, ".llvm." in the middle of a name stays. */
static size_t without(const char *name, size_t len, const char *suffix)
{
	size_t suffix_len = strlen(suffix);

	for (size_t i = len; i-- > 0;)
		if (name[i] == '.')
			return i + 1 >= suffix_len && !strncmp(name + i + 1 - suffix_len, suffix,
							       suffix_len)
				       ? i + 1 - suffix_len
				       : len;
	return len;
}

/* ".__uniq." stays: a profile that has it tells clang to tell functions of one name apart by it. */
static size_t canonical_len(const char *name)
{
	size_t len = without(name, strlen(name), ".llvm.");

	return without(name, len, ".part.");
}

/* ---------------------------------------------------------------- sorted arrays */

static int compare_names(const char *a, size_t a_len, const char *b, size_t b_len)
{
	int c = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return c ? c : a_len < b_len ? -1 : a_len > b_len;
}

static int compare_positions(struct pp_position a, struct pp_position b)
{
	if (a.line != b.line)
		return a.line < b.line ? -1 : 1;
	return a.discriminator < b.discriminator ? -1 : a.discriminator > b.discriminator;
}

/* Room for one more at index i; arrays have room for a power of two. */
static void *insert(void *array, uint32_t *cnt, uint32_t i, size_t size)
{
	char *grown;

	if (!(*cnt & (*cnt - 1)) && pp_array_resize(&array, *cnt ? 2 * (size_t)*cnt : 1, size) < 0)
		return NULL;
	grown = array;
	memmove(grown + (i + 1) * size, grown + i * size, (*cnt - i) * size);
	memset(grown + i * size, 0, size);
	++*cnt;
	return grown;
}

static struct pp_body_count *body_at(struct pp_source_function *f, struct pp_position at)
{
	uint32_t low = pp_first(i, 0, f->body_cnt, compare_positions(f->body[i].at, at) >= 0);
	struct pp_body_count *grown;

	if (low < f->body_cnt && !compare_positions(f->body[low].at, at))
		return &f->body[low];
	grown = insert(f->body, &f->body_cnt, low, sizeof(*grown));
	if (!grown)
		return NULL;
	f->body = grown;
	f->body[low].at = at;
	return &f->body[low];
}

static int compare_inlined(const struct pp_source_function *f, struct pp_position at,
			   const char *name, size_t name_len)
{
	int c = compare_positions(f->at, at);

	return c ? c : compare_names(f->name, f->name_len, name, name_len);
}

static struct pp_source_function *inlined_at(struct pp_source_function *f, struct pp_position at,
					     const char *name)
{
	size_t len = canonical_len(name);
	uint32_t low =
		pp_first(i, 0, f->inlined_cnt, compare_inlined(f->inlined[i], at, name, len) >= 0);
	struct pp_source_function **grown, *made;

	if (low < f->inlined_cnt && !compare_inlined(f->inlined[low], at, name, len))
		return f->inlined[low];
	made = calloc(1, sizeof(*made));
	grown = made ? insert(f->inlined, &f->inlined_cnt, low, sizeof(struct pp_source_function *))
		     : NULL;
	if (!grown) {
		free(made);
		return NULL;
	}
	*made = (struct pp_source_function){.name = name, .name_len = len, .at = at};
	f->inlined = grown;
	f->inlined[low] = made;
	return made;
}

static int add_call(struct pp_body_count *body, const char *callee, uint64_t count)
{
	size_t len = canonical_len(callee);
	struct pp_call_count *grown;
	uint32_t i = 0;

	while (i < body->call_cnt &&
	       compare_names(body->calls[i].callee, body->calls[i].callee_len, callee, len) < 0)
		i++;
	if (i == body->call_cnt ||
	    compare_names(body->calls[i].callee, body->calls[i].callee_len, callee, len)) {
		grown = insert(body->calls, &body->call_cnt, i, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		body->calls = grown;
		body->calls[i].callee = callee;
		body->calls[i].callee_len = len;
	}
	body->calls[i].count = pp_count_sum(body->calls[i].count, count);
	return 0;
}

/* ---------------------------------------------------------------- counting */

static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static struct pp_position position_of(const struct pathprof_source_frame *frame)
{
	return (struct pp_position){(frame->line - frame->start_line) & 0xffff,
				    frame->discriminator};
}

/* The function the instruction is of, `bytes` added to all around it; NULL: no memory. */
static struct pp_source_function *
enter(struct making *m, const struct pathprof_source_frame *frames, uint32_t cnt, uint64_t bytes)
{
	struct pp_source_function *f = &m->profile->root;
	struct pp_position at = {0, 0};

	for (uint32_t i = cnt; f && i-- > 0;) {
		f = inlined_at(f, at, frames[i].linkage_name);
		if (f)
			f->total = pp_count_sum(f->total, bytes);
		at = position_of(&frames[i]);
	}
	return f;
}

/* How many there are; 0: none, or too many; -ENOMEM. */
static int frames_at(const struct making *m, uint64_t offset,
		     struct pathprof_source_frame frames[FRAMES_MAX])
{
	int cnt = pathprof_inlines_at(m->inlines, offset, frames, FRAMES_MAX);

	return cnt <= FRAMES_MAX ? cnt : 0;
}

static int count_insn(void *context, const struct pp_insn_count *insn)
{
	struct making *m = context;
	struct pathprof_source_frame frames[FRAMES_MAX];
	int cnt = frames_at(m, insn->offset, frames);
	struct pp_source_function *f;
	struct pp_body_count *body;
	uint64_t count;

	if (cnt <= 0)
		return cnt;
	f = enter(m, frames, (uint32_t)cnt, times(insn->count, insn->len_bytes));
	body = f ? body_at(f, position_of(&frames[0])) : NULL;
	if (!body)
		return -ENOMEM;
	count = times(insn->count, frames[0].copies);
	if (body->count < count)
		body->count = count;
	return 0;
}

/* Is offset where a function begins? */
static bool begins_function(const struct pathprof_graph *g, uint64_t offset)
{
	uint32_t b = offset == PATHPROF_OUTSIDE ? PATHPROF_GRAPH_NONE
						: pathprof_graph_block_at(g, offset);

	return b != PATHPROF_GRAPH_NONE && g->blocks[b].start == offset &&
	       g->functions[g->blocks[b].function].entry == b;
}

static int count_caller(struct making *m, const struct pathprof_branch_count *branch,
			const char *callee)
{
	struct pathprof_source_frame frames[FRAMES_MAX];
	struct pp_source_function *f;
	struct pp_body_count *body;
	int cnt = branch->from == PATHPROF_OUTSIDE ? 0 : frames_at(m, branch->from, frames);

	if (cnt <= 0)
		return cnt;
	f = enter(m, frames, (uint32_t)cnt, 0);
	body = f ? body_at(f, position_of(&frames[0])) : NULL;
	return body ? add_call(body, callee, branch->count) : -ENOMEM;
}

static int count_branch(struct making *m, const struct pathprof_branch_count *branch)
{
	struct pathprof_source_frame frames[FRAMES_MAX];
	struct pp_source_function *f;
	const char *callee;
	int cnt, r;

	if (!branch->count || !begins_function(m->x->graph, branch->to))
		return 0;
	cnt = frames_at(m, branch->to, frames);
	if (cnt <= 0)
		return cnt;
	callee = frames[cnt - 1].linkage_name;
	r = count_caller(m, branch, callee);
	if (r)
		return r;
	f = inlined_at(&m->profile->root, (struct pp_position){0, 0}, callee);
	if (!f)
		return -ENOMEM;
	f->head = pp_count_sum(f->head, branch->count);
	return 0;
}

/*
 * Raises each position's count to the number of its calls, since it ran at least as often.
 * llvm-profgen does so outside of inlined functions only.
 */
static void lift_to_calls(struct pp_source_function *f)
{
	for (uint32_t i = 0; i < f->body_cnt; i++) {
		uint64_t calls = 0;

		for (uint32_t j = 0; j < f->body[i].call_cnt; j++)
			calls = pp_count_sum(calls, f->body[i].calls[j].count);
		if (f->body[i].count < calls)
			f->body[i].count = calls;
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): to FRAMES_MAX */
static void release(struct pp_source_function *f)
{
	for (uint32_t i = 0; i < f->body_cnt; i++)
		free(f->body[i].calls);
	for (uint32_t i = 0; i < f->inlined_cnt; i++) {
		release(f->inlined[i]);
		free(f->inlined[i]);
	}
	free(f->body);
	free(f->inlined);
}

void pp_source_profile_release(struct pp_source_profile *profile)
{
	release(&profile->root);
	*profile = (struct pp_source_profile){0};
}

int pp_source_profile_make(struct pp_source_profile *ret_profile, const struct pp_export *x,
			   struct pathprof_inlines *inlines)
{
	struct pp_source_profile profile = {0};
	struct making making = {.profile = &profile, .x = x, .inlines = inlines};
	int r = pp_insn_counts_each(x, count_insn, &making);

	for (uint32_t i = 0; !r && i < x->profile->branch_cnt; i++)
		r = count_branch(&making, &x->profile->branches[i]);
	if (r) {
		pp_source_profile_release(&profile);
		return r;
	}
	for (uint32_t i = 0; i < profile.root.inlined_cnt; i++)
		lift_to_calls(profile.root.inlined[i]);
	*ret_profile = profile;
	return 0;
}
