/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A desk that asks a child for names, and what is heard of it. */
#ifndef NAMES_DESK_H
#define NAMES_DESK_H

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_code.h"
#include "unit.h"
#include "../../daemon/drift/names.h"
#include "pathprof/portable.h"
#include "pathprof/events.h"
#include "pathprof/graph.h"
#include "pathprof/match.h"

#define PATHS 24

/* The answer that came back. */
struct heard {
	int code;
	uint32_t cnt;
	struct pp_named_path paths[PATHS];
	char names[PATHS][64], sources[PATHS][256];
	size_t path_cnt, function_cnt, row_cnt;
	uint64_t first_function;
};

static inline void hear(void *context, int code, const struct pp_names_answer *answer)
{
	struct heard *heard = context;

	heard->cnt++;
	heard->code = code;
	heard->path_cnt = answer ? answer->path_cnt : 0;
	heard->function_cnt = answer ? answer->function_cnt : 0;
	heard->row_cnt = answer ? answer->table.row_cnt : 0;
	heard->first_function = heard->function_cnt ? answer->functions[0] : 0;
	for (size_t i = 0; i < heard->path_cnt && i < PATHS; i++) {
		heard->paths[i] = answer->paths[i];
		snprintf(heard->names[i], sizeof(heard->names[i]), "%s", answer->paths[i].name);
		snprintf(heard->sources[i], sizeof(heard->sources[i]), "%s",
			 answer->paths[i].source);
	}
}

struct desk {
	sd_event *event;
	struct pp_names *names;
	struct heard heard;
	char cache[200];
};

static inline void desk_init(struct desk *d)
{
	memset(d, 0, sizeof(*d));
	snprintf(d->cache, sizeof(d->cache), "%s/graphs", unit_tmpdir());
	CU_ASSERT_FATAL(sd_event_new(&d->event) >= 0);
	CU_ASSERT_EQUAL_FATAL(pp_names_new(&d->names, d->event, d->cache), 0);
}

static inline void desk_release(struct desk *d)
{
	pp_names_free(d->names);
	sd_event_unref(d->event);
}

static inline void wait_for_answer(struct desk *d)
{
	while (pp_names_busy(d->names))
		CU_ASSERT_FATAL(sd_event_run(d->event, UINT64_MAX) >= 0);
}

static inline void ask(struct desk *d, const struct pp_names_job *job)
{
	memset(&d->heard, 0, sizeof(d->heard));
	CU_ASSERT_EQUAL_FATAL(pp_names_ask(d->names, job, hear, &d->heard), 0);
	wait_for_answer(d);
	CU_ASSERT_EQUAL(d->heard.cnt, 1);
}

static const char program[] = "#include <stdlib.h>\n"
			      "__attribute__((noinline)) int helper(int x)\n"
			      "{ return x & 1 ? x * 3 + 1 : x / 2; }\n"
			      "__attribute__((noinline)) int loops(int n)\n"
			      "{ int s = 0; for (int i = 0; i < n; i++) { if (i % 3)\n"
			      "  s += helper(i); else s ^= i; } return s; }\n"
			      "int main(int argc, char **argv) { return loops(argc); }\n";

struct binary {
	char file[256];
	struct pathprof_build_id id;
	struct pp_names_path paths[PATHS];
	struct pp_named_path expected[PATHS];
	char names[PATHS][64];
	size_t path_cnt, function_cnt;
};

static inline void run(char *const *words)
{
	pid_t pid;
	int status = -1;

	CU_ASSERT_EQUAL_FATAL(posix_spawnp(&pid, words[0], NULL, NULL, words, environ), 0);
	CU_ASSERT_EQUAL_FATAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_EQUAL_FATAL(status, 0);
}

/* The oracle: the same, read here. One path a block, and one that begins at none. */
static inline void expect(struct binary *binary)
{
	struct pathprof_code *code = open_code(binary->file);
	struct pathprof_graph *graph = NULL;
	struct pathprof_matcher *matcher = NULL;
	const uint64_t *functions;
	uint32_t f;

	CU_ASSERT_EQUAL_FATAL(pathprof_graph_build(&graph, code, NULL, NULL, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_matcher_new(&matcher, graph), 0);
	CU_ASSERT_EQUAL(pathprof_matcher_functions(matcher, &functions, &binary->function_cnt), 0);
	f = pathprof_graph_function_named(graph, "loops");
	CU_ASSERT_NOT_EQUAL_FATAL(f, PATHPROF_GRAPH_NONE);
	for (uint32_t b = 0; b < graph->block_cnt && binary->path_cnt < PATHS - 1; b++) {
		struct pp_names_path *path = &binary->paths[binary->path_cnt];
		struct pathprof_event event;

		if (graph->blocks[b].function != f)
			continue;
		*path = (struct pp_names_path){graph->blocks[b].start, 3, 5};
		CU_ASSERT_EQUAL(pathprof_matcher_path(matcher, path->start, 3, 5, 1, &event), 0);
		binary->expected[binary->path_cnt].function = event.key_hi;
		binary->expected[binary->path_cnt].place = event.key_lo;
		strcpy(binary->names[binary->path_cnt++], "loops");
	}
	binary->paths[binary->path_cnt++] = (struct pp_names_path){1, 1, 1};
	pathprof_matcher_free(matcher);
	pathprof_graph_free(graph);
	pathprof_code_free(code);
}

static inline void make_binary(struct binary *binary)
{
	char source[256], words[6][16] = {"gcc", "-O2", "-g", "-w", "-o"};

	memset(binary, 0, sizeof(*binary));
	snprintf(source, sizeof(source), "%s/names.c", unit_tmpdir());
	snprintf(binary->file, sizeof(binary->file), "%s/names", unit_tmpdir());
	FILE *out = fopen(source, "we");
	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	fputs(program, out);
	fclose(out);
	run((char *[]){words[0], words[1], words[2], words[3], words[4], binary->file, source,
		       NULL});
	CU_ASSERT_EQUAL_FATAL(pathprof_build_id_read_file(&binary->id, binary->file, NULL), 0);
	expect(binary);
}

static inline struct pp_names_job job_of(const struct binary *binary)
{
	return (struct pp_names_job){
		.id = binary->id,
		.file = binary->file,
		.paths = binary->paths,
		.path_cnt = binary->path_cnt,
	};
}

static inline bool is_as_expected(const struct heard *heard, const struct binary *binary)
{
	bool same = heard->code == 0 && heard->path_cnt == binary->path_cnt &&
		    heard->function_cnt == binary->function_cnt;

	for (size_t i = 0; i < binary->path_cnt && same; i++)
		same = heard->paths[i].function == binary->expected[i].function &&
		       heard->paths[i].place == binary->expected[i].place &&
		       !strcmp(heard->names[i], binary->names[i]);
	return same;
}

#define EVENTS    40
#define FUNCTIONS 10

/* A build: path i has key 1000 * build + i, function 100 + i % FUNCTIONS, place i. */
struct side {
	struct pathprof_portable *portable;
	struct pathprof_tally counts;
	bool named[EVENTS], nameless[EVENTS], has[FUNCTIONS];
	double weights[EVENTS];
};

/* The weight that a side should have of one portable path. */
static inline double expected(const struct side *side, const struct side *other, uint64_t place)
{
	return side->named[place] && !side->nameless[place] && other->has[place % FUNCTIONS]
		       ? side->weights[place]
		       : 0;
}

#endif
