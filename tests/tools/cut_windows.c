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

#include "../trace_events.h"
#include "pathprof/kmod_abi.h"

#define ENTRIES_MAX 128

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

static void take(void *context, const struct pathprof_trace_event *event)
{
	struct cut *cut = context;

	if (trace_breaks(event))
		cut->known = 0;
	if (event->type != PATHPROF_TRACE_EVENT_BRANCH)
		return;
	cut->cycles += event->insn_cnt;
	if (event->branch.taken)
		keep(cut, &event->branch);
}

static void run(struct cut *cut)
{
	cut->taken = 0;
	for (uint32_t i = 0; i < pathprof_trace_info(cut->trace)->stream_cnt; i++) {
		cut->known = 0;
		trace_each_event(cut->trace, i, take, cut, fail);
	}
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
	cut.places = trace_choose_places(cnt, cut.taken, fail);
	cut.place_cnt = cnt;
	run(&cut);
	free(cut.places);
	pathprof_trace_free(trace);
	return fflush(stdout) ? 1 : 0;
}
