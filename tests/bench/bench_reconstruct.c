// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cost of reconstruction for each reconstructed branch, with code read first and with known
 * code.
 *
 *     bench_reconstruct [TRACE]
 *
 * Workload: 20,000 windows of 32 taken branches, evenly out of an exact trace whose files are still
 * there (its longest stream); without one, out of a made-up file of 4096 short rows of code visited
 * with a preference for the first ones. Each window once into an empty reconstructor, then five
 * times more. Output, nanoseconds of processor time a branch: "reconstruct.first", the first
 * round; "reconstruct.known", the best of the others. One thread.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../one_segment.h"
#include "pathprof/code.h"
#include "pathprof/reconstruct.h"
#include "pathprof/trace.h"

#define WINDOWS 20000u
#define TAKEN   32u
#define ROUNDS  5
#define BATCH   4096
#define FILES   256

#define ROWS      4096u
#define ROW_BYTES 16u
#define OFFSET    0x1000u
#define BASE      0x400000ull

struct bench {
	struct pathprof_taken *taken; /* WINDOWS of TAKEN */
	uint32_t window_cnt;
	const struct pathprof_trace *trace; /* NULL: the made-up file */
	uint32_t process;
	struct pathprof_code *made;
	const struct pathprof_trace_module_info *modules[FILES];
	struct pathprof_code *codes[FILES];
	size_t file_cnt;
};

static void fail(const char *what)
{
	fprintf(stderr, "bench_reconstruct: %s\n", what);
	exit(1);
}

/* ---------------------------------------------------------------- windows of a trace */

static struct pathprof_code *code_of(struct bench *b,
				     const struct pathprof_trace_module_info *module)
{
	struct pathprof_error error;
	size_t i = 0;

	while (i < b->file_cnt && b->modules[i] != module)
		i++;
	if (i < b->file_cnt || i == FILES)
		return i < FILES ? b->codes[i] : NULL;
	b->modules[i] = module;
	b->file_cnt++;
	if (pathprof_code_open(&b->codes[i], module->name, &module->build_id, &error) < 0)
		b->codes[i] = NULL;
	return b->codes[i];
}

static int locate_traced(void *context, uint64_t address, struct pathprof_mapping_place *ret_place)
{
	struct bench *b = context;
	const struct pathprof_trace_module_info *m =
		pathprof_trace_locate(b->trace, b->process, address);
	struct pathprof_code *code = m ? code_of(b, m) : NULL;

	if (!code)
		return -ENOENT;
	*ret_place = (struct pathprof_mapping_place){code, m->start, m->end, m->offset};
	return 0;
}

static uint32_t longest_stream(const struct pathprof_trace *trace)
{
	uint32_t longest = 0;

	for (uint32_t i = 1; i < pathprof_trace_info(trace)->stream_cnt; i++)
		if (pathprof_trace_stream(trace, i)->word_cnt >
		    pathprof_trace_stream(trace, longest)->word_cnt)
			longest = i;
	return longest;
}

/* The first TAKEN of each `every` taken branches make a window; `at` counts the branches. */
static void take(struct bench *b, const struct pathprof_trace_event *event, uint64_t every,
		 uint64_t *at)
{
	uint32_t in_window = (uint32_t)(*at % every);

	if (event->type == PATHPROF_TRACE_EVENT_SIGNAL ||
	    event->type == PATHPROF_TRACE_EVENT_SIGRETURN ||
	    event->type == PATHPROF_TRACE_EVENT_JUMP)
		*at -= in_window < TAKEN ? in_window : 0;
	if (event->type != PATHPROF_TRACE_EVENT_BRANCH || !event->branch.taken)
		return;
	in_window = (uint32_t)(*at % every);
	++*at;
	if (in_window >= TAKEN || b->window_cnt == WINDOWS)
		return;
	b->taken[b->window_cnt * TAKEN + in_window] =
		(struct pathprof_taken){event->branch.from, event->branch.next};
	b->window_cnt += in_window == TAKEN - 1;
}

static void read_stream(struct bench *b, uint32_t stream, uint64_t every)
{
	static struct pathprof_trace_event events[BATCH];
	struct pathprof_trace_cursor *cursor;
	struct pathprof_error error;
	uint64_t at = 0;
	ssize_t cnt;

	if (pathprof_trace_cursor_new(&cursor, b->trace, stream, &error) < 0)
		fail(error.text);
	while ((cnt = pathprof_trace_read(cursor, events, BATCH, &error)) > 0)
		for (ssize_t i = 0; i < cnt; i++)
			take(b, &events[i], every, &at);
	if (cnt < 0)
		fail(error.text);
	pathprof_trace_cursor_free(cursor);
}

static struct pathprof_trace *open_trace(struct bench *b, const char *name)
{
	struct pathprof_trace *trace;
	struct pathprof_error error;
	uint64_t every;
	uint32_t stream;

	if (pathprof_trace_open(&trace, name, &error) < 0)
		fail(error.text);
	stream = longest_stream(trace);
	b->trace = trace;
	b->process = pathprof_trace_stream(trace, stream)->process;
	/* About two blocks of three end in a branch that is taken. */
	every = pathprof_trace_stream(trace, stream)->word_cnt / 2 / WINDOWS;
	read_stream(b, stream, every > TAKEN ? every : TAKEN);
	return trace;
}

/* ---------------------------------------------------------------- windows of a made-up file */

static void make_file(int fd)
{
	static const uint8_t row[ROW_BYTES] = {0x48, 0x89, 0xe5, 0x74, 0x0a, 0x31, 0xc0, 0x0f,
					       0x1f, 0x40, 0x00, 0x75, 0x02, 0x90, 0x90, 0xc3};
	static const struct one_segment place = {ET_DYN, OFFSET, BASE};
	static uint8_t code[ROWS * ROW_BYTES];

	for (uint32_t i = 0; i < ROWS; i++)
		memcpy(code + (size_t)i * ROW_BYTES, row, ROW_BYTES);
	if (one_segment_write(fd, &place, code, sizeof(code)))
		fail("cannot write a file");
}

static int locate_made(void *context, uint64_t address, struct pathprof_mapping_place *ret_place)
{
	struct bench *b = context;

	if (address < BASE || address >= BASE + (uint64_t)ROWS * ROW_BYTES)
		return -ENOENT;
	*ret_place = (struct pathprof_mapping_place){b->made, BASE,
						     BASE + (uint64_t)ROWS * ROW_BYTES, OFFSET};
	return 0;
}

/* Row after row, each left by its return; the squares of even numbers prefer the first ones. */
static void make_windows(struct bench *b)
{
	uint64_t random = 88172645463325252ull, to = BASE;

	for (uint32_t i = 0; i < WINDOWS * TAKEN; i++) {
		struct pathprof_taken *taken = &b->taken[i];
		uint64_t part;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		part = random >> 40;
		taken->from = to + ROW_BYTES - 1;
		to = BASE + ((part * part >> 24) * ROWS >> 24) * ROW_BYTES;
		taken->to = to;
	}
	b->window_cnt = WINDOWS;
}

static void open_made(struct bench *b)
{
	struct pathprof_error error;
	char path[64];
	int fd = memfd_create("rows", MFD_CLOEXEC);

	if (fd < 0)
		fail("cannot make a file");
	make_file(fd);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (pathprof_code_open(&b->made, path, NULL, &error) < 0)
		fail(error.text);
	close(fd);
	make_windows(b);
}

/* ---------------------------------------------------------------- measuring */

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* All windows once. Nanoseconds a branch. */
static double run(const struct bench *b, struct pathprof_reconstructor *r, uint32_t *ret_refused)
{
	static struct pathprof_branch branches[PATHPROF_BURST_MAX];
	double start = now_ns();
	uint64_t sum = 0;
	uint32_t refused = 0, cnt, at;

	for (uint32_t i = 0; i < b->window_cnt; i++)
		if (pathprof_reconstruct(r, b->taken + (size_t)i * TAKEN, TAKEN, branches, &cnt,
					 &at))
			refused++;
		else
			sum += cnt;
	*ret_refused = refused;
	return (now_ns() - start) / (double)(sum ? sum : 1);
}

static void measure(struct bench *b)
{
	struct pathprof_reconstructor *r;
	double first, best = 1e9;
	uint32_t refused;

	if (pathprof_reconstructor_new(&r, b->trace ? locate_traced : locate_made, b) < 0)
		fail("out of memory");
	first = run(b, r, &refused);
	for (int round = 0; round < ROUNDS; round++) {
		double ns = run(b, r, &refused);

		best = ns < best ? ns : best;
	}
	printf("reconstruct.first %.2f ns\nreconstruct.known %.2f ns\n", first, best);
	if (refused)
		printf("# %" PRIu32 " of %" PRIu32 " windows refused\n", refused, b->window_cnt);
	pathprof_reconstructor_free(r);
}

int main(int argc, char **argv)
{
	static struct bench b;
	struct pathprof_trace *trace = NULL;

	b.taken = calloc((size_t)WINDOWS * TAKEN, sizeof(*b.taken));
	if (!b.taken)
		fail("out of memory");
	if (argc < 2)
		open_made(&b);
	else
		trace = open_trace(&b, argv[1]);
	measure(&b);
	for (size_t i = 0; i < b.file_cnt; i++)
		pathprof_code_free(b.codes[i]);
	pathprof_code_free(b.made);
	pathprof_trace_free(trace);
	free(b.taken);
	return 0;
}
