// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The bounds of functions: symbols, .eh_frame and the linker's sections are made into ranges that
 * do not overlap.
 *
 * Every source offers candidates. Those of one address become one; then, in the order of addresses,
 * each is taken or left to the one that covers it:
 *   - .eh_frame has one function a record, so what has both a record and a symbol is a function,
 *     even within another;
 *   - a record alone within a symbol's bounds is a piece of hand-written assembly (clone has two);
 *   - a symbol alone within another's bounds, or within a record nothing else divides, is an alias
 *     or an entry of it;
 *   - a label (no size) counts where nothing else does.
 * If a candidate is taken within another, the rest of that other behind it remains a part of it.
 *
 * Workload: once a file; 40,000 records in cc1, 10^6 symbols in large files: sorts and sweeps.
 *
 * Sources: ELF gABI, chapter 4; System V ABI for x86-64, 4.2.4 (.eh_frame).
 */
#include "pp_functions.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vector.h"
#include "pp_ranges.h"

/* Executable memory of one kind; they are disjoint. */
struct area {
	uint64_t start, end;
	bool plt;
};

struct candidate {
	uint64_t start, end; /* end == start: only where it begins is known */
	uint64_t symbol_end; /* of a symbol with a size; else start */
	const char *name;
	uint32_t flags;
	bool local_label; /* nothing says that it is a function */
	bool set_up;
};

struct collection {
	struct area *areas;
	size_t area_cnt;
	struct candidate *list;
	size_t cnt, room;
};

/* ---------------------------------------------------------------- executable memory */

static int area_by_start(const void *x, const void *y)
{
	const struct area *a = x, *b = y;

	return (a->start > b->start) - (a->start < b->start);
}

/* Clips [start, end) to the segment that has start. */
static bool clip_area(const struct pathprof_code *code, uint64_t start, uint64_t end,
		      struct area *ret_area)
{
	for (uint32_t i = 0; i < code->segment_cnt; i++) {
		const struct pp_segment *s = &code->segments[i];

		if (start < s->vaddr || start - s->vaddr >= s->len_bytes)
			continue;
		if (end > s->vaddr + s->len_bytes)
			end = s->vaddr + s->len_bytes;
		*ret_area = (struct area){.start = start, .end = end};
		return end > start;
	}
	return false;
}

static bool is_code(const struct pp_section *s)
{
	return s->type == SHT_PROGBITS && (s->flags & SHF_ALLOC) && (s->flags & SHF_EXECINSTR);
}

static size_t read_areas(const struct pathprof_code *code, struct area *areas, size_t room)
{
	struct pp_section s = {0};
	size_t cnt = 0;

	while (cnt < room && pp_section_next(code, &s)) {
		if (!is_code(&s) || !clip_area(code, s.vaddr, s.vaddr + s.size_bytes, &areas[cnt]))
			continue;
		areas[cnt++].plt = pp_plt_is_section(&s);
	}
	for (uint32_t i = 0; !cnt && i < code->segment_cnt && i < room; i++) {
		const struct pp_segment *seg = &code->segments[i];

		areas[i] = (struct area){seg->vaddr, seg->vaddr + seg->len_bytes, false};
		if (i + 1 == code->segment_cnt)
			cnt = code->segment_cnt;
	}
	return cnt;
}

/* A file has some 10 such sections; hostile ones are cut off here. */
#define AREAS_MAX 4096

static int open_areas(struct collection *c, const struct pathprof_code *code)
{
	size_t kept = 0;

	c->areas = calloc(AREAS_MAX, sizeof(c->areas[0]));
	if (!c->areas)
		return -ENOMEM;
	c->area_cnt = read_areas(code, c->areas, AREAS_MAX);
	qsort(c->areas, c->area_cnt, sizeof(c->areas[0]), area_by_start);
	for (size_t i = 0; i < c->area_cnt; i++) {
		struct area a = c->areas[i];

		if (i + 1 < c->area_cnt && a.end > c->areas[i + 1].start)
			a.end = c->areas[i + 1].start;
		if (a.end > a.start)
			c->areas[kept++] = a;
	}
	c->area_cnt = kept;
	return 0;
}

static const struct area *area_of(const struct collection *c, uint64_t vaddr)
{
	size_t low = pp_first(i, 0, c->area_cnt, c->areas[i].start > vaddr);

	return low && vaddr < c->areas[low - 1].end ? &c->areas[low - 1] : NULL;
}

/* ---------------------------------------------------------------- candidates */

static int add(struct collection *c, const struct candidate *candidate)
{
	const struct area *area = area_of(c, candidate->start);
	struct candidate *to;

	if (!area || area->plt != !!(candidate->flags & PATHPROF_FUNCTION_PLT))
		return 0;
	if (pp_grow(&c->list, c->cnt, &c->room) < 0)
		return -ENOMEM;
	to = &c->list[c->cnt++];
	*to = *candidate;
	if (to->end > area->end)
		to->end = area->end;
	if (to->symbol_end > area->end)
		to->symbol_end = area->end;
	return 0;
}

/*
 * The record of what a signal handler returns to begins a byte before it, so that unwinders that
 * look at the address before a return address find it.
 */
static uint64_t start_of_frame(const struct pp_frame *frame)
{
	return frame->signal && frame->start % 16 == 15 && frame->end > frame->start + 1
		       ? frame->start + 1
		       : frame->start;
}

static int add_frames(struct collection *c, struct pathprof_code *code)
{
	const struct pp_frame *frames;
	size_t cnt = pp_frames_all(code, &frames);
	int r = 0;

	for (size_t i = 0; !r && i < cnt; i++) {
		uint64_t start = start_of_frame(&frames[i]);

		r = add(c, &(struct candidate){
				   .start = start,
				   .end = frames[i].end,
				   .symbol_end = start,
				   .flags = PATHPROF_FUNCTION_FRAME,
				   .set_up = frames[i].set_up && !frames[i].signal,
			   });
	}
	return r;
}

/* Makes one candidate of symbols that start together, sorted with worse ones first. */
static struct candidate of_symbols(const struct pp_symbol *symbols, size_t cnt)
{
	const struct pp_symbol *best = &symbols[cnt - 1];
	uint64_t end = best->sized ? best->end : best->start;
	struct candidate c = {
		.start = best->start,
		.end = end,
		.symbol_end = end,
		.name = best->name,
		.flags = PATHPROF_FUNCTION_SYMBOL,
		.local_label = true,
	};

	for (size_t i = 0; i < cnt; i++) {
		if (symbols[i].resolver)
			c.flags |= PATHPROF_FUNCTION_IFUNC;
		if (symbols[i].sized || symbols[i].typed || symbols[i].rank)
			c.local_label = false;
	}
	return c;
}

static int add_symbols(struct collection *c, struct pathprof_code *code)
{
	const struct pp_symbol *symbols;
	size_t cnt = pp_symbols_all(code, &symbols), same;
	int r = 0;

	for (size_t i = 0; !r && i < cnt; i += same) {
		struct candidate candidate;

		for (same = 1; i + same < cnt && symbols[i + same].start == symbols[i].start;)
			same++;
		candidate = of_symbols(symbols + i, same);
		r = add(c, &candidate);
	}
	return r;
}

/* Adds places that are known to run but whose ends are not known. */
static int add_place(struct collection *c, uint64_t vaddr)
{
	return add(c, &(struct candidate){
			      .start = vaddr,
			      .end = vaddr,
			      .symbol_end = vaddr,
			      .flags = PATHPROF_FUNCTION_GUESSED,
		      });
}

static int add_array(struct collection *c, struct pathprof_code *code, const struct pp_section *s)
{
	int r = 0;

	for (uint64_t at = 0; !r && s->size_bytes - at >= 8; at += 8) {
		uint64_t function;

		if (pp_data_read(code, s->vaddr + at, &function, sizeof(function)))
			break;
		r = add_place(c, function);
	}
	return r;
}

static int add_places(struct collection *c, struct pathprof_code *code, uint64_t entry)
{
	struct pp_section s = {0};
	int r = entry ? add_place(c, entry) : 0;

	while (!r && pp_section_next(code, &s)) {
		if (s.type == SHT_INIT_ARRAY || s.type == SHT_FINI_ARRAY)
			r = add_array(c, code, &s);
		else if (is_code(&s) && (!strcmp(s.name, ".init") || !strcmp(s.name, ".fini")))
			r = add_place(c, s.vaddr);
	}
	return r;
}

static int add_plt(struct collection *c, struct pathprof_code *code)
{
	const struct pp_plt_entry *entries;
	size_t cnt = 0;
	int r = pp_plt_all(code, &entries, &cnt);

	for (size_t i = 0; !r && i < cnt; i++)
		r = add(c, &(struct candidate){
				   .start = entries[i].start,
				   .end = entries[i].end,
				   .symbol_end = entries[i].start,
				   .name = entries[i].name,
				   .flags = PATHPROF_FUNCTION_PLT,
			   });
	return r;
}

/* ---------------------------------------------------------------- one an address */

static int candidate_by_start(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;

	return (a->start > b->start) - (a->start < b->start);
}

static void merge_into(struct candidate *to, const struct candidate *from)
{
	if (from->end > to->end)
		to->end = from->end;
	if (from->symbol_end > to->symbol_end)
		to->symbol_end = from->symbol_end;
	if (from->name)
		to->name = from->name;
	to->flags |= from->flags;
	to->local_label &= from->local_label;
	to->set_up |= from->set_up;
}

static void merge(struct collection *c)
{
	size_t kept = 0;

	if (c->cnt)
		qsort(c->list, c->cnt, sizeof(c->list[0]), candidate_by_start);
	for (size_t i = 0; i < c->cnt; i++) {
		if (kept && c->list[kept - 1].start == c->list[i].start)
			merge_into(&c->list[kept - 1], &c->list[i]);
		else
			c->list[kept++] = c->list[i];
	}
	c->cnt = kept;
	for (size_t i = 0; i < c->cnt; i++)
		if (c->list[i].flags & (PATHPROF_FUNCTION_SYMBOL | PATHPROF_FUNCTION_FRAME))
			c->list[i].flags &= ~(uint32_t)PATHPROF_FUNCTION_GUESSED;
}

/* ---------------------------------------------------------------- which of them count */

/* cover is the one taken before that reaches furthest. */
static bool counts_within(const struct candidate *c, const struct candidate *cover)
{
	bool symbol = c->flags & PATHPROF_FUNCTION_SYMBOL;

	if (c->flags & PATHPROF_FUNCTION_FRAME)
		return symbol || c->start >= cover->symbol_end || c->end > cover->symbol_end;
	if (!symbol || c->end == c->start)
		return false;
	return (cover->flags & PATHPROF_FUNCTION_SYMBOL) && c->start >= cover->symbol_end;
}

/* A label behind code whose end is not known may be one within that code. */
static bool counts_outside(const struct candidate *c, const struct candidate *previous)
{
	return !c->local_label || !previous || previous->end > previous->start;
}

static void choose(struct collection *c)
{
	const struct candidate *previous = NULL;
	size_t kept = 0, cover = 0;

	for (size_t i = 0; i < c->cnt; i++) {
		struct candidate candidate = c->list[i];
		bool covered = kept && candidate.start < c->list[cover].end;

		if (covered ? !counts_within(&candidate, &c->list[cover])
			    : !counts_outside(&candidate, previous))
			continue;
		c->list[kept] = candidate;
		previous = &c->list[kept];
		if (!kept || candidate.end >= c->list[cover].end)
			cover = kept;
		kept++;
	}
	c->cnt = kept;
}

/* ---------------------------------------------------------------- ranges */

/* The taken candidates that others lie within: the rest behind an inner one belongs to them. */
struct nesting {
	struct {
		uint64_t end;
		uint32_t owner;
	} * outer;
	size_t depth;
};

static void push_range(struct pp_ranges *r, const struct candidate *c, uint64_t end)
{
	r->ranges[r->cnt] = (struct pp_range){
		.start = c->start,
		.end = end,
		.name = c->name,
		.flags = c->flags,
		.owner = (uint32_t)r->cnt,
		.maybe_cold = c->set_up && !(c->flags & PATHPROF_FUNCTION_SYMBOL),
	};
	r->cnt++;
}

static void push_rest(struct pp_ranges *r, uint64_t start, uint64_t end, uint32_t owner)
{
	r->ranges[r->cnt] = (struct pp_range){
		.start = start,
		.end = end,
		.flags = r->ranges[owner].flags,
		.owner = owner,
	};
	r->cnt++;
}

/* Pushes the rests from the end of a range up to limit: innermost first, each outer one as far as
 * it reaches. */
static void push_rests(struct pp_ranges *r, struct nesting *n, uint64_t at, uint64_t limit)
{
	while (n->depth && at < limit) {
		uint64_t end = n->outer[n->depth - 1].end;

		if (end > at) {
			push_rest(r, at, end < limit ? end : limit, n->outer[n->depth - 1].owner);
			at = end;
		}
		if (end <= limit)
			n->depth--;
	}
}

static void lay_out(struct pp_ranges *r, struct nesting *n, const struct collection *c)
{
	for (size_t i = 0; i < c->cnt; i++) {
		const struct candidate *candidate = &c->list[i];
		uint64_t limit = area_of(c, candidate->start)->end, end = candidate->end;
		uint32_t owner = (uint32_t)r->cnt;

		if (i + 1 < c->cnt && c->list[i + 1].start < limit)
			limit = c->list[i + 1].start;
		if (end == candidate->start)
			end = limit;
		push_range(r, candidate, end < limit ? end : limit);
		if (end > limit) {
			n->outer[n->depth].end = end;
			n->outer[n->depth++].owner = owner;
		} else {
			push_rests(r, n, end, limit);
		}
	}
}

/* A candidate gives a range; a rest ends at the next candidate, or with the candidate that it is
 * part of. */
static int make_ranges(struct pp_ranges *r, const struct collection *c)
{
	struct nesting n = {0};
	bool has_memory;

	if (!c->cnt)
		return 0;
	n.outer = calloc(c->cnt, sizeof(n.outer[0]));
	r->ranges = calloc(c->cnt, 3 * sizeof(r->ranges[0]));
	has_memory = n.outer && r->ranges;
	if (has_memory)
		lay_out(r, &n, c);
	free(n.outer);
	return has_memory ? 0 : -ENOMEM;
}

static uint64_t entry_of(const struct pathprof_code *code)
{
	GElf_Ehdr header;
	uint64_t offset;

	if (!gelf_getehdr(code->elf, &header) ||
	    pathprof_code_vaddr_to_offset(code, header.e_entry, &offset))
		return 0;
	return header.e_entry;
}

static int collect(struct collection *c, struct pathprof_code *code, uint64_t entry)
{
	int r = open_areas(c, code);

	r = r ? r : add_frames(c, code);
	r = r ? r : add_symbols(c, code);
	r = r ? r : add_places(c, code, entry);
	return r ? r : add_plt(c, code);
}

int pp_ranges_read(struct pp_ranges *ret_ranges, struct pathprof_code *code)
{
	struct pp_ranges ranges = {.entry = entry_of(code)};
	struct collection c = {0};
	int r = collect(&c, code, ranges.entry);

	if (!r) {
		merge(&c);
		choose(&c);
		r = make_ranges(&ranges, &c);
	}
	free(c.list);
	free(c.areas);
	r = r ? r : pp_cold_parts_join(&ranges, code);
	if (r)
		pp_ranges_release(&ranges);
	else
		*ret_ranges = ranges;
	return r;
}

void pp_ranges_release(struct pp_ranges *ranges)
{
	free(ranges->ranges);
	*ranges = (struct pp_ranges){0};
}

const struct pp_range *pp_ranges_find(const struct pp_ranges *ranges, uint64_t vaddr)
{
	size_t low = pp_first(i, 0, ranges->cnt, ranges->ranges[i].start > vaddr);

	return low && vaddr < ranges->ranges[low - 1].end ? &ranges->ranges[low - 1] : NULL;
}
