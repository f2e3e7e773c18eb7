// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The store returns what was written: every view under random filters is compared with a linear
 * recomputation from plain arrays. Weights are multiples of 1/8, so sums are exact in any order.
 */
#include "test_store.h"
#include "unit.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOWS   40
#define PATHS     120
#define FACTS_MAX (WINDOWS * PATHS)

/* ---------------------------------------------------------------- the oracle's memory */

struct path_fact {
	uint32_t window; /* 0..WINDOWS-1 */
	struct pathprof_path_count count;
};
struct edge_fact {
	uint32_t window;
	struct pathprof_edge_count count;
};
struct clock_fact {
	uint32_t window;
	struct pathprof_clock_count count;
};
static struct {
	struct path_fact paths[FACTS_MAX];
	struct edge_fact edges[FACTS_MAX];
	struct clock_fact clocks[FACTS_MAX];
	struct pathprof_totals totals[WINDOWS];
	uint32_t path_cnt, edge_cnt, clock_cnt;
	enum pathprof_basis basis[WINDOWS];
	uint32_t horizon[WINDOWS];
	int64_t begin_ns[WINDOWS], id[WINDOWS];
} facts;

static void remember(uint32_t window, const struct pathprof_profile *p, int64_t id)
{
	for (uint32_t i = 0; i < p->path_cnt; i++)
		facts.paths[facts.path_cnt++] = (struct path_fact){window, p->paths[i]};
	for (uint32_t i = 0; i < p->edge_cnt; i++)
		facts.edges[facts.edge_cnt++] = (struct edge_fact){window, p->edges[i]};
	for (uint32_t i = 0; i < p->clock_cnt; i++)
		facts.clocks[facts.clock_cnt++] = (struct clock_fact){window, p->clocks[i]};
	facts.basis[window] = p->basis;
	facts.horizon[window] = p->horizon;
	facts.totals[window] = p->totals;
	facts.begin_ns[window] = p->begin_ns;
	facts.id[window] = id;
}

static bool is_weighed(uint32_t window)
{
	return window % 4 == 2;
}

/* A store with WINDOWS windows, and the facts of all of them. */
static struct pathprof_store *make_store(const char *file)
{
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	struct pathprof_error error = {""};
	struct pathprof_profile p;

	facts.path_cnt = facts.edge_cnt = facts.clock_cnt = 0;
	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 8 << 20), 0);
	for (uint32_t i = 0; i < WINDOWS; i++) {
		int64_t id = 0;

		world_window(&p, i, (int64_t)(i + 1) * WORLD_STEP_NS, PATHS);
		p.horizon = i % 3 ? 1024 + i : 0;
		p.clock_hz = 90 + i;
		p.clock_kernel = i % 5 == 1;
		p.weighed = is_weighed(i);
		CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, &id, &error), 0);
		remember(i, &p, id);
	}
	pathprof_profile_release(&p);
	return store;
}

/* ---------------------------------------------------------------- the oracle's filter */

static int kind_selected(enum pathprof_window_kind kind, uint32_t window)
{
	switch (kind) {
	case PATHPROF_KIND_BRANCHES:
		return facts.basis[window] == PATHPROF_BASIS_BRANCHES;
	case PATHPROF_KIND_HORIZON:
		return facts.basis[window] == PATHPROF_BASIS_TIME && facts.horizon[window] &&
		       !is_weighed(window);
	case PATHPROF_KIND_WEIGHED:
		return facts.basis[window] == PATHPROF_BASIS_TIME && facts.horizon[window] &&
		       is_weighed(window);
	case PATHPROF_KIND_TAKEN:
		return facts.basis[window] == PATHPROF_BASIS_TIME && !facts.horizon[window];
	case PATHPROF_KIND_ANY:
		break;
	}
	return 1;
}

static int window_selected(const struct pathprof_filter *f, uint32_t window)
{
	int64_t begin_ns = facts.begin_ns[window];

	return (!f->since_ns || begin_ns + WORLD_STEP_NS > f->since_ns) &&
	       (!f->until_ns || begin_ns < f->until_ns) &&
	       (!f->window || facts.id[window] == f->window) && kind_selected(f->kind, window);
}

static int process_selected(const struct pathprof_filter *f, uint32_t process)
{
	const struct pathprof_process p = world_process(process);

	return (!f->pid || p.pid == f->pid) && (!f->comm || !strcmp(p.comm, f->comm)) &&
	       (!f->container || !strncmp(p.container, f->container, strlen(f->container)));
}

static int hex_selected(const char *prefix, uint32_t binary)
{
	const struct pathprof_build_id id = world_binary_id(binary);
	char text[PATHPROF_BUILD_ID_TEXT_LEN];
	size_t len = strlen(prefix);

	for (size_t i = 0; i < id.len_bytes; i++)
		snprintf(text + 2 * i, 3, "%02x", id.bytes[i]);
	return len >= 4 && len <= 2 * (size_t)id.len_bytes && !strncasecmp(text, prefix, len);
}

static int binary_selected(const struct pathprof_filter *f, uint32_t binary)
{
	const char *name = world_binary_name(binary);
	const char *base = strrchr(name, '/');

	if (!f->binary)
		return 1;
	return !strcmp(name, f->binary) || (base && !strcmp(base + 1, f->binary)) ||
	       hex_selected(f->binary, binary);
}

static int path_selected(const struct pathprof_filter *f, const struct path_fact *fact)
{
	return window_selected(f, fact->window) && process_selected(f, fact->count.process) &&
	       binary_selected(f, fact->count.binary);
}

static int edge_selected(const struct pathprof_filter *f, const struct edge_fact *fact)
{
	return window_selected(f, fact->window) && process_selected(f, fact->count.process) &&
	       (binary_selected(f, fact->count.from_binary) ||
		binary_selected(f, fact->count.to_binary));
}

static int clock_selected(const struct pathprof_filter *f, const struct clock_fact *fact)
{
	uint32_t binary = fact->count.binary;

	return window_selected(f, fact->window) && process_selected(f, fact->count.process) &&
	       (binary == PATHPROF_NO_INDEX ? !f->binary : binary_selected(f, binary));
}

/* ---------------------------------------------------------------- judging a view */

/* The result of one query so far, compared with the facts. */
struct judge {
	const struct pathprof_filter *filter;
	uint32_t row_cnt, wrong;
	uint64_t samples;
	double weight, share, last_weight, whole;
};

static uint32_t binary_of(const struct pathprof_build_id *id)
{
	for (uint32_t i = 0; i < WORLD_BINARIES; i++) {
		const struct pathprof_build_id known = world_binary_id(i);

		if (id->kind == known.kind && id->len_bytes == known.len_bytes &&
		    !memcmp(id->bytes, known.bytes, known.len_bytes))
			return i;
	}
	return UINT32_MAX;
}

static double whole_weight(const struct pathprof_filter *f)
{
	double whole = 0;

	for (uint32_t i = 0; i < facts.path_cnt; i++)
		if (path_selected(f, &facts.paths[i]))
			whole += facts.paths[i].count.weight;
	return whole;
}

static void judge_row(struct judge *j, uint64_t samples, double weight, double share)
{
	j->wrong += j->row_cnt && weight > j->last_weight;
	j->wrong += j->whole > 0 && fabs(share - weight / j->whole) > 1e-12;
	j->last_weight = weight;
	j->samples += samples;
	j->weight += weight;
	j->share += share;
	j->row_cnt++;
}

static int judge_path(void *context, const struct pathprof_path_row *row)
{
	struct judge *j = context;
	uint32_t binary = binary_of(&row->binary_id);
	uint64_t samples = 0;
	double weight = 0, insns = 0;
	int unknown = 0;

	for (uint32_t i = 0; i < facts.path_cnt; i++) {
		const struct pathprof_path_count *c = &facts.paths[i].count;

		if (c->binary == binary && c->start == row->start && c->length == row->length &&
		    c->outcomes == row->outcomes && path_selected(j->filter, &facts.paths[i])) {
			samples += c->samples;
			weight += c->weight;
			insns += c->insns;
			unknown |= c->insns == 0;
		}
	}
	j->wrong += row->insns != (unknown ? 0 : insns);
	j->wrong += binary == UINT32_MAX || samples != row->samples || weight != row->weight ||
		    strcmp(row->binary_name, world_binary_name(binary)) != 0;
	judge_row(j, row->samples, row->weight, row->share);
	return 0;
}

static int judge_binary(void *context, const struct pathprof_binary_row *row)
{
	struct judge *j = context;
	uint32_t binary = binary_of(&row->binary_id);
	int64_t first_ns = INT64_MAX, last_ns = 0;
	uint64_t samples = 0;

	for (uint32_t i = 0; i < facts.path_cnt; i++) {
		const struct path_fact *fact = &facts.paths[i];
		int64_t begin_ns = facts.begin_ns[fact->window];

		if (fact->count.binary != binary || !path_selected(j->filter, fact))
			continue;
		samples += fact->count.samples;
		first_ns = begin_ns < first_ns ? begin_ns : first_ns;
		last_ns = begin_ns + WORLD_STEP_NS > last_ns ? begin_ns + WORLD_STEP_NS : last_ns;
	}
	j->wrong += samples != row->samples || first_ns != row->first_seen_ns ||
		    last_ns != row->last_seen_ns;
	judge_row(j, row->samples, row->weight, row->share);
	return 0;
}

static int judge_process(void *context, const struct pathprof_process_row *row)
{
	struct judge *j = context;
	uint32_t process = (uint32_t)(row->start_time - 5000);
	uint64_t samples = 0;

	for (uint32_t i = 0; i < facts.path_cnt; i++)
		if (facts.paths[i].count.process == process &&
		    path_selected(j->filter, &facts.paths[i]))
			samples += facts.paths[i].count.samples;
	const struct pathprof_process known = world_process(process);
	const char *binary =
		known.binary == PATHPROF_NO_INDEX ? "" : world_binary_name(known.binary);
	j->wrong += samples != row->samples || row->pid != known.pid ||
		    row->exec_cnt != known.exec_cnt || strcmp(row->comm, known.comm) != 0 ||
		    strcmp(row->container, known.container) != 0 ||
		    strcmp(row->binary_name, binary) != 0;
	judge_row(j, row->samples, row->weight, row->share);
	return 0;
}

static int judge_edge(void *context, const struct pathprof_edge_row *row)
{
	struct judge *j = context;
	uint64_t count = 0, mispredicted = 0;

	for (uint32_t i = 0; i < facts.edge_cnt; i++) {
		const struct pathprof_edge_count *c = &facts.edges[i].count;

		if (c->from == row->from && c->to == row->to &&
		    c->from_binary == binary_of(&row->from_id) &&
		    c->to_binary == binary_of(&row->to_id) &&
		    edge_selected(j->filter, &facts.edges[i])) {
			count += c->count;
			mispredicted += c->mispredicted;
		}
	}
	j->wrong += count != row->count || mispredicted != row->mispredicted;
	judge_row(j, row->count, (double)row->count, row->share);
	return 0;
}

static uint32_t clock_binary_of(const struct pathprof_clock_row *row)
{
	return row->binary_id.kind == PATHPROF_ID_NONE ? PATHPROF_NO_INDEX
						       : binary_of(&row->binary_id);
}

static int judge_clock(void *context, const struct pathprof_clock_row *row)
{
	struct judge *j = context;
	uint32_t binary = clock_binary_of(row);
	uint64_t samples = 0;

	for (uint32_t i = 0; i < facts.clock_cnt; i++) {
		const struct pathprof_clock_count *c = &facts.clocks[i].count;

		if (c->binary == binary && c->place == row->place &&
		    clock_selected(j->filter, &facts.clocks[i]))
			samples += c->samples;
	}
	j->wrong += samples != row->samples ||
		    strcmp(row->binary_name,
			   binary == PATHPROF_NO_INDEX ? "" : world_binary_name(binary)) != 0;
	j->samples += row->samples;
	j->row_cnt++;
	return 0;
}

/* The processes of the world are the first of the store, in the same order. */
static int judge_clock_process(void *context, const struct pathprof_clock_process_row *row)
{
	struct judge *j = context;
	uint64_t samples = 0, kernel = 0;

	for (uint32_t i = 0; i < facts.clock_cnt; i++) {
		const struct pathprof_clock_count *c = &facts.clocks[i].count;

		if (c->process + 1 != row->process || !clock_selected(j->filter, &facts.clocks[i]))
			continue;
		samples += c->samples;
		if (c->binary == PATHPROF_NO_INDEX && c->place == PATHPROF_PLACE_KERNEL)
			kernel += c->samples;
	}
	j->wrong += samples != row->samples || kernel != row->kernel_samples;
	j->samples += row->samples;
	j->row_cnt++;
	return 0;
}

static void check_clocks(struct pathprof_store *store, const struct pathprof_filter *f)
{
	struct judge places = {.filter = f}, processes = {.filter = f};
	uint64_t samples = 0;

	for (uint32_t i = 0; i < facts.clock_cnt; i++)
		if (clock_selected(f, &facts.clocks[i]))
			samples += facts.clocks[i].count.samples;
	CU_ASSERT_EQUAL(pathprof_store_clocks(store, f, judge_clock, &places, NULL), 0);
	CU_ASSERT_EQUAL(places.wrong, 0);
	CU_ASSERT_EQUAL(places.samples, samples);
	CU_ASSERT_EQUAL(
		pathprof_store_clock_processes(store, f, judge_clock_process, &processes, NULL), 0);
	CU_ASSERT_EQUAL(processes.wrong, 0);
	CU_ASSERT_EQUAL(processes.samples, samples);
}

static int judge_window(void *context, const struct pathprof_window_row *row)
{
	struct judge *j = context;
	uint32_t window = (uint32_t)(row->begin_ns / WORLD_STEP_NS) - 1;

	j->wrong += !window_selected(j->filter, window) || row->id != facts.id[window] ||
		    row->taken_wanted != 32 || row->horizon != facts.horizon[window] ||
		    row->clock_hz != 90 + window || row->clock_kernel != (window % 5 == 1) ||
		    row->weighed != is_weighed(window) ||
		    memcmp(&row->totals, &facts.totals[window], sizeof(row->totals)) != 0;
	j->wrong += j->row_cnt && (double)row->end_ns > j->last_weight;
	j->last_weight = (double)row->end_ns;
	j->row_cnt++;
	return 0;
}

/* Nothing of what the filter selects is missing: the totals of all rows are those of the facts. */
static void judge_sums(const struct judge *j, uint64_t samples)
{
	CU_ASSERT_EQUAL(j->wrong, 0);
	CU_ASSERT_EQUAL(j->samples, samples);
	CU_ASSERT_EQUAL(j->weight, j->whole);
	CU_ASSERT(!j->row_cnt || j->whole == 0 || fabs(j->share - 1) < 1e-9);
}

static int window_matches(const struct pathprof_filter *f, uint32_t w)
{
	int found = !f->pid && !f->comm && !f->binary && !f->container;

	/* Every window of this world knows every process. */
	for (uint32_t p = 0; p < WORLD_PROCESSES && !f->binary && !found; p++)
		found = process_selected(f, p);
	for (uint32_t i = 0; i < facts.path_cnt && !found; i++)
		found = facts.paths[i].window == w && path_selected(f, &facts.paths[i]);
	for (uint32_t i = 0; i < facts.clock_cnt && !found; i++)
		found = facts.clocks[i].window == w && clock_selected(f, &facts.clocks[i]);
	return found && window_selected(f, w);
}

static uint32_t count_selected_windows(const struct pathprof_filter *f)
{
	uint32_t cnt = 0;

	for (uint32_t w = 0; w < WINDOWS; w++)
		cnt += (uint32_t)window_matches(f, w);
	return cnt;
}

static void check_kinds(struct pathprof_store *store, const struct pathprof_filter *f)
{
	enum pathprof_window_kind newest = PATHPROF_KIND_ANY, expected = PATHPROF_KIND_ANY;
	unsigned int kinds = 99, set = 0;

	/* Windows of this world end in the order of their numbers. */
	for (uint32_t w = 0; w < WINDOWS; w++)
		for (int kind = PATHPROF_KIND_BRANCHES; kind <= PATHPROF_KIND_TAKEN; kind++)
			if (window_matches(f, w) &&
			    kind_selected((enum pathprof_window_kind)kind, w)) {
				expected = (enum pathprof_window_kind)kind;
				set |= 1u << kind;
			}
	CU_ASSERT_EQUAL(pathprof_store_kinds(store, f, &kinds, &newest, NULL), 0);
	CU_ASSERT_EQUAL(kinds, set);
	CU_ASSERT_EQUAL(newest, expected);
}

static void check_views(struct pathprof_store *store, const struct pathprof_filter *f)
{
	struct pathprof_error error = {""};
	double whole = whole_weight(f), whole_edges = 0;
	uint64_t samples = 0, edge_samples = 0;

	for (uint32_t i = 0; i < facts.path_cnt; i++)
		if (path_selected(f, &facts.paths[i]))
			samples += facts.paths[i].count.samples;
	for (uint32_t i = 0; i < facts.edge_cnt; i++)
		if (edge_selected(f, &facts.edges[i]))
			edge_samples += facts.edges[i].count.count;
	whole_edges = (double)edge_samples;

	struct judge paths = {.filter = f, .whole = whole};
	CU_ASSERT_EQUAL(pathprof_store_paths(store, f, judge_path, &paths, &error), 0);
	judge_sums(&paths, samples);
	struct judge binaries = {.filter = f, .whole = whole};
	CU_ASSERT_EQUAL(pathprof_store_binaries(store, f, judge_binary, &binaries, &error), 0);
	judge_sums(&binaries, samples);
	struct judge processes = {.filter = f, .whole = whole};
	CU_ASSERT_EQUAL(pathprof_store_processes(store, f, judge_process, &processes, &error), 0);
	judge_sums(&processes, samples);
	struct judge edges = {.filter = f, .whole = whole_edges};
	CU_ASSERT_EQUAL(pathprof_store_edges(store, f, judge_edge, &edges, &error), 0);
	judge_sums(&edges, edge_samples);
	struct judge windows = {.filter = f};
	CU_ASSERT_EQUAL(pathprof_store_windows(store, f, judge_window, &windows, &error), 0);
	CU_ASSERT_EQUAL(windows.wrong, 0);
	CU_ASSERT_EQUAL(windows.row_cnt, count_selected_windows(f));
	check_clocks(store, f);
	check_kinds(store, f);
	if (error.text[0])
		printf("%s\n", error.text);
}

static struct pathprof_filter random_filter(uint64_t *state)
{
	static const char *const binaries[] = {
		"/usr/bin/first", "libfirst.so", "a1a1a1a1", "A1A1A1A1A", "a1a1a1a1af", "beef",
		"bin/first",      "a0a",         "' OR 1=1", "jit:77",    "%",
	};
	static const char *const comms[] = {"first", "worker", "x'; DROP TABLE paths", "nobody"};
	static const char *const containers[] = {"docker-", "docker-abc", "pod-1", "%", "none"};
	struct pathprof_filter f = {0};

	if (world_random(state, 2))
		f.since_ns = 1 + world_random(state, WINDOWS) * (WORLD_STEP_NS / 2);
	if (world_random(state, 2))
		f.until_ns = (int64_t)(1 + world_random(state, 2 * WINDOWS)) * (WORLD_STEP_NS / 2);
	if (!world_random(state, 4))
		f.pid = 99 + world_random(state, 6);
	if (!world_random(state, 4))
		f.comm = comms[world_random(state, 4)];
	if (!world_random(state, 4))
		f.container = containers[world_random(state, 5)];
	if (!world_random(state, 3))
		f.binary = binaries[world_random(state, 11)];
	if (!world_random(state, 3))
		f.kind = (enum pathprof_window_kind)(1 + world_random(state, 3));
	if (!world_random(state, 8))
		f.window = facts.id[world_random(state, WINDOWS)];
	return f;
}

/* ---------------------------------------------------------------- tests */

static void test_views(void)
{
	struct pathprof_store *store = make_store(world_file(unit_tmpdir(), "db"));
	struct pathprof_error error = {""};
	uint64_t state = 3;

	check_views(store, &(struct pathprof_filter){0});
	for (int i = 0; i < 40; i++) {
		const struct pathprof_filter f = random_filter(&state);

		check_views(store, &f);
	}
	CU_ASSERT_EQUAL(pathprof_store_check(store, &error), 0);
	pathprof_store_free(store);
}

static void test_views_after_reopening(void)
{
	const char *file = world_file(unit_tmpdir(), "db");

	pathprof_store_free(make_store(file));
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_READ);
	check_views(store, &(struct pathprof_filter){0});
	check_views(store, &(struct pathprof_filter){.binary = "libfirst.so"});
	pathprof_store_free(store);
}

static void test_planted_fault(void)
{
	struct pathprof_store *store = make_store(world_file(unit_tmpdir(), "db"));
	const struct pathprof_filter all = {0};
	struct judge j = {.filter = &all, .whole = whole_weight(&all)};

	facts.paths[100].count.outcomes ^= 1;
	facts.edges[10].count.mispredicted++;
	CU_ASSERT_EQUAL(pathprof_store_paths(store, NULL, judge_path, &j, NULL), 0);
	CU_ASSERT(j.wrong > 0);
	j = (struct judge){.filter = &all};
	CU_ASSERT_EQUAL(pathprof_store_edges(store, NULL, judge_edge, &j, NULL), 0);
	CU_ASSERT_EQUAL(j.wrong, 1);
	j = (struct judge){.filter = &all};
	facts.clocks[20].count.samples++;
	CU_ASSERT_EQUAL(pathprof_store_clocks(store, NULL, judge_clock, &j, NULL), 0);
	CU_ASSERT_EQUAL(j.wrong, 1);
	pathprof_store_free(store);
}

static void test_limit_keeps_shares(void)
{
	struct pathprof_store *store = make_store(world_file(unit_tmpdir(), "db"));
	const struct pathprof_filter all = {0}, three = {.limit = 3};
	struct judge j = {.filter = &all, .whole = whole_weight(&all)};

	CU_ASSERT_EQUAL(pathprof_store_paths(store, &three, judge_path, &j, NULL), 0);
	CU_ASSERT_EQUAL(j.row_cnt, 3);
	CU_ASSERT_EQUAL(j.wrong, 0);
	j = (struct judge){.filter = &all};
	CU_ASSERT_EQUAL(pathprof_store_windows(store, &three, judge_window, &j, NULL), 0);
	CU_ASSERT_EQUAL(j.row_cnt, 3);
	CU_ASSERT_EQUAL(j.wrong, 0);
	pathprof_store_free(store);
}

/* Two paths in each of three binaries, each in a process of its own, all seen equally often. */
static void add_equal(struct pathprof_profile *p, uint32_t binary)
{
	const struct pathprof_build_id id = world_binary_id(binary);
	struct pathprof_process process = world_process(binary);

	process.binary = pathprof_profile_binary(p, &id, world_binary_name(binary));
	for (uint32_t i = 0; i < 2; i++)
		pathprof_profile_add_path(p,
					  &(struct pathprof_path_count){
						  .process = pathprof_profile_process(p, &process),
						  .binary = process.binary,
						  .start = binary & 1 ? 0x20 - i : 0x10 + i,
						  .samples = 7,
						  .weight = 7});
}

static struct pathprof_store *make_equal(const char *file, const uint32_t order[3])
{
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	struct pathprof_profile p;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 1 << 20), 0);
	p.begin_ns = 1;
	p.end_ns = 2;
	p.basis = PATHPROF_BASIS_BRANCHES;
	for (int i = 0; i < 3; i++)
		add_equal(&p, order[i]);
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, NULL, NULL), 0);
	pathprof_profile_release(&p);
	return store;
}

static int say_path(void *context, const struct pathprof_path_row *row)
{
	return fprintf(context, "%s %" PRIx64 "\n", row->binary_name, row->start) < 0;
}

static int say_binary(void *context, const struct pathprof_binary_row *row)
{
	return fprintf(context, "%s\n", row->name) < 0;
}

static int say_process(void *context, const struct pathprof_process_row *row)
{
	return fprintf(context, "%" PRIu64 "\n", row->start_time) < 0;
}

/* Rows of three views at a limit, as text that the caller frees. */
static char *say_equal(struct pathprof_store *store, uint32_t limit)
{
	const struct pathprof_filter filter = {.limit = limit};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	CU_ASSERT_EQUAL(pathprof_store_paths(store, &filter, say_path, out, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_binaries(store, &filter, say_binary, out, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_processes(store, &filter, say_process, out, NULL), 0);
	fclose(out);
	return text;
}

static void test_equal_counts_have_one_order(void)
{
	static const uint32_t forth[] = {0, 1, 3}, back[] = {3, 1, 0};
	struct pathprof_store *a = make_equal(world_file(unit_tmpdir(), "a.db"), forth);
	struct pathprof_store *b = make_equal(world_file(unit_tmpdir(), "b.db"), back);

	for (uint32_t limit = 0; limit < 3; limit++) {
		char *of_a = say_equal(a, limit), *of_b = say_equal(b, limit);

		CU_ASSERT(strlen(of_a) > 20);
		CU_ASSERT_STRING_EQUAL(of_a, of_b);
		free(of_a);
		free(of_b);
	}
	pathprof_store_free(a);
	pathprof_store_free(b);
}

/* Counts that only a damaged or hostile profile has. */
static void add_largest(struct pathprof_store *store)
{
	const struct pathprof_build_id id = world_binary_id(0);
	struct pathprof_process process = world_process(0);
	struct pathprof_profile p;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 1 << 20), 0);
	p.begin_ns = 1;
	p.end_ns = 2;
	p.basis = PATHPROF_BASIS_BRANCHES;
	process.binary = pathprof_profile_binary(&p, &id, world_binary_name(0));
	pathprof_profile_process(&p, &process);
	pathprof_profile_add_path(&p,
				  &(struct pathprof_path_count){.samples = INT64_MAX, .weight = 1});
	pathprof_profile_add_edge(&p, &(struct pathprof_edge_count){.count = INT64_MAX});
	pathprof_profile_add_clock(&p, &(struct pathprof_clock_count){.samples = INT64_MAX});
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, NULL, NULL), 0);
	pathprof_profile_release(&p);
}

static int sum_path(void *context, const struct pathprof_path_row *row)
{
	*(uint64_t *)context += row->samples;
	return 0;
}

static int sum_edge(void *context, const struct pathprof_edge_row *row)
{
	*(uint64_t *)context += row->count;
	return 0;
}

static int sum_clock(void *context, const struct pathprof_clock_row *row)
{
	*(uint64_t *)context += row->samples;
	return 0;
}

static void test_sums_end(void)
{
	struct pathprof_store *store =
		world_open(world_file(unit_tmpdir(), "large.db"), PATHPROF_STORE_WRITE);
	uint64_t paths = 0, edges = 0, clocks = 0;

	add_largest(store);
	add_largest(store);
	CU_ASSERT_EQUAL(pathprof_store_paths(store, NULL, sum_path, &paths, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_edges(store, NULL, sum_edge, &edges, NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_clocks(store, NULL, sum_clock, &clocks, NULL), 0);
	CU_ASSERT_EQUAL(paths, INT64_MAX);
	CU_ASSERT_EQUAL(edges, INT64_MAX);
	CU_ASSERT_EQUAL(clocks, INT64_MAX);
	pathprof_store_free(store);
}

struct listed {
	int64_t ids[4];
	size_t cnt;
};

static int list_window(void *context, const struct pathprof_window_row *row)
{
	struct listed *listed = context;

	CU_ASSERT_FATAL(listed->cnt < 4);
	listed->ids[listed->cnt++] = row->id;
	return 0;
}

/* A window that was measured while the clock stood in the year 2191, and three after it. */
static void test_windows_of_the_future(void)
{
	struct pathprof_store *store =
		world_open(world_file(unit_tmpdir(), "future.db"), PATHPROF_STORE_WRITE);
	const struct pathprof_filter one = {.limit = 1};
	enum pathprof_window_kind newest;
	struct listed all = {.cnt = 0}, last = {.cnt = 0};
	unsigned int kinds;

	world_fill(store, UINT64_C(7000000000), 1, 4);
	world_fill(store, 1, 3, 4);
	CU_ASSERT_EQUAL(pathprof_store_windows(store, NULL, list_window, &all, NULL), 0);
	CU_ASSERT_EQUAL(all.cnt, 4);
	for (size_t i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(all.ids[i], (int64_t)(4 - i));
	CU_ASSERT_EQUAL(pathprof_store_windows(store, &one, list_window, &last, NULL), 0);
	CU_ASSERT_EQUAL(last.cnt, 1);
	CU_ASSERT_EQUAL(last.ids[0], 4);
	/* odd ones count time, even ones branches */
	CU_ASSERT_EQUAL(pathprof_store_kinds(store, NULL, &kinds, &newest, NULL), 0);
	CU_ASSERT_EQUAL(newest, PATHPROF_KIND_TAKEN);
	pathprof_store_free(store);
}

static int stop_at_two(void *context, const struct pathprof_path_row *row)
{
	uint32_t *cnt = context;

	return ++*cnt == 2 ? 42 : 0;
}

static void test_callback_stops(void)
{
	struct pathprof_store *store = make_store(world_file(unit_tmpdir(), "db"));
	uint32_t cnt = 0;

	CU_ASSERT_EQUAL(pathprof_store_paths(store, NULL, stop_at_two, &cnt, NULL), 42);
	CU_ASSERT_EQUAL(cnt, 2);
	pathprof_store_free(store);
}

static void test_bad_window_leaves_nothing(void)
{
	struct pathprof_store *store = make_store(world_file(unit_tmpdir(), "db"));
	struct pathprof_error error = {""};
	struct pathprof_profile p;
	int64_t id = -7;

	CU_ASSERT_EQUAL_FATAL(pathprof_profile_init(&p, 8 << 20), 0);
	world_window(&p, 99, 99 * WORLD_STEP_NS, PATHS);
	/* Seen only when most of the window is written: the same key twice. */
	p.paths[p.path_cnt - 1] = p.paths[0];
	p.paths[5].start = 0x123456789;
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, &id, &error), -EINVAL);
	CU_ASSERT_EQUAL(id, -7);
	p.paths[1].process = WORLD_PROCESSES;
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, &id, &error), -EINVAL);
	p.paths[1].process = 0;
	p.paths[1].samples = UINT64_MAX;
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, &id, &error), -EOVERFLOW);
	p.paths[1].samples = 1;
	p.paths[1].insns = 1e301;
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, &id, &error), -EINVAL);
	p.paths[1].insns = 1;
	p.clocks[1].binary = PATHPROF_NO_INDEX;
	p.clocks[1].place = 8;
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, &id, &error), -EINVAL);
	p.clocks[1].place = 16;
	p.clocks[1].samples = UINT64_MAX;
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, &id, &error), -EOVERFLOW);
	p.end_ns = 0;
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, &id, &error), -EINVAL);
	check_views(store, &(struct pathprof_filter){0});
	/* Ids cached in the failed transaction must be gone. */
	world_window(&p, 99, 99 * WORLD_STEP_NS, PATHS);
	p.paths[5].start = 0x123456789;
	CU_ASSERT_EQUAL(pathprof_store_add_window(store, &p, &id, &error), 0);
	CU_ASSERT_EQUAL(pathprof_store_check(store, &error), 0);
	pathprof_profile_release(&p);
	pathprof_store_free(store);
}

static void test_status(void)
{
	const char *file = world_file(unit_tmpdir(), "db");
	struct pathprof_store *store = world_open(file, PATHPROF_STORE_WRITE);
	struct pathprof_error error = {""};
	char *json = NULL, *large = calloc(1, (1 << 20) + 2);

	CU_ASSERT_EQUAL(pathprof_store_status(store, &json, &error), -ENOENT);
	CU_ASSERT_PTR_NULL(json);
	CU_ASSERT_EQUAL(pathprof_store_set_status(store, "{\"a\": 1}", &error), 0);
	CU_ASSERT_EQUAL(pathprof_store_set_status(store, "[1]", &error), -EINVAL);
	CU_ASSERT_EQUAL(pathprof_store_set_status(store, "{\"a\"", &error), -EINVAL);
	CU_ASSERT_EQUAL(pathprof_store_set_status(store, NULL, &error), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(large);
	if (!large)
		return;
	memset(large, ' ', (1 << 20) + 1);
	large[0] = '{';
	large[1 << 20] = '}';
	CU_ASSERT_EQUAL(pathprof_store_set_status(store, large, &error), -EINVAL);
	free(large);
	CU_ASSERT_EQUAL(pathprof_store_set_status(store, " {\"a\": 2}", &error), 0);
	struct pathprof_store *reader = world_open(file, PATHPROF_STORE_READ);
	CU_ASSERT_EQUAL_FATAL(pathprof_store_status(reader, &json, &error), 0);
	CU_ASSERT_STRING_EQUAL(json, " {\"a\": 2}");
	free(json);
	pathprof_store_free(reader);
	pathprof_store_free(store);
}

static void test_jit_symbols(void)
{
	struct pathprof_store *store =
		world_open(world_file(unit_tmpdir(), "db"), PATHPROF_STORE_WRITE);
	const struct pathprof_build_id id = world_binary_id(5), other = world_binary_id(1);
	const uint64_t high = UINT64_C(0xffffffff81000000);
	const struct pathprof_jit_symbol half[] = {{&id, 0x3000, 16, "good"},
						   {&id, UINT64_MAX, 8, "x"}};
	uint64_t start = 1;
	char name[8];

	CU_ASSERT_EQUAL(world_add_symbol(store, &id, 0x1000, 16, "old", NULL), 0);
	CU_ASSERT_EQUAL(world_add_symbol(store, &id, 0x1000, 32, "low", NULL), 0);
	CU_ASSERT_EQUAL(world_add_symbol(store, &id, 0x1010, 0, "point", NULL), 0);
	CU_ASSERT_EQUAL(world_add_symbol(store, &id, high, 8, "a long name", NULL), 0);
	CU_ASSERT_EQUAL(pathprof_store_add_jit_symbols(store, half, 2, NULL), -EINVAL);
	CU_ASSERT_EQUAL(pathprof_store_jit_symbol(store, &id, 0x3000, name, 8, &start), -ENOENT);
	CU_ASSERT_EQUAL(world_add_symbol(store, &id, UINT64_MAX, 8, "x", NULL), -EINVAL);
	CU_ASSERT_EQUAL(pathprof_store_jit_symbol(store, &id, 0x100f, name, 8, &start), 0);
	CU_ASSERT_STRING_EQUAL(name, "low");
	CU_ASSERT_EQUAL(start, 0x1000);
	CU_ASSERT_EQUAL(pathprof_store_jit_symbol(store, &id, 0x1010, name, 8, &start), 0);
	CU_ASSERT_STRING_EQUAL(name, "point");
	CU_ASSERT_EQUAL(pathprof_store_jit_symbol(store, &id, 0x1011, name, 8, &start), 0);
	CU_ASSERT_STRING_EQUAL(name, "low");
	CU_ASSERT_EQUAL(start, 0x1000);
	CU_ASSERT_EQUAL(pathprof_store_jit_symbol(store, &id, high + 7, name, 8, &start), 0);
	CU_ASSERT_STRING_EQUAL(name, "a long ");
	CU_ASSERT_EQUAL(start, high);
	CU_ASSERT_EQUAL(pathprof_store_jit_symbol(store, &id, high + 8, name, 8, &start), -ENOENT);
	CU_ASSERT_EQUAL(pathprof_store_jit_symbol(store, &id, 0xfff, name, 8, &start), -ENOENT);
	CU_ASSERT_EQUAL(pathprof_store_jit_symbol(store, &other, 0x1000, name, 8, &start), -ENOENT);
	CU_ASSERT_EQUAL(start, high);
	/* The window that names the binary comes later. */
	world_fill(store, 1, 1, PATHS);
	struct judge j = {.filter = &(struct pathprof_filter){0}};
	facts.path_cnt = 0;
	CU_ASSERT_EQUAL(pathprof_store_paths(store, &(struct pathprof_filter){.binary = "jit:77"},
					     judge_path, &j, NULL),
			0);
	CU_ASSERT(j.row_cnt > 0);
	pathprof_store_free(store);
}

static const struct unit_test tests[] = {
	{"every view under random filters equals the oracle", test_views},
	{"a reader finds the same after the writer has closed", test_views_after_reopening},
	{"a planted fault is seen", test_planted_fault},
	{"a limit does not change shares", test_limit_keeps_shares},
	{"rows of equal counts have one order in all stores", test_equal_counts_have_one_order},
	{"sums of counts end at 2^63 - 1", test_sums_end},
	{"a window of the future is not the newest", test_windows_of_the_future},
	{"a callback can stop a query", test_callback_stops},
	{"a window that cannot be written leaves nothing behind", test_bad_window_leaves_nothing},
	{"the status is one JSON object, overwritten", test_status},
	{"symbols of generated code are found by offset", test_jit_symbols},
};
UNIT_SUITE(store, tests)
