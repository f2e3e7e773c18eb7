// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Holds windows with a horizon against the truth of vmsteps.c: from its start a window must lie in
 * the truth instruction by instruction, each branch where its count says, straight code between,
 * as far as insn_cnt says; and it ends as `end` says: at the horizon to the instruction, or before
 * a system call.
 *
 *     vmhorizon [-c] HORIZON STEPS WINDOWS      STEPS: vmsteps' OUT; WINDOWS: vmread's
 *
 * -c first falsifies one count in every tenth window; then exactly those must be found. Exit
 * status 0: as it should be, 1: not, 125: trouble. Prints one line of figures.
 *
 * Workload: a thousand windows against some hundred thousand instructions, chained by address.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pathprof/abi.h"
#include "steps.h"

#define CHAIN_CNT     (1u << 16)
#define NONE          UINT32_MAX
#define EXIT_TROUBLE  125
#define FALSIFY_EVERY 10
#define BRANCH_MAX    512 /* of the module */
#define STEPS_BEYOND  512 /* traps that a burst may have beyond its horizon */

struct truth {
	uint64_t *words;
	uint32_t cnt;
	uint32_t first[CHAIN_CNT];
	uint32_t *next; /* place with the same chain */
};

struct figures {
	unsigned long long windows, insns, branches, full, empty, rounds, wrong, falsified, missed;
};

static uint32_t chain_of(uint64_t address)
{
	return (uint32_t)(address * 0x9e3779b97f4a7c15ull >> 48);
}

static void *read_all(const char *path, size_t *ret_len_bytes)
{
	FILE *file = fopen(path, "rb");
	long len_bytes;
	void *data;

	if (!file)
		return NULL;
	fseek(file, 0, SEEK_END);
	len_bytes = ftell(file);
	rewind(file);
	data = len_bytes >= 0 ? malloc((size_t)len_bytes + 1) : NULL;
	if (data && fread(data, 1, (size_t)len_bytes, file) != (size_t)len_bytes) {
		free(data);
		data = NULL;
	}
	fclose(file);
	*ret_len_bytes = (size_t)len_bytes;
	return data;
}

static int load_truth(struct truth *truth, const char *path)
{
	size_t len_bytes;

	truth->words = read_all(path, &len_bytes);
	if (!truth->words || len_bytes % sizeof(*truth->words))
		return -1;
	truth->cnt = (uint32_t)(len_bytes / sizeof(*truth->words));
	truth->next = calloc(truth->cnt + 1, sizeof(*truth->next));
	if (!truth->next)
		return -1;
	memset(truth->first, 0xff, sizeof(truth->first));
	for (uint32_t i = truth->cnt; i-- > 0;) {
		uint32_t chain = chain_of(STEPS_ADDRESS(truth->words[i]));

		truth->next[i] = truth->first[chain];
		truth->first[chain] = i;
	}
	return 0;
}

/* ---------------------------------------------------------------- a window */

/* The checks of a window by itself, whatever program ran. */
static bool is_coherent(const struct pathprof_burst *burst, const struct pathprof_branch *branches,
			uint32_t horizon)
{
	uint64_t sum = 0;
	uint32_t taken = 0;

	for (uint32_t i = 0; i < burst->branch_cnt; i++) {
		if (!branches[i].insns)
			return false;
		sum += branches[i].insns;
		taken += branches[i].taken;
	}
	if (burst->horizon != horizon || sum > burst->insn_cnt || taken != burst->taken_cnt ||
	    burst->insn_cnt > burst->step_cnt)
		return false;
	if (burst->end == PATHPROF_END_STEPS)
		return burst->insn_cnt < horizon && (burst->branch_cnt == BRANCH_MAX ||
						     burst->step_cnt == horizon + STEPS_BEYOND);
	return (burst->end == PATHPROF_END_FULL) == (burst->insn_cnt == horizon);
}

/* cnt instructions from `place` on are no system calls and lead to the one behind them. */
static bool is_straight(const struct truth *truth, uint32_t place, uint32_t cnt)
{
	for (uint32_t i = place; i < place + cnt; i++) {
		uint64_t bytes = STEPS_ADDRESS(truth->words[i + 1]) - truth->words[i];

		if (!bytes || bytes > STEPS_INSN_MAX)
			return false;
	}
	return true;
}

static bool lies_at(const struct truth *truth, uint32_t place, const struct pathprof_burst *burst,
		    const struct pathprof_branch *branches)
{
	uint32_t end = place + burst->insn_cnt;

	if (STEPS_ADDRESS(truth->words[place]) != burst->start || end >= truth->cnt)
		return false;
	for (uint32_t i = 0; i < burst->branch_cnt; i++) {
		uint32_t at = place + branches[i].insns - 1;

		if (at >= end || !is_straight(truth, place, branches[i].insns - 1) ||
		    truth->words[at] != branches[i].from ||
		    STEPS_ADDRESS(truth->words[at + 1]) != branches[i].next)
			return false;
		place = at + 1;
	}
	if (!is_straight(truth, place, end - place))
		return false;
	return burst->end == PATHPROF_END_FULL ||
	       (burst->end == PATHPROF_END_SYSCALL) == !!(truth->words[end] & STEPS_KERNEL);
}

static bool is_true(const struct truth *truth, const struct pathprof_burst *burst,
		    const struct pathprof_branch *branches, uint32_t horizon)
{
	uint32_t place = truth->first[chain_of(burst->start)];

	if (!is_coherent(burst, branches, horizon))
		return false;
	for (; place != NONE; place = truth->next[place])
		if (lies_at(truth, place, burst, branches))
			return true;
	return false;
}

/* ---------------------------------------------------------------- all of them */

/* One instruction too many or too few somewhere; false: there is nothing to falsify. */
static bool falsify(struct pathprof_burst *burst, struct pathprof_branch *branches,
		    unsigned long long how)
{
	uint32_t which = burst->branch_cnt ? (uint32_t)(how % burst->branch_cnt) : 0;

	if (burst->branch_cnt < 2)
		return false;
	switch (how % 4) {
	case 0:
		branches[which].insns++;
		break;
	case 1:
		branches[which].insns--;
		break;
	case 2: /* the sum stays */
		branches[0].insns++;
		branches[1].insns--;
		break;
	default:
		if (burst->end != PATHPROF_END_FULL)
			return false;
		burst->insn_cnt--;
	}
	return true;
}

static void report(const struct pathprof_burst *burst, const struct pathprof_branch *branches)
{
	printf("wrong: window from 0x%llx, horizon %u, %u instructions, %u steps, end %u:",
	       (unsigned long long)burst->start, burst->horizon, burst->insn_cnt, burst->step_cnt,
	       burst->end);
	for (uint32_t i = 0; i < burst->branch_cnt && i < 30; i++)
		printf(" %u:0x%llx-0x%llx", branches[i].insns, (unsigned long long)branches[i].from,
		       (unsigned long long)branches[i].next);
	printf("\n");
}

static void check_one(const struct truth *truth, struct pathprof_burst *burst,
		      struct pathprof_branch *branches, uint32_t horizon, bool corrupt,
		      struct figures *figures)
{
	bool falsified = corrupt && figures->windows % FALSIFY_EVERY == 0 &&
			 falsify(burst, branches, figures->windows / FALSIFY_EVERY);
	bool right = is_true(truth, burst, branches, horizon);

	figures->windows++;
	figures->insns += burst->insn_cnt;
	figures->branches += burst->branch_cnt;
	figures->full += burst->end == PATHPROF_END_FULL;
	figures->empty += !burst->branch_cnt;
	figures->rounds += burst->step_cnt - burst->insn_cnt;
	figures->falsified += falsified;
	figures->missed += falsified && right;
	if (!right && !falsified && figures->wrong++ < 5)
		report(burst, branches);
}

static int check_all(const struct truth *truth, char *data, size_t len_bytes, uint32_t horizon,
		     bool corrupt, struct figures *figures)
{
	size_t at = 0;

	while (len_bytes - at >= sizeof(struct pathprof_burst)) {
		struct pathprof_burst burst;

		memcpy(&burst, data + at, sizeof(burst));
		if (burst.size_bytes > len_bytes - at ||
		    burst.size_bytes !=
			    sizeof(burst) + burst.branch_cnt * sizeof(struct pathprof_branch))
			return -1;
		check_one(truth, &burst, (struct pathprof_branch *)(data + at + sizeof(burst)),
			  horizon, corrupt, figures);
		at += burst.size_bytes;
	}
	return at == len_bytes ? 0 : -1;
}

int main(int argc, char **argv)
{
	static struct truth truth;
	struct figures f = {0};
	bool corrupt = argc == 5 && !strcmp(argv[1], "-c");
	uint32_t horizon;
	size_t len_bytes = 0;
	char *data;

	if (argc != 4 + corrupt || load_truth(&truth, argv[2 + corrupt])) {
		fprintf(stderr, "vmhorizon: needs [-c] HORIZON STEPS WINDOWS, both readable\n");
		return EXIT_TROUBLE;
	}
	horizon = (uint32_t)strtoul(argv[1 + corrupt], NULL, 10);
	data = read_all(argv[3 + corrupt], &len_bytes);
	if (!data || check_all(&truth, data, len_bytes, horizon, corrupt, &f)) {
		fprintf(stderr, "vmhorizon: %s: not a file of windows\n", argv[3 + corrupt]);
		return EXIT_TROUBLE;
	}
	printf("windows %llu full %llu empty %llu instructions %llu branches %llu rounds %llu "
	       "wrong %llu falsified %llu missed %llu\n",
	       f.windows, f.full, f.empty, f.insns, f.branches, f.rounds, f.wrong, f.falsified,
	       f.missed);
	return f.wrong || f.missed || !f.full || (corrupt && !f.falsified);
}
