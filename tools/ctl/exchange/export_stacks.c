// SPDX-License-Identifier: GPL-2.0-or-later
/* Folded stacks of all binaries: see export_stacks.h. */
#include "export_stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../text/cleanup.h"
#include "../text/text.h"
#include "../view/callers.h"
#include "base/clock.h"
#include "base/table.h"
#include "export_callers.h"

struct stacks {
	const struct shares *shares;
	const struct callers *callers;
	bool timed;
	bool located;           /* frames have their binaries */
	double unit;            /* what a share of 1 is */
	struct pp_texts stacks; /* a line each */
	double *counts;
	size_t count_cnt, room;
	double *path_times; /* of each function: TIME of its paths */
};

static double or_none(double value)
{
	return isfinite(value) && value > 0 ? value : 0;
}

/* ---------------------------------------------------------------- lines */

static const char *file_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void put_frame(FILE *out, const struct stacks *s, const char *name, const char *binary,
		      const struct pathprof_build_id *id)
{
	char text[PATHPROF_BUILD_ID_TEXT_LEN];

	pathprof_export_frame(out, name);
	if (!s->located || !binary[0])
		return;
	fputc('\t', out);
	pathprof_export_frame(out, binary);
	fprintf(out, "\t%s", pathprof_build_id_text(id, text));
}

static void put_caller(FILE *out, const struct stacks *s, const struct caller *caller,
		       const char *name)
{
	put_frame(out, s, name, caller->binary_name, &caller->binary_id);
}

/* Skips outermost callers that are not known, since they have no binary. NULL: none is known. */
static const struct caller *outermost_known(const struct caller *const *frames, size_t cnt)
{
	while (cnt > 0 && !frames[cnt - 1]->binary_name[0])
		cnt--;
	return cnt ? frames[cnt - 1] : NULL;
}

/* Prints the binary of the outermost known caller and all callers, or the binary alone. */
static void put_callers(FILE *out, const struct stacks *s, const struct caller *caller,
			const struct shares_binary *binary)
{
	const struct caller *frames[CALLERS_CHAIN_MAX];
	size_t cnt = callers_chain(s->callers, caller, frames);
	const struct caller *outermost = outermost_known(frames, cnt);

	if (outermost)
		put_caller(out, s, outermost, file_of(outermost->binary_name));
	else
		put_frame(out, s, file_of(binary->name), binary->name, &binary->id);
	while (cnt-- > 0) {
		fputc(';', out);
		put_caller(out, s, frames[cnt], export_caller_name(frames[cnt]));
	}
}

static char *stack_of(const struct stacks *s, uint32_t function, const struct caller *caller)
{
	const struct shares_function *f = &s->shares->functions[function];
	const struct shares_binary *binary = &s->shares->binaries[f->binary];
	_cleanup_free_ char *nameless = f->symbol ? NULL : text_nameless(binary->name);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	put_callers(out, s, caller, binary);
	fputc(';', out);
	put_frame(out, s, f->symbol ? export_symbol_name(f->symbol) : nameless, binary->name,
		  &binary->id);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

static int add_text(struct stacks *s, const char *stack, double count)
{
	uint32_t number;

	if (pp_texts_at(&s->stacks, stack, &number) < 0)
		return -ENOMEM;
	if (number == s->count_cnt) {
		ctl_grow(&s->counts, s->count_cnt, &s->room);
		s->counts[s->count_cnt++] = 0;
	}
	s->counts[number] += count;
	return 0;
}

static int add(struct stacks *s, uint32_t function, const struct caller *caller, double count)
{
	_cleanup_free_ char *stack = count > 0 ? stack_of(s, function, caller) : NULL;

	if (!(count > 0))
		return 0;
	return stack ? add_text(s, stack, count) : -ENOMEM;
}

/* ---------------------------------------------------------------- what ran */

/* Splits a path's time or instructions by caller, with the rest under none. */
static int add_path(struct stacks *s, const struct shares_path *path)
{
	double instructions = path->row.insns > 0 ? path->row.insns : path->row.weight;
	double whole = or_none(s->timed ? path->figures.time.value : instructions), left = 1;
	const struct caller_count *counts;
	size_t cnt;
	int r = 0;

	s->path_times[path->function] += or_none(path->figures.time.value);
	counts = callers_of_path(s->callers, path->row.id, &cnt);
	for (size_t i = 0; i < cnt && r == 0; i++) {
		double by =
			path->row.weight > 0 ? fmin(counts[i].weight / path->row.weight, left) : 0;

		if (!counts[i].caller || !counts[i].caller->symbol)
			continue;
		r = add(s, path->function, counts[i].caller, whole * by * s->unit);
		left -= by;
	}
	return r ? r : add(s, path->function, NULL, whole * left * s->unit);
}

/* Adds the time that the clock found beyond that of paths. */
static int add_pathless(struct stacks *s)
{
	const struct shares *shares = s->shares;
	int r = 0;

	for (uint32_t i = 0; i < shares->function_cnt && r == 0; i++)
		r = add(s, i, NULL,
			(or_none(shares->functions[i].figures.time.value) - s->path_times[i]) *
				s->unit);
	return r;
}

static int add_elsewhere(struct stacks *s, const char *name, uint64_t samples)
{
	double share = or_none(shares_of_samples(s->shares, samples).time.value);

	return samples ? add_text(s, name, share * s->unit) : 0;
}

static int add_all(struct stacks *s)
{
	int r = 0;

	for (size_t i = 0; i < s->shares->path_cnt && r == 0; i++)
		r = add_path(s, &s->shares->paths[i]);
	if (r || !s->timed)
		return r;
	r = add_pathless(s);
	if (r == 0)
		r = add_elsewhere(s, PATHPROF_KERNEL_NAME, s->shares->kernel_nameless);
	return r ? r : add_elsewhere(s, "[unknown]", s->shares->unknown_samples);
}

/* ---------------------------------------------------------------- writing */

static int by_text(const void *a, const void *b, void *context)
{
	char **texts = context;

	return strcmp(texts[*(const uint32_t *)a], texts[*(const uint32_t *)b]);
}

static int write_stacks(const struct stacks *s, struct pathprof_export_stacks *to,
			enum pathprof_format format, FILE *out, struct pathprof_error *error)
{
	uint32_t cnt = s->stacks.table.cnt, *order = ctl_alloc((cnt + 1) * sizeof(*order));
	struct pathprof_export_stack *stacks = ctl_alloc((cnt + 1) * sizeof(*stacks));
	int r;

	for (uint32_t i = 0; i < cnt; i++)
		order[i] = i;
	qsort_r(order, cnt, sizeof(*order), by_text, s->stacks.texts);
	for (uint32_t i = 0; i < cnt; i++)
		if (s->counts[order[i]] >= 0.5)
			stacks[to->stack_cnt++] = (struct pathprof_export_stack){
				s->stacks.texts[order[i]], (uint64_t)(s->counts[order[i]] + 0.5)};
	to->stacks = stacks;
	r = pathprof_export_stacks(format, to, out, error);
	free(stacks);
	free(order);
	return r;
}

static int collect(struct stacks *s, struct view_query *query, struct pathprof_error *error)
{
	struct callers *callers = NULL;
	int r = callers_load(&callers, query->store, query->symbols, &query->filter, error);

	if (r < 0)
		return r;
	s->callers = callers;
	s->path_times = ctl_alloc((s->shares->function_cnt + 1) * sizeof(*s->path_times));
	memset(s->path_times, 0, s->shares->function_cnt * sizeof(*s->path_times));
	r = add_all(s);
	free(s->path_times);
	callers_free(callers);
	return r < 0 ? pathprof_fail(error, r, "%s", strerror(-r)) : 0;
}

static const char *figure_of(const struct stacks *s, const struct view_query *query)
{
	if (s->timed)
		return "time";
	return measure_is_exact(&query->measure) ? "runs" : "instructions";
}

/* The span from the first window to the last. */
static int take_window(void *context, const struct pathprof_window_row *row)
{
	struct pathprof_export_stacks *to = context;

	if (!to->begin_ns || row->begin_ns < to->begin_ns)
		to->begin_ns = row->begin_ns;
	if (row->end_ns > to->end_ns)
		to->end_ns = row->end_ns;
	return 0;
}

int export_stacks(struct view_query *query, enum pathprof_format format, bool runs, FILE *out,
		  const char **ret_figure, struct pathprof_error *error)
{
	struct pathprof_export_stacks to = {0};
	struct stacks s = {.unit = 1, .located = format == PATHPROF_FORMAT_PPROF};
	int r = view_query_load(query, true, error);

	if (r == 0)
		r = pathprof_store_windows(query->store, &query->filter, take_window, &to, error);
	if (r < 0)
		return r;
	s.shares = query->shares;
	s.timed = s.shares->clock_samples && query->measure.timed_samples > 0 && !runs;
	if (s.timed)
		s.unit = (double)s.shares->clock_samples * query->measure.time_ns /
			 query->measure.timed_samples;
	to.figure = *ret_figure = figure_of(&s, query);
	r = collect(&s, query, error);
	if (r == 0)
		r = s.stacks.table.cnt ? write_stacks(&s, &to, format, out, error) : -ENODATA;
	pp_texts_release(&s.stacks);
	free(s.counts);
	return r;
}
