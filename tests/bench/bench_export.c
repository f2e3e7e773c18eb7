// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cost of writing a large profile in each format, beside the time that perf2bolt and
 * llvm-profgen need to make the same output from the same counts.
 *
 *     bench_export [BINARY [BRANCHES]]
 *
 * Workload: every taken edge of the binary's graph, up to 10^6 of them spread over it, with a
 * range behind each, and the two as a trace. Without BINARY: GCC's cc1 (33 MB, no debug
 * information, so no llvm-sample), and this program (debug information, some 10^4 branches). Each
 * writer runs in a process of its own. One thread.
 *
 * Output: seconds of processor time and the most memory, of which the first row (code, graph and
 * profile) is shared by all writers. The ratio to others counts building the graph as ours, for
 * they read the code as well.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pathprof/export.h"

#define BRANCHES_DEFAULT 1000000

struct bench {
	const char *binary, *name;
	char dir[64];
	struct pathprof_code *code;
	struct pathprof_graph *graph;
	struct pathprof_branch_profile profile;
	double graph_s; /* the others read the code as well */
	struct pathprof_error error;
};

struct cost {
	double cpu_s, mb;
	bool failed;
};

static void fail(const char *what)
{
	fprintf(stderr, "bench_export: %s\n", what);
	exit(1);
}

static void require(const struct bench *b, int rc)
{
	if (rc)
		fail(b->error.text[0] ? b->error.text : strerror(-rc));
}

/* ---------------------------------------------------------------- the profile */

static double seconds(const struct rusage *usage)
{
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
	       (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

static double own_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return seconds(&usage);
}

static bool is_taken(const struct pathprof_graph *g, const struct pathprof_edge *edge)
{
	return edge->to != PATHPROF_GRAPH_NONE && g->blocks[edge->to].last &&
	       (edge->kind == PATHPROF_EDGE_TAKEN || edge->kind == PATHPROF_EDGE_JUMP ||
		edge->kind == PATHPROF_EDGE_SWITCH || edge->kind == PATHPROF_EDGE_CALL ||
		edge->kind == PATHPROF_EDGE_TAIL);
}

static void add(struct bench *b, uint32_t from, uint32_t to, uint64_t count)
{
	const struct pathprof_graph_block *blocks = b->graph->blocks;
	uint64_t at = blocks[from].last, start = blocks[to].start, last = blocks[to].last;

	require(b, pathprof_branch_profile_add_branch(&b->profile, at, start, count, count / 16));
	require(b, pathprof_branch_profile_add_trace(&b->profile, at, start, last, (double)count));
}

static void make_profile(struct bench *b, uint32_t branch_cnt)
{
	const struct pathprof_graph *g = b->graph;
	uint64_t taken = 0, seen = 0;

	for (uint32_t e = 0; e < g->blocks[g->block_cnt].first_edge; e++)
		taken += is_taken(g, &g->edges[e]);
	if (branch_cnt > taken)
		branch_cnt = (uint32_t)taken;
	for (uint32_t i = 0; i < g->block_cnt; i++)
		for (uint32_t e = g->blocks[i].first_edge; e < g->blocks[i + 1].first_edge; e++) {
			if (!is_taken(g, &g->edges[e]))
				continue;
			/* so many of all, evenly */
			if (seen * branch_cnt / taken != (seen + 1) * branch_cnt / taken)
				add(b, i, g->edges[e].to, 1 + (seen * 2654435761u >> 7) % 1000);
			seen++;
		}
	require(b, pathprof_branch_profile_settle(&b->profile));
}

static void open_binary(struct bench *b, const char *binary, uint32_t branch_cnt)
{
	struct pathprof_build_id id;

	b->binary = binary;
	b->name = strrchr(binary, '/') ? strrchr(binary, '/') + 1 : binary;
	require(b, pathprof_build_id_read_file(&id, binary, &b->error));
	require(b, pathprof_code_open(&b->code, binary, NULL, &b->error));
	b->graph_s = -own_seconds();
	require(b, pathprof_graph_build(&b->graph, b->code, NULL, NULL, &b->error));
	b->graph_s += own_seconds();
	require(b, pathprof_branch_profile_init(&b->profile, &id));
	require(b, pathprof_branch_profile_name(&b->profile, binary, "bench", "made"));
	make_profile(b, branch_cnt);
}

static void close_binary(struct bench *b)
{
	pathprof_branch_profile_release(&b->profile);
	pathprof_graph_free(b->graph);
	pathprof_code_free(b->code);
}

/* ---------------------------------------------------------------- measuring */

static struct cost cost_of(const struct rusage *usage, int status)
{
	return (struct cost){
		.cpu_s = seconds(usage),
		.mb = (double)usage->ru_maxrss / 1024,
		.failed = !WIFEXITED(status) || WEXITSTATUS(status),
	};
}

static void path_of(const struct bench *b, enum pathprof_format format, char *path, size_t size)
{
	snprintf(path, size, "%s/%s", b->dir, pathprof_format_name(format));
}

static struct cost write_one(struct bench *b, enum pathprof_format format)
{
	struct rusage usage;
	char path[128];
	int status;
	pid_t pid;

	path_of(b, format, path, sizeof(path));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		FILE *file = fopen(path, "w");

		_exit(!file || pathprof_export(format, &b->profile, b->code, b->graph, NULL, file,
					       &b->error) != 0);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		fail("cannot start a process");
	return cost_of(&usage, status);
}

/* The cost of a shell command. */
static struct cost run(const char *command)
{
	struct rusage usage;
	int status;
	pid_t pid = fork();

	if (!pid) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		fail("cannot start a process");
	return cost_of(&usage, status);
}

static void print(const struct bench *b, const char *what, const struct cost *cost)
{
	if (cost->failed)
		printf("export.%s.%s -\n", b->name, what);
	else
		printf("export.%s.%s %.2f s %.0f MB\n", b->name, what, cost->cpu_s, cost->mb);
}

static void compare(const struct bench *b, const char *peer, const struct cost *theirs,
		    const struct cost *ours)
{
	if (ours->failed)
		return;
	print(b, peer, theirs);
	if (!theirs->failed)
		printf("export.%s.%s_ratio %.1f\n", b->name, peer,
		       theirs->cpu_s / (ours->cpu_s + b->graph_s));
}

static void bench(const char *binary, uint32_t branch_cnt)
{
	static const char perf2bolt[] = "exec perf2bolt-22 --allow-stripped --pa -p %s/bolt-preagg"
					" -o %s/out '%s' >/dev/null 2>&1";
	static const char profgen[] = "exec llvm-profgen-22 --unsymbolized-profile=%s/profgen-raw"
				      " --format=text -o %s/out --binary='%s' >/dev/null 2>&1";
	struct cost costs[PATHPROF_FORMAT_CNT], peer;
	struct bench b = {.dir = "/tmp/bench_export.XXXXXX"};
	struct rusage usage;
	char command[4400];

	if (!mkdtemp(b.dir))
		fail("no room in /tmp");
	open_binary(&b, binary, branch_cnt);
	getrusage(RUSAGE_SELF, &usage);
	printf("export.%s.profile %" PRIu32 " branches %" PRIu32 " ranges, %.0f MB, graph in"
	       " %.2f s\n",
	       b.name, b.profile.branch_cnt, b.profile.range_cnt, (double)usage.ru_maxrss / 1024,
	       b.graph_s);
	for (int f = 1; f < PATHPROF_FORMAT_CNT; f++) {
		if (!pathprof_format_writes((enum pathprof_format)f))
			continue;
		costs[f] = write_one(&b, (enum pathprof_format)f);
		print(&b, pathprof_format_name((enum pathprof_format)f), &costs[f]);
	}
	snprintf(command, sizeof(command), perf2bolt, b.dir, b.dir, binary);
	peer = run(command);
	compare(&b, "perf2bolt", &peer, &costs[PATHPROF_FORMAT_BOLT_FDATA]);
	snprintf(command, sizeof(command), profgen, b.dir, b.dir, binary);
	peer = run(command);
	compare(&b, "llvm-profgen", &peer, &costs[PATHPROF_FORMAT_LLVM_SAMPLE]);
	close_binary(&b);
	snprintf(command, sizeof(command), "rm -rf %s", b.dir);
	run(command);
}

static void find_cc1(char *path, size_t size)
{
	FILE *pipe = popen("gcc -print-prog-name=cc1", "r"); /* NOLINT(cert-env33-c) */

	if (!pipe || !fgets(path, (int)size, pipe))
		fail("no gcc here; name a binary");
	path[strcspn(path, "\n")] = '\0';
	pclose(pipe);
}

int main(int argc, char **argv)
{
	uint32_t branch_cnt = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : BRANCHES_DEFAULT;
	char path[4096];

	if (argc > 1) {
		bench(argv[1], branch_cnt);
		return 0;
	}
	find_cc1(path, sizeof(path));
	bench(path, branch_cnt);
	bench(realpath("/proc/self/exe", path) ?: argv[0], branch_cnt);
	return 0;
}
