// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Stacks to edges, windows and paths: see pp_import_chain.h. */
#include "pp_import_chain.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/mapped.h"
#include "pathprof/recorded_stack.h"

/* A cache: image addresses of pages of code, by page and generation of the mappings. */
#define PAGE_SHIFT  12
#define PAGE_SLOTS  4096
#define ANY_PROCESS UINT32_MAX

struct page {
	uint64_t page;
	uint32_t generation; /* 0: free */
	uint32_t process;    /* that generated code is of; ANY_PROCESS: code of a file */
	uint64_t base;       /* image address of the page */
};

struct pp_import_chain {
	struct pp_import_chain_parts parts;
	struct pp_import_counts *counts; /* these two of the parts are asked for all the time */
	struct pathprof_import_stats *stats;
	struct pp_import_asked asked;
	enum pathprof_mapping mapping;
	uint32_t only; /* image, or PP_IMPORT_NO_IMAGE */

	/* the stack in hand */
	uint32_t process, generation;
	uint64_t who, times;
	uint32_t depth;
	bool filtered;
	struct pp_import_finder finder; /* of its edges */
	/* of a path by its span: those of such a depth, seen so often */
	uint32_t weights_depth;
	uint64_t weights_times;
	double weights[PATHPROF_RECORDED_BRANCHES_MAX + 1];
	bool is_of_first; /* one of its branches is of image 0 */
	bool is_emptied;  /* the tables were full: edges in hand are void */
	/* the window in hand, and the numbers of its branches */
	uint32_t taken_cnt;
	uint32_t branches[PATHPROF_BURST_MAX];
	const struct pp_import_edge *edges[PATHPROF_BURST_MAX];
	struct pathprof_taken taken[PATHPROF_BURST_MAX]; /* of a window that the walker refused */
	struct pathprof_walk_ends ends;

	struct page pages[PAGE_SLOTS];
};

int pp_import_chain_new(struct pp_import_chain **ret_chain,
			const struct pp_import_chain_parts *parts, enum pathprof_mapping mapping)
{
	struct pp_import_chain *chain = calloc(1, sizeof(*chain));

	if (!chain)
		return -ENOMEM;
	chain->parts = *parts;
	chain->counts = parts->counts;
	chain->stats = parts->stats;
	chain->mapping = mapping;
	chain->only = PP_IMPORT_NO_IMAGE;
	*ret_chain = chain;
	return 0;
}

void pp_import_chain_free(struct pp_import_chain *chain)
{
	free(chain);
}

void pp_import_chain_set_recording(struct pp_import_chain *chain,
				   const struct pp_import_asked *asked)
{
	chain->asked = *asked;
}

void pp_import_chain_set_only(struct pp_import_chain *chain, uint32_t image)
{
	chain->only = image;
}

/* ---------------------------------------------------------------- addresses */

static int image_of_jit(struct pp_import_chain *chain, uint32_t *ret_number)
{
	const struct pathprof_recorded_space *p =
		pathprof_recorded_spaces_at(chain->parts.spaces, chain->process);
	const uint64_t words[] = {p->pid, p->exec_cnt, p->start_time};
	struct pathprof_build_id id;
	char name[24];

	snprintf(name, sizeof(name), "jit:%u", p->pid);
	pathprof_build_id_make(&id, PATHPROF_ID_JIT, words, sizeof(words));
	return pp_import_images_get(chain->parts.images, name, &id, ret_number);
}

static int image_of(struct pp_import_chain *chain, const struct pathprof_mapped_file *file,
		    uint32_t *ret_number)
{
	struct pathprof_build_id id;

	if (chain->parts.is_by_mark) {
		*ret_number = !(file && file->mark);
		return 0;
	}
	if (!file)
		return image_of_jit(chain, ret_number);
	id = file->id;
	if (id.kind == PATHPROF_ID_NONE && !pp_import_ask_build_id(&chain->asked, file->name, &id))
		id = (struct pathprof_build_id){.kind = PATHPROF_ID_NONE};
	pp_import_trim_id(&id);
	return pp_import_images_get(chain->parts.images, file->name, &id, ret_number);
}

/* Without any mapping: the address is the file's own. */
static int find_in_only(struct pp_import_chain *chain, uint64_t address, uint64_t *ret_image)
{
	uint32_t number;
	uint64_t offset;

	if (chain->only == PP_IMPORT_NO_IMAGE || address > PP_IMAGE_MASK)
		return -ENOENT;
	*ret_image = (uint64_t)chain->only << PP_IMAGE_SHIFT | address;
	return pp_import_images_place(chain->parts.images, *ret_image, &number, &offset);
}

/* Finds the mapping, and remembers the page when all of it is the mapping's. */
static int find_address(struct pp_import_chain *chain, struct page *page, uint64_t address,
			uint64_t *ret_image)
{
	uint64_t start = address >> PAGE_SHIFT << PAGE_SHIFT, end = start + (1u << PAGE_SHIFT);
	const struct pp_import_image *image;
	struct pathprof_space_place place;
	uint64_t first, last, offset;
	uint32_t number;

	if (pathprof_recorded_spaces_place(chain->parts.spaces, chain->process, address, &place) <
	    0)
		return find_in_only(chain, address, ret_image);
	if (image_of(chain, place.file, &number) < 0)
		return -ENOENT;
	image = pp_import_images_at(chain->parts.images, number);
	offset = pathprof_mapped_offset(image->segments, image->segment_cnt, place.start, place.end,
					place.offset);
	if (pp_import_images_address(chain->parts.images, number, offset + (address - place.start),
				     ret_image) < 0)
		return -ENOENT;
	/* A page that is not all of one part of one file is looked up each time. */
	if (place.start > start || place.end < end ||
	    pp_import_images_address(chain->parts.images, number, offset + (start - place.start),
				     &first) < 0 ||
	    pp_import_images_address(chain->parts.images, number, offset + (end - 1 - place.start),
				     &last) < 0 ||
	    last - *ret_image != end - 1 - address || *ret_image - first != address - start)
		return 0;
	page->page = address >> PAGE_SHIFT;
	page->generation = chain->generation;
	/* a forked child shares its parent's mappings, and writes other code into them */
	page->process = place.file || chain->parts.is_by_mark ? ANY_PROCESS : chain->process;
	page->base = first;
	return 0;
}

static int translate(struct pp_import_chain *chain, uint64_t address, uint64_t *ret_image)
{
	uint64_t number = address >> PAGE_SHIFT;
	struct page *page =
		&chain->pages[(number ^ chain->generation * 0x9e3779b1u) & (PAGE_SLOTS - 1)];

	if (page->page == number && page->generation == chain->generation &&
	    (page->process == ANY_PROCESS || page->process == chain->process)) {
		*ret_image = page->base + (address & ((1u << PAGE_SHIFT) - 1));
		return 0;
	}
	return find_address(chain, page, address, ret_image);
}

/* ---------------------------------------------------------------- windows */

/* A path that a not-taken branch began may take all of a stack: one place. */
static void weigh(struct pp_import_chain *chain)
{
	double all = (double)chain->times * chain->depth;

	if (chain->weights_depth == chain->depth && chain->weights_times == chain->times)
		return;
	for (uint32_t span = 0; span < chain->depth; span++)
		chain->weights[span] = all / (chain->depth - span);
	chain->weights[chain->depth] = all;
	chain->weights_depth = chain->depth;
	chain->weights_times = chain->times;
}

static void keep_path(void *context, const struct pathprof_path_seen *path)
{
	struct pp_import_chain *chain = context;
	const struct pathprof_path_seen seen = {
		.start = path->start,
		.length = path->length,
		.outcomes = path->outcomes,
		.weight = chain->weights[path->span] / (double)chain->times,
	};

	chain->parts.path(chain->parts.context, chain->process, &seen, chain->times);
	chain->stats->paths += chain->times;
}

/* Whether a branch that does not fit repeats the one before: some hardware gives entries twice. */
static bool is_repeat(const struct pp_import_chain *chain, uint32_t at)
{
	return at && at < PATHPROF_BURST_MAX &&
	       chain->taken[at].from == chain->taken[at - 1].from &&
	       chain->taken[at].to == chain->taken[at - 1].to;
}

/* Hands full tables on and empties them: pointers to edges are void then (is_emptied). */
static void make_room(struct pp_import_chain *chain, uint32_t edge_cnt, uint32_t path_cnt)
{
	if (pp_import_counts_room(chain->counts, edge_cnt, path_cnt))
		return;
	chain->parts.full(chain->parts.context);
	chain->is_emptied = true;
}

/* The same path often ends many times in a row: its sums are not waited for each time. */
static void count_ended(struct pp_import_chain *chain)
{
	uint64_t who = (uint64_t)chain->process << 32;
	const struct pathprof_walked *at = chain->ends.paths, *end = at + chain->ends.path_cnt;

	while (at < end) {
		struct pp_import_sum *w = pp_import_sums_get(&chain->counts->walked,
							     chain->counts->seed, who | at->path);
		const struct pathprof_walked *first = at;
		double weight = w->weight;

		do
			weight += chain->weights[at++->span];
		while (at < end && at->path == first->path);
		w->weight = weight;
		w->cnt += chain->times * (uint64_t)(at - first);
	}
}

/* Each piece that a call or return ended, with the next one. */
static void count_segments(struct pp_import_chain *chain)
{
	struct pp_import_counts *counts = chain->counts;
	const struct pathprof_walked *pieces = chain->ends.pieces;

	make_room(chain, 0, chain->ends.piece_cnt);
	for (uint32_t i = 1; i < chain->ends.piece_cnt; i++) {
		struct pp_import_sum *sum;

		if (!pieces[i - 1].crosses)
			continue;
		sum = pp_import_sums_get(
			&counts->segments, counts->seed,
			pp_import_segment_key(chain->process, pieces[i - 1].path, pieces[i].path));
		sum->cnt += chain->times;
		sum->weight += chain->weights[pieces[i - 1].span + pieces[i].span];
	}
}

/* 0: all paths and segments of the window are counted. */
static int walk_window(struct pp_import_chain *chain)
{
	int r = pathprof_walk(chain->parts.walker, chain->branches, chain->taken_cnt, &chain->ends);

	if (r)
		return r;
	make_room(chain, 0, chain->ends.path_cnt);
	count_ended(chain);
	chain->stats->paths += chain->times * chain->ends.path_cnt;
	count_segments(chain);
	return 0;
}

static int read_window(struct pp_import_chain *chain, uint32_t *ret_at)
{
	int r = walk_window(chain);

	if (r == 0)
		return 0;
	if (r < 0)
		chain->counts->segments_lost += chain->times;
	for (uint32_t i = 0; i < chain->taken_cnt; i++)
		chain->taken[i] = chain->edges[i]->image;
	return pathprof_reconstruct_paths(pp_import_images_reconstructor(chain->parts.images),
					  chain->taken, chain->taken_cnt, chain->mapping, keep_path,
					  chain, ret_at);
}

static void end_window(struct pp_import_chain *chain)
{
	struct pathprof_import_stats *stats = chain->stats;
	uint32_t at = 0;
	int refusal;

	if (!chain->taken_cnt)
		return;
	refusal = read_window(chain, &at);
	stats->windows += chain->times;
	stats->taken += chain->times * chain->taken_cnt;
	chain->taken_cnt = 0;
	if (refusal) {
		stats->refused[refusal] += chain->times;
		stats->repeated += is_repeat(chain, at) ? chain->times : 0;
	}
}

/* ---------------------------------------------------------------- entries */

static uint64_t place_of(struct pp_import_chain *chain, uint64_t address)
{
	uint64_t image;

	return translate(chain, address, &image) < 0 ? PP_IMAGE_NOWHERE : image;
}

/* An end in nothing may be in a file by the next time: it is looked up anew each time. */
static struct pp_import_edge *lost_edge(struct pp_import_chain *chain, struct pp_import_edge *add)
{
	struct pp_import_finder finder;
	struct pp_import_edge *e;

	add->who |= PP_IMPORT_OF_LOST;
	pp_import_counts_set_finder(chain->counts, add->who, &finder);
	e = pp_import_counts_edge(&finder, add->from, add->to);
	if (e && e->image.from == add->image.from && e->image.to == add->image.to)
		return e;
	/* the other end was mapped meanwhile: what was counted stays, and is not found any more */
	if (e)
		e->who |= UINT32_MAX;
	return pp_import_counts_add_edge(chain->counts, add);
}

/* Rare: kept out of the loop, whose registers it would take. */
static __attribute__((noinline)) struct pp_import_edge *
new_edge(struct pp_import_chain *chain, const struct pathprof_recorded_branch *b)
{
	struct pp_import_edge e = {.from = b->from, .to = b->to, .who = chain->who};

	e.image.from = place_of(chain, b->from);
	e.image.to = place_of(chain, b->to);
	e.has_code = pp_image_has_code(e.image.from | e.image.to);
	if (pp_import_edge_is_lost(&e))
		return lost_edge(chain, &e);
	/* one without a number, as there is no room, is not walked */
	if (chain->parts.walker && pp_image_has_code(e.image.from))
		pathprof_walker_branch(chain->parts.walker, &e.image, &e.branch);
	return pp_import_counts_add_edge(chain->counts, &e);
}

/* Code that is not at hand is taken to run on; none runs on from one file into another. */
static bool runs_again(struct pp_import_chain *chain, const struct pathprof_taken *image)
{
	if (image->from >> PP_IMAGE_SHIFT != image->to >> PP_IMAGE_SHIFT)
		return false;
	return !pp_image_has_code(image->from | image->to) ||
	       chain->parts.runs(chain->parts.context, image->to, image->from);
}

/*
 * Processors give the newest entry twice now and then. Where the code does not lead there again, it
 * was none, and there is an entry less.
 */
static bool is_given_twice(struct pp_import_chain *chain, struct pp_import_edge *e)
{
	if (chain->filtered)
		return false;
	if (!e->again)
		e->again = runs_again(chain, &e->image) ? 1 : 2;
	if (e->again == 1)
		return false;
	pp_import_leave_out(chain->stats, PATHPROF_LEDGER_REPEATED, chain->times);
	chain->depth--;
	weigh(chain);
	return true;
}

static void add_branch(struct pp_import_chain *chain, const struct pp_import_edge *e)
{
	chain->branches[chain->taken_cnt] = e->branch;
	chain->edges[chain->taken_cnt++] = e;
}

/* Ends the window at a branch that has no code on one side. */
static void end_without_code(struct pp_import_chain *chain, const struct pp_import_edge *e)
{
	if (!pp_import_edge_is_lost(e)) {
		chain->stats->no_code += chain->times;
		if (pp_image_has_code(e->image.from))
			add_branch(chain, e);
	}
	end_window(chain);
}

/*
 * An edge that no window goes on from: rare where there are windows, hence out of the loop as well.
 * Returns the edge if a range may begin at its target, else NULL.
 */
static __attribute__((noinline)) struct pp_import_edge *pass_edge(struct pp_import_chain *chain,
								  struct pp_import_edge *e)
{
	chain->is_of_first |= !(e->image.from >> PP_IMAGE_SHIFT && e->image.to >> PP_IMAGE_SHIFT);
	if (chain->filtered) {
		chain->stats->filtered += pp_import_edge_is_lost(e) ? 0 : chain->times;
		return NULL;
	}
	chain->is_emptied = false;
	if (chain->parts.walker)
		end_without_code(chain, e);
	return chain->is_emptied ? NULL : e;
}

static uint32_t count_untaken(const struct pathprof_recorded_branch *list, uint32_t cnt)
{
	uint32_t untaken = 0, said = 0;

	for (uint32_t i = 0; i < cnt; i++)
		said |= list[i].flags | (uint32_t)list[i].spec << 8;
	/* of most recordings no entry says so */
	if (!(said & (PATHPROF_RECORDED_NOT_TAKEN | PERF_BR_SPEC_WRONG_PATH << 8)))
		return 0;
	for (uint32_t i = 0; i < cnt; i++)
		untaken += pathprof_recorded_reason(&list[i]) == PATHPROF_LEDGER_UNTAKEN;
	return untaken;
}

/*
 * Oldest first. The finder is made anew after each new edge, which may enlarge the index; emptying
 * the tables leaves it valid.
 */
static void add_entries(struct pp_import_chain *chain, const struct pathprof_recorded_branch *list,
			uint32_t cnt)
{
	struct pathprof_recorded_walk walk = PATHPROF_RECORDED_WALK;
	struct pp_import_finder finder = chain->finder;
	struct pp_import_edge *last = NULL; /* of the entry before; NULL: it is not to be had */
	uint64_t times = chain->times;
	bool has_windows = chain->parts.walker && !chain->filtered;

	for (const struct pathprof_recorded_branch *b = list + cnt; b-- > list;) {
		enum pathprof_ledger_reason why = pathprof_recorded_reason(b);
		struct pp_import_edge *e;
		bool is_straight;

		if (why != PATHPROF_LEDGER_CNT) {
			pp_import_leave_out(chain->stats, why, times);
			pathprof_recorded_pass(&walk, b, why);
			continue;
		}
		is_straight = pathprof_recorded_reach(&walk, b);
		if (!is_straight) {
			end_window(chain);
			last = NULL;
		}
		e = pp_import_counts_edge(&finder, b->from, b->to);
		if (!e) {
			e = new_edge(chain, b);
			pp_import_counts_set_finder(chain->counts, chain->who, &finder);
		}
		if (last) {
			if (e == last && b == list && is_given_twice(chain, e))
				break;
			pp_import_counts_add_straight(chain->counts, last, e, times);
		}
		e->cnt += times;
		if (__builtin_expect(b->flags & PATHPROF_RECORDED_MISPREDICTED, 0))
			e->mispredicted += times;
		last = e;
		if (has_windows && e->has_code)
			add_branch(chain, e);
		else
			last = pass_edge(chain, e);
	}
}

/* All of what was counted goes by the walker's numbers. */
static void make_way(struct pp_import_chain *chain)
{
	const struct pp_import_chain_parts *parts = &chain->parts;

	if (!parts->walker || !pathprof_walker_is_full(parts->walker))
		return;
	parts->full(parts->context);
	pathprof_walker_clear(parts->walker);
}

static void begin_stack(struct pp_import_chain *chain,
			const struct pathprof_recorded_sample *sample)
{
	struct pathprof_recorded_space *p =
		pathprof_recorded_spaces_at(chain->parts.spaces, chain->process);

	/* windows go by the process' number, ranges of one file by what is mapped alone */
	p->used = !chain->parts.is_by_mark;
	chain->generation = p->generation;
	chain->who = (p->used ? (uint64_t)chain->process << 32 : 0) | chain->generation;
	chain->depth = sample->branch_cnt - count_untaken(sample->branches, sample->branch_cnt);
	pp_import_counts_set_finder(chain->counts, chain->who, &chain->finder);
	weigh(chain);
	chain->filtered = sample->filtered;
	chain->is_of_first = false;
	chain->stats->stacks += chain->times;
}

/* All entries count as used until pp_import_leave_out() takes some of them out. */
static void read_stack(struct pp_import_chain *chain, const struct pathprof_recorded_sample *sample)
{
	chain->times = pp_import_times_counted(chain->stats, sample);
	chain->stats->ledger.branches += chain->times * sample->branch_cnt;
	chain->stats->ledger.used += chain->times * sample->branch_cnt;
}

void pp_import_chain_leave_out(struct pp_import_chain *chain,
			       const struct pathprof_recorded_sample *sample,
			       enum pathprof_ledger_reason why)
{
	read_stack(chain, sample);
	for (uint32_t i = 0; i < sample->branch_cnt; i++) {
		enum pathprof_ledger_reason own = pathprof_recorded_reason(&sample->branches[i]);

		pp_import_leave_out(chain->stats, own == PATHPROF_LEDGER_CNT ? why : own,
				    chain->times);
	}
}

bool pp_import_chain_stack(struct pp_import_chain *chain,
			   const struct pathprof_recorded_sample *sample)
{
	read_stack(chain, sample);
	if (!chain->times)
		return false;
	if (pathprof_recorded_spaces_find(chain->parts.spaces, sample->pid, &chain->process) < 0) {
		chain->stats->nobody += chain->times;
		pp_import_leave_out(chain->stats, PATHPROF_LEDGER_NOBODY,
				    chain->times * sample->branch_cnt);
		return false;
	}
	pp_import_images_make_room(chain->parts.images);
	make_way(chain);
	make_room(chain, sample->branch_cnt, 0);
	begin_stack(chain, sample);
	add_entries(chain, sample->branches, sample->branch_cnt);
	end_window(chain);
	return chain->is_of_first;
}
