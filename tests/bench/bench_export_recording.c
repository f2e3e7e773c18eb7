// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A perf.data straight into BOLT's fdata, as `pathprofctl export --recording` does, beside
 * perf2bolt of the same file in the same run.
 *
 *     bench_export_recording [BINARY]
 *     bench_export_recording walk FILE SAMPLES BINARY     writes the perf.data and no more
 *     bench_export_recording export FILE BINARY OUT       reads it and no more
 *
 * Workload: 260,000 samples of 32 branches, 207 MB, that walk at random through the whole code of
 * BINARY (if not said, this program): calls and returns in pairs, conditional branches either way,
 * and out of it and back where the code leads there. So some 10^5 entries differ. Ours is the best
 * of three, each with the control-flow graph built anew; perf2bolt's, which takes half a minute, is
 * one. Output: wall clock and CPU time, the most memory of a process, the ratios. One thread.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pathprof/code.h"
#include "pathprof/export.h"
#include "pathprof/graph.h"
#include "pathprof/recording_branches.h"

#define SAMPLES  260000u
#define BRANCHES 32u
#define ROUND    1024u /* samples */
#define TRIES    3
#define CALLS    256
#define PID      1000u
#define BIAS     0x555555554000u /* of a program that may lie anywhere */
#define LIBRARY  0x7ffff7a00000u
#define ENTRIES  64 /* tries to find a function that has code */

enum { ATTR_AT = 104, ATTR_BYTES = 128, DATA_AT = ATTR_AT + ATTR_BYTES + 16 };

struct sample {
	uint32_t type;
	uint16_t misc, size;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time_ns, branch_cnt;
	uint64_t branches[BRANCHES][3];
};

struct program {
	char path[PATH_MAX];
	struct pathprof_code *code;
	struct pathprof_graph *graph;
	struct pathprof_code_segment segment; /* the one that is walked through */
	uint64_t bias;
};

/* The position of the random walk. */
struct walk {
	const struct program *program;
	uint64_t random;
	uint32_t block;
	uint32_t calls[CALLS], depth;
	uint64_t from, to; /* the branch it took last */
	bool away;         /* and is elsewhere since */
};

static void fail(const char *what)
{
	fprintf(stderr, "bench_export_recording: %s\n", what);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void open_program(struct program *p, const char *path)
{
	struct pathprof_error error = {""};
	struct pathprof_code_segment segment;

	memset(p, 0, sizeof(*p));
	if (!realpath(path, p->path) || pathprof_code_open(&p->code, p->path, NULL, &error) < 0 ||
	    pathprof_graph_build(&p->graph, p->code, NULL, NULL, &error) < 0)
		fail(error.text[0] ? error.text : "no such program");
	for (uint32_t i = 0; pathprof_code_segment(p->code, i, &segment) == 0; i++)
		if (segment.len_bytes > p->segment.len_bytes)
			p->segment = segment;
	if (!p->graph->function_cnt)
		fail("a program without functions");
	p->bias = p->segment.vaddr < 0x400000 ? BIAS : 0;
}

static void close_program(struct program *p)
{
	pathprof_graph_free(p->graph);
	pathprof_code_free(p->code);
}

/* ---------------------------------------------------------------- the walk */

static uint32_t next_random(struct walk *w, uint32_t below)
{
	w->random = w->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((w->random >> 33) % below);
}

static bool is_code(const struct program *p, uint32_t block)
{
	return block < p->graph->block_cnt &&
	       p->graph->blocks[block].start - p->segment.offset < p->segment.len_bytes;
}

static uint64_t address(const struct program *p, uint64_t offset)
{
	return p->bias + p->segment.vaddr + (offset - p->segment.offset);
}

static uint32_t any_entry(struct walk *w)
{
	const struct pathprof_graph *g = w->program->graph;

	for (int i = 0; i < ENTRIES; i++) {
		uint32_t entry = g->functions[next_random(w, g->function_cnt)].entry;

		if (is_code(w->program, entry))
			return entry;
	}
	fail("no code to walk through");
	return 0;
}

static void take(struct walk *w, uint32_t from, uint32_t to)
{
	const struct pathprof_graph *g = w->program->graph;

	w->from = address(w->program, g->blocks[from].last);
	w->to = address(w->program, g->blocks[to].start);
	w->block = to;
}

/* The way back comes next. */
static void take_away(struct walk *w, uint32_t from, uint32_t back)
{
	w->from = address(w->program, w->program->graph->blocks[from].last);
	w->to = LIBRARY;
	w->away = true;
	w->block = back;
}

/*
 * The target of a random edge of that kind out of the block; PATHPROF_GRAPH_NONE if there is none.
 */
static uint32_t target(struct walk *w, uint32_t block, enum pathprof_edge_kind kind)
{
	const struct pathprof_graph *g = w->program->graph;
	uint32_t found = PATHPROF_GRAPH_NONE, cnt = 0;

	for (uint32_t e = g->blocks[block].first_edge; e < g->blocks[block + 1].first_edge; e++)
		if (g->edges[e].kind == kind && is_code(w->program, g->edges[e].to) &&
		    next_random(w, ++cnt) == 0)
			found = g->edges[e].to;
	return found;
}

static void call(struct walk *w, uint32_t block)
{
	uint32_t callee = target(w, block, PATHPROF_EDGE_CALL);
	uint32_t back = target(w, block, PATHPROF_EDGE_CONTINUE);

	if (callee == PATHPROF_GRAPH_NONE || w->depth == CALLS) {
		take_away(w, block, back == PATHPROF_GRAPH_NONE ? any_entry(w) : back);
		return;
	}
	if (back != PATHPROF_GRAPH_NONE)
		w->calls[w->depth++] = back;
	take(w, block, callee);
}

static void jump(struct walk *w, uint32_t block)
{
	static const enum pathprof_edge_kind kinds[] = {PATHPROF_EDGE_JUMP, PATHPROF_EDGE_SWITCH,
							PATHPROF_EDGE_GUESSED, PATHPROF_EDGE_TAIL};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		uint32_t to = target(w, block, kinds[i]);

		if (to == PATHPROF_GRAPH_NONE)
			continue;
		take(w, block, to);
		return;
	}
	take_away(w, block, w->depth ? w->calls[--w->depth] : any_entry(w));
}

/* A conditional branch that is taken; false: it was not. */
static bool take_condition(struct walk *w, uint32_t block)
{
	uint32_t taken = target(w, block, PATHPROF_EDGE_TAKEN);

	if (taken == PATHPROF_GRAPH_NONE)
		taken = target(w, block, PATHPROF_EDGE_TAIL);
	if (taken == PATHPROF_GRAPH_NONE || next_random(w, 2))
		return false;
	take(w, block, taken);
	return true;
}

/* Goes on to the next taken branch. */
static void step(struct walk *w)
{
	const struct pathprof_graph *g = w->program->graph;

	if (w->away) {
		w->away = false;
		w->from = LIBRARY + 64;
		w->to = address(w->program, g->blocks[w->block].start);
		return;
	}
	for (;; w->block++) {
		uint32_t kind = g->blocks[w->block].kind;

		if (kind == PERF_BR_COND && take_condition(w, w->block))
			return;
		if (kind == PERF_BR_CALL || kind == PERF_BR_IND_CALL)
			call(w, w->block);
		else if (kind == PERF_BR_RET && w->depth)
			take(w, w->block, w->calls[--w->depth]);
		else if (kind && kind != PERF_BR_COND)
			jump(w, w->block);
		else if (is_code(w->program, w->block + 1) &&
			 g->blocks[w->block + 1].start == g->blocks[w->block].end)
			continue;
		else
			take_away(w, w->block, any_entry(w));
		return;
	}
}

/* ---------------------------------------------------------------- the file */

/* One event: cycles; ip, thread, time, branch stack; times in all records. */
static void put_header(FILE *file, uint64_t data_bytes)
{
	uint64_t header[DATA_AT / 8] = {0x32454c4946524550ull, 104,     ATTR_BYTES + 16, ATTR_AT,
					ATTR_BYTES + 16,       DATA_AT, data_bytes};
	uint64_t *attr = header + ATTR_AT / 8;

	attr[0] = (uint64_t)ATTR_BYTES << 32;
	attr[3] = 0x807;
	attr[5] = 1u << 18 | 1u << 20;
	attr[9] = 8;
	rewind(file);
	fwrite(header, sizeof(header), 1, file);
}

static void put_mapping(FILE *file, const struct program *p)
{
	const uint64_t page = 4095;
	struct {
		uint32_t type;
		uint16_t misc, size;
		uint32_t pid, tid;
		uint64_t start, len, offset;
		uint32_t device[2];
		uint64_t inode[2];
		uint32_t protection, flags;
	} mmap2 = {.type = PERF_RECORD_MMAP2, .misc = 2, .pid = PID, .tid = PID, .protection = 5};
	const struct {
		uint32_t pid, tid;
		uint64_t time_ns;
	} trailer = {PID, PID, 1000};
	size_t name_bytes = (strlen(p->path) + 8) & ~(size_t)7;

	mmap2.start = address(p, p->segment.offset) & ~page;
	mmap2.len = (p->segment.len_bytes + (p->segment.offset & page) + page) & ~page;
	mmap2.offset = p->segment.offset & ~page;
	mmap2.size = (uint16_t)(sizeof(mmap2) + name_bytes + sizeof(trailer));
	fwrite(&mmap2, sizeof(mmap2), 1, file);
	fwrite(p->path, 1, name_bytes, file);
	fwrite(&trailer, sizeof(trailer), 1, file);
}

static void put_sample(FILE *file, struct walk *w, uint64_t number)
{
	struct sample s = {.type = PERF_RECORD_SAMPLE, .misc = 2, .size = sizeof(s)};

	s.pid = s.tid = PID;
	s.branch_cnt = BRANCHES;
	s.time_ns = 1000000000 + 1000 * number;
	for (uint32_t i = BRANCHES; i-- > 0;) {
		step(w);
		s.branches[i][0] = w->from;
		s.branches[i][1] = w->to;
		s.branches[i][2] = 2;
	}
	s.ip = w->to;
	fwrite(&s, sizeof(s), 1, file);
}

static void make_file(const char *name, const struct program *p, uint32_t sample_cnt)
{
	static const struct {
		uint32_t type;
		uint16_t misc, size;
	} round_end = {68, 0, 8};
	struct walk walk = {.program = p, .random = 1};
	FILE *file = fopen(name, "w");

	if (!file)
		fail("cannot write a file");
	walk.block = any_entry(&walk);
	put_header(file, 0);
	put_mapping(file, p);
	for (uint32_t i = 0; i < sample_cnt; i++) {
		put_sample(file, &walk, i);
		if (i % ROUND == 0)
			fwrite(&round_end, sizeof(round_end), 1, file);
	}
	put_header(file, (uint64_t)ftell(file) - DATA_AT);
	if (fclose(file) != 0)
		fail("cannot write the file");
}

/* ---------------------------------------------------------------- who reads it */

struct cost {
	double took_s, cpu_s; /* took_s negative: it cannot */
	double memory_mb;     /* the most of one process */
};

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

static struct cost run(const char *command)
{
	struct rusage usage;
	double start = now();
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != 0)
		return (struct cost){.took_s = -1};
	return (struct cost){now() - start, seconds(&usage.ru_utime) + seconds(&usage.ru_stime),
			     (double)usage.ru_maxrss / 1024};
}

/* All of one reading, in a process of its own that ends with it. */
static int export_file(const char *name, const char *binary, const char *out)
{
	struct pathprof_recording_branches *branches = NULL;
	struct pathprof_recording *recording = NULL;
	struct pathprof_recording_sink sink;
	struct pathprof_branch_profile profile;
	struct pathprof_error error = {"out of memory"};
	struct program program;
	FILE *file = fopen(out, "w");
	int fd = open(name, O_RDONLY), r;

	open_program(&program, binary);
	if (!file || fd < 0 || pathprof_branch_profile_init(&profile, &program.graph->build_id) < 0)
		fail("cannot open the files");
	r = pathprof_recording_branches_new(&branches, PATHPROF_FORMAT_PERF_DATA, program.code,
					    program.graph, &profile, &error);
	if (r == 0) {
		pathprof_recording_branches_sink(branches, &sink);
		r = pathprof_recording_open(&recording, PATHPROF_FORMAT_PERF_DATA, fd, name, &sink,
					    &error);
	}
	if (r == 0)
		pathprof_recording_branches_set_recording(branches, recording);
	while (r == 0 && (r = pathprof_recording_read(recording, &error)) > 0)
		r = 0;
	if (r == 0)
		r = pathprof_recording_branches_finish(branches, recording, &error);
	if (r == 0)
		r = pathprof_branch_profile_settle(&profile);
	if (r == 0)
		r = pathprof_export(PATHPROF_FORMAT_BOLT_FDATA, &profile, program.code,
				    program.graph, NULL, file, &error);
	if (r < 0 || fclose(file) != 0)
		fail(error.text);
	return 0;
}

static void tell(const char *name, double mb, const struct cost *c)
{
	if (c->took_s < 0)
		printf("export_recording.%s - (it is not here)\n", name);
	else
		printf("export_recording.%s %.2f s, %.0f MB/s, %.2f s of CPU time, %.0f MB of "
		       "memory\n",
		       name, c->took_s, mb / c->took_s, c->cpu_s, c->memory_mb);
}

static void compare(const char *name, const struct program *p, double mb)
{
	char command[3 * PATH_MAX], out[PATH_MAX];
	struct cost best = {.took_s = -1}, cost;

	snprintf(out, sizeof(out), "%s.fdata", name);
	snprintf(command, sizeof(command), "exec /proc/%d/exe export '%s' '%s' '%s'", getpid(),
		 name, p->path, out);
	for (int i = 0; i < TRIES; i++) {
		cost = run(command);
		if (cost.took_s > 0 && (best.took_s < 0 || cost.took_s < best.took_s))
			best = cost;
	}
	snprintf(command, sizeof(command), "exec perf2bolt-22 -p '%s' -o '%s' '%s' >/dev/null 2>&1",
		 name, out, p->path);
	cost = run(command);
	unlink(out);
	tell("ours", mb, &best);
	tell("perf2bolt", mb, &cost);
	if (best.took_s > 0 && cost.took_s > 0)
		printf("export_recording.ratio %.1f, of CPU time %.1f, of memory %.1f\n",
		       cost.took_s / best.took_s, cost.cpu_s / best.cpu_s,
		       cost.memory_mb / best.memory_mb);
}

int main(int argc, char **argv)
{
	char name[] = "/tmp/bench_export_recording.XXXXXX";
	bool walk = argc == 5 && strcmp(argv[1], "walk") == 0;
	struct program program;
	struct stat status;

	if (argc == 5 && strcmp(argv[1], "export") == 0)
		return export_file(argv[2], argv[3], argv[4]);
	open_program(&program, argc > 1 ? argv[argc - 1] : "/proc/self/exe");
	if (walk) {
		make_file(argv[2], &program, (uint32_t)strtoul(argv[3], NULL, 10));
	} else {
		close(mkstemp(name));
		make_file(name, &program, SAMPLES);
		if (stat(name, &status) < 0)
			fail("the file is gone");
		printf("export_recording.file %.0f MB, %u samples, %u blocks of code\n",
		       (double)status.st_size / 1e6, SAMPLES, program.graph->block_cnt);
		fflush(stdout);
		compare(name, &program, (double)status.st_size / 1e6);
		unlink(name);
	}
	close_program(&program);
	return 0;
}
