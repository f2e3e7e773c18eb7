// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Whether a parcel is possible. It is checked before it is written and after it was read, so
 * whatever is written can be read, and readers may rely on what is checked here.
 *
 * Workload: one walk over all rows.
 */
#include "pp_parcel.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define COUNT_MAX       ((uint64_t)INT64_MAX)
#define CLOCK_MAX       (1ull << 40) /* clock samples: a million CPUs at 1 kHz have a third of it */
#define PATH_LENGTH_MAX 32
#define SLOT_MAX        (INT64_MAX / 1000000000 - PATHPROF_PARCEL_SLOT_S)

/* One walk: what is checked, and the sums so far. */
struct check {
	const struct pathprof_parcel *parcel;
	const struct pathprof_profile *profile; /* of the part */
	uint64_t sum;                           /* of one column */
	int code;
	struct pathprof_error *error;
};

static int refuse(const struct check *c, const char *what)
{
	return pathprof_fail(c->error, c->code, "the parcel is malformed: %s", what);
}

static int limit(size_t cnt, size_t max, const char *what, struct pathprof_error *error)
{
	if (cnt <= max)
		return 0;
	return pathprof_fail(error, -E2BIG, "the parcel has %zu %s, above %zu", cnt, what, max);
}

int pp_parcel_check_sizes(const struct pp_parcel_sizes *sizes, struct pathprof_error *error)
{
	int r = limit(sizes->parts, PATHPROF_PARCEL_PARTS_MAX, "parts", error);

	if (r == 0)
		r = limit(sizes->windows, PATHPROF_PARCEL_WINDOWS_MAX, "windows", error);
	if (r == 0)
		r = limit(sizes->names, PATHPROF_PARCEL_NAMES_MAX, "binaries and workloads", error);
	if (r == 0)
		r = limit(sizes->rows, PATHPROF_PARCEL_ROWS_MAX, "rows of counts", error);
	if (r == 0)
		r = limit(sizes->functions, PATHPROF_PARCEL_FUNCTIONS_MAX, "functions", error);
	if (r == 0)
		r = limit(sizes->portables, PATHPROF_PARCEL_FUNCTIONS_MAX, "names of paths", error);
	if (r == 0)
		r = limit(sizes->keys, PATHPROF_PARCEL_KEYS_MAX, "keys of functions", error);
	return r;
}

/* ---------------------------------------------------------------- windows */

static int check_totals(const struct check *c, const struct pathprof_totals *t)
{
	bool fits = t->bursts <= COUNT_MAX && t->branches <= COUNT_MAX && t->taken <= COUNT_MAX &&
		    t->steps <= COUNT_MAX && t->paths <= COUNT_MAX && t->insns <= COUNT_MAX &&
		    t->pathless <= COUNT_MAX && t->stopped_ns <= COUNT_MAX &&
		    t->source_cpu_ns <= COUNT_MAX && t->clock_samples <= COUNT_MAX;

	for (int i = 0; i < PATHPROF_END_CNT; i++)
		fits = fits && t->ends[i] <= COUNT_MAX;
	for (int i = 0; i < PATHPROF_DROP_CNT; i++)
		fits = fits && t->drops[i] <= COUNT_MAX;
	return fits ? 0 : refuse(c, "a total is 2^63 or more");
}

static int check_window(const struct check *c, const struct pathprof_parcel_window *window)
{
	if (window->begin_ns < 0 || window->begin_ns > window->end_ns)
		return refuse(c, "a window begins before 1970 or ends before it begins");
	if (pathprof_parcel_slot(window->end_ns) != c->parcel->slot_s)
		return refuse(c, "a window ended in another slot");
	return check_totals(c, &window->totals);
}

static int check_windows(const struct check *c, const struct pathprof_parcel_part *part)
{
	int r = part->window_cnt ? 0 : refuse(c, "a part without windows");

	for (uint32_t i = 0; r == 0 && i < part->window_cnt; i++) {
		if (i && part->windows[i].id <= part->windows[i - 1].id)
			return refuse(c, "windows are not in the order of their ids");
		r = check_window(c, &part->windows[i]);
	}
	return r;
}

/* ---------------------------------------------------------------- names */

static int check_names(const struct check *c)
{
	const struct pathprof_profile *p = c->profile;

	for (uint32_t i = 0; i < p->binary_cnt; i++)
		if (p->binaries[i].id.len_bytes > PATHPROF_BUILD_ID_MAX ||
		    p->binaries[i].id.kind > PATHPROF_ID_JIT)
			return refuse(c, "a binary's identity");
	for (uint32_t i = 0; i < p->process_cnt; i++)
		if (p->processes[i].binary >= p->binary_cnt &&
		    p->processes[i].binary != PATHPROF_NO_INDEX)
			return refuse(c, "a workload's binary is not in it");
	return 0;
}

/* ---------------------------------------------------------------- counts */

static bool adds_up(struct check *c, uint64_t count)
{
	return !__builtin_add_overflow(c->sum, count, &c->sum) && c->sum <= COUNT_MAX;
}

/* Whether a float can hold it. */
static bool is_weight(double value)
{
	return value >= 0 && value <= (double)__FLT_MAX__;
}

static int check_path(struct check *c, const struct pathprof_path_count *path)
{
	if (path->process >= c->profile->process_cnt || path->binary >= c->profile->binary_cnt)
		return refuse(c, "a path's binary or workload is not in it");
	if (path->length > PATH_LENGTH_MAX)
		return refuse(c, "a path is longer than 32 branches");
	if (path->squares && (path->squares < path->samples || path->squares > COUNT_MAX))
		return refuse(c, "a path's squares are below its samples, or 2^63 or more");
	if (!is_weight(path->weight) || !is_weight(path->insns) ||
	    !(path->insns <= path->weight * (double)__FLT_MAX__) ||
	    !isfinite(path->weight_squares) || path->weight_squares < 0)
		return refuse(c, "a path's weight");
	return adds_up(c, path->samples) ? 0 : refuse(c, "samples add up to 2^63 or more");
}

static int check_edge(struct check *c, const struct pathprof_edge_count *edge)
{
	const struct pathprof_profile *p = c->profile;

	if (edge->process >= p->process_cnt || edge->from_binary >= p->binary_cnt ||
	    edge->to_binary >= p->binary_cnt)
		return refuse(c, "an edge's binary or workload is not in it");
	if (!is_weight(edge->weight))
		return refuse(c, "an edge's weight");
	if (edge->mispredicted > COUNT_MAX || !adds_up(c, edge->count))
		return refuse(c, "counts of edges add up to 2^63 or more");
	return 0;
}

static int check_clock(struct check *c, const struct pathprof_clock_count *clock)
{
	if (clock->process >= c->profile->process_cnt)
		return refuse(c, "a place's workload is not in it");
	if (clock->binary == PATHPROF_NO_INDEX && clock->place != PATHPROF_PLACE_UNKNOWN &&
	    clock->place != PATHPROF_PLACE_KERNEL)
		return refuse(c, "a place in no file");
	if (clock->binary != PATHPROF_NO_INDEX && clock->binary >= c->profile->binary_cnt)
		return refuse(c, "a place's binary is not in it");
	if (!adds_up(c, clock->samples) || c->sum > CLOCK_MAX)
		return refuse(c, "clock samples add up to more than five minutes can have");
	return 0;
}

static int check_counts(struct check *c)
{
	const struct pathprof_profile *p = c->profile;
	int r = 0;

	c->sum = 0;
	for (uint32_t i = 0; r == 0 && i < p->path_cnt; i++)
		r = check_path(c, &p->paths[i]);
	c->sum = 0;
	for (uint32_t i = 0; r == 0 && i < p->edge_cnt; i++)
		r = check_edge(c, &p->edges[i]);
	c->sum = 0;
	for (uint32_t i = 0; r == 0 && i < p->clock_cnt; i++)
		r = check_clock(c, &p->clocks[i]);
	return r;
}

/* ---------------------------------------------------------------- names of functions */

static int check_functions(const struct check *c, const struct pathprof_parcel_names *names)
{
	for (uint32_t i = 0; i < names->function_cnt; i++) {
		const struct pathprof_parcel_function *function = &names->functions[i];

		if (function->len_bytes > COUNT_MAX ||
		    function->start > UINT64_MAX - function->len_bytes)
			return refuse(c, "where a function lies");
		if (strnlen(function->name, PATHPROF_PARCEL_FUNCTION_BYTES + 1) >
		    PATHPROF_PARCEL_FUNCTION_BYTES)
			return refuse(c, "a function's name is longer than 1024 bytes");
	}
	return 0;
}

static int check_build(const struct check *c, const struct pathprof_parcel_names *names)
{
	if (names->id.len_bytes > PATHPROF_BUILD_ID_MAX || names->id.kind > PATHPROF_ID_JIT)
		return refuse(c, "the identity of a build with names");
	for (uint32_t i = 0; i < names->portable_cnt; i++)
		if (names->portables[i].length > PATH_LENGTH_MAX)
			return refuse(c, "the name of a path that is longer than 32 branches");
	for (uint32_t i = 1; i < names->key_cnt; i++)
		if (names->keys[i - 1] >= names->keys[i])
			return refuse(c, "keys of functions are not in order");
	return check_functions(c, names);
}

/* ---------------------------------------------------------------- all of it */

static int check_part(struct check *c, const struct pathprof_parcel_part *part)
{
	int r;

	c->profile = &part->profile;
	if (c->profile->basis != PATHPROF_BASIS_TIME &&
	    c->profile->basis != PATHPROF_BASIS_BRANCHES)
		return refuse(c, "a part without a basis");
	r = check_windows(c, part);
	if (r == 0)
		r = check_names(c);
	return r ? r : check_counts(c);
}

int pp_parcel_check(const struct pathprof_parcel *parcel, int code, struct pathprof_error *error)
{
	struct check c = {.parcel = parcel, .code = code, .error = error};
	int result = 0;

	if (parcel->slot_s < 0 || parcel->slot_s > SLOT_MAX ||
	    parcel->slot_s % PATHPROF_PARCEL_SLOT_S)
		return refuse(&c, "its slot does not begin at five minutes");
	if (parcel->host.sent_ns < 0)
		return refuse(&c, "it was sent before 1970");
	if (!pathprof_labels_check(parcel->host.labels))
		return refuse(&c, "its labels are none");
	for (uint32_t i = 0; result == 0 && i < parcel->part_cnt; i++)
		result = check_part(&c, &parcel->parts[i]);
	for (uint32_t i = 0; result == 0 && i < parcel->name_cnt; i++)
		result = check_build(&c, &parcel->names[i]);
	return result;
}
