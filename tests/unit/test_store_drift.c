// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The data that drift keeps in the store: profile files and counts by container are compared with
 * linear sums over plain arrays, drift and alerts with the rows that were written.
 */
#include "test_store.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pathprof/schema.h"

#define WINDOWS 12
#define PATHS   80
#define ROWS    (WINDOWS * PATHS * 2)

/* ---------------------------------------------------------------- the oracle's memory */

struct fact {
	uint32_t binary, process, window;
	uint64_t start, samples;
	uint32_t length, outcomes;
	double weight, weight_squares;
	uint64_t squares; /* 0: not known */
	bool met;
};
static struct fact facts[ROWS];
static uint32_t fact_cnt;

static void remember(uint32_t window, const struct pathprof_profile *p)
{
	for (uint32_t i = 0; i < p->path_cnt; i++) {
		const struct pathprof_path_count *c = &p->paths[i];

		facts[fact_cnt++] = (struct fact){.binary = c->binary,
						  .process = c->process,
						  .window = window,
						  .start = c->start,
						  .samples = c->samples,
						  .length = c->length,
						  .outcomes = c->outcomes,
						  .weight = c->weight,
						  .weight_squares = c->weight_squares,
						  .squares = c->squares};
	}
}

/* All windows of one basis: the odd numbers. */
static struct pathprof_store *make_store(const char *file)
{
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	struct pathprof_error error = {""};
	struct pathprof_profile p;

	fact_cnt = 0;
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 8 << 20), 0);
	for (uint32_t i = 0; i < WINDOWS; i++) {
		world_window(&p, 2 * i + 1, (1 + i) * WORLD_STEP_NS, PATHS);
		CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, NULL, &error), 0);
		remember(i, &p);
	}
	pathprof_profile_release(&p);
	return store;
}

/* The oracle's filter: windows in [first, end), one binary or all (UINT32_MAX). */
struct wanted {
	uint32_t first, end, binary;
};

static bool selected(const struct fact *f, const struct wanted *w)
{
	return f->window >= w->first && f->window < w->end &&
	       (w->binary == UINT32_MAX || f->binary == w->binary);
}

static const struct wanted everything = {0, WINDOWS, UINT32_MAX};

/* ---------------------------------------------------------------- counts by container */

struct met_rows {
	struct wanted wanted;
	uint64_t samples, row_cnt, known_cnt, wrong_cnt, disorder_cnt;
	char last_container[64];
	struct pathprof_build_id last_id;
};

static bool is_of_program(const struct fact *f, const struct pathprof_build_id *program)
{
	const uint32_t binary = world_process(f->process).binary;
	struct pathprof_build_id id;

	if (binary == PATHPROF_NO_INDEX)
		return program->kind == PATHPROF_ID_NONE;
	id = world_binary_id(binary);
	return pathprof_build_id_equal(&id, program);
}

static bool is_as_remembered(const struct pathprof_container_path_row *row,
			     const struct wanted *wanted)
{
	uint64_t samples = 0, squares = 0;
	double weight = 0, weight_squares = 0;
	bool known = true;

	for (uint32_t i = 0; i < fact_cnt; i++) {
		struct fact *f = &facts[i];
		const struct pathprof_build_id id = world_binary_id(f->binary);

		if (!selected(f, wanted) || !pathprof_build_id_equal(&id, &row->binary_id) ||
		    strcmp(world_process(f->process).container, row->container) != 0 ||
		    !is_of_program(f, &row->program) || f->start != row->start ||
		    f->length != row->length || f->outcomes != row->outcomes)
			continue;
		samples += f->samples;
		squares += f->squares;
		weight += f->weight;
		weight_squares += f->weight_squares;
		known = known && f->squares;
		f->met = true;
	}
	return row->samples == samples && row->squares == (known ? (double)squares : 0) &&
	       fabs(row->weight - weight) <= 1e-9 * weight &&
	       fabs(row->weight_squares - (known ? weight_squares : 0)) <= 1e-9 * weight_squares;
}

static int meet_row(void *context, const struct pathprof_container_path_row *row)
{
	struct met_rows *met = context;
	bool same = met->row_cnt && pathprof_build_id_equal(&row->binary_id, &met->last_id);

	met->disorder_cnt += same && strcmp(met->last_container, row->container) > 0;
	met->wrong_cnt += !is_as_remembered(row, &met->wanted);
	met->known_cnt += row->squares > 0;
	met->samples += row->samples;
	met->row_cnt++;
	met->last_id = row->binary_id;
	snprintf(met->last_container, sizeof(met->last_container), "%s", row->container);
	return 0;
}

static void check_container_paths(struct pathprof_store *store, const struct wanted *wanted,
				  const struct pathprof_filter *filter)
{
	struct met_rows met = {.wanted = *wanted};
	struct pathprof_error error = {""};
	uint64_t samples = 0;
	bool known = false;

	for (uint32_t i = 0; i < fact_cnt; i++)
		facts[i].met = false;
	CU_ASSERT_EQUAL(pathprof_store_container_paths(store, filter, meet_row, &met, &error), 0);
	for (uint32_t i = 0; i < fact_cnt; i++)
		if (selected(&facts[i], wanted)) {
			samples += facts[i].samples;
			known = known || facts[i].squares;
			CU_ASSERT(facts[i].met);
		}
	CU_ASSERT_EQUAL(met.known_cnt > 0, known);
	CU_ASSERT(met.known_cnt < met.row_cnt);
	CU_ASSERT_EQUAL(met.samples, samples);
	CU_ASSERT_EQUAL(met.wrong_cnt, 0);
	CU_ASSERT_EQUAL(met.disorder_cnt, 0);
}

static void test_container_paths(void)
{
	struct pathprof_store *store = make_store(world_file(unit_tmpdir(), "db"));
	const struct wanted some = {3, 7, UINT32_MAX}, one = {0, WINDOWS, 3};

	check_container_paths(store, &everything, NULL);
	check_container_paths(store, &some,
			      &(struct pathprof_filter){.since_ns = 4 * WORLD_STEP_NS + 1,
							.until_ns = 8 * WORLD_STEP_NS});
	check_container_paths(store, &one, &(struct pathprof_filter){.binary = "beef"});
	pathprof_store_free(store);
}

/* A count that was changed behind the store's back must not pass for the truth. */
static void test_planted_count(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_store *store = make_store(file);
	struct met_rows met = {.wanted = everything};
	struct pathprof_error error = {""};

	pathprof_store_free(store);
	world_sqlite(file, "UPDATE path_counts SET samples = samples + 1 WHERE"
			   " (window, path, process) IN (SELECT window, path, process FROM"
			   " path_counts LIMIT 1)");
	store = world_open(file, PATHPROF_STORE_READ);
	CU_ASSERT_EQUAL(pathprof_store_container_paths(store, NULL, meet_row, &met, &error), 0);
	CU_ASSERT_EQUAL(met.wrong_cnt, 1);
	pathprof_store_free(store);
}

static int count_known(void *context, const struct pathprof_path_row *row)
{
	uint32_t *cnt = context;
	bool known = false;

	for (uint32_t i = 0; i < fact_cnt && !known; i++)
		known = facts[i].binary == 3 && facts[i].start == row->start &&
			facts[i].length == row->length && facts[i].outcomes == row->outcomes;
	CU_ASSERT(known);
	CU_ASSERT(row->id > 0);
	++*cnt;
	return 0;
}

static void test_known_paths(void)
{
	struct pathprof_store *store = make_store(world_file(unit_tmpdir(), "db"));
	const struct pathprof_build_id id = world_binary_id(3);
	struct pathprof_build_id other = id;
	struct pathprof_error error = {""};
	uint32_t cnt = 0, distinct = 0;

	for (uint32_t i = 0; i < fact_cnt; i++) {
		bool first = facts[i].binary == 3;

		for (uint32_t j = 0; j < i && first; j++)
			first = facts[j].binary != 3 || facts[j].start != facts[i].start ||
				facts[j].length != facts[i].length ||
				facts[j].outcomes != facts[i].outcomes;
		distinct += first;
	}
	CU_ASSERT_EQUAL(pathprof_store_known_paths(store, &id, count_known, &cnt, &error), 0);
	CU_ASSERT_EQUAL(cnt, distinct);
	cnt = 0;
	other.kind = PATHPROF_ID_FILE;
	CU_ASSERT_EQUAL(pathprof_store_known_paths(store, &other, count_known, &cnt, &error), 0);
	CU_ASSERT_EQUAL(cnt, 0);
	pathprof_store_free(store);
}

/* ---------------------------------------------------------------- profile files */

struct one_window {
	uint32_t cnt;
	struct pathprof_window_row row;
};

static int keep_window(void *context, const struct pathprof_window_row *row)
{
	struct one_window *one = context;

	one->row = *row;
	one->cnt++;
	return 0;
}

static void check_window(struct pathprof_store *store, int64_t begin_ns, int64_t end_ns,
			 uint64_t bursts)
{
	struct one_window one = {0};

	CU_ASSERT_EQUAL(pathprof_store_windows(store, NULL, keep_window, &one, NULL), 0);
	CU_ASSERT_EQUAL(one.cnt, 1);
	CU_ASSERT_EQUAL(one.row.begin_ns, begin_ns);
	CU_ASSERT_EQUAL(one.row.end_ns, end_ns);
	CU_ASSERT_EQUAL(one.row.basis, PATHPROF_BASIS_TIME);
	CU_ASSERT_EQUAL(one.row.totals.bursts, bursts);
	CU_ASSERT_EQUAL(one.row.totals.stopped_ns, INT64_MAX);
}

static int add_weight(void *context, const struct pathprof_path_row *row)
{
	*(double *)context += row->weight;
	return 0;
}

static int add_count(void *context, const struct pathprof_edge_row *row)
{
	*(uint64_t *)context += row->count;
	return 0;
}

static void test_extract(void)
{
	const char *dir = unit_tmpdir(), *file = world_file(dir, "x.baseline");
	struct pathprof_store *store = make_store(world_file(dir, "db")), *copy;
	const struct pathprof_filter filter = {.since_ns = 4 * WORLD_STEP_NS + 1,
					       .until_ns = 8 * WORLD_STEP_NS};
	const struct wanted some = {3, 7, UINT32_MAX};
	struct pathprof_error error = {""};
	double weight = 0, weight_copy = 0;
	uint64_t edges = 0, edges_copy = 0;
	char *note = NULL;

	CU_ASSERT_EQUAL(pathprof_store_extract(store, &filter, file, "why", false, &error), 0);
	CU_ASSERT_STRING_EQUAL(error.text, "");
	CU_ASSERT_EQUAL(pathprof_store_paths(store, &filter, add_weight, &weight, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_edges(store, &filter, add_count, &edges, NULL), 0);
	copy = world_open(file, PATHPROF_STORE_READ);
	CU_ASSERT_EQUAL(pathprof_store_check(copy, &error), 0);
	check_window(copy, 4 * WORLD_STEP_NS, 8 * WORLD_STEP_NS, 7 + 9 + 11 + 13);
	check_container_paths(copy, &some, NULL);
	CU_ASSERT_EQUAL(pathprof_store_paths(copy, NULL, add_weight, &weight_copy, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_edges(copy, NULL, add_count, &edges_copy, NULL), 0);
	CU_ASSERT_EQUAL(weight, weight_copy);
	CU_ASSERT_EQUAL(edges, edges_copy);
	CU_ASSERT_EQUAL(pathprof_store_note(copy, &note, &error), 0);
	CU_ASSERT(note && !strcmp(note, "why"));
	free(note);
	CU_ASSERT_EQUAL(pathprof_store_note(store, &note, &error), -ENOENT);
	pathprof_store_free(copy);
	pathprof_store_free(store);
}

/* Beside the file lies nothing: neither a log nor what it was written under. */
static uint32_t files_in(const char *dir)
{
	char command[256];
	uint32_t cnt = 0;
	FILE *list;

	snprintf(command, sizeof(command), "ls -A '%s'", dir);
	list = popen(command, "r");
	CU_ASSERT_PTR_NOT_NULL(list);
	if (!list)
		return UINT32_MAX;
	for (int c = fgetc(list); c != EOF; c = fgetc(list))
		cnt += c == '\n';
	pclose(list);
	return cnt;
}

static void test_extract_refusals(void)
{
	const char *dir = unit_tmpdir(), *file = world_file(dir, "sub/x.baseline");
	struct pathprof_store *store = make_store(world_file(dir, "db"));
	const struct pathprof_filter none = {.comm = "nobody"};
	struct pathprof_error error = {""};
	struct stat first, second;

	CU_ASSERT_EQUAL(pathprof_store_extract(store, NULL, file, NULL, true, &error), -ENOENT);
	CU_ASSERT_EQUAL(mkdir(world_file(dir, "sub"), 0700), 0);
	CU_ASSERT_EQUAL(pathprof_store_extract(store, &none, file, NULL, true, &error), -ENODATA);
	CU_ASSERT(strstr(error.text, "nothing is selected") != NULL);
	CU_ASSERT_EQUAL(files_in(world_file(dir, "sub")), 0);
	CU_ASSERT_EQUAL(pathprof_store_extract(store, NULL, file, NULL, false, &error), 0);
	CU_ASSERT_EQUAL(files_in(world_file(dir, "sub")), 1);
	CU_ASSERT_EQUAL(stat(file, &first), 0);
	CU_ASSERT_EQUAL(pathprof_store_extract(store, NULL, file, NULL, false, &error), -EEXIST);
	CU_ASSERT_EQUAL(stat(file, &second), 0);
	CU_ASSERT_EQUAL(first.st_ino, second.st_ino);
	CU_ASSERT_EQUAL(pathprof_store_extract(store, NULL, file, NULL, true, &error), 0);
	CU_ASSERT_EQUAL(stat(file, &second), 0);
	CU_ASSERT_NOT_EQUAL(first.st_ino, second.st_ino);
	CU_ASSERT_EQUAL(files_in(world_file(dir, "sub")), 1);
	pathprof_store_free(store);
}

struct clock_sums {
	uint64_t samples, kernel, unknown;
};

static int add_clock_row(void *context, const struct pathprof_clock_row *row)
{
	struct clock_sums *sums = context;

	sums->samples += row->samples;
	if (row->binary_id.kind == PATHPROF_ID_NONE)
		*(row->place == PATHPROF_PLACE_KERNEL ? &sums->kernel : &sums->unknown) +=
			row->samples;
	return 0;
}

static int add_insns(void *context, const struct pathprof_path_row *row)
{
	*(double *)context += row->insns;
	return 0;
}

/* Three windows of a horizon, each with a place in the kernel, one of no clock in the kernel. */
static void fill_horizon(struct pathprof_store *store)
{
	struct pathprof_profile p;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 8 << 20), 0);
	for (uint32_t k = 1; k <= 5; k += 2) {
		world_window(&p, k, (int64_t)k * WORLD_STEP_NS, 60);
		p.horizon = 1024;
		p.clock_hz = 97;
		p.clock_kernel = k != 3;
		CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, NULL, NULL), 0);
	}
	pathprof_profile_release(&p);
}

static int keep_row(void *context, const struct pathprof_window_row *row)
{
	*(struct pathprof_window_row *)context = *row;
	return 0;
}

static void test_extract_keeps_clocks(void)
{
	const char *dir = unit_tmpdir(), *file = world_file(dir, "x");
	struct pathprof_store *store = world_open(world_file(dir, "db"), PATHPROF_STORE_WRITE);
	struct clock_sums before = {0}, after = {0};
	double insns = 0, insns_copy = 0;
	struct pathprof_window_row row = {0};

	fill_horizon(store);
	CU_ASSERT_EQUAL(pathprof_store_extract(store, NULL, file, NULL, true, NULL), 0);
	struct pathprof_store *copy = world_open(file, PATHPROF_STORE_READ);
	CU_ASSERT_EQUAL(pathprof_store_clocks(store, NULL, add_clock_row, &before, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_clocks(copy, NULL, add_clock_row, &after, NULL), 0);
	CU_ASSERT(before.kernel > 0 && before.unknown > 0);
	CU_ASSERT_EQUAL(memcmp(&before, &after, sizeof(before)), 0);
	CU_ASSERT_EQUAL(pathprof_store_paths(store, NULL, add_insns, &insns, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_paths(copy, NULL, add_insns, &insns_copy, NULL), 0);
	CU_ASSERT(insns > 0 && insns == insns_copy);
	CU_ASSERT_EQUAL(pathprof_store_windows(copy, NULL, keep_row, &row, NULL), 0);
	CU_ASSERT_EQUAL(row.horizon, 1024);
	CU_ASSERT_EQUAL(row.clock_hz, 97);
	CU_ASSERT(!row.clock_kernel);
	CU_ASSERT_EQUAL(row.totals.clock_samples, before.samples);
	CU_ASSERT_EQUAL(row.totals.insns, 100 * (1 + 3 + 5));
	CU_ASSERT_EQUAL(row.totals.pathless, 0 + 1 + 2);
	CU_ASSERT_EQUAL(pathprof_store_check(copy, NULL), 0);
	pathprof_store_free(copy);
	pathprof_store_free(store);
}

/* Three windows that were sampled on branches, one a rate; 0: no clock ran. */
static void fill_rates(struct pathprof_store *store, const uint32_t rates[3])
{
	struct pathprof_profile p;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 8 << 20), 0);
	for (uint32_t i = 0; i < 3; i++) {
		world_window(&p, 2 * i + 2, (int64_t)(2 * i + 2) * WORLD_STEP_NS, 20);
		p.clock_hz = rates[i];
		p.clock_kernel = rates[i] != 0;
		CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, NULL, NULL), 0);
	}
	pathprof_profile_release(&p);
}

static void expect_rate(const uint32_t rates[3], uint32_t want_hz)
{
	const char *dir = unit_tmpdir(), *file = world_file(dir, "x");
	struct pathprof_store *store = world_open(world_file(dir, "db"), PATHPROF_STORE_WRITE);
	struct pathprof_window_row row = {0};

	fill_rates(store, rates);
	CU_ASSERT_EQUAL(pathprof_store_extract(store, NULL, file, NULL, true, NULL), 0);
	struct pathprof_store *copy = world_open(file, PATHPROF_STORE_READ);
	CU_ASSERT_EQUAL(pathprof_store_windows(copy, NULL, keep_row, &row, NULL), 0);
	CU_ASSERT_EQUAL(row.clock_hz, want_hz);
	CU_ASSERT(row.clock_kernel == (want_hz != 0));
	pathprof_store_free(copy);
	pathprof_store_free(store);
}

static void test_extract_rates(void)
{
	expect_rate((const uint32_t[]){97, 97, 0}, 97);
	expect_rate((const uint32_t[]){0, 97, 97}, 97);
	expect_rate((const uint32_t[]){97, 0, 49}, 97);
	expect_rate((const uint32_t[]){0, 0, 0}, 0);
}

static void test_extract_mixed_kinds(void)
{
	const char *dir = unit_tmpdir(), *file = world_file(dir, "x");
	struct pathprof_store *store = world_open(world_file(dir, "db"), PATHPROF_STORE_WRITE);
	struct pathprof_filter filter = {0};
	struct pathprof_error error = {""};

	world_fill(store, 11, 2, 20);
	CU_ASSERT_EQUAL(pathprof_store_extract(store, NULL, file, NULL, true, &error), -EINVAL);
	CU_ASSERT(strstr(error.text, "(sampled on branches, counted in taken branches)") != NULL);
	fill_horizon(store);
	filter.until_ns = 10 * WORLD_STEP_NS;
	CU_ASSERT_EQUAL(pathprof_store_extract(store, &filter, file, NULL, true, &error), 0);
	filter.until_ns = 0;
	CU_ASSERT_EQUAL(pathprof_store_extract(store, &filter, file, NULL, true, &error), -EINVAL);
	CU_ASSERT(strstr(error.text, "counted in instructions") != NULL);
	for (int kind = PATHPROF_KIND_BRANCHES; kind <= PATHPROF_KIND_TAKEN; kind++) {
		struct pathprof_window_row row = {0};

		filter.kind = (enum pathprof_window_kind)kind;
		CU_ASSERT_EQUAL(pathprof_store_extract(store, &filter, file, NULL, true, &error),
				0);
		struct pathprof_store *copy = world_open(file, PATHPROF_STORE_READ);
		CU_ASSERT_EQUAL(pathprof_store_windows(copy, NULL, keep_row, &row, NULL), 0);
		CU_ASSERT_EQUAL(pathprof_window_kind(row.basis, row.horizon, row.weighed),
				filter.kind);
		pathprof_store_free(copy);
	}
	pathprof_store_free(store);
}

/* ---------------------------------------------------------------- drift */

#define DRIFT_ROWS 48

struct drift_facts {
	struct pathprof_drift_row rows[DRIFT_ROWS];
	uint32_t binary[DRIFT_ROWS], cnt;
};

static const char *const containers[] = {"", "docker-abc", "docker-abd"};
static const char *const baselines[] = {"rolling", "release 1"};

static struct pathprof_drift_row drift_row(uint32_t i, uint32_t *ret_binary)
{
	uint32_t binary = i % 4;

	*ret_binary = binary;
	return (struct pathprof_drift_row){
		.window = 1 + i / 8,
		.binary_id = world_binary_id(binary),
		.binary_name = world_binary_name(binary),
		.container = containers[(i / 4) % 3],
		.baseline = baselines[(i / 4) % 2],
		.window_samples = i,
		.baseline_samples = 10.0 * i,
		.kl_bits = i / 7.0,
		.kl_corrected_bits = i / 9.0 - 1,
		.kl_low_bits = i / 11.0,
		.kl_high_bits = i / 5.0,
		.overlap = i / 48.0,
		.angle_degrees = i,
		.coverage_static = i / 50.0,
		.coverage_dynamic = 1 + 1e-15,
		.matched = 1,
	};
}

static void add_drift(struct pathprof_store *store, struct drift_facts *d)
{
	struct pathprof_error error = {""};

	for (d->cnt = 0; d->cnt < DRIFT_ROWS; d->cnt++)
		d->rows[d->cnt] = drift_row(d->cnt, &d->binary[d->cnt]);
	CU_ASSERT_EQUAL(pathprof_store_add_drift(store, d->rows, d->cnt, &error), 0);
	CU_ASSERT_STRING_EQUAL(error.text, "");
}

struct drift_met {
	const struct drift_facts *facts;
	uint32_t cnt, wrong_cnt;
	int64_t last_end_ns;
};

static bool same_figures(const struct pathprof_drift_row *a, const struct pathprof_drift_row *b)
{
	return a->window_samples == b->window_samples &&
	       a->baseline_samples == b->baseline_samples && a->kl_bits == b->kl_bits &&
	       a->kl_corrected_bits == b->kl_corrected_bits && a->kl_low_bits == b->kl_low_bits &&
	       a->kl_high_bits == b->kl_high_bits && a->overlap == b->overlap &&
	       a->angle_degrees == b->angle_degrees && a->coverage_static == b->coverage_static &&
	       a->coverage_dynamic == 1 && a->matched == b->matched;
}

static int meet_drift(void *context, const struct pathprof_drift_row *row)
{
	struct drift_met *met = context;
	bool found = false;

	for (uint32_t i = 0; i < met->facts->cnt; i++) {
		const struct pathprof_drift_row *f = &met->facts->rows[i];

		found |= f->window == row->window && !strcmp(f->container, row->container) &&
			 !strcmp(f->baseline, row->baseline) &&
			 pathprof_build_id_equal(&f->binary_id, &row->binary_id) &&
			 !strcmp(f->binary_name, row->binary_name) && same_figures(row, f) &&
			 row->begin_ns == row->window * WORLD_STEP_NS &&
			 row->end_ns == (row->window + 1) * WORLD_STEP_NS;
	}
	met->wrong_cnt += !found || (met->cnt && row->end_ns > met->last_end_ns);
	met->last_end_ns = row->end_ns;
	met->cnt++;
	return 0;
}

static uint32_t drift_cnt(struct pathprof_store *store, const struct drift_facts *d,
			  const struct pathprof_filter *filter, const char *baseline)
{
	struct drift_met met = {.facts = d};
	struct pathprof_error error = {""};

	CU_ASSERT_EQUAL(pathprof_store_drift(store, filter, baseline, meet_drift, &met, &error), 0);
	CU_ASSERT_EQUAL(met.wrong_cnt, 0);
	return met.cnt;
}

static void test_drift_rows(void)
{
	struct pathprof_store *store = make_store(world_file(unit_tmpdir(), "db"));
	struct pathprof_error error = {""};
	static struct drift_facts d;

	add_drift(store, &d);
	CU_ASSERT_EQUAL(drift_cnt(store, &d, NULL, NULL), 48);
	CU_ASSERT_EQUAL(drift_cnt(store, &d, NULL, "rolling"), 24);
	CU_ASSERT_EQUAL(drift_cnt(store, &d, NULL, "none"), 0);
	CU_ASSERT_EQUAL(drift_cnt(store, &d, &(struct pathprof_filter){.window = 2}, NULL), 8);
	CU_ASSERT_EQUAL(drift_cnt(store, &d, &(struct pathprof_filter){.limit = 5}, NULL), 5);
	CU_ASSERT_EQUAL(drift_cnt(store, &d, &(struct pathprof_filter){.binary = "beef"}, NULL),
			12);
	/* two builds of one file name */
	CU_ASSERT_EQUAL(
		drift_cnt(store, &d, &(struct pathprof_filter){.binary = "libfirst.so"}, NULL), 24);
	CU_ASSERT_EQUAL(
		drift_cnt(store, &d, &(struct pathprof_filter){.binary = "A1A1A1A1A1"}, NULL), 12);
	CU_ASSERT_EQUAL(
		drift_cnt(store, &d, &(struct pathprof_filter){.container = "docker-ab"}, NULL),
		32);
	CU_ASSERT_EQUAL(drift_cnt(store, &d,
				  &(struct pathprof_filter){.since_ns = 3 * WORLD_STEP_NS,
							    .until_ns = 5 * WORLD_STEP_NS},
				  NULL),
			16);
	/* the same row twice: nothing of the call stays */
	CU_ASSERT_EQUAL(pathprof_store_add_drift(store, d.rows + 40, 8, &error), -EINVAL);
	d.rows[0].kl_bits = NAN;
	CU_ASSERT_EQUAL(pathprof_store_add_drift(store, d.rows, 1, &error), -EINVAL);
	d.rows[0] = drift_row(0, &d.binary[0]);
	CU_ASSERT_EQUAL(drift_cnt(store, &d, NULL, "rolling"), 24);
	CU_ASSERT_EQUAL(pathprof_store_check(store, &error), 0);
	pathprof_store_free(store);
}

static void test_drift_goes_with_its_window(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_store *store = make_store(file);
	struct pathprof_error error = {""};
	uint64_t removed = 0;
	static struct drift_facts d;

	add_drift(store, &d);
	/* all windows ended in 1970 */
	CU_ASSERT_EQUAL(pathprof_store_retain(store, &(struct pathprof_retention){.max_age_ns = 1},
					      &removed, &error),
			0);
	CU_ASSERT_EQUAL(removed, WINDOWS);
	CU_ASSERT_EQUAL(pathprof_store_check(store, &error), 0);
	pathprof_store_free(store);
	CU_ASSERT_EQUAL(world_number(file, "SELECT count(*) FROM drift"), 0);
	CU_ASSERT_EQUAL(world_number(file, "SELECT count(*) FROM binaries"), 0);
}

/* ---------------------------------------------------------------- databases of before */

/* A store as the first schema made it, with a window in it. */
static void make_old(const char *file)
{
	pathprof_store_free(make_store(file));
	world_sqlite(file, WORLD_WITHOUT_SHARES);
	world_sqlite(file,
		     "DROP TABLE drift; DROP TABLE alerts; DROP TABLE portable_paths;"
		     " DROP TABLE binary_functions; DROP TABLE value_tops; DROP TABLE value_counts;"
		     " DROP TABLE value_drops; DROP TABLE value_sites;"
		     " ALTER TABLE path_counts DROP COLUMN squares;"
		     " PRAGMA user_version=1");
}

static void test_old_database(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_error error = {""};
	struct pathprof_store *store = NULL;
	static struct drift_facts d;

	CU_ASSERT_PTR_NOT_NULL(pathprof_schema_sqlite[1]);
	make_old(file);
	CU_ASSERT_EQUAL(pathprof_store_open(&store, file, PATHPROF_STORE_FOLLOW, &error), -EPROTO);
	store = world_open(file, PATHPROF_STORE_WRITE);
	CU_ASSERT_EQUAL(world_window_cnt(store), WINDOWS);
	for (uint32_t i = 0; i < fact_cnt; i++)
		facts[i].squares = 0;
	check_container_paths(store, &everything, NULL);
	add_drift(store, &d);
	CU_ASSERT_EQUAL(drift_cnt(store, &d, NULL, NULL), 48);
	CU_ASSERT_EQUAL(world_number(file, "SELECT count(*) FROM alerts"), 0);
	CU_ASSERT_EQUAL(pathprof_store_check(store, &error), 0);
	pathprof_store_free(store);
}

static void test_check_finds_bad_drift(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_store *store = make_store(file);
	struct pathprof_error error = {""};
	static struct drift_facts d;

	add_drift(store, &d);
	pathprof_store_free(store);
	world_sqlite(file, "PRAGMA ignore_check_constraints=ON;"
			   " UPDATE drift SET overlap = 2 WHERE window = 3");
	store = world_open(file, PATHPROF_STORE_READ);
	CU_ASSERT_EQUAL(pathprof_store_check(store, &error), -EBADMSG);
	pathprof_store_free(store);
}

static const struct unit_test tests[] = {
	{"counts by container are those of the windows", test_container_paths},
	{"a planted count is noticed", test_planted_count},
	{"all paths of a binary are known, no others", test_known_paths},
	{"a profile file holds what was selected", test_extract},
	{"a profile file is whole or not there", test_extract_refusals},
	{"a profile file keeps clock samples and instructions", test_extract_keeps_clocks},
	{"a profile file has the clock of the windows that had one", test_extract_rates},
	{"windows of different kinds are not added up", test_extract_mixed_kinds},
	{"drift is read as it was written, by every filter", test_drift_rows},
	{"drift goes with its window", test_drift_goes_with_its_window},
	{"a database of before gets the new tables and keeps its windows", test_old_database},
	{"the check finds drift out of range", test_check_finds_bad_drift},
};
UNIT_SUITE(store_drift, tests)
