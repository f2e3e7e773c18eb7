// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Windows as a branch stack would show them, out of an exact trace: the last N taken branches at
 * random places, evenly over the taken branches of all streams together, in the order they ran.
 *
 *     cut_windows TRACE WINDOWS [N] > FILE
 *
 * FILE is WINDOWS times N struct pathprof_lbr_entry, oldest first: kind as it was, instructions for
 * cycles, and every seventeenth branch address mispredicted. Places where less than N branches are
 * known (the beginning, a signal) are given up, so it may hold less.
 *
 * Workload: ten thousand windows of some ten million branches, two passes. One owner.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/kmod_abi.h"
#include "pathprof/trace.h"

#define ENTRIES_MAX 128
#define EVENTS      4096

struct cut {
	const struct pathprof_trace *trace;
	uint64_t *places; /* in taken branches of all streams, ascending */
	size_t place_cnt, next;
	uint32_t entries;
	struct pathprof_lbr_entry ring[ENTRIES_MAX];
	uint64_t known; /* entries in the ring, all that came */
	uint64_t taken, cycles;
};

static void fail(const char *what)
{
	fprintf(stderr, "cut_windows: %s\n", what);
	exit(1);
}

static void write_window(const struct cut *cut)
{
	for (uint64_t i = cut->known - cut->entries; i < cut->known; i++)
		if (fwrite(&cut->ring[i % cut->entries], sizeof(cut->ring[0]), 1, stdout) != 1)
			fail("cannot write");
}

static void keep(struct cut *cut, const struct pathprof_branch *branch)
{
	struct pathprof_lbr_entry *entry = &cut->ring[cut->known++ % cut->entries];
	uint64_t mispredicted = branch->from % 17 == 0;
	uint64_t cycles = cut->cycles < 0xffff ? cut->cycles : 0xffff;

	entry->from = branch->from | cycles << 48;
	entry->to = branch->next | (uint64_t)branch->kind << 48 |
		    (mispredicted ? PATHPROF_LBR_MISPREDICTED : PATHPROF_LBR_PREDICTED);
	cut->cycles = 0;
	while (cut->next < cut->place_cnt && cut->places[cut->next] <= cut->taken) {
		if (cut->known >= cut->entries)
			write_window(cut);
		cut->next++;
	}
	cut->taken++;
}

static void take(struct cut *cut, const struct pathprof_trace_event *event)
{
	switch (event->type) {
	case PATHPROF_TRACE_EVENT_BRANCH:
		cut->cycles += event->insn_cnt;
		if (event->branch.taken)
			keep(cut, &event->branch);
		break;
	case PATHPROF_TRACE_EVENT_SIGNAL:
	case PATHPROF_TRACE_EVENT_SIGRETURN:
	case PATHPROF_TRACE_EVENT_JUMP:
		cut->known = 0;
		break;
	default:
		break;
	}
}

static void run_stream(struct cut *cut, uint32_t stream)
{
	static struct pathprof_trace_event events[EVENTS];
	struct pathprof_trace_cursor *cursor;
	struct pathprof_error error;
	ssize_t cnt;

	cut->known = 0;
	if (pathprof_trace_cursor_new(&cursor, cut->trace, stream, &error))
		fail(error.text);
	while ((cnt = pathprof_trace_read(cursor, events, EVENTS, &error)) > 0)
		for (ssize_t i = 0; i < cnt; i++)
			take(cut, &events[i]);
	if (cnt < 0)
		fail(error.text);
	pathprof_trace_cursor_free(cursor);
}

static void run(struct cut *cut)
{
	cut->taken = 0;
	for (uint32_t i = 0; i < pathprof_trace_info(cut->trace)->stream_cnt; i++)
		run_stream(cut, i);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* xorshift64* from a fixed seed: the same trace gives the same windows. */
static void choose(struct cut *cut, size_t cnt)
{
	uint64_t random = 88172645463325252ull;

	cut->places = calloc(cnt, sizeof(*cut->places));
	if (!cut->places)
		fail("out of memory");
	for (size_t i = 0; i < cnt; i++) {
		random ^= random >> 12;
		random ^= random << 25;
		random ^= random >> 27;
		cut->places[i] = (random * 0x2545f4914f6cdd1dull >> 11) % cut->taken;
	}
	qsort(cut->places, cnt, sizeof(*cut->places), compare);
	cut->place_cnt = cnt;
}

int main(int argc, char **argv)
{
	static struct cut cut;
	struct pathprof_trace *trace;
	struct pathprof_error error;
	size_t cnt = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;

	cut.entries = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 32;
	if (argc < 3 || !cnt || !cut.entries || cut.entries > ENTRIES_MAX)
		fail("TRACE WINDOWS [ENTRIES] wanted");
	if (pathprof_trace_open(&trace, argv[1], &error))
		fail(error.text);
	cut.trace = trace;
	run(&cut);
	if (!cut.taken)
		fail("nothing was taken");
	choose(&cut, cnt);
	run(&cut);
	free(cut.places);
	pathprof_trace_free(trace);
	return fflush(stdout) ? 1 : 0;
}
