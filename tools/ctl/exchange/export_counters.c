// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The counters of clang's own instrumentation, from paths that programs counted themselves: see
 * ctl.h. A counter stands in blocks of the function's graph, and how often these ran is the sum of
 * the paths that run over them. Which counters there are, and in which blocks, the program's file
 * says (pathprof/instrument_abi.h).
 *
 * The text is LLVM's: a line that says of what kind the profile is, then of each function its name,
 * hash, number of counters, counters, and where values are counted, with an empty line behind.
 */
#include "../ctl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "../code/programs.h"
#include "../text/cleanup.h"
#include "../text/output.h"
#include "base/plural.h"

/* How often a path ran. */
struct counted_run {
	uint32_t program, function;
	struct pathprof_counted_path path;
};

struct counters {
	FILE *file;
	struct programs programs;
	struct pp_vector runs;    /* struct counted_run; of one function behind each other */
	uint64_t lost_cnt;        /* runs that there was no room to count */
	uint64_t shared_cnt;      /* runs whose threads shared counters */
	uint64_t function_cnt;    /* written */
	uint64_t counterless_cnt; /* functions that ran, and have no counters */
	struct pathprof_error *error;
};

/* ---------------------------------------------------------------- what ran */

static int add_run(void *context, const struct pathprof_path_row *row)
{
	struct counters *c = context;
	struct counted_run run = {.path = {pathprof_counted_number_of(row->start), row->samples}};
	int r = programs_find(&c->programs, row, &run.program, &run.function, c->error);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return pp_vector_add(&c->runs, &run) ? 0
					     : pathprof_fail(c->error, -ENOMEM, "out of memory");
}

static int by_function(const void *x, const void *y)
{
	const struct counted_run *a = x, *b = y;

	if (a->program != b->program)
		return (a->program > b->program) - (a->program < b->program);
	return (a->function > b->function) - (a->function < b->function);
}

static int add_lost(void *context, const struct pathprof_window_row *row)
{
	struct counters *c = context;

	c->lost_cnt += row->totals.drops[PATHPROF_DROP_TABLE_FULL];
	c->shared_cnt += row->totals.drops[PATHPROF_DROP_BUSY];
	return 0;
}

static int read_runs(struct counters *c, const struct ctl_options *options,
		     struct pathprof_store *store)
{
	struct pathprof_filter filter = options->filter;
	int r;

	filter.limit = 0;
	r = pathprof_store_paths(store, &filter, add_run, c, c->error);
	if (r == 0)
		r = pathprof_store_windows(store, &filter, add_lost, c, c->error);
	if (r == 0 && !c->runs.cnt)
		return pathprof_fail(c->error, -ENOENT,
				     "nothing that is selected was counted by a program itself: "
				     "build it with pathprof-cc --pathprof-llvm-profile, run it, "
				     "and read its files with `pathprofctl import -F counts`");
	if (r == 0)
		qsort(c->runs.data, c->runs.cnt, sizeof(struct counted_run), by_function);
	return r;
}

/* ---------------------------------------------------------------- one function */

/* The values are not known, but LLVM warns if the number of their places differs from the
 * code's. */
static void print_sites(FILE *file, const struct pathprof_counted_function *f)
{
	uint32_t kind_cnt = 0;

	for (uint32_t k = 0; k < PATHPROF_VALUE_KINDS; k++)
		kind_cnt += f->site_cnt[k] != 0;
	if (!kind_cnt)
		return;
	fprintf(file, "# Num Value Kinds:\n%" PRIu32 "\n", kind_cnt);
	for (uint32_t k = 0; k < PATHPROF_VALUE_KINDS; k++) {
		if (!f->site_cnt[k])
			continue;
		fprintf(file, "# ValueKind:\n%" PRIu32 "\n# NumValueSites:\n%" PRIu32 "\n", k,
			f->site_cnt[k]);
		for (uint32_t i = 0; i < f->site_cnt[k]; i++)
			fputs("0\n", file);
	}
}

static void print_counters(FILE *file, const struct pathprof_counted_function *f,
			   const uint64_t *nodes)
{
	uint64_t *counters = ctl_alloc(((size_t)f->profile_counter_cnt + 1) * sizeof(*counters));

	for (uint32_t i = 0; i < f->place_cnt; i++) {
		uint64_t *counter = &counters[f->places[i].counter];

		if (__builtin_add_overflow(*counter, nodes[f->places[i].node], counter))
			*counter = UINT64_MAX;
	}
	fprintf(file,
		"%s\n# Func Hash:\n%" PRIu64 "\n# Num Counters:\n%" PRIu32 "\n# Counter Values:\n",
		f->profile_name, f->profile_hash, f->profile_counter_cnt);
	for (uint32_t i = 0; i < f->profile_counter_cnt; i++)
		fprintf(file, "%" PRIu64 "\n", counters[i]);
	print_sites(file, f);
	fputc('\n', file);
	free(counters);
}

/* runs[cnt]: those of this function. */
static int write_function(struct counters *c, const struct program *program, uint32_t function,
			  const struct counted_run *runs, size_t cnt)
{
	const struct pathprof_counted_function *f = &program->functions[function];
	struct pathprof_counted_path *paths;
	uint64_t *nodes;
	int r;

	c->counterless_cnt += cnt && !f->profile_name[0];
	if (!f->profile_name[0] || f->first != function)
		return 0;
	paths = ctl_alloc((cnt + 1) * sizeof(*paths));
	nodes = ctl_alloc(((size_t)f->node_cnt + 1) * sizeof(*nodes));
	for (size_t i = 0; i < cnt; i++)
		paths[i] = runs[i].path;
	r = pathprof_counted_nodes(program->counted, function, paths, cnt, nodes);
	if (r == 0)
		print_counters(c->file, f, nodes);
	else
		pathprof_fail(c->error, r, "%s: paths of %s are not those of its description",
			      program->name, f->name);
	c->function_cnt += r == 0;
	free(paths);
	free(nodes);
	return r;
}

/* ---------------------------------------------------------------- all of them */

static void tell_missing(const struct program *program)
{
	size_t cnt;
	const char *const *missing = pathprof_counted_missing(program->counted, &cnt);

	for (size_t i = 0; i < cnt; i++)
		ctl_note("left out: %s of %s, whose paths are not counted", missing[i],
			 program->name);
}

static int write_program(struct counters *c, uint32_t number, size_t *run)
{
	const struct program *program = PP_AT(c->programs.list, struct program, number);
	const struct counted_run *runs = c->runs.data;
	uint64_t before = c->function_cnt;
	int r = 0;

	for (uint32_t f = 0; r == 0 && f < program->function_cnt; f++) {
		size_t first = *run;

		while (*run < c->runs.cnt && runs[*run].program == number &&
		       runs[*run].function == f)
			++*run;
		r = write_function(c, program, f, &runs[first], *run - first);
	}
	if (r == 0 && c->function_cnt == before)
		return pathprof_fail(c->error, -ENOENT,
				     "%s: clang's counters are not described: build it with "
				     "pathprof-cc --pathprof-llvm-profile, and run it again",
				     program->name);
	tell_missing(program);
	return r;
}

static int write_all(struct counters *c)
{
	size_t run = 0;
	int r = 0;

	fputs("# IR level Instrumentation Flag\n:ir\n", c->file);
	for (uint32_t i = 0; r == 0 && i < c->programs.list.cnt; i++)
		r = write_program(c, i, &run);
	return r;
}

static void tell(const struct counters *c)
{
	ctl_note("export: counters of %" PRIu64 " %s", c->function_cnt,
		 pp_plural(c->function_cnt, "function", "functions"));
	if (c->counterless_cnt)
		ctl_note("left out: %" PRIu64 " %s that ran and that clang's own profile "
			 "does not count, or whose unit was built without "
			 "--pathprof-llvm-profile",
			 c->counterless_cnt,
			 pp_plural(c->counterless_cnt, "function", "functions"));
	if (c->lost_cnt)
		ctl_note("counters are too low: %" PRIu64
			 " paths ran that there was no room to count, or that are cold",
			 c->lost_cnt);
	if (c->shared_cnt)
		ctl_note("counters may be too low: threads shared them in %" PRIu64 " %s",
			 c->shared_cnt, pp_plural(c->shared_cnt, "run", "runs"));
}

static int write_counters(struct counters *c, const struct ctl_options *options)
{
	struct output output;
	int r = output_begin(&output, options->output, c->error);

	if (r < 0)
		return r;
	c->file = output.file;
	r = write_all(c);
	return output_end(&output, r, c->error);
}

int export_counters(const struct ctl_options *options)
{
	_cleanup_store_ struct pathprof_store *store = NULL;
	struct pathprof_error error = {""};
	struct counters c = {.programs = PROGRAMS_INIT,
			     .runs = {.size_bytes = sizeof(struct counted_run)},
			     .error = &error};
	int r = ctl_db_open(&store, options, PATHPROF_STORE_READ);

	if (r)
		return r;
	c.programs.file = options->file;
	r = read_runs(&c, options, store);
	if (r == 0)
		r = write_counters(&c, options);
	if (r == 0)
		tell(&c);
	programs_release(&c.programs);
	free(c.runs.data);
	return r < 0 ? ctl_fail_error("export", r, &error) : CTL_OK;
}
