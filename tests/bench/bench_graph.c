// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cost of one file's graphs: to build, keep and open them from the cache, and to make the flows
 * of all functions; beside them a disassembler that only prints the same instructions.
 *
 *     bench_graph [FILE]
 *
 * Workload: the C compiler proper where there is one (21 MB of code), else this program. Each step
 * is a process of its own, so that its peak of memory is its own too; what is fast is repeated and
 * the best counts. Output: "graph.STEP VALUE s" of processor time, "graph.STEP.wall VALUE s" and
 * "graph.STEP.peak VALUE MB".
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pathprof/flow.h"
#include "pathprof/graph.h"

#define COMPILER "/usr/lib/gcc/x86_64-linux-gnu/12/cc1"
#define ROUNDS   5

struct job {
	const char *file;
	const char *directory; /* of the cache */
};

struct cost {
	double cpu_s, wall_s, peak_mb;
};

_Noreturn static void fail(const char *what)
{
	fprintf(stderr, "bench_graph: %s\n", what);
	exit(1);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

/* ---------------------------------------------------------------- the steps */

static struct pathprof_code *open_code(const struct job *job)
{
	struct pathprof_error error = {""};
	struct pathprof_code *code;

	if (pathprof_code_open(&code, job->file, NULL, &error))
		fail(error.text);
	return code;
}

static void must_be_cached(void *context, uint64_t done, uint64_t total)
{
	fail("the cache was not used");
}

static struct pathprof_graph *open_graph(const struct job *job, pathprof_progress_fn *progress)
{
	const struct pathprof_graph_cache cache = {.directory = job->directory};
	struct pathprof_code *code = open_code(job);
	struct pathprof_error error = {""};
	struct pathprof_graph *graph;

	if (pathprof_graph_open(&graph, code, &cache, progress, NULL, &error))
		fail(error.text);
	pathprof_code_free(code);
	return graph;
}

static void run_build(const struct job *job)
{
	const struct job uncached = {.file = job->file};

	pathprof_graph_free(open_graph(&uncached, NULL));
}

static void run_keep(const struct job *job)
{
	pathprof_graph_free(open_graph(job, NULL));
}

static void run_open(const struct job *job)
{
	pathprof_graph_free(open_graph(job, must_be_cached));
}

static void run_flows(const struct job *job)
{
	struct pathprof_graph *graph = open_graph(job, must_be_cached);
	struct pathprof_flow flow;

	for (uint32_t f = 0; f < graph->function_cnt; f++)
		if (!pathprof_flow_init(&flow, graph, f))
			pathprof_flow_release(&flow);
	pathprof_graph_free(graph);
}

static void run_disassembler(const struct job *job)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null < 0 || dup2(null, STDOUT_FILENO) < 0)
		_exit(1);
	execlp("llvm-objdump-22", "llvm-objdump-22", "-d", job->file, (char *)NULL);
	_exit(errno == ENOENT ? 127 : 1);
}

/* ---------------------------------------------------------------- measuring */

/* Measures one run in a process of its own; false if the program to run is not here. */
static bool measure(const struct job *job, void (*run)(const struct job *job),
		    struct cost *ret_cost)
{
	double start = now_s();
	struct rusage usage;
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		run(job);
		_exit(0);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		fail("no process");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return false;
	if (status)
		fail("a step failed");
	*ret_cost = (struct cost){.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime),
				  .wall_s = now_s() - start,
				  .peak_mb = (double)usage.ru_maxrss / 1024};
	return true;
}

static void report(const char *step, const struct job *job, void (*run)(const struct job *job),
		   unsigned int rounds)
{
	struct cost best = {.cpu_s = 1e9, .wall_s = 1e9}, cost;

	while (rounds--) {
		if (!measure(job, run, &cost)) {
			printf("graph.%s skipped: not installed\n", step);
			return;
		}
		best.cpu_s = cost.cpu_s < best.cpu_s ? cost.cpu_s : best.cpu_s;
		best.wall_s = cost.wall_s < best.wall_s ? cost.wall_s : best.wall_s;
		best.peak_mb = cost.peak_mb > best.peak_mb ? cost.peak_mb : best.peak_mb;
	}
	printf("graph.%s %.3f s\ngraph.%s.wall %.3f s\ngraph.%s.peak %.0f MB\n", step, best.cpu_s,
	       step, best.wall_s, step, best.peak_mb);
}

static void print_sizes(const struct job *job)
{
	struct pathprof_graph *graph = open_graph(job, must_be_cached);

	printf("graph.functions %" PRIu32 "\ngraph.blocks %" PRIu32 "\ngraph.edges %" PRIu32
	       "\ngraph.instructions %" PRIu64 "\n",
	       graph->function_cnt, graph->block_cnt, graph->edge_cnt, graph->stats.insn_cnt);
	pathprof_graph_free(graph);
}

static void remove_directory(const char *directory)
{
	pid_t pid = fork();

	if (pid == 0) {
		execlp("rm", "rm", "-rf", directory, (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	char directory[] = "/tmp/bench-graph.XXXXXX";
	struct job job = {.file = COMPILER, .directory = directory};

	if (argc > 1)
		job.file = argv[1];
	else if (access(COMPILER, R_OK))
		job.file = "/proc/self/exe";
	if (!mkdtemp(directory))
		fail("cannot make a directory");
	report("build", &job, run_build, 1);
	report("keep", &job, run_keep, 1);
	report("open", &job, run_open, ROUNDS);
	report("flows", &job, run_flows, 1);
	report("objdump", &job, run_disassembler, 1);
	print_sizes(&job);
	remove_directory(directory);
	return 0;
}
