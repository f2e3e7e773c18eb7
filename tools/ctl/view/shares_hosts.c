// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shares over the hosts of a fleet: hosts differ, so an interval that knows bursts alone is too
 * narrow (pathprof/clusters.h). Each host's counts are read by themselves; a row keeps three sums,
 * however many hosts there are. The database's own windows, which no host sent, count as one more
 * host.
 *
 * An interval becomes the wider of the two. TIME of a path is a part of its function's: the error
 * between hosts is taken from there.
 */
#include "shares_index.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../text/cleanup.h"
#include "pathprof/clusters.h"
#include "pathprof/parcel_store.h"

/* The parts of one row over the hosts. */
struct spread {
	double now; /* of the host that is being read */
	double part, squares, product;
	uint32_t hosts;
};

struct spreads {
	struct spread *rows;
	size_t cnt;
	double now, whole, whole_squares; /* of all rows together */
};

struct hosts {
	struct shares *shares;
	char **names; /* each name once */
	size_t name_cnt, name_room;
	uint32_t read_cnt;                     /* hosts that have something of the selection */
	struct spreads strata, binaries;       /* TIME */
	struct spreads elsewhere;              /* TIME, by enum shares_elsewhere */
	struct spreads paths, functions, code; /* RUNS; code: binaries */
	struct pp_table path_ids;
};

/* ---------------------------------------------------------------- sums */

static void spreads_init(struct spreads *spreads, size_t cnt)
{
	spreads->rows = ctl_alloc((cnt + 1) * sizeof(*spreads->rows));
	spreads->cnt = cnt;
}

static void fold(struct spreads *spreads)
{
	for (size_t i = 0; i < spreads->cnt; i++) {
		struct spread *row = &spreads->rows[i];

		row->part += row->now;
		row->squares += row->now * row->now;
		row->product += row->now * spreads->now;
		row->hosts += row->now > 0;
		row->now = 0;
	}
	spreads->whole += spreads->now;
	spreads->whole_squares += spreads->now * spreads->now;
	spreads->now = 0;
}

static struct pathprof_clusters clusters_of(const struct hosts *hosts,
					    const struct spreads *spreads, size_t row)
{
	const struct spread *spread = &spreads->rows[row];

	return (struct pathprof_clusters){
		.cnt = hosts->read_cnt,
		.whole = spreads->whole,
		.whole_squares = spreads->whole_squares,
		.part = spread->part,
		.part_squares = spread->squares,
		.product = spread->product,
	};
}

/* ---------------------------------------------------------------- reading */

static int take_name(void *context, const struct pathprof_host_row *row)
{
	struct hosts *hosts = context;

	if (hosts->name_cnt && !strcmp(hosts->names[hosts->name_cnt - 1], row->host.name))
		return 0;
	ctl_grow(&hosts->names, hosts->name_cnt, &hosts->name_room);
	hosts->names[hosts->name_cnt++] = ctl_strdup(row->host.name);
	return 0;
}

static uint32_t find_path(const struct hosts *hosts, int64_t id)
{
	return pp_table_find(&hosts->path_ids, pp_hash_mix((uint64_t)id, 0), i,
			     hosts->shares->paths[i].row.id == id);
}

static void enter_paths(struct hosts *hosts)
{
	const struct shares *shares = hosts->shares;

	for (size_t p = 0; p < shares->path_cnt; p++)
		if (pp_table_add(&hosts->path_ids,
				 pp_hash_mix((uint64_t)shares->paths[p].row.id, 0), i,
				 pp_hash_mix((uint64_t)shares->paths[i].row.id, 0)) < 0)
			ctl_no_memory();
}

static int take_path(void *context, const struct pathprof_path_row *row)
{
	struct hosts *hosts = context;
	uint32_t path = find_path(hosts, row->id), function;

	if (path == PP_TABLE_NONE)
		return 0;
	function = hosts->shares->paths[path].function;
	hosts->paths.rows[path].now += row->weight;
	hosts->functions.rows[function].now += row->weight;
	hosts->code.rows[hosts->shares->functions[function].binary].now += row->weight;
	hosts->paths.now += row->weight;
	return 0;
}

static enum shares_elsewhere elsewhere_of(const struct pathprof_clock_row *row)
{
	return row->place == PATHPROF_PLACE_KERNEL ? SHARES_KERNEL : SHARES_UNKNOWN;
}

static int take_clock(void *context, const struct pathprof_clock_row *row)
{
	struct hosts *hosts = context;
	const struct shares_binary *binary = shares_find_binary(hosts->shares, &row->binary_id);
	uint32_t stratum = shares_stratum_of(hosts->shares->index, row);
	double samples = (double)row->samples;

	hosts->strata.now += samples;
	if (stratum != UINT32_MAX)
		hosts->strata.rows[stratum].now += samples;
	if (row->binary_id.kind == PATHPROF_ID_NONE)
		hosts->elsewhere.rows[elsewhere_of(row)].now += samples;
	else if (binary)
		hosts->binaries.rows[binary - hosts->shares->binaries].now += samples;
	return 0;
}

static void fold_host(struct hosts *hosts)
{
	if (!(hosts->strata.now > 0) && !(hosts->paths.now > 0))
		return;
	hosts->read_cnt++;
	hosts->binaries.now = hosts->elsewhere.now = hosts->strata.now;
	hosts->functions.now = hosts->code.now = hosts->paths.now;
	fold(&hosts->strata);
	fold(&hosts->binaries);
	fold(&hosts->elsewhere);
	fold(&hosts->paths);
	fold(&hosts->functions);
	fold(&hosts->code);
}

static int read_host(struct hosts *hosts, struct pathprof_store *store,
		     const struct pathprof_filter *filter, const char *name,
		     struct pathprof_error *error)
{
	struct pathprof_filter one = *filter;
	int r;

	one.limit = 0;
	one.host = name;
	r = pathprof_store_paths(store, &one, take_path, hosts, error);
	if (r == 0)
		r = pathprof_store_clocks(store, &one, take_clock, hosts, error);
	if (r == 0)
		fold_host(hosts);
	return r;
}

/* ---------------------------------------------------------------- what the hosts have not */

static void rest_of(struct spread *row, double all)
{
	row->now = fmax(all - row->part, 0);
}

/* Adds the database's own windows, if it has any. */
static void fold_rest(struct hosts *hosts)
{
	const struct shares *shares = hosts->shares;
	double weight = 0, samples = (double)shares->clock_samples;

	for (size_t i = 0; i < shares->path_cnt; i++)
		weight += shares->paths[i].row.weight;
	hosts->strata.now = fmax(samples - hosts->strata.whole, 0);
	hosts->paths.now = fmax(weight - hosts->paths.whole, 0);
	/* Rounding may leave a small rest. */
	if (hosts->strata.now < 0.5 && hosts->paths.now <= 1e-9 * weight)
		return;
	for (size_t i = 0; i < hosts->strata.cnt; i++)
		rest_of(&hosts->strata.rows[i], (double)shares->index->strata[i].clock_samples);
	rest_of(&hosts->elsewhere.rows[SHARES_KERNEL], (double)shares->kernel_nameless);
	rest_of(&hosts->elsewhere.rows[SHARES_UNKNOWN], (double)shares->unknown_samples);
	for (size_t i = 0; i < shares->binary_cnt; i++) {
		rest_of(&hosts->binaries.rows[i], (double)shares->binaries[i].clock_samples);
		rest_of(&hosts->code.rows[i], shares->binaries[i].figures.weight);
	}
	for (size_t i = 0; i < shares->function_cnt; i++)
		rest_of(&hosts->functions.rows[i], shares->functions[i].figures.weight);
	for (size_t i = 0; i < shares->path_cnt; i++)
		rest_of(&hosts->paths.rows[i], shares->paths[i].row.weight);
	fold_host(hosts);
}

/* ---------------------------------------------------------------- what it does to the figures */

static uint32_t more(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static void widen(struct figures *figures, const struct hosts *hosts, const struct spreads *time,
		  size_t time_row, const struct spreads *runs, size_t runs_row)
{
	struct pathprof_clusters of_time = clusters_of(hosts, time, time_row);
	struct pathprof_clusters of_runs = clusters_of(hosts, runs, runs_row);

	pathprof_clusters_widen(&of_time, &figures->time);
	pathprof_clusters_widen(&of_runs, &figures->runs);
	figures->hosts = more(time->rows[time_row].hosts, runs->rows[runs_row].hosts);
}

/* Gives the TIME of a path at least the relative error of its function's. */
static void widen_time(struct pathprof_share *share, const struct pathprof_share *function)
{
	double part = share->value / function->value;

	if (isnan(share->low) || !(function->value > 0))
		return;
	share->low = fmin(share->low, part * function->low);
	share->high = fmin(fmax(share->high, part * function->high), 1);
}

static void widen_paths(const struct hosts *hosts)
{
	struct shares *shares = hosts->shares;

	for (size_t i = 0; i < shares->path_cnt; i++) {
		struct figures *figures = &shares->paths[i].figures;
		struct pathprof_clusters runs = clusters_of(hosts, &hosts->paths, i);

		widen_time(&figures->time,
			   &shares->functions[shares->paths[i].function].figures.time);
		pathprof_clusters_widen(&runs, &figures->runs);
		figures->hosts = hosts->paths.rows[i].hosts;
	}
}

static void widen_elsewhere(const struct hosts *hosts)
{
	for (size_t i = 0; i < SHARES_ELSEWHERE_CNT; i++) {
		struct figures *figures = &hosts->shares->elsewhere[i];
		struct pathprof_clusters time = clusters_of(hosts, &hosts->elsewhere, i);

		pathprof_clusters_widen(&time, &figures->time);
		figures->hosts = hosts->elsewhere.rows[i].hosts;
	}
}

static void widen_all(const struct hosts *hosts)
{
	struct shares *shares = hosts->shares;

	for (size_t i = 0; i < shares->function_cnt; i++) {
		struct shares_function *function = &shares->functions[i];

		/* TIME of a row of code in no known function is its paths' part of the TIME of all
		 * such code in the binary, so it varies between hosts as its paths do. */
		if (function->symbol && !function->symbol->bounded)
			widen(&function->figures, hosts, &hosts->functions, i, &hosts->functions,
			      i);
		else
			widen(&function->figures, hosts, &hosts->strata, function->stratum,
			      &hosts->functions, i);
	}
	for (size_t i = 0; i < shares->binary_cnt; i++)
		widen(&shares->binaries[i].figures, hosts, &hosts->binaries, i, &hosts->code, i);
	widen_elsewhere(hosts);
	widen_paths(hosts);
}

/* ---------------------------------------------------------------- all of it */

static void hosts_init(struct hosts *hosts)
{
	const struct shares *shares = hosts->shares;

	spreads_init(&hosts->strata, shares->index->stratum_cnt);
	spreads_init(&hosts->binaries, shares->binary_cnt);
	spreads_init(&hosts->elsewhere, SHARES_ELSEWHERE_CNT);
	spreads_init(&hosts->paths, shares->path_cnt);
	spreads_init(&hosts->functions, shares->function_cnt);
	spreads_init(&hosts->code, shares->binary_cnt);
	enter_paths(hosts);
}

static void hosts_release(struct hosts *hosts)
{
	for (size_t i = 0; i < hosts->name_cnt; i++)
		free(hosts->names[i]);
	free(hosts->names);
	free(hosts->strata.rows);
	free(hosts->binaries.rows);
	free(hosts->elsewhere.rows);
	free(hosts->paths.rows);
	free(hosts->functions.rows);
	free(hosts->code.rows);
	pp_table_release(&hosts->path_ids);
}

int shares_spread_over_hosts(struct shares *shares, struct pathprof_store *store,
			     const struct pathprof_filter *filter, struct pathprof_error *error)
{
	struct hosts hosts = {.shares = shares};
	int r = filter->host ? 0 : pathprof_store_hosts(store, filter, take_name, &hosts, error);

	if (r == 0 && hosts.name_cnt) {
		hosts_init(&hosts);
		for (size_t i = 0; r == 0 && i < hosts.name_cnt; i++)
			r = read_host(&hosts, store, filter, hosts.names[i], error);
	}
	if (r == 0 && hosts.name_cnt)
		fold_rest(&hosts);
	if (r == 0 && hosts.read_cnt > 1) {
		shares->host_cnt = hosts.read_cnt;
		widen_all(&hosts);
	}
	hosts_release(&hosts);
	return r;
}
