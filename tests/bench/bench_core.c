/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a branch costs in the core, stage by stage, beside a plain hash table that counts the same
 * stream in the same run.
 *
 * Workload: two streams of 262,144 branches, a made-up program with the locality of a real one
 * (tests/homes/stream.h) and the recorded branches of the test vectors over and over. All cases
 * run in turn, several rounds, on one CPU; the first round warms up and is dropped.
 *
 * Locking and ownership: one thread; everything lives in static memory but the hash table.
 *
 * Output: lines "STREAM.CASE.median VALUE UNIT" and ".min"; ".ratio" compares the minima with that
 * of the hash table that does the same counting (below 1: the core is faster).
 *
 *   bench_core [-r ROUNDS] [-c CASE] [-v BRANCHES.TXT]
 *
 * Repeatable counts: valgrind --tool=callgrind --toggle-collect=run_chain bench_core -r 1 -c chain
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../libprofile/core/pp_chain.h"
#include "../homes/stream.h"

#define STREAM_LEN ((size_t)1 << 18)
#define PASSES     4 /* over the stream, in one timed run */
#define ROUNDS_MAX 64
#define CASE_MAX   24
#define LINE_MAX_  256

/* The state of every case; the largest core objects, so not on a stack. */
static struct pp_branch branches[STREAM_LEN];
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

enum unit { UNIT_TUPLE, UNIT_BRANCH, UNIT_PATH };
static const char *const unit_names[] = {"ns/tuple", "ns/branch", "ns/path"};

struct bench_case {
	const char *name;
	/* One pass. Returns something that depends on all of its work. */
	uint64_t (*run)(const struct pp_chain_config *config);
	enum unit unit;
	const char *yardstick; /* case with the same task, or NULL */
	struct pp_chain_config config;
	size_t cnt;
	double ns[ROUNDS_MAX];
};

static size_t path_cnt;

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

/* As run_compress(), for a home whose configuration is fixed when it is compiled. */
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

	for (i = 0; i < path_cnt; i++)
		if (pp_hpt_step(&chain.hpt, &config->hpt, paths[i].start, paths[i].desc, 1,
				&replaced))
			sum += replaced.count;
	return sum;
}

static __attribute__((noinline)) uint64_t run_chain(const struct pp_chain_config *config)
{
	struct pp_hpt_entry replaced = {0};
	struct pp_message message = {0};
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < STREAM_LEN; i++) {
		uint32_t out = pp_chain_step(&chain, config, &branches[i], &message, &replaced);

		if (out & PP_CHAIN_MESSAGE)
			sum += message.count;
		if (out & PP_CHAIN_REPLACED)
			sum += replaced.count;
	}
	return sum;
}

/* As run_chain(), with its configuration fixed when it is compiled. */
static __attribute__((noinline)) uint64_t run_chain_fixed(const struct pp_chain_config *unused)
{
	static const struct pp_chain_config fixed = {
		.compress = {.sampler = PP_SAMPLER_PERIODIC, .rate = 256, .bits = 11},
		.path = {.ops = {PP_OP_UPDATE_COUNT | PP_OP_PUSH, PP_OP_UPDATE_COUNT | PP_OP_POP,
				 PP_OP_UPDATE, PP_OP_UPDATE | PP_OP_POP | PP_OP_PUSH,
				 PP_OP_UPDATE | PP_OP_POP | PP_OP_PUSH},
			 .max_length = PP_PATH_LENGTH_MAX},
		.hpt = {.bits = 7, .ways = 4},
	};
	struct pp_hpt_entry replaced = {0};
	struct pp_message message = {0};
	uint64_t sum = 0;
	size_t i;

	(void)unused;
	for (i = 0; i < STREAM_LEN; i++) {
		uint32_t out = pp_chain_step(&chain, &fixed, &branches[i], &message, &replaced);

		if (out & PP_CHAIN_MESSAGE)
			sum += message.count;
		if (out & PP_CHAIN_REPLACED)
			sum += replaced.count;
	}
	return sum;
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
	for (i = 0; i < path_cnt; i++)
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

/* What the whole chain does, with a hash table in place of sampler and hot path table. */
static __attribute__((noinline)) uint64_t run_chain_hash(const struct pp_chain_config *config)
{
	struct pp_path path = {0};
	size_t i;

	for (i = 0; i < STREAM_LEN; i++) {
		const struct pp_branch *b = &branches[i];

		table_count(&edges, b->from, b->next);
		if (pp_path_stack_step(&chain.stack, &config->path, b, &path))
			table_count(&ends, path.start, path.desc);
	}
	return edges.used + ends.used;
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
	c->cnt = STREAM_LEN;
	c->config.compress.sampler = PP_SAMPLER_PERIODIC;
	c->config.compress.rate = 256;
	c->config.compress.bits = 11;
	pp_path_config_bl(&c->config.path);
	c->config.hpt.bits = 7;
	c->config.hpt.ways = 4;
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
	add_case("hash-paths", run_hash_paths, UNIT_PATH, NULL);
	add_case("hot-path-table", run_hpt, UNIT_PATH, "hash-paths");
	add_case("path-stack", run_stack, UNIT_BRANCH, NULL);
	add_case("path-stack+hash", run_stack_hash, UNIT_BRANCH, NULL);
	add_case("path-stack+hpt", run_stack_hpt, UNIT_BRANCH, "path-stack+hash");
	add_case("hash-edges+path-stack+hash", run_chain_hash, UNIT_BRANCH, NULL);
	add_case("chain", run_chain, UNIT_BRANCH, "hash-edges+path-stack+hash");
	add_case("chain-fixed", run_chain_fixed, UNIT_BRANCH, "hash-edges+path-stack+hash");
}

static const struct bench_case *find_case(const char *name)
{
	size_t i;

	for (i = 0; i < case_cnt; i++)
		if (strcmp(cases[i].name, name) == 0)
			return &cases[i];
	return NULL;
}

/* ------------------------------------------------------------------ streams */

static void fill_synthetic(void)
{
	static struct stream s;
	size_t i;

	stream_init(&s, 1);
	for (i = 0; i < STREAM_LEN; i++)
		stream_next(&s, &branches[i]);
}

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

static int fill_recorded(const char *path)
{
	char line[LINE_MAX_];
	size_t cnt = 0, i;
	FILE *f = fopen(path, "re");

	if (!f)
		return -errno;
	while (cnt < STREAM_LEN && fgets(line, sizeof(line), f))
		if (!parse_branch(line, &branches[cnt]))
			cnt++;
	fclose(f);
	if (!cnt)
		return -ENODATA;
	for (i = cnt; i < STREAM_LEN; i++)
		branches[i] = branches[i - cnt];
	return 0;
}

/* Tuples and paths of the branches, for the cases that take these. */
static int prepare_stream(void)
{
	struct pp_path_config config;
	size_t i;

	pp_path_config_bl(&config);
	memset(&chain, 0, sizeof(chain));
	path_cnt = 0;
	for (i = 0; i < STREAM_LEN; i++) {
		tuples[i].pc = branches[i].from;
		tuples[i].word = branches[i].next;
		path_cnt +=
			pp_path_stack_step(&chain.stack, &config, &branches[i], &paths[path_cnt]);
	}
	for (i = 0; i < case_cnt; i++)
		if (cases[i].unit == UNIT_PATH)
			cases[i].cnt = path_cnt;
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
	c->ns[round] = (now_ns() - before) / (double)(PASSES * c->cnt);
	/* Keeps the work alive. */
	__asm__ volatile("" : : "r"(sum));
}

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_results(const char *stream, const char *only, int rounds)
{
	const struct bench_case *yardstick;
	size_t i;

	for (i = 0; i < case_cnt; i++)
		qsort(cases[i].ns, (size_t)rounds, sizeof(double), compare_double);
	for (i = 0; i < case_cnt; i++) {
		const struct bench_case *c = &cases[i];

		if (only && strcmp(only, c->name) != 0)
			continue;
		printf("%s.%s.median %.2f %s\n", stream, c->name, c->ns[rounds / 2],
		       unit_names[c->unit]);
		printf("%s.%s.min %.2f %s\n", stream, c->name, c->ns[0], unit_names[c->unit]);
		yardstick = c->yardstick && !only ? find_case(c->yardstick) : NULL;
		if (yardstick)
			printf("%s.%s.ratio %.2f of %s\n", stream, c->name,
			       c->ns[0] / yardstick->ns[0], yardstick->name);
	}
}

static int run_stream(const char *stream, const char *only, int rounds)
{
	int round;
	size_t i;

	if (prepare_stream())
		return -ENOMEM;
	/* One more round than is kept: the first warms up, and is overwritten. */
	for (round = -1; round < rounds; round++)
		for (i = 0; i < case_cnt; i++)
			if (!only || strcmp(only, cases[i].name) == 0)
				time_case(&cases[i], round < 0 ? 0 : round);
	print_results(stream, only, rounds);
	table_release(&edges);
	table_release(&ends);
	return 0;
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
	const char *only = NULL, *recorded = "tests/vectors/branches.txt";
	int rounds = 9, option, r;

	while ((option = getopt(argc, argv, "r:c:v:")) != -1) {
		if (option == 'r')
			rounds = (int)strtol(optarg, NULL, 10);
		else if (option == 'c')
			only = optarg;
		else if (option == 'v')
			recorded = optarg;
		else
			return 2;
	}
	if (rounds < 1 || rounds > ROUNDS_MAX)
		return 2;
	pin();
	add_cases();
	fill_synthetic();
	if (run_stream("synthetic", only, rounds))
		return 1;
	r = fill_recorded(recorded);
	if (r) {
		fprintf(stderr, "%s: %s: only the synthetic stream was run\n", recorded,
			strerror(-r));
		return 0;
	}
	return run_stream("recorded", only, rounds) ? 1 : 0;
}
