// SPDX-License-Identifier: GPL-2.0-or-later
/* Sides out of a store: see side_load.h. */
#include "side_load.h"

#include <string.h>

#include "../text/text.h"
#include "pathprof/drift.h"

#define WINDOWS_MAX 16 /* of which the dispersion is taken */

struct reading {
	struct side *side;
	const char *binary;
	struct pathprof_worth worth;
	struct fit fit; /* rows come heaviest first */
};

static bool is_wanted(const char *wanted, const char *name)
{
	return !wanted || !strcmp(wanted, name) || !strcmp(wanted, text_base_name(name));
}

static void add_worth(struct pathprof_worth *to, const struct pathprof_path_row *row)
{
	to->samples += (double)row->samples;
	to->squares += row->squares;
	to->weight += row->weight;
	to->weight_squares += row->weight_squares;
}

static int take_path(void *context, const struct pathprof_path_row *row)
{
	struct reading *reading = context;
	struct side *side = reading->side;
	const char *name = row->binary_name ? row->binary_name : "";
	struct pathprof_path_row placed = *row;
	uint32_t binary;

	if (!is_wanted(reading->binary, name) || !row->samples)
		return 0;
	add_worth(&reading->worth, row);
	if (side->kind != SIDE_PATHS && side->kind != SIDE_BRANCHES)
		return 0;
	binary = side_binary(side, &row->binary_id, name);
	side_add_path(side, binary, row, side->weighed ? row->weight : (double)row->samples);
	placed.binary_name = side->binaries[binary].name;
	placed.start = side->items[side->item_cnt - 1].from;
	fit_path(&reading->fit, &placed);
	return 0;
}

static int take_edge(void *context, const struct pathprof_edge_row *row)
{
	struct reading *reading = context;
	struct side *side = reading->side;
	struct pathprof_edge_row placed = *row;
	uint32_t from, to;

	if (!is_wanted(reading->binary, row->from_name ? row->from_name : "") || !row->count)
		return 0;
	from = side_binary(side, &row->from_id, row->from_name);
	to = side_binary(side, &row->to_id, row->to_name);
	side_add_edge(side, from, to, row, side->weighed ? row->weight : (double)row->count);
	placed.from_name = side->binaries[from].name;
	placed.from = side->items[side->item_cnt - 1].from;
	fit_edge(&reading->fit, &placed);
	return 0;
}

/* Samples in the kernel or in no file have no binary: their places say which of the two. */
static int take_clock(void *context, const struct pathprof_clock_row *row)
{
	struct reading *reading = context;
	struct side *side = reading->side;
	bool in_file = row->binary_id.kind != PATHPROF_ID_NONE;

	if (row->samples &&
	    (in_file ? is_wanted(reading->binary, row->binary_name) : !reading->binary))
		side_add_clock(side,
			       in_file ? side_binary(side, &row->binary_id, row->binary_name)
				       : SIDE_NO_BINARY,
			       row->place, (double)row->samples);
	return 0;
}

static bool is_of_edges(const struct side *side)
{
	return side->kind == SIDE_EDGES || side->kind == SIDE_CALLS;
}

int side_store_read(struct side *side, struct pathprof_store *store,
		    const struct pathprof_filter *filter, const char *binary,
		    struct pathprof_error *error)
{
	struct reading reading = {
		.side = side, .binary = binary, .fit = {.symbols = side->symbols}};
	int r = 0;

	if (side->kind == SIDE_TIMES)
		return pathprof_store_clocks(store, filter, take_clock, &reading, error);
	side->weighed = side->measure.kind == PATHPROF_KIND_WEIGHED;
	if (is_of_edges(side))
		r = pathprof_store_edges(store, filter, take_edge, &reading, error);
	/* How much the weights of edges differ is known only from the paths that their bursts
	 * saw. */
	if (r == 0 && (!is_of_edges(side) || side->weighed))
		r = pathprof_store_paths(store, filter, take_path, &reading, error);
	if (r == 0 && side->weighed)
		side->worth = pathprof_worth_of_sample(&reading.worth);
	fit_tell(&reading.fit);
	fit_release(&reading.fit);
	return r;
}

/* ---------------------------------------------------------------- dispersion */

struct windows {
	int64_t ids[WINDOWS_MAX];
	size_t cnt;
	uint64_t bursts, events; /* paths, or taken branches, in bursts */
	bool taken;
};

static int take_window(void *context, const struct pathprof_window_row *row)
{
	struct windows *windows = context;

	if (windows->cnt < WINDOWS_MAX)
		windows->ids[windows->cnt++] = row->id;
	windows->bursts += row->totals.bursts;
	windows->events += windows->taken ? row->totals.taken : row->totals.paths;
	return 0;
}

static double per_burst(const struct windows *windows)
{
	if (!windows->bursts || windows->events <= windows->bursts)
		return 1;
	return (double)windows->events / (double)windows->bursts;
}

/* Reads one side for each window. The caller releases the first *ret_cnt of them. */
static int read_windows(struct side *each, size_t *ret_cnt, const struct side *side,
			const struct pathprof_filter *filter, const char *binary,
			const struct windows *windows, struct pathprof_error *error)
{
	struct pathprof_filter one = *filter;
	int r = 0;

	for (*ret_cnt = 0; r == 0 && *ret_cnt < windows->cnt; ++*ret_cnt) {
		struct side *window = &each[*ret_cnt];

		side_init(window, side->word, side->kind);
		window->measure.kind = side->measure.kind;
		one.window = windows->ids[*ret_cnt];
		r = side_store_read(window, side->store, &one, binary, error);
		if (r == 0)
			r = side_finish(window);
	}
	return r;
}

/* As far as it is worth believing; 0: not known. */
static double dispersion_of(const struct side *each, size_t cnt)
{
	const struct pathprof_distribution *windows[WINDOWS_MAX];
	double seen, degrees;
	bool clustered = true;

	for (size_t i = 0; i < cnt; i++) {
		windows[i] = &each[i].distribution;
		clustered &= windows[i]->clustered || !(windows[i]->total > 0);
	}
	if (pathprof_drift_dispersion_degrees(windows, cnt, &seen, &degrees) < 0)
		return 0;
	return pathprof_drift_believed_dispersion(seen, degrees, clustered);
}

int side_store_dispersion(struct side *side, const struct pathprof_filter *filter,
			  const char *binary, struct pathprof_error *error)
{
	struct side each[WINDOWS_MAX];
	struct windows windows = {.taken = is_of_edges(side)};
	size_t cnt = 0;
	int r = pathprof_store_windows(side->store, filter, take_window, &windows, error);

	/* Clock samples are independent. */
	if (r < 0 || side->kind == SIDE_TIMES)
		return r;
	side->per_burst = per_burst(&windows);
	if (windows.cnt < 2)
		return 0;
	r = read_windows(each, &cnt, side, filter, binary, &windows, error);
	if (r == 0)
		side->dispersion = dispersion_of(each, cnt);
	for (size_t i = 0; i < cnt; i++)
		side_release(&each[i]);
	return r;
}
