// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Matching builds: one program compiled twice, with a function added in front in the second build,
 * so that everything lies elsewhere, and one function changed. The oracle knows functions by name
 * and places by their distance from where their part of the function begins, which compiling the
 * same text again does not alter.
 */
#include "pathprof/match.h"
#include "test_code.h"
#include "unit.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* noinline keeps them; `cold` makes a cold part in another section. */
static const char program[] =
	"#include <stdlib.h>\n"
	"#ifdef SECOND\n"
	"__attribute__((noinline)) int in_front(int x)\n"
	"{ int s = 0; while (x > 0) s += x * x--; return s ^ 0x55; }\n"
	"#endif\n"
	"__attribute__((cold, noinline)) static void bad(int x)\n"
	"{ if (x > 100) abort(); exit(x); }\n"
	"__attribute__((noinline)) static int helper(int x)\n"
	"{ return x & 1 ? x * 3 + 1 : x / 2; }\n"
	"__attribute__((noinline)) int loops(int n)\n"
	"{ int s = 0; for (int i = 0; i < n; i++) { if (i % 3) s += helper(i); else s ^= i; }\n"
	"  if (s == 12345) bad(s); return s; }\n"
	"__attribute__((noinline)) int changed(int n)\n"
	"{ int s = n;\n"
	"#ifdef SECOND\n"
	"  if (n > 7 && helper(n) > 3) s += helper(s) * n;\n"
	"#endif\n"
	"  while (n-- > 0) s += helper(s); return s; }\n"
	"__attribute__((noinline)) int picks(int n)\n"
	"{ switch (n) { case 0: return helper(1); case 1: return loops(2); case 2: return 7;\n"
	"  case 3: return changed(1); case 4: return helper(9) + 1; case 5: bad(n); }\n"
	"  return n; }\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"#ifdef SECOND\n"
	"  argc += in_front(argc) > 1000;\n"
	"#endif\n"
	"  return (loops(argc) + changed(argc) + picks(argc)) & 1; }\n";

struct build {
	char file[256];
	struct pathprof_code *code;
	struct pathprof_graph *graph;
	struct pathprof_matcher *matcher;
};

static void run(char *const *words)
{
	pid_t pid;
	int status = -1;

	CU_ASSERT_EQUAL_FATAL(posix_spawnp(&pid, words[0], NULL, NULL, words, environ), 0);
	CU_ASSERT_EQUAL_FATAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_EQUAL_FATAL(status, 0);
}

static void compile(struct build *build, const char *name, const char *define)
{
	char source[256], words[8][32] = {"gcc", "-O2", "-fno-align-loops", "-w", "-o"};
	char own_define[32];

	snprintf(source, sizeof(source), "%s/match.c", unit_tmpdir());
	snprintf(build->file, sizeof(build->file), "%s/%s", unit_tmpdir(), name);
	snprintf(own_define, sizeof(own_define), "-D%s", define);
	FILE *out = fopen(source, "we");
	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	fputs(program, out);
	fclose(out);
	run((char *[]){words[0], words[1], words[2], words[3], own_define, words[4], build->file,
		       source, NULL});
}

static void open_build(struct build *build)
{
	struct pathprof_error error = {""};

	build->code = open_code(build->file);
	CU_ASSERT_EQUAL_FATAL(pathprof_graph_build(&build->graph, build->code, NULL, NULL, &error),
			      0);
	CU_ASSERT_EQUAL_FATAL(pathprof_matcher_new(&build->matcher, build->graph), 0);
}

static void close_build(struct build *build)
{
	pathprof_matcher_free(build->matcher);
	pathprof_graph_free(build->graph);
	pathprof_code_free(build->code);
}

static void open_both(struct build *first, struct build *second)
{
	compile(first, "first", "FIRST");
	compile(second, "second", "SECOND");
	open_build(first);
	open_build(second);
}

static void close_both(struct build *first, struct build *second)
{
	close_build(first);
	close_build(second);
}

/* ---------------------------------------------------------------- the oracle */

static const char *const unchanged[] = {"helper", "loops", "picks", "bad", "main"};
#define UNCHANGED_CNT 4 /* main calls what is new */

static const struct pathprof_graph_function *function_of(const struct build *build,
							 const char *name)
{
	uint32_t f = pathprof_graph_function_named(build->graph, name);

	CU_ASSERT_NOT_EQUAL_FATAL(f, PATHPROF_GRAPH_NONE);
	return &build->graph->functions[f];
}

static struct pathprof_event key_at(const struct build *build, uint64_t start, double weight)
{
	struct pathprof_event event = {0};

	CU_ASSERT_EQUAL(pathprof_matcher_path(build->matcher, start, 3, 5, weight, &event), 0);
	return event;
}

/* Blocks of a function whose place in the other build has another key; *cnt counts blocks. */
static size_t differences(const struct build *a, const struct build *b, const char *name,
			  size_t *cnt)
{
	const struct pathprof_graph_function *f = function_of(a, name), *g = function_of(b, name);
	size_t different = f->part_cnt != g->part_cnt;

	for (uint32_t p = 0; p < f->part_cnt && p < g->part_cnt; p++) {
		const struct pathprof_graph_part *part = &a->graph->parts[f->first_part + p];
		uint64_t moved = (uint64_t)b->graph->parts[g->first_part + p].start - part->start;

		for (uint32_t i = 0; i < part->block_cnt; i++, ++*cnt) {
			uint64_t start = a->graph->blocks[part->first_block + i].start;
			struct pathprof_event x = key_at(a, start, 1), y = {0};

			different += pathprof_matcher_path(b->matcher, start + moved, 3, 5, 1,
							   &y) != 0 ||
				     pathprof_event_order(&x, &y) != 0;
		}
	}
	return different;
}

static void test_unchanged_match(void)
{
	struct build a = {.file = ""}, b = {.file = ""};
	size_t blocks = 0, cold_parts = 0;

	open_both(&a, &b);
	for (size_t i = 0; i < UNCHANGED_CNT; i++) {
		CU_ASSERT_EQUAL(differences(&a, &b, unchanged[i], &blocks), 0);
		cold_parts += function_of(&a, unchanged[i])->part_cnt > 1;
	}
	CU_ASSERT(blocks > 20);
	CU_ASSERT(cold_parts > 0);
	/* They lie elsewhere: without that nothing was shown. */
	CU_ASSERT_NOT_EQUAL(a.graph->parts[function_of(&a, "loops")->first_part].start,
			    b.graph->parts[function_of(&b, "loops")->first_part].start);
	close_both(&a, &b);
}

static void test_places_differ(void)
{
	struct build a = {.file = ""};
	const struct pathprof_graph_function *f;
	struct pathprof_event first, other;

	compile(&a, "first", "FIRST");
	open_build(&a);
	f = function_of(&a, "loops");
	first = key_at(&a, a.graph->blocks[f->entry].start, 1);
	for (uint32_t i = 1; i < a.graph->parts[f->first_part].block_cnt; i++) {
		other = key_at(&a, a.graph->blocks[f->entry + i].start, 1);
		CU_ASSERT_EQUAL(first.key_hi, other.key_hi);
		CU_ASSERT_NOT_EQUAL(first.key_lo, other.key_lo);
	}
	CU_ASSERT_EQUAL(
		pathprof_matcher_path(a.matcher, a.graph->blocks[f->entry].start, 3, 4, 1, &other),
		0);
	CU_ASSERT_NOT_EQUAL(first.key_lo, other.key_lo);
	close_build(&a);
}

static uint64_t function_key(const struct build *build, const char *name)
{
	return key_at(build, build->graph->blocks[function_of(build, name)->entry].start, 1).key_hi;
}

static void test_changed_does_not(void)
{
	struct build a = {.file = ""}, b = {.file = ""};

	open_both(&a, &b);
	CU_ASSERT_NOT_EQUAL(function_key(&a, "changed"), function_key(&b, "changed"));
	CU_ASSERT_EQUAL(pathprof_matcher_has(b.matcher, function_key(&a, "changed")), 0);
	CU_ASSERT_EQUAL(pathprof_matcher_has(a.matcher, function_key(&b, "in_front")), 0);
	for (size_t i = 0; i < UNCHANGED_CNT; i++)
		CU_ASSERT_EQUAL(pathprof_matcher_has(b.matcher, function_key(&a, unchanged[i])), 1);
	close_both(&a, &b);
}

/* ---------------------------------------------------------------- places */

struct places {
	uint64_t start;
	int cnt;
};

static int take_place(void *context, uint64_t start)
{
	struct places *places = context;

	places->start = start;
	places->cnt++;
	return 0;
}

static struct places places_of(const struct build *a, uint64_t start, const struct build *b,
			       int *ret_code)
{
	struct places places = {0};

	*ret_code = pathprof_matcher_places(a->matcher, start, b->matcher, take_place, &places);
	return places;
}

static void test_places(void)
{
	struct build a = {.file = ""}, b = {.file = ""};
	const struct pathprof_graph_block *block;
	size_t cnt = 0;
	int code;

	open_both(&a, &b);
	for (size_t i = 0; i < UNCHANGED_CNT; i++) {
		const struct pathprof_graph_function *f = function_of(&a, unchanged[i]);
		const struct pathprof_graph_function *g = function_of(&b, unchanged[i]);

		for (uint32_t p = 0; p < f->part_cnt; p++) {
			const struct pathprof_graph_part *x = &a.graph->parts[f->first_part + p];
			const struct pathprof_graph_part *y = &b.graph->parts[g->first_part + p];

			for (uint32_t k = 0; k < x->block_cnt; k++, cnt++) {
				struct places places = places_of(
					&a, a.graph->blocks[x->first_block + k].start, &b, &code);

				CU_ASSERT_EQUAL(code, 0);
				CU_ASSERT_EQUAL(places.cnt, 1);
				CU_ASSERT_EQUAL(places.start,
						b.graph->blocks[y->first_block + k].start);
			}
		}
	}
	CU_ASSERT(cnt > 20);
	block = &a.graph->blocks[function_of(&a, "changed")->entry];
	CU_ASSERT_EQUAL(places_of(&a, block->start, &b, &code).cnt, 0);
	CU_ASSERT_EQUAL(code, -ENOENT);
	block = &a.graph->blocks[function_of(&a, "loops")->entry];
	CU_ASSERT_EQUAL(places_of(&a, block->start + 1, &b, &code).cnt, 0);
	CU_ASSERT_EQUAL(code, -ENOENT);
	close_both(&a, &b);
}

/* ---------------------------------------------------------------- what has no key */

static void test_no_key(void)
{
	struct pathprof_event event = {.key_hi = 77};
	struct build a = {.file = ""}, stripped = {.file = ""};
	const struct pathprof_graph_block *block;

	compile(&a, "first", "FIRST");
	open_build(&a);
	block = &a.graph->blocks[function_of(&a, "loops")->entry];
	CU_ASSERT(block->end - block->start > 1);
	CU_ASSERT_EQUAL(pathprof_matcher_path(a.matcher, block->start + 1, 0, 0, 1, &event),
			-ENOENT);
	CU_ASSERT_EQUAL(pathprof_matcher_path(a.matcher, UINT64_MAX, 0, 0, 1, &event), -ENOENT);

	snprintf(stripped.file, sizeof(stripped.file), "%s/stripped", unit_tmpdir());
	char words[2][8] = {"strip", "-o"};
	run((char *[]){words[0], words[1], stripped.file, a.file, NULL});
	open_build(&stripped);
	/* The bytes lie where they did; only the name is gone. */
	CU_ASSERT_EQUAL(pathprof_matcher_path(stripped.matcher, block->start, 0, 0, 1, &event),
			-ENOENT);
	CU_ASSERT_EQUAL(event.key_hi, 77);
	close_both(&a, &stripped);
}

/* ---------------------------------------------------------------- a planted fault */

/* One edge of an unchanged function leads elsewhere: the comparison above must see it. */
static void test_fault_is_found(void)
{
	struct build a = {.file = ""}, b = {.file = ""};
	struct pathprof_graph twisted;
	struct pathprof_edge *edges;
	size_t blocks = 0;
	uint32_t at;

	open_both(&a, &b);
	edges = calloc(b.graph->edge_cnt, sizeof(*edges));
	if (!edges)
		abort();
	memcpy(edges, b.graph->edges, b.graph->edge_cnt * sizeof(*edges));
	at = b.graph->blocks[function_of(&b, "loops")->entry].first_edge;
	edges[at].to = edges[at + 1].to;
	twisted = *b.graph;
	twisted.edges = edges;
	pathprof_matcher_free(b.matcher);
	CU_ASSERT_EQUAL_FATAL(pathprof_matcher_new(&b.matcher, &twisted), 0);
	CU_ASSERT_EQUAL(differences(&a, &b, "helper", &blocks), 0);
	blocks = 0;
	CU_ASSERT_EQUAL(differences(&a, &b, "loops", &blocks), blocks);
	CU_ASSERT(blocks > 0);
	close_both(&a, &b);
	free(edges);
}

static const struct unit_test tests[] = {
	{"unchanged functions match when all addresses moved, cold parts too",
	 test_unchanged_match},
	{"places of a function, and paths from one, are told apart", test_places_differ},
	{"a changed function and a new one match nothing", test_changed_does_not},
	{"blocks of unchanged functions are found where they lie now", test_places},
	{"the middle of a block, no code, and a stripped function have no key", test_no_key},
	{"one edge that leads elsewhere is found", test_fault_is_found},
};
UNIT_SUITE(match, tests)
