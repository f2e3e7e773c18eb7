// SPDX-License-Identifier: GPL-2.0-or-later
/* One side of a comparison: see side.h. */
#include "side.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../text/cleanup.h"
#include "../text/kinds.h"
#include "../text/text.h"
#include "pathprof/events.h"

const char *side_kind_name(enum side_kind kind)
{
	static const char *const names[] = {"paths", "edges", "calls", "branches", "functions"};

	return names[kind];
}

void side_init(struct side *side, const char *word, enum side_kind kind)
{
	*side = (struct side){.word = word, .kind = kind, .per_burst = 1, .worth = 1};
}

void side_release(struct side *side)
{
	for (size_t i = 0; i < side->item_cnt; i++) {
		free(side->items[i].text);
		free(side->items[i].function_name);
	}
	for (uint32_t i = 0; i < side->binary_cnt; i++)
		free(side->binaries[i].name);
	symbols_free(side->symbols);
	pathprof_store_free(side->store);
	free(side->db);
	free(side->items);
	free(side->words);
	free(side->binaries);
	free(side->events);
	side_init(side, side->word, side->kind);
}

/* Rows come mostly binary by binary, so the last one is tried first. */
uint32_t side_binary(struct side *side, const struct pathprof_build_id *id, const char *name)
{
	uint32_t at = side->binary_cnt;
	const struct layout *layout;

	while (at-- > 0)
		if (pathprof_build_id_equal(&side->binaries[at].id, id))
			return at;
	at = side->binary_cnt;
	layout = layout_of(id, name, &name);
	side->binaries = ctl_realloc(side->binaries, at, at + 1, sizeof(*side->binaries));
	side->binaries[at] = (struct side_binary){
		.id = *id,
		.name = ctl_strdup(name ? name : ""),
		.group = pathprof_event_group(id),
		.layout = layout,
	};
	return side->binary_cnt++;
}

static uint64_t place_of(const struct side *side, uint32_t binary, uint64_t offset)
{
	return binary == SIDE_NO_BINARY ? offset
					: layout_place(side->binaries[binary].layout, offset);
}

/* ---------------------------------------------------------------- adding */

static void add(struct side *side, const struct side_item *item)
{
	ctl_grow(&side->items, side->item_cnt, &side->item_room);
	side->items[side->item_cnt++] = *item;
}

static void add_keyed(struct side *side, struct side_item *item, const struct pathprof_event *event)
{
	item->key_hi = event->key_hi;
	item->key_lo = event->key_lo;
	item->weight = event->weight;
	add(side, item);
}

void side_add_path(struct side *side, uint32_t binary, const struct pathprof_path_row *row,
		   double weight)
{
	struct side_item item = {
		.binary = binary,
		.to_binary = SIDE_NO_BINARY,
		.from = place_of(side, binary, row->start),
		.length = row->length,
		.outcomes = row->outcomes,
		.path_id = row->id,
		.squares = side->weighed ? row->weight_squares : row->squares,
		.samples = side->weighed ? (double)row->samples : weight,
		.sample_squares = row->squares,
	};
	struct pathprof_event event;

	pathprof_event_of_path(&event, side->binaries[binary].group, item.from, row->length,
			       row->outcomes, weight);
	add_keyed(side, &item, &event);
}

void side_add_edge(struct side *side, uint32_t from_binary, uint32_t to_binary,
		   const struct pathprof_edge_row *row, double weight)
{
	struct side_item item = {
		.binary = from_binary,
		.to_binary = to_binary,
		.from = place_of(side, from_binary, row->from),
		.to = place_of(side, to_binary, row->to),
		.samples = side->weighed ? (double)row->count : weight,
	};
	struct pathprof_event event;

	pathprof_event_of_edge(&event, side->binaries[from_binary].group, item.from,
			       side->binaries[to_binary].group, item.to, weight);
	add_keyed(side, &item, &event);
}

/* The two directions of a branch differ in the lowest bit, as branch profiles have it. */
void side_add_branch(struct side *side, uint32_t binary, uint64_t end, bool taken,
		     const struct side_item *path)
{
	struct side_item item = {
		.binary = binary,
		.to_binary = SIDE_NO_BINARY,
		.from = end,
		.outcomes = taken,
		.samples = path->samples,
	};
	struct pathprof_event event;
	uint64_t group = side->binaries[binary].group;

	pathprof_event_of_edge(&event, group, end, group, 0, path->weight);
	event.key_lo = (event.key_lo & ~1ULL) | taken;
	add_keyed(side, &item, &event);
}

void side_add_clock(struct side *side, uint32_t binary, uint64_t place, double weight)
{
	struct side_item item = {.binary = binary,
				 .to_binary = SIDE_NO_BINARY,
				 .from = place_of(side, binary, place),
				 .key_hi = binary,
				 .key_lo = place,
				 .weight = weight,
				 .samples = weight};

	add(side, &item);
}

void side_add_text(struct side *side, const char *text, size_t len, double weight)
{
	struct pathprof_build_id hashed;
	struct side_item item = {
		.binary = SIDE_NO_BINARY, .to_binary = SIDE_NO_BINARY, .weight = weight};

	pathprof_build_id_make(&hashed, PATHPROF_ID_NONE, text, len);
	item.key_lo = pathprof_event_group(&hashed);
	item.text = ctl_alloc(len + 1);
	memcpy(item.text, text, len);
	add(side, &item);
}

/* ---------------------------------------------------------------- in order */

static int by_key(const void *a, const void *b)
{
	const struct side_item *x = a, *y = b;

	if (x->key_hi != y->key_hi)
		return x->key_hi < y->key_hi ? -1 : 1;
	return (x->key_lo > y->key_lo) - (x->key_lo < y->key_lo);
}

static double add_known(double a, double b)
{
	return a > 0 && b > 0 ? a + b : 0;
}

static void add_item(struct side_item *to, const struct side_item *item)
{
	to->squares = add_known(to->squares, item->squares);
	to->sample_squares = add_known(to->sample_squares, item->sample_squares);
	to->weight += item->weight;
	to->samples += item->samples;
}

static void merge(struct side *side)
{
	size_t kept = 0;

	for (size_t i = 0; i < side->item_cnt; i++) {
		struct side_item *item = &side->items[i];

		if (kept && by_key(&side->items[kept - 1], item) == 0) {
			add_item(&side->items[kept - 1], item);
			free(item->text);
			free(item->function_name);
		} else {
			side->items[kept++] = *item;
		}
	}
	side->item_cnt = kept;
}

/*
 * Weights become numbers of samples that would be worth as much if they counted alike. What
 * branches and edges are worth was set when they were read.
 */
static void weigh(struct side *side)
{
	struct pathprof_worth sums = {0};
	double factor;

	for (size_t i = 0; i < side->item_cnt; i++) {
		sums.samples += side->items[i].samples;
		sums.squares += side->items[i].sample_squares;
		sums.weight += side->items[i].weight;
		sums.weight_squares += side->items[i].squares;
	}
	side->samples = sums.samples;
	if (!side->weighed || side->finished || !(sums.weight > 0))
		return;
	if (side->kind == SIDE_PATHS)
		side->worth = pathprof_worth_of_sample(&sums);
	factor = side->worth * sums.samples / sums.weight;
	for (size_t i = 0; i < side->item_cnt; i++) {
		side->items[i].weight *= factor;
		side->items[i].squares *= factor * factor;
	}
}

static void sort(struct side *side)
{
	if (side->item_cnt)
		qsort(side->items, side->item_cnt, sizeof(*side->items), by_key);
	merge(side);
}

int side_finish(struct side *side)
{
	int r;

	sort(side);
	weigh(side);
	free(side->events);
	side->events = ctl_alloc((side->item_cnt + 1) * sizeof(*side->events));
	for (size_t i = 0; i < side->item_cnt; i++)
		side->events[i] = (struct pathprof_event){
			.key_hi = side->items[i].key_hi,
			.key_lo = side->items[i].key_lo,
			.weight = side->items[i].weight,
			.squares = side->items[i].squares,
		};
	r = pathprof_distribution_init(&side->distribution, side->events, side->item_cnt);
	side->finished = r == 0;
	if (r == 0)
		side->distribution.counted |= side->weighed;
	return r;
}

const struct side_item *side_find(const struct side *side, uint64_t key_hi, uint64_t key_lo)
{
	const struct side_item key = {.key_hi = key_hi, .key_lo = key_lo};

	if (!side->item_cnt)
		return NULL;
	return bsearch(&key, side->items, side->item_cnt, sizeof(key), by_key);
}

int side_check_kinds(const struct side *a, const struct side *b)
{
	if (a->measure.kind == PATHPROF_KIND_ANY || b->measure.kind == PATHPROF_KIND_ANY ||
	    a->measure.kind == b->measure.kind)
		return CTL_OK;
	return ctl_fail("%s is of %s, %s of %s: they weigh code differently and do not compare: "
			"record one of them again, or name a kind that both have with --kind",
			a->word, kinds_text(a->measure.kind), b->word, kinds_text(b->measure.kind));
}

/* ---------------------------------------------------------------- names */

const struct symbol *side_function(const struct side *side, const struct side_item *item)
{
	const struct side_binary *binary;

	if (item->binary == SIDE_NO_BINARY)
		return NULL;
	binary = &side->binaries[item->binary];
	/* Without code every place would count as a function of its own. */
	if (binary->id.kind != PATHPROF_ID_JIT &&
	    !symbols_code(side->symbols, &binary->id, binary->name, NULL))
		return NULL;
	return symbols_function(side->symbols, &binary->id, binary->name, item->from);
}

void side_functions_ahead(const struct side *side)
{
	_cleanup_free_ uint64_t *offsets = ctl_alloc((side->item_cnt + 1) * sizeof(*offsets));

	for (uint32_t b = 0; side->symbols && b < side->binary_cnt; b++) {
		size_t cnt = 0;

		for (size_t i = 0; i < side->item_cnt; i++)
			if (side->items[i].binary == b && !side->items[i].portable)
				offsets[cnt++] = side->items[i].from;
		symbols_ahead(side->symbols, &side->binaries[b].id, side->binaries[b].name, offsets,
			      cnt);
	}
}

uint64_t side_function_key(const struct side *side, const struct side_item *item)
{
	const struct symbol *symbol = side_function(side, item);
	struct pathprof_event event;

	if (item->portable)
		return item->key_hi;
	if (!symbol)
		return item->binary == SIDE_NO_BINARY ? 0 : side->binaries[item->binary].group;
	pathprof_event_of_path(&event, 0, symbol->start, UINT32_MAX, 0, 0);
	return side->binaries[item->binary].group ^ event.key_lo;
}

static char *place_label(const struct side *side, uint32_t index, uint64_t offset)
{
	const struct side_binary *binary = &side->binaries[index];

	return symbols_label(side->symbols, &binary->id, binary->name, offset);
}

char *side_label(const struct side *side, const struct side_item *item)
{
	_cleanup_free_ char *from = NULL, *to = NULL;
	char outcomes[TEXT_OUTCOMES_SIZE];

	if (item->text)
		return ctl_strdup(item->text);
	from = item->function_name ? ctl_strdup(item->function_name)
				   : place_label(side, item->binary, item->from);
	if (side->kind == SIDE_PATHS)
		return ctl_printf("%s %s", from,
				  text_outcomes(outcomes, item->length, item->outcomes));
	if (side->kind == SIDE_BRANCHES)
		return ctl_printf("%s %s", from, item->outcomes ? "taken" : "not taken");
	to = place_label(side, item->to_binary, item->to);
	return ctl_printf("%s -> %s", from, to);
}

char *side_line(const struct side *side, const struct side_item *item)
{
	const struct side_binary *binary;
	struct pathprof_code *code;
	const char *file;
	int line;

	if (item->binary == SIDE_NO_BINARY)
		return NULL;
	binary = &side->binaries[item->binary];
	code = symbols_code(side->symbols, &binary->id, binary->name, NULL);
	if (!code || pathprof_code_line(code, item->from, &file, &line) < 0)
		return NULL;
	return ctl_printf("%s:%d", text_base_name(file), line);
}
