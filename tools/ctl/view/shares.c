// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * TIME and RUNS of a selection: see shares.h. Functions and binaries are found by a table: of
 * generated code each process has a binary of its own.
 */
#include "shares.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../text/cleanup.h"
#include "../text/text.h"
#include "measure.h"
#include "shares_index.h"

#define USEC_A_SEC 1e6

static const struct pathprof_share unknown = {NAN, NAN, NAN};

/* ---------------------------------------------------------------- binaries */

static uint64_t hash_of_id(const struct pathprof_build_id *id)
{
	uint64_t hash = id->kind;

	for (size_t i = 0; i < id->len_bytes; i++)
		hash = pp_hash_mix(hash, id->bytes[i]);
	return hash;
}

static uint32_t find_binary(const struct shares *shares, const struct pathprof_build_id *id)
{
	return pp_table_find(&shares->index->binaries, hash_of_id(id), i,
			     pathprof_build_id_equal(&shares->binaries[i].id, id));
}

static uint32_t get_binary(struct shares *shares, const struct pathprof_build_id *id,
			   const char *name)
{
	uint32_t number = find_binary(shares, id);

	if (number != PP_TABLE_NONE)
		return number;
	number = (uint32_t)shares->binary_cnt;
	ctl_grow(&shares->binaries, shares->binary_cnt, &shares->index->binary_room);
	shares->binaries[shares->binary_cnt++] =
		(struct shares_binary){.id = *id, .name = ctl_strdup(name ? name : "")};
	if (pp_table_add(&shares->index->binaries, hash_of_id(id), i,
			 hash_of_id(&shares->binaries[i].id)) < 0)
		ctl_no_memory();
	return number;
}

const struct shares_binary *shares_find_binary(const struct shares *shares,
					       const struct pathprof_build_id *id)
{
	uint32_t number = find_binary(shares, id);

	return number == PP_TABLE_NONE ? NULL : &shares->binaries[number];
}

/* ---------------------------------------------------------------- functions */

static uint32_t add_stratum(struct shares_index *index)
{
	ctl_grow(&index->strata, index->stratum_cnt, &index->stratum_room);
	return (uint32_t)index->stratum_cnt++;
}

/* The stratum of the binary's code that is in no known function. */
static uint32_t nameless_stratum(struct shares_index *index, uint32_t binary)
{
	struct shares_binary *of = &index->shares->binaries[binary];

	if (!of->nameless)
		of->nameless = add_stratum(index) + 1;
	return of->nameless - 1;
}

static uint64_t hash_of(uint32_t binary, uint64_t start)
{
	return pp_hash_mix(binary, start);
}

static uint32_t find_function(const struct shares_index *index, uint32_t binary,
			      const struct symbol *symbol)
{
	const struct shares *shares = index->shares;

	return pp_table_find(&index->numbers, hash_of(binary, symbol->start), i,
			     shares->functions[i].binary == binary &&
				     shares->functions[i].symbol->start == symbol->start);
}

static uint32_t get_function(struct shares_index *index, uint32_t binary,
			     const struct symbol *symbol)
{
	struct shares *shares = index->shares;
	uint32_t number = find_function(index, binary, symbol);

	if (number != PP_TABLE_NONE)
		return number;
	number = (uint32_t)shares->function_cnt;
	ctl_grow(&shares->functions, shares->function_cnt, &index->function_room);
	shares->functions[shares->function_cnt++] = (struct shares_function){
		.binary = binary,
		.symbol = symbol,
		.stratum = symbol->bounded ? add_stratum(index) : nameless_stratum(index, binary),
	};
	if (pp_table_add(&index->numbers, hash_of(binary, symbol->start), i,
			 hash_of(shares->functions[i].binary, shares->functions[i].symbol->start)) <
	    0)
		ctl_no_memory();
	return number;
}

/* ---------------------------------------------------------------- reading */

static void add_figures(struct figures *sum, const struct pathprof_path_row *row)
{
	sum->samples += row->samples;
	sum->weight += row->weight;
	sum->share += row->share;
}

static int take_path(void *context, const struct pathprof_path_row *row)
{
	struct shares_index *index = context;
	struct shares *shares = index->shares;
	uint32_t binary = get_binary(shares, &row->binary_id, row->binary_name);

	ctl_grow(&shares->paths, shares->path_cnt, &index->path_room);
	/* The binary stands for the function until all paths are read. */
	shares->paths[shares->path_cnt++] = (struct shares_path){.row = *row, .function = binary};
	add_figures(&shares->paths[shares->path_cnt - 1].figures, row);
	add_figures(&shares->binaries[binary].figures, row);
	return 0;
}

/* Names are looked up a binary at a time. */
static void names_ahead(const struct shares_index *index, const struct shares_clock *places,
			size_t cnt)
{
	const struct shares *shares = index->shares;
	_cleanup_free_ uint64_t *sorted = ctl_alloc((cnt + 1) * sizeof(*sorted));
	_cleanup_free_ size_t *ends = ctl_alloc((shares->binary_cnt + 1) * sizeof(*ends));

	memset(ends, 0, (shares->binary_cnt + 1) * sizeof(*ends));
	for (size_t i = 0; i < cnt; i++)
		ends[places[i].binary + 1]++;
	for (size_t b = 0; b < shares->binary_cnt; b++)
		ends[b + 1] += ends[b];
	/* Each binary's end moves from where its places begin to where they end. */
	for (size_t i = 0; i < cnt; i++)
		sorted[ends[places[i].binary]++] = places[i].place;
	for (size_t b = 0, first = 0; b < shares->binary_cnt; first = ends[b++])
		symbols_ahead(index->symbols, &shares->binaries[b].id, shares->binaries[b].name,
			      sorted + first, ends[b] - first);
}

static void path_names_ahead(const struct shares_index *index)
{
	const struct shares *shares = index->shares;
	_cleanup_free_ struct shares_clock *starts =
		ctl_alloc((shares->path_cnt + 1) * sizeof(*starts));

	for (size_t i = 0; i < shares->path_cnt; i++)
		starts[i] = (struct shares_clock){.binary = shares->paths[i].function,
						  .place = shares->paths[i].row.start};
	names_ahead(index, starts, shares->path_cnt);
}

static void take_functions(struct shares_index *index)
{
	struct shares *shares = index->shares;

	path_names_ahead(index);
	for (size_t i = 0; i < shares->path_cnt; i++) {
		struct shares_path *path = &shares->paths[i];
		uint32_t binary = path->function;
		const struct symbol *symbol =
			symbols_function(index->symbols, &path->row.binary_id,
					 shares->binaries[binary].name, path->row.start);

		path->function = get_function(index, binary, symbol);
		add_figures(&shares->functions[path->function].figures, &path->row);
		shares->functions[path->function].path_cnt++;
	}
}

static int take_clock(void *context, const struct pathprof_clock_row *row)
{
	struct shares_index *index = context;
	struct shares *shares = index->shares;

	shares->clock_samples += row->samples;
	if (row->binary_id.kind == PATHPROF_ID_NONE) {
		if (row->place == PATHPROF_PLACE_KERNEL)
			shares->kernel_nameless += row->samples;
		else
			shares->unknown_samples += row->samples;
		return 0;
	}
	if (pathprof_is_kernel(&row->binary_id, row->binary_name))
		shares->kernel_samples += row->samples;
	ctl_grow(&index->clocks, index->clock_cnt, &index->clock_room);
	index->clocks[index->clock_cnt++] = (struct shares_clock){
		.binary = get_binary(shares, &row->binary_id, row->binary_name),
		.place = row->place,
		.samples = row->samples,
	};
	return 0;
}

/* Adds the function when it is new, which may move all functions. */
static uint32_t function_stratum(struct shares_index *index, size_t binary,
				 const struct symbol *symbol)
{
	const size_t function = get_function(index, binary, symbol);

	return index->shares->functions[function].stratum;
}

static void take_clocks(struct shares_index *index)
{
	struct shares *shares = index->shares;

	names_ahead(index, index->clocks, index->clock_cnt);
	for (size_t i = 0; i < index->clock_cnt; i++) {
		const struct shares_clock *clock = &index->clocks[i];
		const struct shares_binary *binary = &shares->binaries[clock->binary];
		const struct symbol *symbol =
			symbols_function(index->symbols, &binary->id, binary->name, clock->place);
		uint32_t stratum;

		shares->binaries[clock->binary].clock_samples += clock->samples;
		stratum = symbol->bounded ? function_stratum(index, clock->binary, symbol)
					  : nameless_stratum(index, clock->binary);
		index->strata[stratum].clock_samples += clock->samples;
		index->strata[stratum].kernel = pathprof_is_kernel(&binary->id, binary->name);
	}
}

uint32_t shares_stratum_of(const struct shares_index *index, const struct pathprof_clock_row *row)
{
	const struct shares_binary *binary = shares_find_binary(index->shares, &row->binary_id);
	const struct symbol *symbol;
	uint32_t number, at;

	if (row->binary_id.kind == PATHPROF_ID_NONE || !binary)
		return UINT32_MAX;
	at = (uint32_t)(binary - index->shares->binaries);
	symbol = symbols_function(index->symbols, &binary->id, binary->name, row->place);
	number = find_function(index, at, symbol);
	if (symbol->bounded && number != PP_TABLE_NONE)
		return index->shares->functions[number].stratum;
	return binary->nameless ? binary->nameless - 1 : UINT32_MAX;
}

static int read_all(struct shares_index *index, struct pathprof_store *store,
		    const struct pathprof_filter *filter, struct pathprof_error *error)
{
	struct pathprof_filter every = *filter;
	int r;

	every.limit = 0;
	r = pathprof_store_paths(store, &every, take_path, index, error);
	if (r < 0)
		return r;
	take_functions(index);
	r = pathprof_store_clocks(store, &every, take_clock, index, error);
	if (r == 0)
		take_clocks(index);
	return r;
}

/* ---------------------------------------------------------------- working out */

static void fill_inputs(struct shares_index *index)
{
	const struct shares *shares = index->shares;

	index->inputs = ctl_alloc((shares->path_cnt + 1) * sizeof(*index->inputs));
	index->input_paths = ctl_alloc((shares->path_cnt + 1) * sizeof(*index->input_paths));
	for (size_t i = 0; i < shares->path_cnt; i++) {
		const struct pathprof_path_row *row = &shares->paths[i].row;
		double most = (double)row->samples * (double)row->samples;

		if (!row->samples || !(row->weight > 0))
			continue;
		index->input_paths[index->input_cnt] = (uint32_t)i;
		index->inputs[index->input_cnt++] = (struct pathprof_shares_path){
			.function = shares->functions[shares->paths[i].function].stratum,
			.samples = row->samples,
			.squares = fmin(row->squares, most),
			.weight = row->weight,
			.weight_squares = fmin(row->weight_squares, row->weight * row->weight),
			.insns = row->insns,
		};
	}
}

static void take_path_figures(struct shares_index *index)
{
	struct shares *shares = index->shares;

	for (size_t i = 0; i < shares->path_cnt; i++)
		shares->paths[i].figures.time = shares->paths[i].figures.runs = unknown;
	for (size_t i = 0; i < index->input_cnt; i++) {
		struct figures *figures = &shares->paths[index->input_paths[i]].figures;

		figures->time = index->inputs[i].time;
		figures->runs = index->inputs[i].runs;
		shares->path_time |= !isnan(figures->time.value);
	}
}

static void add_value(struct pathprof_share *sum, const struct pathprof_share *share)
{
	if (isnan(share->value))
		return;
	sum->value = isnan(sum->value) ? share->value : sum->value + share->value;
}

/* Sums of paths: the runs of a binary, and those of paths that begin at one place in no known
 * function. */
static void sum_paths(struct shares *shares)
{
	for (size_t i = 0; i < shares->function_cnt; i++)
		shares->functions[i].figures.time = shares->functions[i].figures.runs = unknown;
	for (size_t i = 0; i < shares->binary_cnt; i++)
		shares->binaries[i].figures.time = shares->binaries[i].figures.runs = unknown;
	for (size_t i = 0; i < shares->path_cnt; i++) {
		const struct figures *figures = &shares->paths[i].figures;
		struct shares_function *function = &shares->functions[shares->paths[i].function];

		if (function->path_cnt == 1) {
			function->figures.time = figures->time;
			function->figures.runs = figures->runs;
		} else {
			add_value(&function->figures.time, &figures->time);
			add_value(&function->figures.runs, &figures->runs);
		}
		add_value(&shares->binaries[function->binary].figures.runs, &figures->runs);
	}
}

/* A share that is known as a sum or by its weight only: an interval as wide as can be. */
static void finish_sum(const struct shares *shares, struct pathprof_share *share)
{
	struct interval interval;

	if (!isnan(share->low))
		return;
	interval = interval_of_share(share->value, shares->observations);
	*share = isnan(share->value) || shares->kind == PATHPROF_KIND_TAKEN
			 ? unknown
			 : (struct pathprof_share){share->value, interval.low, interval.high};
}

/* Runs that no window holds may be this row's, or those of other rows: both ends allow for them. */
static void finish_runs(const struct shares *shares, struct pathprof_share *runs)
{
	bool is_sum = isnan(runs->low);

	finish_sum(shares, runs);
	if (!is_sum || isnan(runs->low))
		return;
	runs->low *= 1 - shares->unseen;
	runs->high += (1 - runs->high) * shares->unseen;
}

static void take_function_figures(struct shares_index *index)
{
	struct shares *shares = index->shares;

	for (size_t i = 0; i < shares->function_cnt; i++) {
		struct shares_function *function = &shares->functions[i];
		const struct pathprof_shares_function *stratum = &index->strata[function->stratum];

		if (function->symbol->bounded) {
			function->figures.time = stratum->time;
			function->figures.runs = stratum->runs;
			continue;
		}
		finish_sum(shares, &function->figures.time);
		finish_runs(shares, &function->figures.runs);
	}
}

/* Adds a row without a name for code in no known function of which no path was seen. */
static void add_nameless_row(struct shares_index *index, uint32_t binary)
{
	struct shares *shares = index->shares;
	uint32_t stratum = nameless_stratum(index, binary);

	for (size_t i = 0; i < shares->function_cnt; i++)
		if (shares->functions[i].stratum == stratum)
			return;
	ctl_grow(&shares->functions, shares->function_cnt, &index->function_room);
	shares->functions[shares->function_cnt++] = (struct shares_function){
		.binary = binary,
		.figures = {.time = index->strata[stratum].time, .runs = unknown},
		.stratum = stratum,
	};
}

static void take_binary_figures(struct shares_index *index)
{
	struct shares *shares = index->shares;

	for (size_t i = 0; i < shares->binary_cnt; i++) {
		struct shares_binary *binary = &shares->binaries[i];

		binary->figures.time =
			pathprof_share_of_samples(binary->clock_samples, shares->clock_samples);
		finish_runs(shares, &binary->figures.runs);
	}
	/* After this, functions are not searched for: some rows have no symbol. */
	for (size_t i = 0; i < shares->binary_cnt; i++)
		if (shares->binaries[i].nameless)
			add_nameless_row(index, (uint32_t)i);
}

/* Weights of windows that end after a number of taken branches do not say how often code ran. */
static void drop_runs(struct shares *shares)
{
	for (size_t i = 0; i < shares->path_cnt; i++)
		shares->paths[i].figures.runs = unknown;
	for (size_t i = 0; i < shares->function_cnt; i++)
		shares->functions[i].figures.runs = unknown;
	for (size_t i = 0; i < shares->binary_cnt; i++)
		shares->binaries[i].figures.runs = unknown;
}

static void be_exact(struct pathprof_share *share)
{
	share->low = share->high = share->value;
}

/* Nothing was sampled, so the figures have no error of chance. */
static void drop_chance(struct shares *shares)
{
	for (size_t i = 0; i < shares->path_cnt; i++)
		be_exact(&shares->paths[i].figures.runs);
	for (size_t i = 0; i < shares->function_cnt; i++)
		be_exact(&shares->functions[i].figures.runs);
	for (size_t i = 0; i < shares->binary_cnt; i++)
		be_exact(&shares->binaries[i].figures.runs);
}

static int work_out(struct shares_index *index, struct pathprof_error *error)
{
	struct shares *shares = index->shares;
	struct pathprof_shares work;
	uint32_t nowhere;
	int r;

	/* Code outside of files is a function too, of which no path is seen. */
	nowhere = add_stratum(index);
	index->strata[nowhere].clock_samples = shares->unknown_samples;
	fill_inputs(index);
	work = (struct pathprof_shares){
		.functions = index->strata,
		.function_cnt = index->stratum_cnt,
		.paths = index->inputs,
		.path_cnt = index->input_cnt,
		.clock_samples = shares->clock_samples,
		.bursts = shares->observations,
		.insns_a_sample = shares->insns_a_sample,
		.horizon = shares->horizon,
		.cut_samples = shares->cut_samples,
	};
	r = pathprof_shares_work_out(&work);
	if (r < 0)
		return pathprof_fail(error, r,
				     "shares: impossible figures (the database is damaged)");
	shares->unseen = shares->kind == PATHPROF_KIND_WEIGHED ? work.unseen : 0;
	take_path_figures(index);
	sum_paths(shares);
	take_function_figures(index);
	take_binary_figures(index);
	shares->elsewhere[SHARES_KERNEL] = shares_of_samples(shares, shares->kernel_nameless);
	shares->elsewhere[SHARES_UNKNOWN] = shares_of_samples(shares, shares->unknown_samples);
	if (shares->kind == PATHPROF_KIND_TAKEN)
		drop_runs(shares);
	if (shares->observations == SHARES_EXACT)
		drop_chance(shares);
	for (size_t i = 0; i < shares->path_cnt; i++)
		shares->paths[i].row.binary_name =
			shares->binaries[shares->functions[shares->paths[i].function].binary].name;
	return 0;
}

/* A burst stands for its time, and covers its horizon: paths that no window holds leave a gap. */
static int measure_insns(struct shares *shares, struct pathprof_store *store,
			 const struct pathprof_filter *filter, struct pathprof_error *error)
{
	struct measure measure;
	int r;

	if (shares->kind != PATHPROF_KIND_WEIGHED)
		return 0;
	r = measure_load(&measure, store, filter, shares->kind, error);
	if (r < 0 || measure.mixed || !measure.clock_hz)
		return r;
	shares->horizon = measure.horizon;
	shares->cut_samples = measure.cut_samples;
	shares->insns_a_sample = USEC_A_SEC / measure.clock_hz * shares->horizon;
	return r;
}

int shares_load(struct shares **ret_shares, struct pathprof_store *store, struct symbols *symbols,
		const struct pathprof_filter *filter, enum pathprof_window_kind kind,
		uint64_t observations, struct pathprof_error *error)
{
	struct shares *shares = ctl_alloc(sizeof(*shares));
	int r;

	shares->kind = kind;
	shares->observations = observations;
	shares->index = ctl_alloc(sizeof(*shares->index));
	shares->index->shares = shares;
	shares->index->symbols = symbols;
	r = read_all(shares->index, store, filter, error);
	if (r >= 0)
		r = measure_insns(shares, store, filter, error);
	if (r >= 0)
		r = work_out(shares->index, error);
	if (r >= 0)
		r = shares_spread_over_hosts(shares, store, filter, error);
	if (r < 0) {
		shares_free(shares);
		return r;
	}
	*ret_shares = shares;
	return 0;
}

void shares_free(struct shares *shares)
{
	if (!shares)
		return;
	for (size_t i = 0; i < shares->binary_cnt; i++)
		free(shares->binaries[i].name);
	free(shares->binaries);
	free(shares->functions);
	free(shares->paths);
	pp_table_release(&shares->index->numbers);
	pp_table_release(&shares->index->binaries);
	free(shares->index->clocks);
	free(shares->index->strata);
	free(shares->index->inputs);
	free(shares->index->input_paths);
	free(shares->index);
	free(shares);
}

static bool is_kernel(const struct shares_binary *binary)
{
	return pathprof_is_kernel(&binary->id, binary->name);
}

struct shares_pathless shares_pathless(const struct shares *shares)
{
	const double all = (double)shares->clock_samples;
	struct shares_pathless pathless = {NAN, NAN};

	if (!shares->clock_samples)
		return pathless;
	pathless.kernel = (double)(shares->kernel_samples + shares->kernel_nameless) / all;
	pathless.code = (double)shares->unknown_samples / all;
	for (size_t i = 0; i < shares->function_cnt; i++)
		if (!shares->functions[i].path_cnt &&
		    !is_kernel(&shares->binaries[shares->functions[i].binary]))
			pathless.code += shares->functions[i].figures.time.value;
	return pathless;
}

const struct shares_path *shares_find_path(const struct shares *shares, int64_t id)
{
	for (size_t i = 0; i < shares->path_cnt; i++)
		if (shares->paths[i].row.id == id)
			return &shares->paths[i];
	return NULL;
}

int shares_compare_binaries(const struct shares_binary *a, const struct shares_binary *b)
{
	return memcmp(&a->id, &b->id, sizeof(a->id));
}

int shares_compare_functions(const struct shares *shares, const struct shares_function *a,
			     const struct shares_function *b)
{
	int order =
		shares_compare_binaries(&shares->binaries[a->binary], &shares->binaries[b->binary]);

	if (order || !a->symbol || !b->symbol)
		return order ? order : !!b->symbol - !!a->symbol;
	return (a->symbol->start > b->symbol->start) - (a->symbol->start < b->symbol->start);
}

struct figures shares_of_samples(const struct shares *shares, uint64_t samples)
{
	return (struct figures){
		.time = pathprof_share_of_samples(samples, shares->clock_samples),
		.runs = unknown,
	};
}

/* ---------------------------------------------------------------- intervals */

#define Z_95 1.959963984540054 /* two-sided 95 % quantile of the normal distribution */

struct interval interval_of_share(double share, uint64_t observations)
{
	double n = (double)observations, z2 = Z_95 * Z_95;
	double middle, half;

	if (observations == 0)
		return (struct interval){0, 1};
	share = fmin(fmax(share, 0), 1);
	middle = (share + z2 / (2 * n)) / (1 + z2 / n);
	half = Z_95 / (1 + z2 / n) * sqrt(share * (1 - share) / n + z2 / (4 * n * n));
	return (struct interval){fmax(middle - half, 0), fmin(middle + half, 1)};
}
