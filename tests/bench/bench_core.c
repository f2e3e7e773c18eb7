/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost of a branch in the core, step by step, beside a plain hash table that counts the same
 * stream in the same run. Only steps that a program ships; all of a collector together is timed by
 * bench_bpf.sh.
 *
 * Workload: 262,144 branches of an exact trace, or those of the test vectors over and over, in
 * tables of a kernel's size. All cases run in turn, several rounds, on one CPU; the first round
 * warms up and is dropped.
 *
 * Locking and ownership: one thread; everything lives in static memory but the hash tables.
 *
 * Output: lines "CASE.median VALUE UNIT" and ".min"; ".ratio" compares the minima with that of the
 * hash table that does the same counting (below 1: the core is faster). Before them how long the
 * stream is, behind them what each structure takes: "size.NAME BYTES".
 *
 *   bench_core [-r ROUNDS] [-c CASE] [TRACE]
 *
 * Repeatable counts: valgrind --tool=callgrind --toggle-collect=run_stack_hpt
 *   bench_core -r 1 -c path-stack+hpt
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PP_KERNEL_TABLES 1
#include "../../libprofile/core/pp_chain.h"
#include "../../libprofile/core/pp_defined.h"
#include "../../libprofile/core/pp_front.h"
#include "../../libprofile/core/pp_segment.h"
#include "../../libprofile/core/pp_convergent.h"
#include "../../libprofile/core/pp_tnv.h"
#include "../../libprofile/core/pp_tuples.h"
#include "pathprof/trace.h"

#define STREAM_LEN ((size_t)1 << 18)
#define PASSES     4 /* over the stream, in one timed run */
#define ROUNDS_MAX 64
#define CASE_MAX   24
#define LINE_MAX_  256

#define TRACE_BATCH 4096
#define TRACE_SKIP  1000000 /* events, of the program's start */

/* The state of every case; the largest core objects, so not on a stack. */
static struct pp_branch branches[STREAM_LEN];
static struct pp_taken leaps[STREAM_LEN]; /* the taken ones */
static struct pp_tuple tuples[STREAM_LEN];
static struct pp_path paths[STREAM_LEN];
static struct pp_chain chain;

/*
 * The yardstick: open addressing, linear probing, a power of two at most half full, grown as
 * needed. Keys are never (0, 0).
 */
struct table_entry {
	uint64_t a, b, count;
};

struct table {
	struct table_entry *entry;
	size_t mask, used;
};

static struct table edges, ends;

static int table_init(struct table *ret_table, size_t slots)
{
	struct table_entry *entry = calloc(slots, sizeof(*entry));

	if (!entry)
		return -ENOMEM;
	ret_table->entry = entry;
	ret_table->mask = slots - 1;
	ret_table->used = 0;
	return 0;
}

static inline struct table_entry *table_slot(const struct table *t, uint64_t a, uint64_t b)
{
	size_t i = (size_t)(((a ^ b << 17 ^ b >> 13) * 0x9E3779B97F4A7C15ULL) >> 32) & t->mask;
	struct table_entry *e = &t->entry[i];

	while (!(e->a == a && e->b == b) && e->count) {
		i = (i + 1) & t->mask;
		e = &t->entry[i];
	}
	return e;
}

static void table_grow(struct table *t)
{
	struct table old = *t;
	size_t i;

	if (table_init(t, (old.mask + 1) * 2))
		abort();
	for (i = 0; i <= old.mask; i++)
		if (old.entry[i].count)
			*table_slot(t, old.entry[i].a, old.entry[i].b) = old.entry[i];
	t->used = old.used;
	free(old.entry);
}

static inline void table_count(struct table *t, uint64_t a, uint64_t b)
{
	struct table_entry *e = table_slot(t, a, b);

	if (PP_LIKELY(e->count++))
		return;
	e->a = a;
	e->b = b;
	if (++t->used > t->mask / 2)
		table_grow(t);
}

static void table_release(struct table *t)
{
	free(t->entry);
	t->entry = NULL;
}

/* ------------------------------------------------------------------ cases */

enum unit { UNIT_TUPLE, UNIT_BRANCH, UNIT_TAKEN, UNIT_PATH, UNIT_CNT };
static const char *const unit_names[UNIT_CNT] = {"ns/tuple", "ns/branch", "ns/taken branch",
						 "ns/path"};
static size_t unit_cnt[UNIT_CNT]; /* of the stream */

struct bench_case {
	const char *name;
	/* One pass. Returns something that depends on all of its work. */
	uint64_t (*run)(const struct pp_chain_config *config);
	enum unit unit;
	const char *yardstick; /* case with the same task, or NULL */
	struct pp_chain_config config;
	double ns[ROUNDS_MAX];
};

static __attribute__((noinline)) uint64_t run_compress(const struct pp_chain_config *config)
{
	struct pp_message message = {0};
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < STREAM_LEN; i++)
		if (pp_compress_step(&chain.compress, &config->compress, &tuples[i], &message))
			sum += message.count;
	return sum;
}

/* Like run_compress(), but with a configuration that is fixed at compile time. */
static __attribute__((noinline)) uint64_t run_compress_fixed(const struct pp_chain_config *unused)
{
	static const struct pp_compress_config fixed = {
		.sampler = PP_SAMPLER_PERIODIC, .rate = 256, .bits = 11};
	struct pp_message message = {0};
	uint64_t sum = 0;
	size_t i;

	(void)unused;
	for (i = 0; i < STREAM_LEN; i++)
		if (pp_compress_step(&chain.compress, &fixed, &tuples[i], &message))
			sum += message.count;
	return sum;
}

static __attribute__((noinline)) uint64_t run_stack(const struct pp_chain_config *config)
{
	struct pp_path path = {0};
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < STREAM_LEN; i++)
		if (pp_path_stack_step(&chain.stack, &config->path, &branches[i], &path))
			sum += path.desc;
	return sum;
}

static __attribute__((noinline)) uint64_t run_stack_hpt(const struct pp_chain_config *config)
{
	struct pp_hpt_entry replaced = {0};
	struct pp_path path = {0};
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < STREAM_LEN; i++)
		if (pp_path_stack_step(&chain.stack, &config->path, &branches[i], &path) &&
		    pp_hpt_step(&chain.hpt, &config->hpt, path.start, path.desc, 1, &replaced))
			sum += replaced.count;
	return sum;
}

static __attribute__((noinline)) uint64_t run_hpt(const struct pp_chain_config *config)
{
	struct pp_hpt_entry replaced = {0};
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < unit_cnt[UNIT_PATH]; i++)
		if (pp_hpt_step(&chain.hpt, &config->hpt, paths[i].start, paths[i].desc, 1,
				&replaced))
			sum += replaced.count;
	return sum;
}

/* Taken branches into two profiles, as the kernel module and the BPF collector sample them. */
static __attribute__((noinline)) uint64_t run_tuples(const struct pp_chain_config *config)
{
	struct pp_tuple_plan plan;
	uint64_t sum = 0;
	size_t i;

	pp_tuple_plan_init(&plan, &chain.compress.hash, ~0u, PP_PROFILE_EDGES | PP_PROFILE_CALLS,
			   1);
	for (i = 0; i < unit_cnt[UNIT_TAKEN]; i++) {
		const struct pp_taken *b = &leaps[i];
		uint32_t near = pp_tuple_near(&chain.compress.hash, b->from, b->to);

		sum += pp_tuple_sample(&chain.compress, &config->compress, near ^ plan.edge_hash,
				       b->from, b->to);
		if (plan.calls >> b->kind & 1)
			sum += pp_tuple_sample(&chain.compress, &config->compress,
					       near ^ plan.call_hash, b->from, b->to);
	}
	return sum;
}

static __attribute__((noinline)) uint64_t run_segments(const struct pp_chain_config *unused)
{
	struct pp_segment_state state = {0};
	struct pp_segment segment = {0};
	uint64_t sum = 0;
	size_t i;

	(void)unused;
	for (i = 0; i < unit_cnt[UNIT_TAKEN]; i++)
		if (pp_segment_step(&state, &leaps[i], &segment))
			sum += segment.desc;
	return sum;
}

static __attribute__((noinline)) uint64_t run_segments_hpt(const struct pp_chain_config *config)
{
	struct pp_segment_state state = {0};
	struct pp_hpt_entry replaced = {0};
	struct pp_segment segment = {0};
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < unit_cnt[UNIT_TAKEN]; i++)
		if (pp_segment_step(&state, &leaps[i], &segment) &&
		    pp_hpt_step(&chain.hpt, &config->hpt, segment.start, segment.desc, 1,
				&replaced))
			sum += replaced.count;
	return sum;
}

static __attribute__((noinline)) uint64_t run_segments_hash(const struct pp_chain_config *unused)
{
	struct pp_segment_state state = {0};
	struct pp_segment segment = {0};
	size_t i;

	(void)unused;
	for (i = 0; i < unit_cnt[UNIT_TAKEN]; i++)
		if (pp_segment_step(&state, &leaps[i], &segment))
			table_count(&ends, segment.start, segment.desc);
	return ends.used;
}

static __attribute__((noinline)) uint64_t run_hash_edges(const struct pp_chain_config *unused)
{
	size_t i;

	(void)unused;
	for (i = 0; i < STREAM_LEN; i++)
		table_count(&edges, tuples[i].pc, tuples[i].word);
	return edges.used;
}

static __attribute__((noinline)) uint64_t run_hash_paths(const struct pp_chain_config *unused)
{
	size_t i;

	(void)unused;
	for (i = 0; i < unit_cnt[UNIT_PATH]; i++)
		table_count(&ends, paths[i].start, paths[i].desc);
	return ends.used;
}

static __attribute__((noinline)) uint64_t run_stack_hash(const struct pp_chain_config *config)
{
	struct pp_path path = {0};
	size_t i;

	for (i = 0; i < STREAM_LEN; i++)
		if (pp_path_stack_step(&chain.stack, &config->path, &branches[i], &path))
			table_count(&ends, path.start, path.desc);
	return ends.used;
}

static struct bench_case cases[CASE_MAX];
static size_t case_cnt;

static struct bench_case *add_case(const char *name,
				   uint64_t (*run)(const struct pp_chain_config *), enum unit unit,
				   const char *yardstick)
{
	struct bench_case *c = &cases[case_cnt++];

	c->name = name;
	c->run = run;
	c->unit = unit;
	c->yardstick = yardstick;
	c->config.compress.sampler = PP_SAMPLER_PERIODIC;
	c->config.compress.rate = 256;
	c->config.compress.bits = 11;
	pp_path_config_bl(&c->config.path);
	c->config.hpt.bits = 9;
	c->config.hpt.ways = 4;
	c->config.hpt.policy = PP_HPT_TAIL;
	return c;
}

static struct pp_compress_config *add_compressor(const char *name, enum pp_sampler sampler,
						 uint32_t bits)
{
	struct bench_case *c = add_case(name, run_compress, UNIT_TUPLE, "hash-edges");

	c->config.compress.sampler = sampler;
	c->config.compress.bits = bits;
	return &c->config.compress;
}

static void add_cases(void)
{
	struct pp_compress_config *c;

	add_case("hash-edges", run_hash_edges, UNIT_TUPLE, NULL);
	add_compressor("R256", PP_SAMPLER_RANDOM, 0);
	add_compressor("P256", PP_SAMPLER_PERIODIC, 0);
	add_compressor("CR256", PP_SAMPLER_COUNTING_RANDOM, 0);
	add_compressor("H[R256]2048", PP_SAMPLER_RANDOM, 11);
	add_compressor("H[P256]2048", PP_SAMPLER_PERIODIC, 11);
	add_compressor("H[CR256]2048", PP_SAMPLER_COUNTING_RANDOM, 11);
	c = add_compressor("H[P256]2048A16", PP_SAMPLER_PERIODIC, 11);
	c->assoc_size = 16;
	c = add_compressor("T[256]2048", PP_SAMPLER_TAGGED, 10);
	c->tag_bits = 2;
	c->tagged.rate = 256;
	c->tagged.ways = 2;
	c->tagged.evict = 128;
	c->tagged.replace = 7;
	add_case("H[P256]2048-fixed", run_compress_fixed, UNIT_TUPLE, "hash-edges");
	add_case("tuples", run_tuples, UNIT_TAKEN, "hash-edges");
	add_case("segments", run_segments, UNIT_TAKEN, NULL);
	add_case("segments+hash", run_segments_hash, UNIT_TAKEN, NULL);
	add_case("segments+hpt", run_segments_hpt, UNIT_TAKEN, "segments+hash");
	add_case("hash-paths", run_hash_paths, UNIT_PATH, NULL);
	add_case("hot-path-table", run_hpt, UNIT_PATH, "hash-paths");
	add_case("path-stack", run_stack, UNIT_BRANCH, NULL);
	add_case("path-stack+hash", run_stack_hash, UNIT_BRANCH, NULL);
	add_case("path-stack+hpt", run_stack_hpt, UNIT_BRANCH, "path-stack+hash");
}

static const struct bench_case *find_case(const char *name)
{
	size_t i;

	for (i = 0; i < case_cnt; i++)
		if (strcmp(cases[i].name, name) == 0)
			return &cases[i];
	return NULL;
}

/* ------------------------------------------------------------------- stream */

static int parse_kind(const char *word)
{
	static const char *const names[PP_KIND_CNT] = {"",     "cond",  "jmp", "ijmp",
						       "call", "icall", "ret"};
	int i;

	for (i = 1; i < PP_KIND_CNT; i++)
		if (strcmp(names[i], word) == 0)
			return i;
	return -EINVAL;
}

static int parse_branch(const char *line, struct pp_branch *ret_branch)
{
	uint64_t from, target, next, taken;
	char kind[8];
	int k;

	if (sscanf(line, "%" SCNx64 " %7s %" SCNx64 " %" SCNu64 " %" SCNx64, &from, kind, &target,
		   &taken, &next) != 5)
		return -EINVAL;
	k = parse_kind(kind);
	if (k < 0 || taken > 1)
		return -EINVAL;
	ret_branch->from = from;
	ret_branch->target = target;
	ret_branch->next = next;
	ret_branch->info = PP_BRANCH_INFO(k, taken);
	ret_branch->events = 1;
	return 0;
}

/* Branches in ret_branches; fewer than there is room for when the file ends. Negative: -errno. */
static ssize_t read_text(const char *path)
{
	char line[LINE_MAX_];
	ssize_t cnt = 0;
	FILE *f = fopen(path, "re");

	if (!f)
		return -errno;
	while (cnt < (ssize_t)STREAM_LEN && fgets(line, sizeof(line), f))
		if (!parse_branch(line, &branches[cnt]))
			cnt++;
	fclose(f);
	return cnt;
}

static bool take_event(const struct pathprof_trace_event *e, struct pp_branch *ret_branch)
{
	if (e->type != PATHPROF_TRACE_EVENT_BRANCH)
		return false;
	*ret_branch = (struct pp_branch){e->branch.from, e->branch.target, e->branch.next,
					 PP_BRANCH_INFO(e->branch.kind, e->branch.taken), 1};
	return true;
}

/* The branches of some events, but for those of the program's start. Returns how many it has now.
 */
static ssize_t take_events(const struct pathprof_trace_event *events, ssize_t event_cnt,
			   size_t first, ssize_t cnt)
{
	for (ssize_t i = 0; i < event_cnt && cnt < (ssize_t)STREAM_LEN; i++)
		if (first + (size_t)i >= TRACE_SKIP)
			cnt += take_event(&events[i], &branches[cnt]);
	return cnt;
}

/* Like read_text(), but reads the first thread of an exact trace. */
static ssize_t read_trace(const char *path)
{
	static struct pathprof_trace_event events[TRACE_BATCH];
	struct pathprof_trace_cursor *cursor = NULL;
	struct pathprof_trace *trace = NULL;
	struct pathprof_error error;
	ssize_t cnt = 0, got = 1;
	size_t passed = 0;
	int r;

	r = pathprof_trace_open(&trace, path, &error);
	if (!r)
		r = pathprof_trace_cursor_new(&cursor, trace, 0, &error);
	while (!r && got && cnt < (ssize_t)STREAM_LEN) {
		got = pathprof_trace_read(cursor, events, TRACE_BATCH, &error);
		cnt = take_events(events, got, passed, cnt);
		passed += TRACE_BATCH;
		r = got < 0 ? (int)got : 0;
	}
	pathprof_trace_cursor_free(cursor);
	pathprof_trace_free(trace);
	return r ? r : cnt;
}

static int fill_stream(const char *path)
{
	ssize_t cnt = pathprof_trace_is(path) ? read_trace(path) : read_text(path);

	if (cnt <= 0)
		return cnt ? (int)cnt : -ENODATA;
	for (size_t i = (size_t)cnt; i < STREAM_LEN; i++)
		branches[i] = branches[i - (size_t)cnt];
	return 0;
}

/* Prepares the inputs of the cases that do not take branches. */
static int prepare_stream(void)
{
	struct pp_path_config config;
	size_t i;

	pp_path_config_bl(&config);
	unit_cnt[UNIT_TUPLE] = unit_cnt[UNIT_BRANCH] = STREAM_LEN;
	for (i = 0; i < STREAM_LEN; i++) {
		const struct pp_branch *b = &branches[i];

		tuples[i] = (struct pp_tuple){b->from, b->next};
		if (PP_BRANCH_TAKEN(b->info))
			leaps[unit_cnt[UNIT_TAKEN]++] = (struct pp_taken){
				b->from, b->next, PP_BRANCH_KIND(b->info), b->events};
		unit_cnt[UNIT_PATH] +=
			pp_path_stack_step(&chain.stack, &config, b, &paths[unit_cnt[UNIT_PATH]]);
	}
	if (table_init(&edges, 1024))
		return -ENOMEM;
	return table_init(&ends, 1024);
}

/* ------------------------------------------------------------------ timing and output */

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void time_case(struct bench_case *c, int round)
{
	uint64_t sum;
	double before;
	int pass;

	memset(&chain, 0, sizeof(chain));
	pp_compress_init(&chain.compress, &c->config.compress, 1);
	sum = c->run(&c->config);
	before = now_ns();
	for (pass = 0; pass < PASSES; pass++)
		sum += c->run(&c->config);
	c->ns[round] = (now_ns() - before) / (double)(PASSES * unit_cnt[c->unit]);
	/* Keeps the work alive. */
	__asm__ volatile("" : : "r"(sum));
}

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_results(const char *only, int rounds)
{
	const struct bench_case *yardstick;
	size_t i;

	for (i = 0; i < case_cnt; i++)
		qsort(cases[i].ns, (size_t)rounds, sizeof(double), compare_double);
	for (i = 0; i < case_cnt; i++) {
		const struct bench_case *c = &cases[i];

		if (only && strcmp(only, c->name) != 0)
			continue;
		printf("%s.median %.2f %s\n", c->name, c->ns[rounds / 2], unit_names[c->unit]);
		printf("%s.min %.2f %s\n", c->name, c->ns[0], unit_names[c->unit]);
		yardstick = c->yardstick && !only ? find_case(c->yardstick) : NULL;
		if (yardstick)
			printf("%s.ratio %.2f of %s\n", c->name, c->ns[0] / yardstick->ns[0],
			       yardstick->name);
	}
}

static void print_sizes(void)
{
	static const struct {
		const char *name;
		size_t bytes;
	} sizes[] = {
		{"hash", sizeof(struct pp_hash)},
		{"split", sizeof(struct pp_split)},
		{"tagged", sizeof(struct pp_tagged)},
		{"assoc", sizeof(struct pp_assoc)},
		{"compress", sizeof(struct pp_compress)},
		{"path_stack", sizeof(struct pp_path_stack)},
		{"segment_state", sizeof(struct pp_segment_state)},
		{"tuple_plan", sizeof(struct pp_tuple_plan)},
		{"defined", sizeof(struct pp_defined)},
		{"front", sizeof(struct pp_front)},
		{"hpt", sizeof(struct pp_hpt)},
		{"chain", sizeof(struct pp_chain)},
		{"tnv", sizeof(struct pp_tnv)},
		{"convergent", sizeof(struct pp_convergent)},
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		printf("size.%s %zu\n", sizes[i].name, sizes[i].bytes);
}

/* One more round than is kept: the first warms up, and is overwritten. */
static void run_rounds(const char *only, int rounds)
{
	int round;
	size_t i;

	for (round = -1; round < rounds; round++)
		for (i = 0; i < case_cnt; i++)
			if (!only || strcmp(only, cases[i].name) == 0)
				time_case(&cases[i], round < 0 ? 0 : round);
}

static void pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)sched_getcpu(), &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fprintf(stderr, "not pinned: %s\n", strerror(errno));
}

int main(int argc, char **argv)
{
	const char *only = NULL, *path = "tests/vectors/branches.txt";
	int rounds = 9, option, r;

	while ((option = getopt(argc, argv, "r:c:")) != -1) {
		if (option == 'r')
			rounds = (int)strtol(optarg, NULL, 10);
		else if (option == 'c')
			only = optarg;
		else
			return 2;
	}
	if (rounds < 1 || rounds > ROUNDS_MAX)
		return 2;
	if (optind < argc)
		path = argv[optind];
	pin();
	add_cases();
	r = fill_stream(path);
	if (r) {
		fprintf(stderr, "%s: %s\n", path, strerror(-r));
		return 1;
	}
	if (prepare_stream())
		return 1;
	printf("stream.branches %zu\nstream.taken %zu\nstream.paths %zu\n", unit_cnt[UNIT_BRANCH],
	       unit_cnt[UNIT_TAKEN], unit_cnt[UNIT_PATH]);
	run_rounds(only, rounds);
	print_results(only, rounds);
	print_sizes();
	table_release(&edges);
	table_release(&ends);
	return 0;
}
