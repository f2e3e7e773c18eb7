// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The use of a hostile recording that has been read: windows by the import, and a profile of one
 * binary. Mappings, processes and branch stacks come in any order and say anything.
 *
 * A small program stands at the beginning, so that stacks that fit it can come about by chance.
 * Input: events, a byte each for what it is and whose, then its fields; an address is two bytes:
 * one of the places it is near to, and how far.
 *
 * Beyond "no crash": nothing is an error; each entry is in an edge or counted as left out; a
 * profile has as many branches as were counted.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pathprof/import.h"
#include "../one_segment.h"
#include "fuzz.h"
#include "pathprof/graph.h"
#include "pathprof/recording_branches.h"

#define BASE        0x400000
#define OFFSET      0x1000
#define ENTRIES_MAX 40

/* A loop with a condition in it, a call, and a jump to where a register says. */
__asm__(".pushsection .recorded_seed,\"a\",@progbits\n"
	".globl recorded_seed, recorded_seed_end\n"
	"recorded_seed:\n"
	"0:	test $1, %dil\n"
	"	je 1f\n"
	"	call 2f\n"
	"1:	dec %esi\n"
	"	jne 0b\n"
	"	jmp *%rax\n"
	"2:	cmp %edi, %esi\n"
	"	jb 3f\n"
	"	nop\n"
	"3:	ret\n"
	"recorded_seed_end:\n"
	".popsection\n");
extern const uint8_t recorded_seed[], recorded_seed_end[];

struct input {
	const uint8_t *at, *end;
};

struct world {
	const char *path;
	struct pathprof_code *code;
	struct pathprof_graph *graph;
	struct pathprof_branch_profile profile;
	struct pathprof_recording_branches *branches;
	struct pathprof_import_files files;
	struct pathprof_import_sink windows;
	struct pathprof_import *import;
	struct pathprof_recording_sink sinks[2];
	uint64_t time_ns;
};

/* ---------------------------------------------------------------- the input */

static uint8_t take(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

static uint64_t take_address(struct input *in)
{
	static const uint64_t near[] = {BASE,
					BASE + 0x100000,
					0,
					UINT64_C(1) << 63,
					UINT64_MAX - 255,
					BASE + 4096,
					UINT64_C(1) << 47,
					UINT64_C(0xffffffff81000000)};
	uint8_t place = take(in);

	return near[place % 8] + take(in) + (place & 8 ? OFFSET : 0);
}

static void take_entry(struct input *in, struct pathprof_recorded_branch *b)
{
	uint8_t odd;

	*b = (struct pathprof_recorded_branch){.from = take_address(in), .to = take_address(in)};
	odd = take(in);
	b->flags = odd & 0x1f;
	b->spec = odd >> 6;
}

/* ---------------------------------------------------------------- events */

static void send_mapping(struct world *w, struct input *in, uint32_t pid)
{
	static const char *const names[] = {"/bin/prog",
					    "//anon",
					    "/lib/other",
					    "",
					    "/anon_hugepage (deleted)",
					    "[vdso]",
					    "/memfd:text (deleted)",
					    "prog"};
	uint8_t odd = take(in);
	struct pathprof_recorded_mapping m = {
		.time_ns = w->time_ns,
		.pid = pid == 7 ? PATHPROF_RECORDED_KERNEL : pid,
		.start = take_address(in),
		.offset = OFFSET,
		.name = names[odd % 8],
		.executable = !(odd & 8),
	};

	m.end = odd & 16 ? take_address(in) : m.start + 0x1000;
	if (odd & 32)
		m.offset = take_address(in);
	if (odd & 64)
		m.id = w->graph->build_id;
	for (int i = 0; i < 2; i++)
		REQUIRE(w->sinks[i].mapping(w->sinks[i].context, &m) == 0);
}

static void send_change(struct world *w, struct input *in, uint32_t pid)
{
	uint8_t odd = take(in);
	const struct pathprof_recorded_process p = {
		.time_ns = w->time_ns,
		.pid = pid,
		.parent = odd >> 4,
		.change = (enum pathprof_recorded_change)(PATHPROF_RECORDED_COMM + odd % 4),
		.comm = odd & 4 ? "a name that is longer than those are" : "name",
	};

	for (int i = 0; i < 2; i++)
		REQUIRE(w->sinks[i].process(w->sinks[i].context, &p) == 0);
}

static void send_sample(struct world *w, struct input *in, uint32_t pid)
{
	struct pathprof_recorded_branch entries[ENTRIES_MAX];
	uint8_t odd = take(in);
	struct pathprof_recorded_sample s = {
		.time_ns = w->time_ns,
		.pid = pid,
		.repeats = odd & 64 ? take(in) : 0,
		.user = true,
		.filtered = odd >> 7,
		.branch_cnt = odd % ENTRIES_MAX,
		.branches = entries,
	};

	for (uint32_t i = 0; i < s.branch_cnt; i++)
		take_entry(in, &entries[i]);
	for (int i = 0; i < 2; i++)
		REQUIRE(w->sinks[i].sample(w->sinks[i].context, &s) == 0);
}

static void send_events(struct world *w, struct input *in)
{
	while (in->at < in->end) {
		uint8_t what = take(in);

		switch (what % 8) {
		case 0:
		case 1:
			send_mapping(w, in, what >> 3 & 7);
			break;
		case 2:
			send_change(w, in, what >> 3 & 7);
			break;
		case 3:
			w->time_ns += (uint64_t)what << 28;
			break;
		default:
			send_sample(w, in, what >> 3 & 7);
		}
	}
}

/* ---------------------------------------------------------------- what came of it */

static void check_import(struct world *w)
{
	const struct pathprof_import_stats *stats = pathprof_import_stats(w->import);
	struct pathprof_error error = {""};
	uint64_t left = 0;

	REQUIRE(pathprof_import_finish(w->import, &error) == 0);
	for (int i = 0; i < PATHPROF_LEDGER_CNT; i++)
		left += stats->ledger.left[i];
	REQUIRE(left + stats->ledger.used == stats->ledger.branches);
	REQUIRE(stats->taken <= stats->ledger.used);
}

static void check_profile(struct world *w)
{
	const struct pathprof_recording_branches_stats *stats =
		pathprof_recording_branches_stats(w->branches);
	struct pathprof_error error = {""};
	uint64_t cnt = 0, sum;
	int r = pathprof_recording_branches_finish(w->branches, NULL, &error);

	REQUIRE(r == 0 || (error.text[0] && (r == -ENODATA || r == -ESTALE)));
	REQUIRE(pathprof_branch_profile_settle(&w->profile) == 0);
	for (uint32_t i = 0; i < w->profile.branch_cnt; i++)
		cnt += w->profile.branches[i].count;
	REQUIRE(r < 0 || cnt == stats->branches);
	sum = stats->ledger.used;
	for (int i = 0; i < PATHPROF_LEDGER_CNT; i++)
		sum += stats->ledger.left[i];
	REQUIRE(sum == stats->ledger.branches);
}

/* ---------------------------------------------------------------- the world */

static int drop_window(void *context, const struct pathprof_profile *profile,
		       const struct pathprof_ranges *ranges, struct pathprof_error *error)
{
	return 0;
}

static void open_import(struct world *w)
{
	const struct pathprof_import_config config = {
		.format = PATHPROF_FORMAT_PERF_DATA,
		.mapping = PATHPROF_MAPPING_BL,
		.window_ns = 1000000000,
	};

	REQUIRE(pathprof_import_files_add(&w->files, w->path, NULL) == 0);
	w->windows = (struct pathprof_import_sink){NULL, drop_window};
	REQUIRE(pathprof_import_new(&w->import, &config, &w->files, &w->windows, NULL) == 0);
	w->sinks[0] = pathprof_import_records(w->import);
}

static void open_branches(struct world *w)
{
	REQUIRE(pathprof_code_open(&w->code, w->path, NULL, NULL) == 0);
	REQUIRE(pathprof_graph_build(&w->graph, w->code, NULL, NULL, NULL) == 0);
	REQUIRE(pathprof_branch_profile_init(&w->profile, &w->graph->build_id) == 0);
	REQUIRE(pathprof_recording_branches_new(&w->branches, PATHPROF_FORMAT_PERF_DATA, w->code,
						w->graph, &w->profile, NULL) == 0);
	pathprof_recording_branches_sink(w->branches, &w->sinks[1]);
}

static void close_world(struct world *w)
{
	pathprof_recording_branches_free(w->branches);
	pathprof_branch_profile_release(&w->profile);
	pathprof_graph_free(w->graph);
	pathprof_code_free(w->code);
	pathprof_import_free(w->import);
	pathprof_import_files_release(&w->files);
}

/* The program's file is there for all inputs, under the name that mappings have. */
static char path[64];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const struct one_segment place = {ET_EXEC, OFFSET, BASE};
	int fd = memfd_create("prog", 0);

	REQUIRE(fd >= 0 && one_segment_write(fd, &place, recorded_seed,
					     (size_t)(recorded_seed_end - recorded_seed)) == 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = {.path = path, .time_ns = 1};
	struct input in = {data, data + size};

	open_import(&w);
	open_branches(&w);
	send_events(&w, &in);
	check_import(&w);
	check_profile(&w);
	close_world(&w);
	return 0;
}
