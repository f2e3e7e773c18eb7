// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The golden vectors of tests/vectors through the library. The runner stands in the root of the
 * sources. Each check renders what the library says in the vectors' form and compares texts.
 */
#include "unit.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/compress.h"
#include "pathprof/hot_paths.h"
#include "pathprof/numbering.h"
#include "pathprof/paths.h"

#define VECTORS "tests/vectors/"

/* A file in memory, 0 at its end; NULL when it is not there. The caller frees it. */
static char *read_file(const char *name)
{
	char path[256], *text = NULL;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), VECTORS "%s", name);
	f = fopen(path, "re");
	if (!f)
		return NULL;
	if (getdelim(&text, &size, '\0', f) < 0) {
		free(text);
		text = NULL;
	}
	fclose(f);
	return text;
}

/* Output being rendered. */
struct rendering {
	FILE *stream;
	char *text;
	size_t len;
};

static void begin(struct rendering *r)
{
	*r = (struct rendering){0};
	r->stream = open_memstream(&r->text, &r->len);
	if (!r->stream)
		abort();
}

/* Whether the rendering is not the golden file, byte for byte. */
static bool differs(struct rendering *r, const char *golden)
{
	char *expected = read_file(golden);
	bool different;

	fclose(r->stream);
	different = !expected || strlen(expected) == 0 || strcmp(expected, r->text) != 0;
	free(expected);
	free(r->text);
	return different;
}

typedef void line_fn(void *context, const char *line);

/* Calls fn for each line of an input vector; false when there are none. */
static bool each_line(const char *name, line_fn *fn, void *context)
{
	char *text = read_file(name), *rest = text, *line;
	size_t lines = 0;

	while (rest && (line = strsep(&rest, "\n")) != NULL) {
		if (!*line)
			continue;
		fn(context, line);
		lines++;
	}
	free(text);
	return lines > 0;
}

/* ---------------------------------------------------------------- hash */

struct hash_run {
	struct rendering out;
	struct pathprof_hash hash;
	unsigned int bits;
};

static void hash_line(void *context, const char *line)
{
	struct hash_run *run = context;
	uint64_t pc, word;

	if (sscanf(line, "%" SCNx64 " %" SCNx64, &pc, &word) == 2)
		fprintf(run->out.stream, "%" PRIu64 "\n",
			pathprof_hash_index(&run->hash, pc, word, run->bits));
}

static bool hash_differs(unsigned int bits)
{
	struct hash_run run = {.bits = bits};

	begin(&run.out);
	pathprof_hash_init(&run.hash);
	CU_ASSERT_TRUE(each_line("tuples.txt", hash_line, &run));
	return differs(&run.out, "hash.txt");
}

static void test_hash(void)
{
	CU_ASSERT_FALSE(hash_differs(11));
	CU_ASSERT_TRUE(hash_differs(10));
}

/* ---------------------------------------------------------------- compress */

struct compress_run {
	struct rendering out;
	struct pathprof_compressor *compressor;
};

static void print_message(struct compress_run *run, const struct pathprof_message *m)
{
	fprintf(run->out.stream, "0x%" PRIx64 " 0x%" PRIx64 " %" PRIu64 "\n", m->pc, m->word,
		m->count);
}

static void compress_line(void *context, const char *line)
{
	struct compress_run *run = context;
	struct pathprof_message message;
	uint64_t pc, word;

	if (sscanf(line, "%" SCNx64 " %" SCNx64, &pc, &word) == 2 &&
	    pathprof_compressor_step(run->compressor, pc, word, &message))
		print_message(run, &message);
}

static bool compress_differs(const char *notation, uint64_t seed, const char *golden)
{
	struct pathprof_compress_options options = {.seed = seed};
	struct pathprof_message message;
	struct compress_run run;

	if (pathprof_compressor_new(&run.compressor, notation, &options, NULL) < 0)
		return true;
	begin(&run.out);
	CU_ASSERT_TRUE(each_line("tuples.txt", compress_line, &run));
	while (pathprof_compressor_flush(run.compressor, &message))
		print_message(&run, &message);
	pathprof_compressor_free(run.compressor);
	return differs(&run.out, golden);
}

static void test_compress(void)
{
	static const char *const notations[][2] = {
		{"R16", "compress-R16.txt"},
		{"P16", "compress-P16.txt"},
		{"CR16", "compress-CR16.txt"},
		{"H[P16]64", "compress-HP1664.txt"},
		{"H[R16]64", "compress-HR1664.txt"},
		{"H[CR16]64", "compress-HCR1664.txt"},
		{"H[P16]64A8", "compress-HP1664A8.txt"},
		{"T[16]64", "compress-T1664.txt"},
		{"T[16]64A8", "compress-T1664A8.txt"},
	};

	for (size_t i = 0; i < sizeof(notations) / sizeof(notations[0]); i++)
		CU_ASSERT_FALSE(compress_differs(notations[i][0], 1, notations[i][1]));
	CU_ASSERT_TRUE(compress_differs("R16", 2, "compress-R16.txt"));
	CU_ASSERT_TRUE(compress_differs("H[P16]64A7", 1, "compress-HP1664A8.txt"));
	CU_ASSERT_TRUE(compress_differs("T[17]64", 1, "compress-T1664.txt"));
}

/* ---------------------------------------------------------------- paths */

struct paths_run {
	struct rendering out;
	struct pathprof_path_stack *stack;
};

static uint32_t kind_of(const char *word)
{
	static const char *const words[] = {"", "cond", "jmp", "ijmp", "call", "icall", "ret"};
	uint32_t kind = PERF_BR_COND;

	while (kind < PERF_BR_RET && strcmp(words[kind], word) != 0)
		kind++;
	return kind;
}

static void paths_line(void *context, const char *line)
{
	struct paths_run *run = context;
	struct pathprof_path_popped p;
	struct pathprof_branch b;
	uint64_t events;
	char kind[8];

	if (sscanf(line, "%llx %7s %llx %hu %llx %" SCNu64, &b.from, kind, &b.target, &b.taken,
		   &b.next, &events) != 6)
		return;
	b.kind = kind_of(kind);
	if (pathprof_path_stack_step(run->stack, &b, events, &p))
		fprintf(run->out.stream, "0x%" PRIx64 " %" PRIu32 " 0x%" PRIx32 " %" PRIu64 "\n",
			p.start, p.length, p.outcomes, p.events);
}

static bool paths_differ(enum pathprof_mapping mapping, uint32_t max_length, const char *golden)
{
	struct pathprof_path_settings settings = {.mapping = mapping, .max_length = max_length};
	struct paths_run run;

	if (pathprof_path_stack_new(&run.stack, &settings) < 0)
		return true;
	begin(&run.out);
	CU_ASSERT_TRUE(each_line("branches.txt", paths_line, &run));
	pathprof_path_stack_free(run.stack);
	return differs(&run.out, golden);
}

static void test_paths(void)
{
	CU_ASSERT_FALSE(paths_differ(PATHPROF_MAPPING_BL, 32, "paths-bl.txt"));
	CU_ASSERT_FALSE(paths_differ(PATHPROF_MAPPING_WPP, 32, "paths-wpp.txt"));
	CU_ASSERT_TRUE(paths_differ(PATHPROF_MAPPING_BL, 5, "paths-bl.txt"));
	CU_ASSERT_TRUE(paths_differ(PATHPROF_MAPPING_BL, 32, "paths-wpp.txt"));
}

/* ---------------------------------------------------------------- hot path table */

/* The vector counts each path of paths-bl.txt once. */
static void hot_line(void *context, const char *line)
{
	struct pathprof_hot_path path = {.count = 1}, replaced;

	if (sscanf(line, "%" SCNx64 " %" SCNu32 " %" SCNx32, &path.start, &path.length,
		   &path.outcomes) == 3)
		pathprof_hot_paths_add(context, &path, &replaced);
}

static bool hot_paths_differ(uint32_t entries, uint32_t ways)
{
	struct pathprof_hot_path *paths = calloc(entries, sizeof(*paths));
	struct pathprof_hot_paths *table;
	struct rendering out;
	size_t cnt;

	if (!paths || pathprof_hot_paths_new(&table, entries, ways, NULL) < 0)
		abort();
	begin(&out);
	CU_ASSERT_TRUE(each_line("paths-bl.txt", hot_line, table));
	cnt = pathprof_hot_paths_read(table, paths);
	for (size_t i = 0; i < cnt; i++)
		fprintf(out.stream, "0x%" PRIx64 " %" PRIu32 " 0x%" PRIx32 " %" PRIu64 "\n",
			paths[i].start, paths[i].length, paths[i].outcomes, paths[i].count);
	pathprof_hot_paths_free(table);
	free(paths);
	return differs(&out, "hpt-32x4.txt");
}

static void test_hot_paths(void)
{
	CU_ASSERT_FALSE(hot_paths_differ(32, 4));
	CU_ASSERT_TRUE(hot_paths_differ(32, 8));
}

/* ---------------------------------------------------------------- numbering */

#define INTERESTING_MAX 8

/* Nodes of the vector have one letter. */
struct number_run {
	struct pathprof_dag dag;
	char name[64];
	uint32_t name_cnt;
	char lines[INTERESTING_MAX][64];
	uint32_t edges[INTERESTING_MAX][16];
	struct pathprof_dag_path paths[INTERESTING_MAX];
	size_t path_cnt;
};

static uint32_t node_of(struct number_run *run, char name)
{
	uint32_t i = 0;

	while (i < run->name_cnt && run->name[i] != name)
		i++;
	if (i == run->name_cnt)
		run->name[run->name_cnt++] = name;
	return i;
}

static void dag_line(void *context, const char *line)
{
	struct number_run *run = context;
	char from, to;

	if (sscanf(line, "%c %c", &from, &to) != 2)
		return;
	uint32_t f = node_of(run, from), t = node_of(run, to);

	CU_ASSERT_EQUAL(pathprof_dag_add(&run->dag, f, t), 0);
}

static uint32_t edge_of(struct number_run *run, char from, char to)
{
	uint32_t f = node_of(run, from), t = node_of(run, to), e = 0;

	while (e < run->dag.edge_cnt && (run->dag.edges[e].from != f || run->dag.edges[e].to != t))
		e++;
	return e;
}

static void interesting_line(void *context, const char *line)
{
	struct number_run *run = context;
	struct pathprof_dag_path *path = &run->paths[run->path_cnt];
	uint32_t *edges = run->edges[run->path_cnt];

	snprintf(run->lines[run->path_cnt++], sizeof(run->lines[0]), "%s", line);
	*path = (struct pathprof_dag_path){.edges = edges};
	for (; line[0] && line[1]; line += 2)
		if (line[2])
			edges[path->edge_cnt++] = edge_of(run, line[0], line[2]);
}

static bool numbers_differ(int64_t added)
{
	static struct number_run run;
	struct rendering out;

	memset(&run, 0, sizeof(run));
	pathprof_dag_init(&run.dag);
	CU_ASSERT_TRUE(each_line("dag.txt", dag_line, &run));
	CU_ASSERT_EQUAL_FATAL(pathprof_number(&run.dag), 0);
	CU_ASSERT_TRUE(each_line("interesting.txt", interesting_line, &run));
	CU_ASSERT_EQUAL(pathprof_number_preferential(&run.dag, run.paths, run.path_cnt), 0);
	begin(&out);
	for (size_t p = 0; p < run.path_cnt; p++)
		fprintf(out.stream, "path %s %" PRIu64 " %" PRId64 "\n", run.lines[p],
			run.paths[p].id, run.paths[p].preferential + added);
	fprintf(out.stream, "paths %" PRIu64 "\ndelta %.1f\n", run.dag.path_cnt,
		pathprof_compactness(run.paths, run.path_cnt));
	pathprof_dag_release(&run.dag);
	return differs(&out, "number.txt");
}

static void test_number(void)
{
	CU_ASSERT_FALSE(numbers_differ(0));
	CU_ASSERT_TRUE(numbers_differ(1));
}

static const struct unit_test tests[] = {
	{"hash: equals its vector, ten bits do not", test_hash},
	{"compress: every notation equals its vector, others do not", test_compress},
	{"paths: both mappings equal their vectors, others do not", test_paths},
	{"hot path table: equals its vector, more ways do not", test_hot_paths},
	{"numbering: equals its vector, a shifted id does not", test_number},
};
UNIT_SUITE(vectors, tests)
