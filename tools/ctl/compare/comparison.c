// SPDX-License-Identifier: GPL-2.0-or-later
/* Two sides compared: see comparison.h. */
#include "comparison.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../text/cleanup.h"
#include "../text/text.h"
#include "side_load.h"

/* ---------------------------------------------------------------- figures */

/* A side's events, keyed by function first. The caller frees *ret_events. */
static int group(struct pathprof_distribution *ret_grouped, struct pathprof_event **ret_events,
		 const struct side *side)
{
	struct pathprof_event *events = ctl_alloc((side->item_cnt + 1) * sizeof(*events));
	size_t cnt = side->item_cnt;
	int r;

	side_functions_ahead(side);
	for (size_t i = 0; i < cnt; i++)
		events[i] = (struct pathprof_event){
			.key_hi = side_function_key(side, &side->items[i]),
			.key_lo = side->items[i].key_lo,
			.weight = side->items[i].weight,
		};
	*ret_events = events;
	r = pathprof_events_sort(events, &cnt);
	return r < 0 ? r : pathprof_distribution_init(ret_grouped, events, cnt);
}

static int set_similarity(struct comparison *c)
{
	_cleanup_free_ struct pathprof_event *a_events = NULL, *b_events = NULL;
	struct pathprof_distribution a, b;
	int r = group(&a, &a_events, c->a);

	if (r == 0)
		r = group(&b, &b_events, c->b);
	return r < 0 ? r : pathprof_similarity(&b, &a, &c->similarity);
}

/* Leaves has_branches false if no code can be read, or if offsets of two builds would be
 * compared. */
static void set_branches(struct comparison *c)
{
	struct side a, b;

	if (c->a->kind == SIDE_BRANCHES)
		c->has_branches = pathprof_compare_branches(&c->b->distribution,
							    &c->a->distribution, &c->branches) == 0;
	if (c->a->kind != SIDE_PATHS || c->match.binary_cnt || side_code_branches(&a, c->a) < 0)
		return;
	if (side_code_branches(&b, c->b) == 0) {
		c->has_branches =
			a.item_cnt && pathprof_compare_branches(&b.distribution, &a.distribution,
								&c->branches) == 0;
		side_code_release_branches(&b);
	}
	side_code_release_branches(&a);
}

/* The TIME of code without RUNS: the clock saw it, but no window shows it. NAN: not known. */
static struct shares_pathless pathless_of(const struct side *side)
{
	struct shares_pathless pathless = {NAN, NAN};
	struct pathprof_error error;
	struct shares *shares;

	if (side->kind != SIDE_PATHS || !side->store ||
	    shares_load(&shares, side->store, side->symbols, &side->filter, side->measure.kind,
			side->measure.bursts, &error) < 0)
		return pathless;
	pathless = shares_pathless(shares);
	shares_free(shares);
	return pathless;
}

/* Exact counts have no chance in them: D is exact. */
static void set_exact_drift(struct comparison *c)
{
	c->drift = (struct pathprof_drift){
		.kl_bits = c->kl.bits,
		.kl_corrected_bits = c->kl.bits,
		.kl_low_bits = c->kl.bits,
		.kl_high_bits = c->kl.bits,
	};
}

/* Estimates the part of D that may be chance, as far as possible. */
static int set_drift(struct comparison *c)
{
	const struct pathprof_distribution *a = &c->a->distribution, *b = &c->b->distribution;
	struct pathprof_drift_settings settings = pathprof_drift_defaults;
	int r;

	c->exact = measure_is_exact(&c->a->measure) && measure_is_exact(&c->b->measure);
	c->nearly = c->exact && (c->a->measure.shared_cnt || c->b->measure.shared_cnt);
	if (c->exact) {
		set_exact_drift(c);
		return 0;
	}
	pathprof_drift_set_bursts(&settings, b, a, fmax(c->a->per_burst, c->b->per_burst),
				  fmax(c->a->dispersion, c->b->dispersion));
	r = pathprof_drift_measure(&c->drift, b, a, &settings);
	c->counted = r == 0;
	return r == -EDOM ? 0 : r;
}

static int set_figures(struct comparison *c)
{
	const struct pathprof_distribution *a = &c->a->distribution, *b = &c->b->distribution;
	int r = pathprof_relative_entropy(b, a, 0, &c->kl);

	if (r == 0)
		r = pathprof_coverage(b, a, &c->coverage);
	if (r == 0)
		r = pathprof_angle_degrees(b, a, &c->angle_degrees);
	if (r == 0)
		r = set_similarity(c);
	if (r < 0)
		return r;
	c->a_entropy_bits = pathprof_entropy_bits(a);
	c->b_entropy_bits = pathprof_entropy_bits(b);
	c->overlap = pathprof_distribution_overlap(b, a);
	r = set_drift(c);
	set_branches(c);
	c->a_pathless = pathless_of(c->a);
	c->b_pathless = pathless_of(c->b);
	return r;
}

/* ---------------------------------------------------------------- what moved */

static int more_moved(const void *x, const void *y)
{
	const struct moved *a = x, *b = y;

	if (a->moved_bits != b->moved_bits)
		return a->moved_bits < b->moved_bits ? 1 : -1;
	return (a->function > b->function) - (a->function < b->function);
}

static int by_function(const void *x, const void *y)
{
	const struct moved *a = x, *b = y;

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	return more_moved(x, y);
}

static double share_in(const struct side *side, const struct side_item *item)
{
	return item ? item->weight / (double)side->distribution.total : 0;
}

static struct moved moved_of(const struct comparison *c, const struct pathprof_drift_term *term)
{
	const struct side_item *a = side_find(c->a, term->key_hi, term->key_lo);
	const struct side_item *b = side_find(c->b, term->key_hi, term->key_lo);
	/* A text profile does not name its binaries. */
	bool use_b = b && (c->b->store || !a);
	struct moved moved = {
		.side = use_b ? c->b : c->a,
		.item = use_b ? b : a,
		.a_share = share_in(c->a, a),
		.b_share = share_in(c->b, b),
		.moved_bits = term->moved_bits,
		.event_cnt = 1,
	};

	moved.function = side_function_key(moved.side, moved.item);
	return moved;
}

/* Adds up the events of each function. The one that moved most stands for the function. */
static void sum_functions(struct comparison *c)
{
	c->functions = ctl_alloc((c->event_cnt + 1) * sizeof(*c->functions));
	memcpy(c->functions, c->events, c->event_cnt * sizeof(*c->functions));
	if (c->event_cnt)
		qsort(c->functions, c->event_cnt, sizeof(*c->functions), by_function);
	for (size_t i = 0; i < c->event_cnt; i++) {
		struct moved *event = &c->functions[i];
		struct moved *last = c->function_cnt ? &c->functions[c->function_cnt - 1] : NULL;

		if (!last || last->function != event->function) {
			c->functions[c->function_cnt++] = *event;
			continue;
		}
		last->a_share += event->a_share;
		last->b_share += event->b_share;
		last->moved_bits += event->moved_bits;
		last->event_cnt++;
	}
	if (c->function_cnt)
		qsort(c->functions, c->function_cnt, sizeof(*c->functions), more_moved);
}

static int set_moved(struct comparison *c)
{
	size_t room = c->a->item_cnt + c->b->item_cnt;
	_cleanup_free_ struct pathprof_drift_term *terms = ctl_alloc((room + 1) * sizeof(*terms));
	int r = pathprof_drift_terms(terms, room, &c->event_cnt, &c->b->distribution,
				     &c->a->distribution, 0);

	if (r < 0)
		return r;
	c->events = ctl_alloc((c->event_cnt + 1) * sizeof(*c->events));
	for (size_t i = 0; i < c->event_cnt; i++)
		c->events[i] = moved_of(c, &terms[i]);
	sum_functions(c);
	return 0;
}

/* ---------------------------------------------------------------- together */

static int nothing_matched(const struct comparison *c)
{
	if (c->match.failed_cnt)
		return ctl_fail("%s and %s are different builds and cannot be matched: %s: keep "
				"both binaries, under /usr/lib/debug/.build-id or where they were",
				c->a->word, c->b->word, c->match.why.text);
	return ctl_fail("%s and %s are different builds and no function that ran is the same in "
			"both: record a new baseline",
			c->a->word, c->b->word);
}

static bool shares_a_binary(const struct side *a, const struct side *b)
{
	for (uint32_t i = 0; i < a->binary_cnt; i++)
		for (uint32_t j = 0; j < b->binary_cnt; j++)
			if (a->binaries[i].group == b->binaries[j].group)
				return true;
	return false;
}

/* The distance of sides without anything in common is defined, but they were most likely chosen by
 * mistake. */
static void warn_disjoint(const struct comparison *c)
{
	if (c->overlap > 0)
		return;
	if (!c->match.binary_cnt && !shares_a_binary(c->a, c->b))
		ctl_note("%s and %s have no binary in common, so distances say little: were these "
			 "two meant?",
			 c->a->word, c->b->word);
	else if (!c->match.binary_cnt && c->a->binary_cnt == 1 && c->b->binary_cnt == 1)
		ctl_note("%s and %s have no %s in common, though the build-id is the same: code "
			 "may lie elsewhere in one file, as patchelf leaves it: record both with "
			 "the same file",
			 c->a->word, c->b->word, side_kind_name(c->a->kind));
	else
		ctl_note("%s and %s have no %s in common: overlap is 0 and the relative entropy "
			 "depends on how many samples there are",
			 c->a->word, c->b->word, side_kind_name(c->a->kind));
}

/* A text profile knows binaries by build-id alone; the other side may know their files. */
static void lend_names(struct side *to, const struct side *from)
{
	for (uint32_t i = 0; i < to->binary_cnt; i++) {
		for (uint32_t j = 0; j < from->binary_cnt && !to->binaries[i].name[0]; j++) {
			if (to->binaries[i].group != from->binaries[j].group)
				continue;
			free(to->binaries[i].name);
			to->binaries[i].name = ctl_strdup(from->binaries[j].name);
		}
	}
}

int comparison_init(struct comparison *ret_comparison, struct side *a, struct side *b,
		    const struct ctl_options *options)
{
	struct comparison c = {.a = a, .b = b, .match = {.a_share = 1, .b_share = 1}};
	int r = 0;

	lend_names(a, b);
	lend_names(b, a);
	if (a->kind == SIDE_PATHS)
		r = side_match_builds(a, b, options, &c.match);
	if (r == 0 && c.match.binary_cnt &&
	    (!(a->distribution.total > 0) || !(b->distribution.total > 0)))
		return nothing_matched(&c);
	if (r == 0)
		r = set_figures(&c);
	if (r == 0)
		r = set_moved(&c);
	if (r < 0) {
		comparison_release(&c);
		return ctl_fail("%s and %s: %s", a->word, b->word, strerror(-r));
	}
	warn_disjoint(&c);
	*ret_comparison = c;
	return CTL_OK;
}

void comparison_release(struct comparison *comparison)
{
	free(comparison->events);
	free(comparison->functions);
	comparison->events = comparison->functions = NULL;
}

const char *moved_binary_name(const struct moved *moved)
{
	if (moved->item->binary == SIDE_NO_BINARY)
		return "";
	return text_base_name(moved->side->binaries[moved->item->binary].name);
}

char *moved_function_name(const struct moved *moved)
{
	const struct symbol *symbol = side_function(moved->side, moved->item);

	if (symbol)
		return ctl_strdup(symbol->name);
	if (moved->item->function_name)
		return ctl_strdup(moved->item->function_name);
	return *moved_binary_name(moved) ? ctl_printf("%s (no code)", moved_binary_name(moved))
					 : ctl_strdup("(no code)");
}
